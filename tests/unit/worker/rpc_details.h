// RpcDetail: one google.rpc detail of a status, as a client library would find it.
#ifndef MAYFLY_TESTS_UNIT_WORKER_RPC_DETAILS_H_
#define MAYFLY_TESTS_UNIT_WORKER_RPC_DETAILS_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/support/status.h"

namespace mayfly {

template <typename Detail>
std::optional<Detail> RpcDetail(const grpc::Status& status) {
  google::rpc::Status rpc;
  if (!rpc.ParseFromString(status.error_details()) || rpc.code() != status.error_code()) return std::nullopt;
  for (const auto& any : rpc.details()) {
    Detail detail;
    if (any.UnpackTo(&detail)) return detail;
  }
  return std::nullopt;
}

// ErrorInfo's reason; empty when there is none.
inline std::string Reason(const grpc::Status& status) {
  const auto info = RpcDetail<google::rpc::ErrorInfo>(status);
  return info.has_value() && info->domain() == "mayfly.dev" ? info->reason() : "";
}

// RetryInfo's delay; zero when there is none.
inline absl::Duration RetryDelay(const grpc::Status& status) {
  const auto retry = RpcDetail<google::rpc::RetryInfo>(status);
  if (!retry.has_value()) return absl::ZeroDuration();
  return absl::Seconds(retry->retry_delay().seconds()) + absl::Nanoseconds(retry->retry_delay().nanos());
}

}  // namespace mayfly

#endif  // MAYFLY_TESTS_UNIT_WORKER_RPC_DETAILS_H_
