// Termination: why an execution ended, decided in this one place from what was seen. The first cause wins.
#ifndef MAYFLY_WORKER_TERMINATION_H_
#define MAYFLY_WORKER_TERMINATION_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "mayfly/v1/execution.pb.h"
#include "policy/effective_limits.h"
#include "worker/containerd/containerd.h"

namespace mayfly::worker {

// Why the worker itself ended an execution.
enum class KillCause {
  kNone,
  kWallLimit,
  kStdoutLimit,
  kStderrLimit,
  kCancelled,     // the caller is gone or its deadline passed
  kShutdown,      // the worker stops
  kStartTimeout,  // the sandbox was not ready in time
  kJobFailed,     // the job could not be written
  kProtocol,      // what came out of the sandbox was not what a runner says
};

// How the program ended, by the runner's exit frame.
struct ProgramExit {
  std::optional<int> code;    // 0 to 255
  std::optional<int> signal;  // 1 to 64; one of the two is set
};

// What was seen of one execution, from all sides. Fields stay at their defaults when nothing was seen.
struct Evidence {
  // Set when the worker ended it before the program ended by itself.
  KillCause kill = KillCause::kNone;
  // Set when killing it has not succeeded (yet); the teardown goes on trying.
  bool kill_failed = false;
  std::optional<ProgramExit> program_exit;
  // How the sandbox's init ended.
  std::optional<TaskExit> task_exit;
  // The host's count of OOM kills in the sandbox.
  int64_t oom_kills = 0;
  // What failed on our side: making the sandbox, the runner's `failed` frame, a malformed frame.
  absl::Status failure;
  // The last bytes of the runner's own stderr (the runtime writes there, too).
  std::string diagnostics;

  // What applied, for the messages.
  policy::EffectiveLimits limits;
  int64_t memory_bytes = 0;
};

// Sets termination, exit_code or signal, message, evidence and retry_safe of `result`.
void DecideTermination(const Evidence& evidence, mayfly::v1::ExecutionResult* result);

}  // namespace mayfly::worker

#endif  // MAYFLY_WORKER_TERMINATION_H_
