#include "worker/containerd/oci_image.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"

namespace mayfly::worker {
namespace {

using Json = nlohmann::json;

constexpr absl::string_view kOs = "linux";

bool IsDigest(absl::string_view text) {
  constexpr absl::string_view kPrefix = "sha256:";
  constexpr size_t kHexDigits = 64;
  if (!absl::StartsWith(text, kPrefix) || text.size() != kPrefix.size() + kHexDigits) return false;
  text.remove_prefix(kPrefix.size());
  return std::all_of(text.begin(), text.end(), [](char c) { return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f'); });
}

absl::Status Malformed(absl::string_view document, absl::string_view what) {
  return absl::FailedPreconditionError(absl::StrCat("the image's ", document, " is malformed: ", what));
}

absl::StatusOr<Json> ParseObject(absl::string_view document, absl::string_view text) {
  Json json = Json::parse(text.begin(), text.end(), /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return Malformed(document, "not a JSON object");
  return json;
}

// The member of the object `json`, or null when `json` is no object or has none.
const Json* Member(const Json& json, const char* key) {
  if (!json.is_object()) return nullptr;
  auto it = json.find(key);
  return it == json.end() || it->is_null() ? nullptr : &*it;
}

// The member as a string; nullopt when it is absent or something else.
absl::optional<std::string> StringMember(const Json& json, const char* key) {
  const Json* member = Member(json, key);
  if (member == nullptr || !member->is_string()) return absl::nullopt;
  return member->get_ref<const std::string&>();
}

absl::StatusOr<Descriptor> ParseDescriptor(absl::string_view document, const Json& json) {
  absl::optional<std::string> media_type = StringMember(json, "mediaType");
  absl::optional<std::string> digest = StringMember(json, "digest");
  if (!media_type || !digest) return Malformed(document, "a descriptor lacks its mediaType or digest");
  if (!IsDigest(*digest)) return Malformed(document, "a descriptor's digest is no sha256");
  return Descriptor{*std::move(media_type), *std::move(digest)};
}

}  // namespace

absl::StatusOr<PinnedReference> ParsePinnedReference(absl::string_view reference) {
  const size_t at = reference.rfind('@');
  if (at == absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("image \"", reference, "\" has no digest; pin it as NAME@sha256:..."));
  }
  const absl::string_view digest = reference.substr(at + 1);
  if (!IsDigest(digest)) {
    return absl::InvalidArgumentError(
        absl::StrCat("image \"", reference, "\" must end in @sha256: and 64 lower-case hexadecimal digits"));
  }
  return PinnedReference{std::string(reference.substr(0, at)), std::string(digest)};
}

bool IsIndex(absl::string_view media_type) {
  return media_type == "application/vnd.oci.image.index.v1+json" ||
         media_type == "application/vnd.docker.distribution.manifest.list.v2+json";
}

bool IsManifest(absl::string_view media_type) {
  return media_type == "application/vnd.oci.image.manifest.v1+json" ||
         media_type == "application/vnd.docker.distribution.manifest.v2+json";
}

absl::string_view HostArchitecture() {
#if defined(__x86_64__)
  return "amd64";
#elif defined(__aarch64__)
  return "arm64";
#else
#error "name this architecture as OCI images do"
#endif
}

absl::StatusOr<Descriptor> ChooseManifest(absl::string_view index, absl::string_view architecture) {
  absl::StatusOr<Json> json = ParseObject("index", index);
  if (!json.ok()) return json.status();
  const Json* manifests = Member(*json, "manifests");
  if (manifests == nullptr || !manifests->is_array()) return Malformed("index", "it has no list of manifests");

  const Json* unspecific = nullptr;
  for (const Json& entry : *manifests) {
    const Json* platform = Member(entry, "platform");
    if (platform == nullptr) {
      if (unspecific == nullptr) unspecific = &entry;
    } else if (StringMember(*platform, "os") == std::string(kOs) &&
               StringMember(*platform, "architecture") == std::string(architecture)) {
      return ParseDescriptor("index", entry);
    }
  }
  if (unspecific != nullptr) return ParseDescriptor("index", *unspecific);
  return absl::FailedPreconditionError(absl::StrCat("the image has no manifest for ", kOs, "/", architecture));
}

absl::StatusOr<Descriptor> ConfigOfManifest(absl::string_view manifest) {
  absl::StatusOr<Json> json = ParseObject("manifest", manifest);
  if (!json.ok()) return json.status();
  const Json* config = Member(*json, "config");
  if (config == nullptr) return Malformed("manifest", "it has no config");
  return ParseDescriptor("manifest", *config);
}

absl::StatusOr<std::vector<std::string>> EnvironmentOfConfig(absl::string_view config, absl::string_view architecture) {
  absl::StatusOr<Json> json = ParseObject("config", config);
  if (!json.ok()) return json.status();
  if (StringMember(*json, "os") != std::string(kOs) ||
      StringMember(*json, "architecture") != std::string(architecture)) {
    return absl::FailedPreconditionError(absl::StrCat("the image is not for ", kOs, "/", architecture));
  }

  std::vector<std::string> environment;
  const Json* process = Member(*json, "config");
  if (process == nullptr) return environment;
  if (!process->is_object()) return Malformed("config", "\"config\" is no object");
  const Json* env = Member(*process, "Env");
  if (env == nullptr) return environment;
  if (!env->is_array()) return Malformed("config", "\"Env\" is no list");
  for (const Json& entry : *env) {
    if (!entry.is_string()) return Malformed("config", "\"Env\" holds something that is no string");
    const std::string& variable = entry.get_ref<const std::string&>();
    const size_t equals = variable.find('=');
    if (equals == 0 || equals == std::string::npos || variable.find('\0') != std::string::npos) {
      return Malformed("config", "\"Env\" holds something that is not NAME=value");
    }
    environment.push_back(variable);
  }
  return environment;
}

}  // namespace mayfly::worker
