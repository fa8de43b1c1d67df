// FifoSet: the three FIFOs through which a sandbox's runner and the worker speak, in a directory of their own.
//
// The shim opens the other ends by path. Ours for stdout and stderr are open before the task is created, since
// containerd would wait for a reader; ours for stdin is open for reading and writing, so that opening never blocks and
// writing never raises SIGPIPE. Everything is non-blocking.
#ifndef MAYFLY_WORKER_FIFO_SET_H_
#define MAYFLY_WORKER_FIFO_SET_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "worker/containerd/containerd.h"
#include "worker/unique_fd.h"

namespace mayfly::worker {

class FifoSet {
 public:
  // Makes DIR/ID with the FIFOs in it. AlreadyExists when DIR/ID is there.
  static absl::StatusOr<std::unique_ptr<FifoSet>> Create(absl::string_view dir, absl::string_view id);

  // Closes our ends and removes the directory.
  ~FifoSet();

  TaskStdio paths() const;
  int stdin_fd() const { return stdin_.get(); }
  int stdout_fd() const { return stdout_.get(); }
  int stderr_fd() const { return stderr_.get(); }

 private:
  explicit FifoSet(std::string dir) : dir_(std::move(dir)) {}

  const std::string dir_;
  UniqueFd stdin_, stdout_, stderr_;
};

}  // namespace mayfly::worker

#endif  // MAYFLY_WORKER_FIFO_SET_H_
