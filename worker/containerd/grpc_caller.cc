#include "worker/containerd/grpc_caller.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace mayfly::worker {

absl::Status ToStatus(const grpc::Status& status, absl::string_view doing) {
  if (status.ok()) return absl::OkStatus();
  // gRPC's codes and Abseil's are the same numbers.
  return absl::Status(
      static_cast<absl::StatusCode>(status.error_code()),
      absl::StrCat(doing, ": ", absl::string_view(status.error_message()).substr(0, kErrorMessageBytesMax)));
}

GrpcCaller::GrpcCaller(std::string namespace_name, absl::Duration timeout, CallObserver observer)
    : namespace_name_(std::move(namespace_name)), timeout_(timeout), observer_(std::move(observer)) {}

absl::Status GrpcCaller::Call(absl::string_view method, absl::string_view doing,
                              absl::FunctionRef<grpc::Status(grpc::ClientContext*)> rpc) const {
  grpc::ClientContext context;
  SetNamespace(&context);
  const absl::Time begin = absl::Now();
  context.set_deadline(absl::ToChronoTime(begin + timeout_));
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
