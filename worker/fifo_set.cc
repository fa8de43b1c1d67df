#include "worker/fifo_set.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"

namespace mayfly::worker {
namespace {

// Capacity asked for: fewer wake-ups while a program writes much. The kernel's limit for root is higher still; when it
// refuses, the default of 64 KiB works as well.
constexpr int kPipeBytes = 256 * 1024;

absl::StatusOr<UniqueFd> MakeAndOpen(const std::string& path, int flags) {
  if (mkfifo(path.c_str(), 0600) != 0) return absl::ErrnoToStatus(errno, absl::StrCat("making FIFO ", path));
  UniqueFd fd(open(path.c_str(), flags | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("opening FIFO ", path));
  (void)fcntl(fd.get(), F_SETPIPE_SZ, kPipeBytes);
  return fd;
}

}  // namespace

absl::StatusOr<std::unique_ptr<FifoSet>> FifoSet::Create(absl::string_view dir, absl::string_view id) {
  const std::string path = absl::StrCat(dir, "/", id);
  if (mkdir(path.c_str(), 0700) != 0) return absl::ErrnoToStatus(errno, absl::StrCat("making ", path));
  std::unique_ptr<FifoSet> fifos(new FifoSet(path));
  const TaskStdio paths = fifos->paths();
  absl::StatusOr<UniqueFd> in = MakeAndOpen(paths.stdin_path, O_RDWR);
  if (!in.ok()) return in.status();
  absl::StatusOr<UniqueFd> out = MakeAndOpen(paths.stdout_path, O_RDONLY);
  if (!out.ok()) return out.status();
  absl::StatusOr<UniqueFd> err = MakeAndOpen(paths.stderr_path, O_RDONLY);
  if (!err.ok()) return err.status();
  fifos->stdin_ = *std::move(in);
  fifos->stdout_ = *std::move(out);
  fifos->stderr_ = *std::move(err);
  return fifos;
}

FifoSet::~FifoSet() {
  const TaskStdio stdio = paths();
  unlink(stdio.stdin_path.c_str());
  unlink(stdio.stdout_path.c_str());
  unlink(stdio.stderr_path.c_str());
  rmdir(dir_.c_str());
}

TaskStdio FifoSet::paths() const {
  return {absl::StrCat(dir_, "/stdin"), absl::StrCat(dir_, "/stdout"), absl::StrCat(dir_, "/stderr")};
}

}  // namespace mayfly::worker
