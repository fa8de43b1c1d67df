#include "worker/runner/job_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "worker/runner/workspace.h"

namespace mayfly::runner {
namespace {

constexpr mode_t kModeDefault = 0644;
constexpr mode_t kModeMask = 0777;

}  // namespace

absl::Status JobFiles::Write(const v1::InputData& part) {
  if (part.first()) {
    absl::Status created = Create(part);
    if (!created.ok()) return created;
  } else if (!file_.valid() || part.path() != path_) {
    return absl::InvalidArgumentError(absl::StrCat("a part of input file ", part.path(), " out of order"));
  }
  absl::string_view left = part.data();
  while (!left.empty()) {
    const ssize_t count = write(file_.get(), left.data(), left.size());
    if (count >= 0) {
      left.remove_prefix(static_cast<size_t>(count));
    } else if (errno != EINTR) {
      return absl::ErrnoToStatus(errno, absl::StrCat("writing input file ", path_));
    }
  }
  return absl::OkStatus();
}

absl::Status JobFiles::Create(const v1::InputData& part) {
  absl::Status good = CheckRelativePath(part.path());
  if (!good.ok()) return good;
  const SplitPath split = SplitLastName(part.path());
  absl::StatusOr<UniqueFd> directory = OpenDirectory(workspace_, split.directory, /*create=*/true);
  if (!directory.ok()) return directory.status();
  const mode_t mode = part.mode() == 0 ? kModeDefault : part.mode() & kModeMask;
  UniqueFd file(openat(directory->get(), std::string(split.name).c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!file.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("creating input file ", part.path()));
  file_ = std::move(file);
  path_ = part.path();
  return absl::OkStatus();
}

}  // namespace mayfly::runner
