#include "worker/runner/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "worker/runner/frame_codec.h"

namespace mayfly::runner {
namespace {

constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
constexpr mode_t kDirectoryMode = 0755;

}  // namespace

absl::StatusOr<UniqueFd> OpenWorkspace(const std::string& path) {
  if (path.empty() || path[0] != '/') return absl::InvalidArgumentError("the workspace is not an absolute path");
  UniqueFd fd(open(path.c_str(), kDirectoryFlags));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("opening the workspace ", path));
  return fd;
}

absl::Status CheckRelativePath(absl::string_view path) {
  if (path.size() > kPathBytesMax) return absl::InvalidArgumentError("a path that is too long");
  if (path.find('\0') != absl::string_view::npos) return absl::InvalidArgumentError("a path with a NUL");
  for (absl::string_view name : absl::StrSplit(path, '/')) {
    if (name.empty() || name == "." || name == "..") {
      return absl::InvalidArgumentError(absl::StrCat("path \"", path, "\" leads out of the workspace or nowhere"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> OpenDirectory(int root, absl::string_view path, bool create) {
  UniqueFd directory(openat(root, ".", kDirectoryFlags));
  if (!directory.valid()) return absl::ErrnoToStatus(errno, "opening the workspace");
  if (path.empty()) return directory;
  for (absl::string_view part : absl::StrSplit(path, '/')) {
    const std::string name(part);
    if (create && mkdirat(directory.get(), name.c_str(), kDirectoryMode) != 0 && errno != EEXIST) {
      return absl::ErrnoToStatus(errno, absl::StrCat("making directory ", path));
    }
    UniqueFd next(openat(directory.get(), name.c_str(), kDirectoryFlags));
    if (!next.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("opening directory ", path));
    directory = std::move(next);
  }
  return directory;
}

SplitPath SplitLastName(absl::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == absl::string_view::npos) return {absl::string_view(), path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

}  // namespace mayfly::runner
