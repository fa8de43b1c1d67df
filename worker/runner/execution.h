// One sandbox's only execution, from the runner's first frame to its last.
//
//   ready -> take the job and its files -> start the program -> pump -> kill the rest -> drain -> exited -> files ->
//   done
//
// Only for PID 1 of a sandbox. Single-threaded; blocks on the worker throughout; a worker that closes its pipe ends it,
// and with PID 1 everything else in the sandbox.
#ifndef MAYFLY_WORKER_RUNNER_EXECUTION_H_
#define MAYFLY_WORKER_RUNNER_EXECUTION_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "mayfly/runner/v1/runner.pb.h"
#include "worker/runner/glob.h"
#include "worker/runner/process_reaper.h"
#include "worker/runner/program.h"
#include "worker/unique_fd.h"
#include "worker/runner/worker_channel.h"

namespace mayfly::runner {

class Execution {
 public:
  // Both must outlive the execution. The caller is root with CAP_SETUID, CAP_SETGID and CAP_KILL, its umask is 0, it
  // ignores SIGPIPE, and its descriptors from 3 on are close-on-exec.
  Execution(WorkerChannel* channel, ProcessReaper* reaper) : channel_(channel), reaper_(reaper) {}

  // Does it all. OK when the last frame (`done`, or `failed` when the program could not be started) is sent. An error
  // is the sandbox's, not the program's: the stream then stops short, which the worker takes for a failed sandbox.
  absl::Status Run();

 private:
  // Takes the frames up to `start` and prepares what they ask for.
  absl::Status Prepare();
  absl::Status TakeFiles();

  absl::Status SendReady();
  absl::Status SendFailed(const absl::Status& failure);
  absl::Status SendExited(int wait_status);

  // From the running program to `exited`.
  absl::Status FollowProgram(Program* program);
  absl::Status SendFiles();

  WorkerChannel* const channel_;
  ProcessReaper* const reaper_;
  v1::Job job_;
  GlobSet globs_;
  UniqueFd workspace_;
};

}  // namespace mayfly::runner

#endif  // MAYFLY_WORKER_RUNNER_EXECUTION_H_
