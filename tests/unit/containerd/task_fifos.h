// TaskFifos: the FIFOs of one task, in a directory of their own, with this process as the reader.
#ifndef MAYFLY_TESTS_UNIT_CONTAINERD_TASK_FIFOS_H_
#define MAYFLY_TESTS_UNIT_CONTAINERD_TASK_FIFOS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "worker/containerd/containerd.h"

namespace mayfly::worker {

class TaskFifos {
 public:
  TaskFifos();
  ~TaskFifos();
  TaskFifos(const TaskFifos&) = delete;
  TaskFifos& operator=(const TaskFifos&) = delete;

  const TaskStdio& stdio() const { return stdio_; }

  // As when this end's process has died.
  void StopReading();

  // Blocks until it is written to the task's stdin.
  void Write(absl::string_view data);

  // Blocks for the next bytes of the task's stdout; "" when the task has closed it, or after 10 s without any.
  std::string Read();

  // Blocks until all of the task's stdout is there.
  std::string ReadAll();

 private:
  std::string directory_;
  TaskStdio stdio_;
  int stdin_ = -1;
  int stdout_ = -1;
  int stderr_ = -1;
};

}  // namespace mayfly::worker

#endif  // MAYFLY_TESTS_UNIT_CONTAINERD_TASK_FIFOS_H_
