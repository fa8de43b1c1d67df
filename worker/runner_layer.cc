#include "worker/runner_layer.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "policy/language_profile.h"
#include "policy/oci_spec.h"

namespace mayfly::worker {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kLowerDir = "lowerdir=";
// mount(2) takes one page of options.
constexpr size_t kOptionsBytesMax = 4095;

absl::Status Failed(absl::string_view what, const fs::path& path, const std::error_code& error) {
  return absl::UnavailableError(absl::StrCat(what, " ", path.string(), ": ", error.message()));
}

absl::Status WriteSupportFile(const std::string& dir, const policy::SupportFile& file) {
  const fs::path path = absl::StrCat(dir, file.path);
  std::error_code error;
  fs::remove(path, error);
  std::ofstream out(path, std::ios::binary);
  out << file.content;
  out.close();
  if (!out) return absl::UnavailableError(absl::StrCat("writing ", path.string()));
  fs::permissions(path, fs::perms(0444), error);
  return error ? Failed("chmod", path, error) : absl::OkStatus();
}

}  // namespace

absl::StatusOr<RunnerLayer> RunnerLayer::Create(const std::string& dir, const std::string& runner) {
  const fs::path target = absl::StrCat(dir, policy::kRunnerPath);
  const fs::path fresh = target.string() + ".new";
  std::error_code error;
  fs::create_directories(target.parent_path(), error);
  if (error) return Failed("making", target.parent_path(), error);
  // The program's user walks through it, whatever the umask was.
  for (const fs::path& made : {target.parent_path(), fs::path(dir)}) {
    fs::permissions(made, fs::perms(0755), error);
    if (error) return Failed("chmod", made, error);
  }
  fs::copy_file(runner, fresh, fs::copy_options::overwrite_existing, error);
  if (error) return Failed("copying the runner", runner, error);
  fs::permissions(fresh, fs::perms(0555), error);
  if (error) return Failed("chmod", fresh, error);
  fs::rename(fresh, target, error);
  if (error) return Failed("renaming", fresh, error);
  for (const policy::SupportFile& file : policy::SupportFiles()) {
    absl::Status written = WriteSupportFile(dir, file);
    if (!written.ok()) return written;
  }
  return RunnerLayer(dir);
}

absl::StatusOr<std::vector<RootfsMount>> RunnerLayer::Over(const std::vector<RootfsMount>& view) const {
  if (view.size() != 1 || (view[0].type != "bind" && view[0].type != "overlay")) {
    return absl::UnimplementedError(absl::StrCat("the snapshotter gives ", view.size(), " mounts",
                                                 view.empty() ? "" : absl::StrCat(", first ", view[0].type),
                                                 "; only one bind or overlay mount can carry the runner"));
  }
  RootfsMount mount = {"overlay", "overlay", {}};
  if (view[0].type == "bind") {
    mount.options.push_back(absl::StrCat(kLowerDir, dir_, ":", view[0].source));
  } else {
    for (absl::string_view option : view[0].options) {
      if (absl::StartsWith(option, "upperdir=") || absl::StartsWith(option, "workdir=")) {
        return absl::FailedPreconditionError("the image's snapshot is writable; a read-only view is needed");
      }
      mount.options.push_back(absl::ConsumePrefix(&option, kLowerDir) ? absl::StrCat(kLowerDir, dir_, ":", option)
                                                                      : std::string(option));
    }
  }
  size_t bytes = 0;
  for (const std::string& option : mount.options) bytes += option.size() + 1;
  if (bytes > kOptionsBytesMax) {
    return absl::UnimplementedError(absl::StrCat("the image has too many layers: its mount options take ", bytes,
                                                 " bytes and the kernel takes ", kOptionsBytesMax));
  }
  return std::vector<RootfsMount>{std::move(mount)};
}

}  // namespace mayfly::worker
