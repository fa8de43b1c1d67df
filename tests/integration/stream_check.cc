#include "tests/integration/stream_check.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace mayfly::test {
namespace {

constexpr size_t kChunkBytesMax = 65536;
constexpr size_t kBreachesMax = 20;
constexpr int kFilesListedMax = 256;

bool IsHex(const std::string& text, size_t size) {
  return text.size() == size && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

void CheckAccount(const char* name, bool set, const v1::StreamAccount& account, const v1::ExecuteRequest& request,
                  std::vector<std::string>& breaches) {
  if (!set) breaches.push_back(absl::StrCat("result: the account of ", name, " is not set"));
  if (account.total() != account.sent() + account.dropped() || account.sent() < 0 || account.dropped() < 0) {
    breaches.push_back(absl::StrCat("result: ", name, " total ", account.total(), " is not sent ", account.sent(),
                                    " + dropped ", account.dropped()));
  }
  if (request.limits().has_output_bytes() && account.sent() > request.limits().output_bytes()) {
    breaches.push_back(absl::StrCat("result: ", account.sent(), " bytes sent of ", name, ", above the limit"));
  }
}

}  // namespace

void CheckResult(const v1::ExecuteRequest& request, const v1::ExecutionResult& result,
                 std::vector<std::string>& breaches) {
  auto breach = [&](auto&&... parts) { breaches.push_back(absl::StrCat("result: ", parts...)); };
  if (!IsHex(result.execution_id(), 32)) breach("execution_id is not 32 hexadecimal digits: ", result.execution_id());
  if (result.template_() != request.template_()) breach("template is ", result.template_());
  if (!v1::Termination_IsValid(result.termination()) || result.termination() == v1::TERMINATION_UNSPECIFIED) {
    breach("termination is ", result.termination());
  }
  const bool exited = result.termination() == v1::TERMINATION_EXITED;
  if (result.has_exit_code() != exited) breach("exit_code must be set with EXITED only");
  if (exited && (result.exit_code() < 0 || result.exit_code() > 255)) breach("exit_code ", result.exit_code());
  const bool signaled = result.termination() == v1::TERMINATION_SIGNALED;
  if (result.has_signal() != signaled) breach("signal must be set with SIGNALED only");
  if (signaled && (result.signal() < 1 || result.signal() > 64)) breach("signal ", result.signal());
  if (result.message().empty()) breach("no message");
  if (absl::StrContains(result.message(), '\n')) breach("message is more than a sentence: ", result.message());
  if (result.evidence().empty()) breach("no evidence");
  if (result.termination() == v1::TERMINATION_SANDBOX_FAILED && !result.retry_safe()) {
    breach("SANDBOX_FAILED must be retry_safe");
  }
  CheckAccount("stdout", result.has_stdout(), result.stdout(), request, breaches);
  CheckAccount("stderr", result.has_stderr(), result.stderr(), request, breaches);
  if (!result.has_usage() || !result.usage().has_wall_time()) breach("usage.wall_time is not set");
  if (!result.has_timings()) breach("timings are not set");
  if (exited || signaled) {
    if (result.isolation().runtime().empty()) breach("isolation.runtime is empty");
    if (result.isolation().containerd_runtime().empty()) breach("isolation.containerd_runtime is empty");
    if (!absl::StartsWith(result.isolation().image_digest(), "sha256:") ||
        !IsHex(result.isolation().image_digest().substr(7), 64)) {
      breach("isolation.image_digest is ", result.isolation().image_digest());
    }
    if (result.isolation().task_id().empty()) breach("isolation.task_id is empty");
  }
  if (result.files_size() > kFilesListedMax) breach(result.files_size(), " files listed");
  for (int i = 1; i < result.files_size(); ++i) {
    if (result.files(i - 1).path() >= result.files(i).path()) breach("files are not in path order, or twice the same");
  }
}

void StreamCheck::Breach(std::string what) {
  if (breaches_.size() < kBreachesMax) breaches_.push_back(absl::StrCat("event ", events_, ": ", what));
}

void StreamCheck::OnEvent(const v1::ExecuteEvent& event) {
  ++events_;
  if (event.sequence() != events_) Breach(absl::StrCat("sequence is ", event.sequence()));
  if (finished_) Breach("comes after finished");
  if (!accepted_ && !event.has_accepted()) Breach("comes before accepted");
  switch (event.event_case()) {
    case v1::ExecuteEvent::kAccepted:
      if (accepted_) Breach("accepted twice");
      accepted_ = true;
      execution_id_ = event.accepted().execution_id();
      if (!IsHex(execution_id_, 32)) Breach(absl::StrCat("execution_id: ", execution_id_));
      break;
    case v1::ExecuteEvent::kStarted:
      if (started_) Breach("started twice");
      started_ = true;
      break;
    case v1::ExecuteEvent::kOutput:
      OnOutput(event.output());
      break;
    case v1::ExecuteEvent::kHeartbeat:
      break;
    case v1::ExecuteEvent::kFile:
      OnFile(event.file());
      break;
    case v1::ExecuteEvent::kFinished:
      finished_ = true;
      OnFinished(event.finished());
      break;
    case v1::ExecuteEvent::EVENT_NOT_SET:
      Breach("is empty");
  }
}

void StreamCheck::OnOutput(const v1::Output& output) {
  if (!started_) Breach("output before started");
  if (output.stream() != v1::STREAM_STDOUT && output.stream() != v1::STREAM_STDERR) {
    Breach(absl::StrCat("output of stream ", output.stream()));
    return;
  }
  if (output.data().empty() || output.data().size() > kChunkBytesMax) {
    Breach(absl::StrCat("output of ", output.data().size(), " bytes"));
  }
  int64_t& sent = sent_[output.stream()];
  if (output.offset() != sent) Breach(absl::StrCat("offset ", output.offset(), " where ", sent, " is due"));
  sent += static_cast<int64_t>(output.data().size());
}

void StreamCheck::OnFile(const v1::FileChunk& chunk) {
  if (!started_) Breach("file before started");
  if (chunk.data().size() > kChunkBytesMax) Breach(absl::StrCat("file part of ", chunk.data().size(), " bytes"));
  const bool follows = !file_order_.empty() && file_order_.back() == chunk.path();
  if (!follows) {
    if (file_bytes_.contains(chunk.path())) Breach("parts of a file do not follow one another: " + chunk.path());
    file_order_.push_back(chunk.path());
  } else if (chunk.data().empty()) {
    Breach("an empty part that is not a file's only one: " + chunk.path());
  }
  int64_t& bytes = file_bytes_[chunk.path()];
  if (chunk.offset() != bytes) {
    Breach(absl::StrCat(chunk.path(), ": offset ", chunk.offset(), " where ", bytes, " is due"));
  }
  bytes += static_cast<int64_t>(chunk.data().size());
}

void StreamCheck::OnFinished(const v1::ExecutionResult& result) {
  CheckResult(request_, result, breaches_);
  if (result.execution_id() != execution_id_) Breach("execution_id is not that of accepted");
  if (result.termination() == v1::TERMINATION_EXITED && !started_) Breach("EXITED without started");
  if (result.stdout().sent() != sent_[v1::STREAM_STDOUT]) {
    Breach(absl::StrCat("stdout.sent ", result.stdout().sent(), ", received ", sent_[v1::STREAM_STDOUT]));
  }
  if (result.stderr().sent() != sent_[v1::STREAM_STDERR]) {
    Breach(absl::StrCat("stderr.sent ", result.stderr().sent(), ", received ", sent_[v1::STREAM_STDERR]));
  }
  if (!result.stdout_data().empty() || !result.stderr_data().empty()) Breach("stdout_data and stderr_data are Run's");
  CheckFiles(result);
}

void StreamCheck::CheckFiles(const v1::ExecutionResult& result) {
  std::map<std::string, int64_t> unlisted = file_bytes_;
  int64_t returned = 0;
  for (const v1::OutputFile& file : result.files()) {
    if (!file.content().empty()) Breach("content is Run's: " + file.path());
    const auto it = unlisted.find(file.path());
    if (file.omission() != v1::OMISSION_UNSPECIFIED) {
      if (it != unlisted.end()) Breach("an omitted file has parts: " + file.path());
    } else if (it == unlisted.end()) {
      Breach("a file without parts is not listed as omitted: " + file.path());
    } else if (it->second != file.size()) {
      Breach(absl::StrCat(file.path(), ": size ", file.size(), ", received ", it->second));
    }
    if (it != unlisted.end()) {
      returned += it->second;
      unlisted.erase(it);
    }
  }
  for (const auto& [path, bytes] : unlisted) Breach("a file that is not listed: " + path);
  if (request_.limits().has_file_bytes() && returned > request_.limits().file_bytes()) {
    Breach(absl::StrCat(returned, " bytes of files, above the limit"));
  }
}

void StreamCheck::OnEnd(const grpc::Status& status) {
  if (status.ok() && !finished_) Breach("the stream ended with OK, without finished");
  if (!status.ok() && finished_) Breach("the stream ended with an error, after finished");
}

}  // namespace mayfly::test
