#include "clients/cli/event_order.h"

#include "absl/strings/str_cat.h"

namespace mayfly::cli {
namespace {

absl::Status Broken(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("the service broke its protocol: ", what));
}

}  // namespace

absl::Status EventOrder::Check(const v1::ExecuteEvent& event) {
  if (finished_) return Broken("an event after the end");
  if (event.sequence() != sequence_ + 1) {
    return Broken(absl::StrCat("event ", event.sequence(), " after event ", sequence_));
  }
  sequence_ = event.sequence();
  if (event.has_accepted() == accepted_) return Broken(accepted_ ? "accepted twice" : "an event before accepted");
  switch (event.event_case()) {
    case v1::ExecuteEvent::kAccepted:
      accepted_ = true;
      return absl::OkStatus();
    case v1::ExecuteEvent::kStarted:
      if (started_) return Broken("started twice");
      started_ = true;
      return absl::OkStatus();
    case v1::ExecuteEvent::kOutput:
      return CheckOutput(event.output());
    case v1::ExecuteEvent::kFile:
      return started_ ? absl::OkStatus() : Broken("a file before the start");
    case v1::ExecuteEvent::kFinished:
      finished_ = true;
      return CheckFinished(event.finished());
    case v1::ExecuteEvent::kHeartbeat:
    case v1::ExecuteEvent::EVENT_NOT_SET:  // of a kind that this client does not know yet
      return absl::OkStatus();
  }
  return absl::OkStatus();
}

absl::Status EventOrder::CheckOutput(const v1::Output& output) {
  if (!started_) return Broken("output before the start");
  if (output.stream() != v1::STREAM_STDOUT && output.stream() != v1::STREAM_STDERR) {
    return Broken("output of no stream");
  }
  int64_t& bytes = output.stream() == v1::STREAM_STDOUT ? stdout_bytes_ : stderr_bytes_;
  if (output.offset() != bytes) {
    return Broken(absl::StrCat("output at ", output.offset(), " after ", bytes, " bytes"));
  }
  bytes += static_cast<int64_t>(output.data().size());
  return absl::OkStatus();
}

absl::Status EventOrder::CheckFinished(const v1::ExecutionResult& result) const {
  if (result.termination() == v1::TERMINATION_UNSPECIFIED) return Broken("an end without a termination");
  if (result.stdout().sent() != stdout_bytes_ || result.stderr().sent() != stderr_bytes_) {
    return Broken(absl::StrCat("it counts ", result.stdout().sent(), " and ", result.stderr().sent(),
                               " bytes of stdout and stderr; ", stdout_bytes_, " and ", stderr_bytes_, " came"));
  }
  return absl::OkStatus();
}

}  // namespace mayfly::cli
