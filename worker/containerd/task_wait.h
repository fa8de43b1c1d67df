// GrpcTaskWait: one Tasks.Wait that is under way, on gRPC's callback API, so that no thread sits in it.
#ifndef MAYFLY_WORKER_CONTAINERD_TASK_WAIT_H_
#define MAYFLY_WORKER_CONTAINERD_TASK_WAIT_H_

#include <grpcpp/client_context.h>

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "github.com/containerd/containerd/api/services/tasks/v1/tasks.grpc.pb.h"
#include "worker/containerd/containerd.h"
#include "worker/containerd/grpc_caller.h"

namespace mayfly::worker {

class GrpcTaskWait : public Containerd::TaskWait {
 public:
  // Begins the call. `done` runs exactly once, on a gRPC thread; with Cancelled when the destructor came first.
  // `caller` and `tasks` must outlive the object.
  GrpcTaskWait(const GrpcCaller* caller, ::containerd::services::tasks::v1::Tasks::Stub* tasks, absl::string_view id,
               std::function<void(absl::StatusOr<TaskExit>)> done);

  // Cancels, and blocks until `done` has returned. So never from within `done`.
  ~GrpcTaskWait() override;

  GrpcTaskWait(const GrpcTaskWait&) = delete;
  GrpcTaskWait& operator=(const GrpcTaskWait&) = delete;

 private:
  void Finish(const grpc::Status& status);

  // Constant after construction; the call owns `context_` and `response_` until it has finished.
  const GrpcCaller* const caller_;
  const std::string doing_;
  const std::function<void(absl::StatusOr<TaskExit>)> done_;
  const absl::Time begin_;
  ::containerd::services::tasks::v1::WaitRequest request_;
  ::containerd::services::tasks::v1::WaitResponse response_;

  // Synchronise themselves.
  grpc::ClientContext context_;
  absl::Notification finished_;
};

}  // namespace mayfly::worker

#endif  // MAYFLY_WORKER_CONTAINERD_TASK_WAIT_H_
