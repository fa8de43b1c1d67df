// How our failures become gRPC statuses with google.rpc details: the one file that maps them, for both daemons.
//
// A status made here carries a serialized google.rpc.Status in `grpc-status-details-bin`, as every gRPC language's
// client library expects it. ErrorInfo's domain is "mayfly.dev"; its reason is one of the constants below, which are
// part of the public contract.
#ifndef MAYFLY_DAEMON_GRPC_STATUS_H_
#define MAYFLY_DAEMON_GRPC_STATUS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "grpcpp/support/status.h"
#include "policy/request_check.h"

namespace mayfly::daemon {

inline constexpr absl::string_view kErrorDomain = "mayfly.dev";
inline constexpr absl::string_view kReasonInvalidRequest = "INVALID_REQUEST";
inline constexpr absl::string_view kReasonTemplateNotFound = "TEMPLATE_NOT_FOUND";
inline constexpr absl::string_view kReasonQueueFull = "QUEUE_FULL";
inline constexpr absl::string_view kReasonQueueTimeout = "QUEUE_TIMEOUT";
inline constexpr absl::string_view kReasonDraining = "DRAINING";
inline constexpr absl::string_view kReasonUnavailable = "UNAVAILABLE";

// INVALID_ARGUMENT with a BadRequest that lists the violations, as many as fit into 4 KiB; the message names the first
// and says how many there are. Requires one at least.
grpc::Status InvalidRequest(const std::vector<policy::FieldViolation>& violations);

// NOT_FOUND naming the template asked for (escaped and cut) and those there are.
grpc::Status TemplateNotFound(absl::string_view name, const std::vector<std::string>& known);

// `code` with an ErrorInfo of `reason` and, when `retry_after` is positive, a RetryInfo.
grpc::Status StatusWithReason(grpc::StatusCode code, absl::string_view reason, absl::string_view message,
                              absl::Duration retry_after = absl::ZeroDuration());

// Code and message only.
grpc::Status ToGrpc(const absl::Status& status);

}  // namespace mayfly::daemon

#endif  // MAYFLY_DAEMON_GRPC_STATUS_H_
