#include "worker/containerd/task_wait.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace mayfly::worker {

GrpcTaskWait::GrpcTaskWait(const GrpcCaller* caller, ::containerd::services::tasks::v1::Tasks::Stub* tasks,
                           absl::string_view id, std::function<void(absl::StatusOr<TaskExit>)> done)
    : caller_(caller), doing_(absl::StrCat("waiting for task ", id)), done_(std::move(done)), begin_(absl::Now()) {
  caller_->SetNamespace(&context_);
  request_.set_container_id(std::string(id));
  tasks->async()->Wait(&context_, &request_, &response_, [this](const grpc::Status& status) { Finish(status); });
}

GrpcTaskWait::~GrpcTaskWait() {
  context_.TryCancel();
  finished_.WaitForNotification();
}

void GrpcTaskWait::Finish(const grpc::Status& grpc_status) {
  const absl::Status status = ToStatus(grpc_status, doing_);
  if (!absl::IsCancelled(status)) caller_->Observe("tasks.Wait", status, absl::Now() - begin_);
  if (status.ok()) {
    const google::protobuf::Timestamp& at = response_.exited_at();
    done_(TaskExit{response_.exit_status(), absl::FromUnixSeconds(at.seconds()) + absl::Nanoseconds(at.nanos())});
  } else {
    done_(status);
  }
  // The destructor may run from here on: nothing of *this may be touched after it.
  finished_.Notify();
}

}  // namespace mayfly::worker
