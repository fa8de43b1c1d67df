// Sandbox: one containerd task that has run nothing before and will run nothing again.
//
//   Sandbox sandbox(context, id);
//   absl::Status started = sandbox.Start(offered, rootfs, wake);
//   ... when it is OK, speak with its runner over stdin_fd() and stdout_fd() ...
//   sandbox.Kill();      // everything in it is gone when this returns
//   sandbox.Destroy();   // and so is every trace of it on the host
//
// Each step of Start has an undo, and Destroy undoes those that were tried in reverse order, also when Start failed
// half-way: the caller can be told of the failure before. Every step is bounded by the call timeout of Containerd, and
// the undoing is retried within a limit.
#ifndef MAYFLY_WORKER_SANDBOX_H_
#define MAYFLY_WORKER_SANDBOX_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "worker/containerd/containerd.h"
#include "worker/fifo_set.h"
#include "worker/rootfs_store.h"
#include "worker/sandbox_cgroup.h"
#include "worker/template.h"
#include "worker/wake_fd.h"

namespace mayfly::worker {

// What all sandboxes of a worker have in common. The pointed-to must outlive them.
struct SandboxContext {
  Containerd* containerd = nullptr;
  std::string snapshotter;
  std::string fifo_dir;
  std::string cgroup_parent;                   // "/mayfly"
  std::string cgroup_root = "/sys/fs/cgroup";  // where cgroups are mounted
  std::string instance;
  // How long the undoing of one sandbox may take before what is left is given up (and said so).
  absl::Duration teardown_timeout = absl::Seconds(60);
};

class Sandbox {
 public:
  // Nothing is made yet. `context` must outlive the sandbox.
  Sandbox(const SandboxContext& context, absl::string_view id);

  // Destroys it, if Destroy() was not called.
  ~Sandbox();

  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  // Makes it and starts its runner. Blocks for as long as containerd takes. `wake` (borrowed; must outlive the sandbox)
  // is signalled when the task ends. Call once. After an error only Destroy() may be called.
  absl::Status Start(const Template& offered, const Rootfs& rootfs, const WakeFd* wake);

  int stdin_fd() const { return fifos_->stdin_fd(); }
  int stdout_fd() const { return fifos_->stdout_fd(); }
  int stderr_fd() const { return fifos_->stderr_fd(); }
  const std::string& id() const { return id_; }
  const SandboxCgroup& cgroup() const { return cgroup_; }

  // Ends the time of generous CPU, if the template has one: from now on its own bandwidth holds. Must succeed before
  // anything of a caller's gets in. `offered` as for Start.
  absl::Status LimitCpu(const Template& offered) const;

  // How the task ended; nullopt while it runs. Thread-safe.
  std::optional<TaskExit> exit() const;

  // Kills everything in it and waits until the task has ended, within a few seconds. An error means that containerd
  // could not or did not; Destroy() tries again.
  absl::Status Kill();

  // Undoes everything that Start did. OK when nothing is left; otherwise what could not be undone.
  absl::Status Destroy();

 private:
  struct Undo {
    std::string what;
    std::function<absl::Status()> run;  // idempotent; OK when there is nothing to undo
  };

  absl::Status CreateContainer(const Template& offered, const Rootfs& rootfs);
  absl::Status CreateTask(const Rootfs& rootfs);
  void BeginWait(const WakeFd* wake);
  // Kills the task if it is alive, empties the FIFOs and deletes it.
  absl::Status DeleteTask();
  // Reads and forgets what the shim still copies, until it has closed its ends or `timeout` passed.
  void DrainFifos(absl::Duration timeout);
  bool AwaitExit(absl::Duration timeout);

  const SandboxContext& context_;
  const std::string id_;
  const std::string cgroup_path_;
  const SandboxCgroup cgroup_;
  std::unique_ptr<FifoSet> fifos_;
  std::vector<Undo> undos_;

  mutable absl::Mutex mutex_;
  // The wait's answer: how the task ended, or why waiting failed.
  std::optional<absl::StatusOr<TaskExit>> exit_ ABSL_GUARDED_BY(mutex_);

  std::unique_ptr<Containerd::TaskWait> wait_;  // last: its callback uses the others
};

}  // namespace mayfly::worker

#endif  // MAYFLY_WORKER_SANDBOX_H_
