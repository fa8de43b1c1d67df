// mayfly-runner: PID 1 of a sandbox. Runs one job for the worker, which talks to it over stdin and stdout in the frames
// of runner.proto, and ends. stderr is for its own diagnostics.
//
// Exit codes: 0 when the last frame was sent; 1 when the sandbox failed (the reason is on stderr); 64 when it is not
// PID 1. It takes no arguments.
//
// It needs CAP_SETUID and CAP_SETGID to take on the program's user, and CAP_KILL to kill what that user leaves behind.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/runner/execution.h"
#include "worker/runner/process_reaper.h"
#include "worker/runner/worker_channel.h"

namespace {

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 64;
constexpr int kFirstOtherFd = 3;
constexpr rlim_t kDescriptorsMax = 65'536;

// Whatever the runtime may have left open: neither the runner nor the program shall have it.
void CloseOtherDescriptors() {
  if (syscall(SYS_close_range, kFirstOtherFd, ~0U, 0) == 0) return;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const int end = static_cast<int>(std::min(limit.rlim_cur, kDescriptorsMax));
  for (int fd = kFirstOtherFd; fd < end; ++fd) close(fd);
}

// gVisor lets everybody open another process's descriptors through /proc/1/fd, as far as the modes of the files behind
// them allow; and what can be written to stdout is a forged result. Linux does not, but one rule is simpler than two.
absl::Status CheckPipes() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO}) {
    struct stat info {};
    if (fstat(fd, &info) != 0) return absl::ErrnoToStatus(errno, "looking at the pipes to the worker");
    if (!S_ISFIFO(info.st_mode) || info.st_uid != 0 || (info.st_mode & 077) != 0) {
      return absl::FailedPreconditionError("stdin and stdout must be pipes that only root may open");
    }
  }
  return absl::OkStatus();
}

absl::Status Run() {
  CloseOtherDescriptors();
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return absl::ErrnoToStatus(errno, "hiding the runner's memory");
  absl::Status pipes = CheckPipes();
  if (!pipes.ok()) return pipes;
  umask(0);
  signal(SIGPIPE, SIG_IGN);
  absl::StatusOr<mayfly::runner::ProcessReaper> reaper = mayfly::runner::ProcessReaper::Create();
  if (!reaper.ok()) return reaper.status();
  mayfly::runner::WorkerChannel channel(STDIN_FILENO, STDOUT_FILENO);
  return mayfly::runner::Execution(&channel, &*reaper).Run();
}

}  // namespace

int main() {
  if (getpid() != 1) {
    fputs(
        "mayfly-runner: it kills every process it can see when its program ends, so it runs only as PID 1 of a "
        "sandbox\n",
        stderr);
    return kExitUsage;
  }
  const absl::Status ran = Run();
  if (!ran.ok()) {
    fprintf(stderr, "mayfly-runner: %s\n", std::string(ran.message()).c_str());
    return kExitFailed;
  }
  return 0;
}
