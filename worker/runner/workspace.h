// The workspace by descriptors: every path is walked name by name from the workspace's own directory, no link is ever
// followed, and nothing outside can be named.
//
// Two descriptors at a time, whatever the depth: the runner lives under the program's own descriptor limit.
#ifndef MAYFLY_WORKER_RUNNER_WORKSPACE_H_
#define MAYFLY_WORKER_RUNNER_WORKSPACE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "worker/unique_fd.h"

namespace mayfly::runner {

// The workspace itself; `path` is absolute and the operator's.
absl::StatusOr<UniqueFd> OpenWorkspace(const std::string& path);

// InvalidArgument unless `path` is relative, without empty, "." and ".." parts and NULs, and within
// kPathBytesMax.
absl::Status CheckRelativePath(absl::string_view path);

// The directory `path` below the directory `root`; `root` itself when `path` is empty. With `create`, directories that
// are missing are made, mode 0755 (less the umask). The errors are those of openat(2) and mkdirat(2): a link in the way
// is one, too.
absl::StatusOr<UniqueFd> OpenDirectory(int root, absl::string_view path, bool create);

// Splits off the last name: "a/b/c" is "a/b" and "c"; "c" is "" and "c".
struct SplitPath {
  absl::string_view directory;
  absl::string_view name;
};
SplitPath SplitLastName(absl::string_view path);

}  // namespace mayfly::runner

#endif  // MAYFLY_WORKER_RUNNER_WORKSPACE_H_
