#include "policy/request_check.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"
#include "policy/quoted.h"
#include "policy/request_limits.h"
#include "policy/utf8.h"

namespace mayfly::policy {
namespace {

using mayfly::v1::ExecuteRequest;
using mayfly::v1::Template;

// Collects violations, up to the bound.
class Violations {
 public:
  void Add(std::string field, std::string description) {
    if (!full()) found_.push_back({std::move(field), std::move(description)});
  }
  // Adds when `value`, of which `what` is the name, is above `max`. Returns whether it is within.
  bool AtMost(absl::string_view field, int64_t value, int64_t max, absl::string_view what) {
    if (value <= max) return true;
    Add(std::string(field), absl::StrCat(value, " ", what, "; at most ", max, " are allowed"));
    return false;
  }
  bool full() const { return found_.size() >= kViolationsMax; }
  std::vector<FieldViolation> Take() { return std::move(found_); }

 private:
  std::vector<FieldViolation> found_;
};

std::string Indexed(absl::string_view field, int index, absl::string_view rest = "") {
  return absl::StrCat(field, "[", index, "]", rest);
}

bool HasNul(absl::string_view text) {
  return text.find('\0') != absl::string_view::npos;
}

// What is wrong with a relative path or glob; empty when nothing is.
std::string RelativePathProblem(absl::string_view path, size_t bytes_max) {
  if (path.empty()) return "is empty";
  if (path.size() > bytes_max) {
    return absl::StrCat(Quoted(path), " is longer than ", bytes_max, " bytes");
  }
  if (HasNul(path)) return absl::StrCat(Quoted(path), " has a NUL byte");
  if (!IsUtf8(path)) return absl::StrCat(Quoted(path), " is not valid UTF-8");
  if (path.front() == '/') return absl::StrCat(Quoted(path), " is absolute; it must be relative to the workspace");
  for (absl::string_view part : absl::StrSplit(path, '/')) {
    if (part.empty()) return absl::StrCat(Quoted(path), " has an empty part");
    if (part == "." || part == "..") return absl::StrCat(Quoted(path), " has a \"", part, "\" part");
    if (part.size() > kPathPartBytesMax) {
      return absl::StrCat(Quoted(path), " has a part longer than ", kPathPartBytesMax, " bytes");
    }
  }
  return "";
}

void CheckCode(const ExecuteRequest& request, Violations& violations) {
  if (request.template_().empty()) violations.Add("template", "is required");
  if (request.code().empty()) violations.Add("code", "is empty; 1 byte to 1 MiB are allowed");
  violations.AtMost("code", static_cast<int64_t>(request.code().size()), kCodeBytesMax, "bytes");
  violations.AtMost("stdin", static_cast<int64_t>(request.stdin().size()), kStdinBytesMax, "bytes");
  violations.AtMost("", static_cast<int64_t>(request.ByteSizeLong()), kRequestBytesMax, "bytes in the whole request");
}

// Paths of files seen so far, the main file among them: path to name of the field that has it.
using PathOwners = absl::flat_hash_map<std::string, std::string>;

// Duplicates, and files below other files. `owners` must hold every path of the request.
void CheckPathConflicts(const ExecuteRequest& request, const PathOwners& owners, Violations& violations) {
  for (int i = 0; i < request.files_size(); ++i) {
    const std::string self = Indexed("files", i);
    const std::string field = absl::StrCat(self, ".path");
    const absl::string_view path = request.files(i).path();
    const auto same = owners.find(path);
    if (same != owners.end() && same->second != self) {
      violations.Add(field, absl::StrCat(Quoted(path), " is the path of ", same->second, ", too"));
    }
    for (size_t slash = path.find('/'); slash != absl::string_view::npos; slash = path.find('/', slash + 1)) {
      const auto above = owners.find(path.substr(0, slash));
      if (above == owners.end() || above->second == self) continue;
      violations.Add(field, absl::StrCat(Quoted(path), " is below ", above->second, ", which is a file"));
      break;
    }
  }
}

void CheckFiles(const ExecuteRequest& request, const Template& offered, Violations& violations) {
  if (!violations.AtMost("files", request.files_size(), kInputFilesMax, "files")) return;
  // What a tmpfs charges: whole pages.
  const auto pages = [](size_t bytes) { return (static_cast<int64_t>(bytes) + 4095) / 4096 * 4096; };
  int64_t content = 0;
  int64_t on_disk = pages(request.code().size());
  PathOwners owners;
  owners.emplace(offered.main_file(), "the main file");
  for (int i = 0; i < request.files_size(); ++i) {
    const mayfly::v1::InputFile& file = request.files(i);
    const std::string problem = RelativePathProblem(file.path(), kPathBytesMax);
    if (!problem.empty()) violations.Add(Indexed("files", i, ".path"), problem);
    if (file.mode() > kFileModeMax) {
      violations.Add(Indexed("files", i, ".mode"),
                     absl::StrFormat("0%o is not in the range 0 to 0%o", file.mode(), kFileModeMax));
    }
    content += static_cast<int64_t>(file.content().size());
    on_disk += pages(file.content().size());
    owners.emplace(file.path(), Indexed("files", i));
  }
  violations.AtMost("files", content, kInputFileBytesMax, "bytes of content together");
  if (on_disk > offered.workspace_bytes()) {
    violations.Add("files", absl::StrCat("code and files take ", on_disk, " bytes; the template's workspace has ",
                                         offered.workspace_bytes()));
  }
  CheckPathConflicts(request, owners, violations);
}

void CheckArgs(const ExecuteRequest& request, Violations& violations) {
  if (!violations.AtMost("args", request.args_size(), kArgsMax, "arguments")) return;
  int64_t bytes = 0;
  for (int i = 0; i < request.args_size(); ++i) {
    bytes += static_cast<int64_t>(request.args(i).size());
    if (HasNul(request.args(i))) {
      violations.Add(Indexed("args", i), absl::StrCat(Quoted(request.args(i)), " has a NUL byte"));
    }
  }
  violations.AtMost("args", bytes, kArgBytesMax, "bytes together");
}

void CheckEnv(const ExecuteRequest& request, const Template& offered, Violations& violations) {
  if (!violations.AtMost("env", static_cast<int64_t>(request.env().size()), kEnvMax, "variables")) return;
  // A protobuf map has no order; violations shall.
  std::vector<std::pair<absl::string_view, absl::string_view>> env(request.env().begin(), request.env().end());
  std::sort(env.begin(), env.end());
  int64_t bytes = 0;
  for (const auto& [name, value] : env) {
    bytes += static_cast<int64_t>(name.size() + value.size());
    const std::string field = absl::StrCat("env[", Quoted(name), "]");
    if (!IsEnvName(name)) {
      violations.Add(field, absl::StrCat(Quoted(name), " is not a name; it must match [A-Za-z_][A-Za-z0-9_]*"));
    }
    if (std::find(offered.reserved_env().begin(), offered.reserved_env().end(), name) != offered.reserved_env().end()) {
      violations.Add(field, absl::StrCat(Quoted(name), " is the template's own and may not be replaced"));
    }
    if (HasNul(value)) violations.Add(field, absl::StrCat("value ", Quoted(value), " has a NUL byte"));
  }
  violations.AtMost("env", bytes, kEnvBytesMax, "bytes of names and values together");
}

void CheckGlobs(const ExecuteRequest& request, Violations& violations) {
  if (!violations.AtMost("output_globs", request.output_globs_size(), kOutputGlobsMax, "patterns")) return;
  for (int i = 0; i < request.output_globs_size(); ++i) {
    const std::string problem = RelativePathProblem(request.output_globs(i), kOutputGlobBytesMax);
    if (!problem.empty()) violations.Add(Indexed("output_globs", i), problem);
  }
}

// nullopt for what google.protobuf.Duration itself forbids: a wrong sign, 1e9 nanoseconds, beyond 10,000 years.
std::optional<absl::Duration> FromProto(const google::protobuf::Duration& duration) {
  constexpr int64_t kSecondsMax = 315576000000;
  const int64_t seconds = duration.seconds();
  const int32_t nanos = duration.nanos();
  if (seconds < -kSecondsMax || seconds > kSecondsMax || nanos <= -1000000000 || nanos >= 1000000000 ||
      (seconds < 0 && nanos > 0) || (seconds > 0 && nanos < 0)) {
    return std::nullopt;
  }
  return absl::Seconds(seconds) + absl::Nanoseconds(nanos);
}

void CheckWallTime(const ExecuteRequest& request, const Template& offered, Violations& violations) {
  if (!request.limits().has_wall_time()) return;
  const google::protobuf::Duration& asked = request.limits().wall_time();
  const std::optional<absl::Duration> wall_time = FromProto(asked);
  const absl::Duration max = FromProto(offered.max_limits().wall_time()).value_or(absl::ZeroDuration());
  if (!wall_time.has_value()) {
    violations.Add("limits.wall_time", absl::StrCat("seconds ", asked.seconds(), ", nanos ", asked.nanos(),
                                                    " is not a valid google.protobuf.Duration"));
  } else if (*wall_time < kWallTimeMin || *wall_time > max) {
    violations.Add("limits.wall_time", absl::StrCat(absl::FormatDuration(*wall_time), " is not in the range ",
                                                    absl::FormatDuration(kWallTimeMin), " to ",
                                                    absl::FormatDuration(max), ", the template's maximum"));
  }
}

void CheckBytesLimit(absl::string_view field, int64_t asked, int64_t min, int64_t max, Violations& violations) {
  if (asked >= min && asked <= max) return;
  violations.Add(std::string(field),
                 absl::StrCat(asked, " is not in the range ", min, " to ", max, ", the template's maximum"));
}

void CheckLimits(const ExecuteRequest& request, const Template& offered, Violations& violations) {
  const mayfly::v1::Limits& asked = request.limits();
  const mayfly::v1::Limits& max = offered.max_limits();
  CheckWallTime(request, offered, violations);
  if (asked.has_output_bytes()) {
    CheckBytesLimit("limits.output_bytes", asked.output_bytes(), kOutputBytesMin, max.output_bytes(), violations);
  }
  if (asked.has_file_bytes()) {
    CheckBytesLimit("limits.file_bytes", asked.file_bytes(), 0, max.file_bytes(), violations);
  }
}

void CheckCallerId(absl::string_view field, absl::string_view id, Violations& violations) {
  if (id.size() > kCallerIdBytesMax) {
    violations.Add(std::string(field), absl::StrCat(Quoted(id), " is longer than ", kCallerIdBytesMax, " bytes"));
  } else if (!std::all_of(id.begin(), id.end(), [](unsigned char c) { return absl::ascii_isprint(c); })) {
    violations.Add(std::string(field), absl::StrCat(Quoted(id), " is not printable ASCII"));
  }
}

}  // namespace

std::vector<FieldViolation> CheckRequest(const ExecuteRequest& request, const Template& offered) {
  Violations violations;
  CheckCode(request, violations);
  CheckFiles(request, offered, violations);
  CheckArgs(request, violations);
  CheckEnv(request, offered, violations);
  CheckGlobs(request, violations);
  CheckLimits(request, offered, violations);
  CheckCallerId("caller.model_id", request.caller().model_id(), violations);
  CheckCallerId("caller.agent_id", request.caller().agent_id(), violations);
  CheckCallerId("caller.task_id", request.caller().task_id(), violations);
  return violations.Take();
}

std::optional<FieldViolation> CheckExecutionId(absl::string_view id) {
  const auto is_digit = [](unsigned char c) { return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f'); };
  if (id.size() == kExecutionIdDigits && std::all_of(id.begin(), id.end(), is_digit)) return std::nullopt;
  return FieldViolation{"execution_id",
                        absl::StrCat(Quoted(id), " is not ", kExecutionIdDigits, " lower-case hexadecimal digits")};
}

bool IsEnvName(absl::string_view name) {
  if (name.empty() || absl::ascii_isdigit(static_cast<unsigned char>(name[0]))) return false;
  return std::all_of(name.begin(), name.end(), [](unsigned char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

}  // namespace mayfly::policy
