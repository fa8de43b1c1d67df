#include "server/run_collector.h"

#include <algorithm>
#include <utility>

namespace mayfly::server {
namespace {

void Account(const std::string& kept, mayfly::v1::StreamAccount* account) {
  account->set_sent(static_cast<int64_t>(kept.size()));
  account->set_dropped(account->total() - account->sent());
}

}  // namespace

void RunCollector::Add(mayfly::v1::ExecuteEvent event) {
  switch (event.event_case()) {
    case mayfly::v1::ExecuteEvent::kOutput:
      AddOutput(event.output().data(), event.output().stream() == mayfly::v1::STREAM_STDERR ? &stderr_ : &stdout_);
      break;
    case mayfly::v1::ExecuteEvent::kFile:
      AddFile(event.file());
      break;
    case mayfly::v1::ExecuteEvent::kFinished:
      result_ = std::move(*event.mutable_finished());
      finished_ = true;
      break;
    default:
      break;
  }
}

void RunCollector::AddOutput(const std::string& data, std::string* to) {
  const auto taken = std::min(static_cast<int64_t>(data.size()), left_);
  to->append(data, 0, static_cast<size_t>(taken));
  left_ -= taken;
}

void RunCollector::AddFile(const mayfly::v1::FileChunk& chunk) {
  File& file = files_[chunk.path()];
  if (file.cut) return;
  const auto bytes = static_cast<int64_t>(chunk.data().size());
  if (bytes > left_) {  // half a file is worth nothing: make room for others
    left_ += static_cast<int64_t>(file.content.size());
    file = {std::string(), true};
    return;
  }
  file.content += chunk.data();
  left_ -= bytes;
}

mayfly::v1::ExecutionResult RunCollector::TakeResult() {
  Account(stdout_, result_.mutable_stdout());
  Account(stderr_, result_.mutable_stderr());
  result_.set_stdout_data(std::move(stdout_));
  result_.set_stderr_data(std::move(stderr_));
  for (mayfly::v1::OutputFile& listed : *result_.mutable_files()) {
    const auto found = files_.find(listed.path());
    if (listed.omission() != mayfly::v1::OMISSION_UNSPECIFIED || found == files_.end()) continue;
    if (found->second.cut) {
      listed.set_omission(mayfly::v1::OMISSION_TOO_LARGE);
    } else {
      listed.set_content(std::move(found->second.content));
    }
  }
  return std::move(result_);
}

}  // namespace mayfly::server
