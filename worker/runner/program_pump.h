// Moves bytes between the program's three pipes and the worker while the program runs.
//
// Nothing here holds more than one frame of either direction: the program's output waits in its pipe until the worker
// takes it, the worker's input waits in its pipe until the program takes it. A program that never reads its stdin holds
// up neither its own output nor its end.
#ifndef MAYFLY_WORKER_RUNNER_PROGRAM_PUMP_H_
#define MAYFLY_WORKER_RUNNER_PROGRAM_PUMP_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "mayfly/runner/v1/runner.pb.h"
#include "worker/runner/process_reaper.h"
#include "worker/runner/program.h"
#include "worker/runner/worker_channel.h"

namespace mayfly::runner {

class ProgramPump {
 public:
  // All three must outlive the pump.
  ProgramPump(WorkerChannel* channel, ProcessReaper* reaper, Program* program);

  // Runs until the program has ended, and returns its wait status; other processes, and bytes in the pipes, may be
  // left. Reaps whatever else ends. Unavailable when the worker went away, InvalidArgument when it broke the protocol.
  absl::StatusOr<int> Run();

  // Sends what is left in the program's output pipes. To be called when no process of the sandbox is left; what one
  // that could not be killed may still write is not waited for.
  absl::Status Drain();

 private:
  // Sends what one read of `*reader` yields, as one frame. At the end of file closes it. True when there may be more.
  absl::StatusOr<bool> Forward(int fd, UniqueFd* reader);

  // Takes frames received from the worker until there is input that the program does not take at once.
  absl::Status TakeInput();
  void WriteInput();
  void CloseInput();

  WorkerChannel* const channel_;
  ProcessReaper* const reaper_;
  Program* const program_;
  std::unique_ptr<char[]> buffer_;
  v1::FromRunner frame_;      // reused, so that steady output allocates nothing
  std::string input_;         // bytes for the program's stdin
  size_t input_written_ = 0;  // of those, already written
};

}  // namespace mayfly::runner

#endif  // MAYFLY_WORKER_RUNNER_PROGRAM_PUMP_H_
