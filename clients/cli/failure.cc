#include "clients/cli/failure.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace mayfly::cli {
namespace {

// Indexed by grpc::StatusCode.
constexpr absl::string_view kCodeNames[] = {
    "OK",        "CANCELLED",       "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS",  "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",    "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED",
};

std::string CodeName(int code) {
  if (code >= 0 && static_cast<size_t>(code) < std::size(kCodeNames)) return std::string(kCodeNames[code]);
  return absl::StrCat("CODE_", code);
}

void ReadDetail(const google::protobuf::Any& detail, Failure& failure) {
  google::rpc::BadRequest bad_request;
  google::rpc::RetryInfo retry;
  google::rpc::ErrorInfo info;
  if (detail.Is<google::rpc::BadRequest>() && detail.UnpackTo(&bad_request)) {
    for (const auto& violation : bad_request.field_violations()) {
      failure.violations.push_back({violation.field(), violation.description()});
    }
  } else if (detail.Is<google::rpc::RetryInfo>() && detail.UnpackTo(&retry)) {
    failure.retry_after = absl::Seconds(retry.retry_delay().seconds()) + absl::Nanoseconds(retry.retry_delay().nanos());
  } else if (detail.Is<google::rpc::ErrorInfo>() && detail.UnpackTo(&info)) {
    failure.reason = info.reason();
  }
}

}  // namespace

Failure FailureFromCall(const grpc::Status& status) {
  Failure failure;
  failure.code = CodeName(status.error_code());
  failure.message = status.error_message();
  if (status.error_code() == grpc::StatusCode::CANCELLED) failure.exit_code = kExitCancelled;
  google::rpc::Status details;
  if (details.ParseFromString(status.error_details())) {
    for (const auto& detail : details.details()) ReadDetail(detail, failure);
  }
  return failure;
}

Failure LocalFailure(absl::string_view code, int exit_code, absl::string_view message) {
  Failure failure;
  failure.exit_code = exit_code;
  failure.code = std::string(code);
  failure.message = std::string(message);
  return failure;
}

Failure UsageFailure(const absl::Status& status) {
  return LocalFailure("USAGE", kExitUsage, status.message());
}

Failure FileFailure(const absl::Status& status) {
  return LocalFailure("LOCAL_FILE", kExitUsage, status.message());
}

std::string FailureText(const Failure& failure) {
  if (failure.exit_code == kExitStdoutClosed) return "";
  std::string text = "mayfly: ";
  // A code of the CLI's own would only repeat what the message says.
  if (failure.exit_code != kExitUsage) {
    absl::StrAppend(&text, PrintableLine(failure.code),
                    failure.reason.empty() ? "" : absl::StrCat(" (", PrintableLine(failure.reason), ")"), ": ");
  }
  absl::StrAppend(&text, PrintableLine(failure.message), "\n");
  for (const Violation& violation : failure.violations) {
    absl::StrAppend(&text, "  ", PrintableLine(violation.field), ": ", PrintableLine(violation.description), "\n");
  }
  if (failure.retry_after.has_value()) {
    absl::StrAppend(&text, "  try again in ", absl::FormatDuration(*failure.retry_after), "\n");
  }
  if (failure.code == "USAGE") absl::StrAppend(&text, "  mayfly --help tells more\n");
  return text;
}

std::string PrintableLine(absl::string_view text) {
  std::string line;
  line.reserve(text.size());
  for (const char c : text) {
    if (c == '\n') {
      line += "\\n";
    } else if (c == '\t') {
      line += ' ';
    } else if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) {
      absl::StrAppendFormat(&line, "\\x%02x", static_cast<unsigned char>(c));
    } else {
      line += c;
    }
  }
  return line;
}

}  // namespace mayfly::cli
