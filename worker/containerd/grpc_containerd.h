// GrpcContainerd: the real Containerd, over containerd's gRPC API. Works with containerd 1.6 to 2.x.
//
//   GrpcContainerd::Options options;
//   options.address = "unix:/run/containerd/containerd.sock";
//   options.namespace_name = "mayfly";
//   options.observer = [&](absl::string_view method, const absl::Status& status, absl::Duration took) { ... };
//   GrpcContainerd containerd(std::move(options));
//   absl::Status reachable = containerd.Ping();
//
// The constructor does not connect: the first call does, and after containerd has been away a call at most
// kReconnectBackoffMax later finds it again. A call without a connection waits for one for at most kConnectTimeout, and
// is then Unavailable.
//
// Safe from any thread. All TaskWaits must be destroyed before it.
#ifndef MAYFLY_WORKER_CONTAINERD_GRPC_CONTAINERD_H_
#define MAYFLY_WORKER_CONTAINERD_GRPC_CONTAINERD_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "worker/containerd/containerd.h"
#include "worker/containerd/grpc_caller.h"

namespace mayfly::worker {

class GrpcContainerd : public Containerd {
 public:
  struct Options {
    std::string address;         // a gRPC target: "unix:/run/containerd/containerd.sock"
    std::string namespace_name;  // containerd namespace of everything this client makes and sees
    absl::Duration call_timeout = absl::Seconds(30);
    CallObserver observer = nullptr;  // may be empty
  };

  static constexpr absl::Duration kReconnectBackoffMax = absl::Seconds(1);

  explicit GrpcContainerd(Options options);
  ~GrpcContainerd() override;
  GrpcContainerd(const GrpcContainerd&) = delete;
  GrpcContainerd& operator=(const GrpcContainerd&) = delete;

  absl::Status Ping() override;
  absl::StatusOr<ImageInfo> ResolveImage(absl::string_view reference, absl::string_view snapshotter) override;
  absl::StatusOr<std::vector<RootfsMount>> ViewSnapshot(absl::string_view snapshotter, absl::string_view key,
                                                        absl::string_view parent,
                                                        const std::map<std::string, std::string>& labels) override;
  absl::Status RemoveSnapshot(absl::string_view snapshotter, absl::string_view key) override;
  absl::Status CreateContainer(const ContainerSpec& spec) override;
  absl::Status DeleteContainer(absl::string_view id) override;
  absl::StatusOr<int64_t> CreateTask(absl::string_view id, const std::vector<RootfsMount>& rootfs,
                                     const TaskStdio& stdio) override;
  std::unique_ptr<TaskWait> WaitTask(absl::string_view id, std::function<void(absl::StatusOr<TaskExit>)> done) override;
  absl::Status StartTask(absl::string_view id) override;
  absl::Status KillTask(absl::string_view id) override;
  absl::Status DeleteTask(absl::string_view id) override;
  absl::StatusOr<std::vector<std::string>> ListContainers(const std::map<std::string, std::string>& labels) override;
  absl::StatusOr<std::vector<std::string>> ListSnapshots(absl::string_view snapshotter,
                                                         const std::map<std::string, std::string>& labels) override;

 private:
  struct Stubs;

  // The mounts of the view that is there already; FailedPrecondition when it is not a view of `parent`.
  absl::StatusOr<std::vector<RootfsMount>> MountsOfView(absl::string_view snapshotter, absl::string_view key,
                                                        absl::string_view parent) const;

  // Whether containerd says that the task's init is running.
  bool IsRunning(absl::string_view id) const;

  const std::unique_ptr<const Stubs> stubs_;
  const GrpcCaller caller_;
};

}  // namespace mayfly::worker

#endif  // MAYFLY_WORKER_CONTAINERD_GRPC_CONTAINERD_H_
