// PID 1's duty: every process of the sandbox ends up as the runner's child, and is reaped here.
//
// SIGCHLD is blocked and read from a descriptor, so that a poll loop sees it in turn with everything else: with ppoll
// and a handler, an orphan that writes without pause could keep the program's end from being noticed.
#ifndef MAYFLY_WORKER_RUNNER_PROCESS_REAPER_H_
#define MAYFLY_WORKER_RUNNER_PROCESS_REAPER_H_

#include <sys/types.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "worker/unique_fd.h"

namespace mayfly::runner {

class ProcessReaper {
 public:
  // Blocks SIGCHLD in this process: to be made before the first fork.
  static absl::StatusOr<ProcessReaper> Create();

  // Becomes readable when a child has ended.
  int fd() const { return signals_.get(); }

  // Collects all children that have ended. Returns the wait status of `program` once that is among them. Does not
  // block.
  absl::optional<int> Reap(pid_t program);

  // Kills every process but this one, until there is none. DeadlineExceeded when some are left after `timeout`.
  // Requires to be PID 1: anywhere else it would kill the whole machine.
  absl::Status KillAll(absl::Duration timeout);

 private:
  explicit ProcessReaper(UniqueFd signals) : signals_(std::move(signals)) {}

  void ClearSignals();

  UniqueFd signals_;
};

}  // namespace mayfly::runner

#endif  // MAYFLY_WORKER_RUNNER_PROCESS_REAPER_H_
