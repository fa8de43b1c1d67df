#include "worker/runner/process_reaper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace mayfly::runner {
namespace {

// A process may be forking while the others are killed: how long to wait before killing again.
constexpr int kKillAgainMillis = 10;

// Not absl::Now: the wall clock may jump.
absl::Time MonotonicNow() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return absl::TimeFromTimespec(now);
}

}  // namespace

absl::StatusOr<ProcessReaper> ProcessReaper::Create() {
  sigset_t ended;
  sigemptyset(&ended);
  sigaddset(&ended, SIGCHLD);
  if (sigprocmask(SIG_BLOCK, &ended, nullptr) != 0) return absl::ErrnoToStatus(errno, "blocking SIGCHLD");
  UniqueFd signals(signalfd(-1, &ended, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.valid()) return absl::ErrnoToStatus(errno, "making a descriptor for SIGCHLD");
  return ProcessReaper(std::move(signals));
}

absl::optional<int> ProcessReaper::Reap(pid_t program) {
  ClearSignals();  // before waiting: a child that ends in between is then announced again
  absl::optional<int> ended;
  int status = 0;
  for (pid_t pid = waitpid(-1, &status, WNOHANG); pid > 0; pid = waitpid(-1, &status, WNOHANG)) {
    if (pid == program) ended = status;
  }
  return ended;
}

absl::Status ProcessReaper::KillAll(absl::Duration timeout) {
  if (getpid() != 1) return absl::FailedPreconditionError("only PID 1 of a sandbox may kill all processes");
  const absl::Time deadline = MonotonicNow() + timeout;
  while (true) {
    kill(-1, SIGKILL);
    ClearSignals();
    pid_t pid;
    do {
      pid = waitpid(-1, nullptr, WNOHANG);
    } while (pid > 0);
    // Whoever is left is a child of ours or a descendant of one: no child, no process.
    if (pid < 0 && errno == ECHILD) return absl::OkStatus();
    if (MonotonicNow() >= deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat("processes of the sandbox outlived SIGKILL by ", absl::FormatDuration(timeout)));
    }
    pollfd ended{signals_.get(), POLLIN, 0};
    poll(&ended, 1, kKillAgainMillis);
  }
}

void ProcessReaper::ClearSignals() {
  signalfd_siginfo info;
  while (read(signals_.get(), &info, sizeof(info)) > 0) {
  }
}

}  // namespace mayfly::runner
