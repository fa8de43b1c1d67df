#include "worker/containerd/grpc_caller.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "policy/utf8.h"

namespace mayfly::worker {

absl::Status ToStatus(const grpc::Status& status, absl::string_view doing) {
  if (status.ok()) return absl::OkStatus();
  // gRPC's codes and Abseil's are the same numbers.
  return absl::Status(
      static_cast<absl::StatusCode>(status.error_code()),
      // It may quote any bytes, and ends up in protobuf strings.
      absl::StrCat(doing, ": ",
                   policy::EscapeToUtf8(absl::string_view(status.error_message()).substr(0, kErrorMessageBytesMax))));
}

GrpcCaller::GrpcCaller(std::shared_ptr<grpc::Channel> channel, std::string namespace_name, absl::Duration timeout,
                       CallObserver observer)
    : channel_(std::move(channel)),
      namespace_name_(std::move(namespace_name)),
      timeout_(timeout),
      observer_(std::move(observer)) {}

absl::Status GrpcCaller::Call(absl::string_view method, absl::string_view doing,
                              absl::FunctionRef<grpc::Status(grpc::ClientContext*)> rpc) const {
  grpc::ClientContext context;
  SetNamespace(&context);
  const absl::Time begin = absl::Now();
  context.set_deadline(absl::ToChronoTime(begin + timeout_));
  // gRPC works at a connection only while somebody waits for something. Calls that fail at once for want of one would
  // not bring it about either: it took 5 s, the period of gRPC's own stand-in for a waiter.
  if (channel_->GetState(/*try_to_connect=*/true) != GRPC_CHANNEL_READY) {
    channel_->WaitForConnected(absl::ToChronoTime(begin + std::min(timeout_, kConnectTimeout)));
  }
  absl::Status status = ToStatus(rpc(&context), doing);
  Observe(method, status, absl::Now() - begin);
  return status;
}

void GrpcCaller::SetNamespace(grpc::ClientContext* context) const {
  context->AddMetadata("containerd-namespace", namespace_name_);
}

void GrpcCaller::Observe(absl::string_view method, const absl::Status& status, absl::Duration took) const {
  if (observer_) observer_(method, status, took);
}

}  // namespace mayfly::worker
