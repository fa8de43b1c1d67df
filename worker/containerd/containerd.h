// Containerd: the little of containerd that Mayfly needs, in Mayfly's terms. The only seam to it; the rest of the
// worker knows no containerd message. The real one is GrpcContainerd (grpc_containerd.h).
//
// All calls but WaitTask block, for at most the configured call timeout, and are safe from any thread. A NotFound of
// containerd is absl::NotFoundError; "containerd does not answer" is absl::UnavailableError; a call that took too long
// is absl::DeadlineExceededError. Messages say what was being done ("creating task mf-3f2a: ...").
#ifndef MAYFLY_WORKER_CONTAINERD_CONTAINERD_H_
#define MAYFLY_WORKER_CONTAINERD_CONTAINERD_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace mayfly::worker {

// An image that is there and unpacked.
struct ImageInfo {
  std::string name;              // containerd's name for it
  std::string digest;            // of what the name points to: index or manifest, "sha256:..."
  std::string chain_id;          // key of its committed top snapshot
  std::vector<std::string> env;  // NAME=value, from the image's configuration
};

// A mount of the root file system, handed to the runtime as the snapshotter gave it.
struct RootfsMount {
  std::string type;
  std::string source;
  std::vector<std::string> options;
};

// The containerd runtime and its options.
struct RuntimeOptions {
  std::string name;                 // "io.containerd.runc.v2"
  std::string binary;               // runc shim: BinaryName; may be empty
  std::string root;                 // runc shim: Root; may be empty
  std::string options_type_url;     // runtimeoptions.v1.Options.type_url; may be empty
  std::string options_config_path;  // runtimeoptions.v1.Options.config_path; may be empty
};

struct ContainerSpec {
  std::string id;
  std::string image_name;
  std::string snapshotter;
  std::string snapshot_key;
  RuntimeOptions runtime;
  std::string oci_spec_json;
  std::map<std::string, std::string> labels;
};

// Paths of the task's FIFOs, which must exist; stdout and stderr must be open for reading already.
struct TaskStdio {
  std::string stdin_path;
  std::string stdout_path;
  std::string stderr_path;
};

struct TaskExit {
  uint32_t status = 0;  // exit code of the task's init, 128+n for a signal; some shims invent others
  absl::Time at;
};

class Containerd {
 public:
  // A wait that is under way. Destroying it cancels the call and returns once its callback has run or never will.
  class TaskWait {
   public:
    virtual ~TaskWait() = default;
  };

  virtual ~Containerd() = default;

  // OK when containerd answers.
  virtual absl::Status Ping() = 0;

  // Resolves "name@sha256:...": the image in containerd's store whose target has that digest (whatever its name), down
  // to the manifest of this machine's platform. InvalidArgument for a reference without a digest; NotFound when there
  // is no such image; FailedPrecondition when it is malformed, or there but not unpacked for `snapshotter`.
  virtual absl::StatusOr<ImageInfo> ResolveImage(absl::string_view reference, absl::string_view snapshotter) = 0;

  // Makes a read-only view of the committed snapshot `parent` under `key` and returns its mounts; when `key` is there
  // already, returns the mounts of that one (FailedPrecondition when it is no view of `parent`). NotFound without the
  // parent. The view lives until RemoveSnapshot, whatever the garbage collector does.
  virtual absl::StatusOr<std::vector<RootfsMount>> ViewSnapshot(absl::string_view snapshotter, absl::string_view key,
                                                                absl::string_view parent,
                                                                const std::map<std::string, std::string>& labels) = 0;

  // OK when it is gone, also when it was not there.
  virtual absl::Status RemoveSnapshot(absl::string_view snapshotter, absl::string_view key) = 0;

  // AlreadyExists when there is a container of that id.
  virtual absl::Status CreateContainer(const ContainerSpec& spec) = 0;

  // OK when it is gone, also when it was not there. Its task must be deleted first: without its container a task is out
  // of reach.
  virtual absl::Status DeleteContainer(absl::string_view id) = 0;

  // Creates the task of container `id`: the sandbox boots, its init does not run yet. Returns its host pid.
  virtual absl::StatusOr<int64_t> CreateTask(absl::string_view id, const std::vector<RootfsMount>& rootfs,
                                             const TaskStdio& stdio) = 0;

  // Calls `done` once, on a gRPC thread, when the task has ended or waiting failed; with Cancelled when the TaskWait
  // was destroyed first. `done` must not block, nor destroy the TaskWait. Does not block itself. The wait has no
  // deadline; destroy the TaskWait to end it.
  virtual std::unique_ptr<TaskWait> WaitTask(absl::string_view id,
                                             std::function<void(absl::StatusOr<TaskExit>)> done) = 0;

  virtual absl::Status StartTask(absl::string_view id) = 0;

  // Sends SIGKILL to everything in the task. OK also when it is gone already.
  virtual absl::Status KillTask(absl::string_view id) = 0;

  // Removes a stopped task and ends its shim. OK also when it was not there. FailedPrecondition while it runs.
  virtual absl::Status DeleteTask(absl::string_view id) = 0;

  // Ids of the containers that carry all of `labels`.
  virtual absl::StatusOr<std::vector<std::string>> ListContainers(const std::map<std::string, std::string>& labels) = 0;

  // Keys of the snapshots that carry all of `labels`.
  virtual absl::StatusOr<std::vector<std::string>> ListSnapshots(absl::string_view snapshotter,
                                                                 const std::map<std::string, std::string>& labels) = 0;
};

}  // namespace mayfly::worker

#endif  // MAYFLY_WORKER_CONTAINERD_CONTAINERD_H_
