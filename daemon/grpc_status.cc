#include "daemon/grpc_status.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace mayfly::daemon {
namespace {

// Of the violations listed in a status. In base64 and with the message beside them they stay below 8 KiB.
constexpr size_t kDetailsBytesMax = 4096;

// Adds `detail` the way google.rpc.Status wants it (these URLs do have the host part, unlike containerd's).
void AddDetail(const google::protobuf::Message& detail, google::rpc::Status* status) {
  status->add_details()->PackFrom(detail);
}

void AddErrorInfo(absl::string_view reason, google::rpc::Status* status) {
  google::rpc::ErrorInfo info;
  info.set_domain(std::string(kErrorDomain));
  info.set_reason(std::string(reason));
  AddDetail(info, status);
}

grpc::Status Finish(grpc::StatusCode code, const std::string& message, google::rpc::Status* status) {
  status->set_code(code);
  status->set_message(message);
  return grpc::Status(code, message, status->SerializeAsString());
}

}  // namespace

grpc::Status InvalidRequest(const std::vector<policy::FieldViolation>& violations) {
  google::rpc::Status status;
  google::rpc::BadRequest bad_request;
  for (const policy::FieldViolation& violation : violations) {
    // Trailers of more than 8 KiB are refused by gRPC's clients, which then see another status.
    if (bad_request.ByteSizeLong() + violation.field.size() + violation.description.size() > kDetailsBytesMax) break;
    auto* field = bad_request.add_field_violations();
    field->set_field(violation.field);
    field->set_description(violation.description);
  }
  AddDetail(bad_request, &status);
  AddErrorInfo(kReasonInvalidRequest, &status);
  std::string message = absl::StrCat(violations.front().field, ": ", violations.front().description);
  if (violations.size() > 1) absl::StrAppend(&message, " (and ", violations.size() - 1, " more)");
  return Finish(grpc::StatusCode::INVALID_ARGUMENT, message, &status);
}

grpc::Status TemplateNotFound(absl::string_view name, const std::vector<std::string>& known) {
  const std::string shown = absl::CHexEscape(name.substr(0, 64));
  return StatusWithReason(grpc::StatusCode::NOT_FOUND, kReasonTemplateNotFound,
                          absl::StrCat("template: there is no \"", shown, "\"; there is ", absl::StrJoin(known, ", ")));
}

grpc::Status StatusWithReason(grpc::StatusCode code, absl::string_view reason, absl::string_view message,
                              absl::Duration retry_after) {
  google::rpc::Status status;
  AddErrorInfo(reason, &status);
  if (retry_after > absl::ZeroDuration()) {
    google::rpc::RetryInfo retry;
    auto* delay = retry.mutable_retry_delay();
    delay->set_seconds(absl::ToInt64Seconds(retry_after));
    delay->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(retry_after) % 1'000'000'000));
    AddDetail(retry, &status);
  }
  return Finish(code, std::string(message), &status);
}

// The two enums have the same values, by gRPC's and Abseil's contract.
grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.raw_code()), std::string(status.message()));
}

}  // namespace mayfly::daemon
