#include "tests/unit/worker/recording_sink.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

namespace mayfly::worker {
namespace {

using mayfly::v1::ExecuteEvent;

// Far beyond anything but a bug, on the busiest machine.
constexpr absl::Duration kPatience = absl::Seconds(30);

}  // namespace

RecordingSink::RecordingSink(int takes) : wake_(*WakeFd::Create()), takes_(takes) {}

bool RecordingSink::ready() const {
  absl::MutexLock lock(&mutex_);
  return takes_ > 0 && !cancelled_ && !finished_;
}

bool RecordingSink::cancelled() const {
  absl::MutexLock lock(&mutex_);
  return cancelled_;
}

void RecordingSink::Send(ExecuteEvent event) {
  absl::MutexLock lock(&mutex_);
  EXPECT_GT(takes_, 0) << "sent to a sink that was not ready";
  EXPECT_EQ(ends_, 0) << "sent after the end";
  if (takes_ != kAll) --takes_;
  if (event.output().stream() == mayfly::v1::STREAM_STDOUT) stdout_bytes_ += event.output().data().size();
  events_.push_back(std::move(event));
  sent_ = events_.size();
}

void RecordingSink::Finish(std::deque<ExecuteEvent> last) {
  absl::MutexLock lock(&mutex_);
  EXPECT_EQ(++ends_, 1) << "a second end";
  for (ExecuteEvent& event : last) events_.push_back(std::move(event));
  finished_ = true;
}

void RecordingSink::Fail(const grpc::Status& status) {
  absl::MutexLock lock(&mutex_);
  EXPECT_EQ(++ends_, 1) << "a second end";
  failure_ = status;
}

void RecordingSink::Take(int events) {
  {
    absl::MutexLock lock(&mutex_);
    takes_ = events;
  }
  wake_.Signal();
}

void RecordingSink::Cancel() {
  {
    absl::MutexLock lock(&mutex_);
    cancelled_ = true;
  }
  wake_.Signal();
}

bool RecordingSink::Await(const std::function<bool()>& condition) const {
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(
      absl::Condition(+[](const std::function<bool()>* wanted) { return (*wanted)(); }, &condition), kPatience);
}

int RecordingSink::Count(ExecuteEvent::EventCase kind) const {
  int count = 0;
  for (const ExecuteEvent& event : events_) count += event.event_case() == kind;
  return count;
}

bool RecordingSink::AwaitStarted() const {
  return Await([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return Count(ExecuteEvent::kStarted) > 0; });
}

bool RecordingSink::AwaitEvents(size_t events) const {
  return Await([=, this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return events_.size() >= events; });
}

bool RecordingSink::AwaitHeartbeats(int heartbeats) const {
  return Await([=, this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return Count(ExecuteEvent::kHeartbeat) >= heartbeats; });
}

bool RecordingSink::AwaitStdout(size_t bytes) const {
  return Await([=, this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return stdout_bytes_ >= bytes; });
}

bool RecordingSink::AwaitEnd() const {
  return Await([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return ends_ > 0; });
}

std::vector<ExecuteEvent> RecordingSink::events() const {
  absl::MutexLock lock(&mutex_);
  return events_;
}

std::vector<ExecuteEvent> RecordingSink::last_events() const {
  absl::MutexLock lock(&mutex_);
  if (!finished_) return {};
  return {events_.begin() + static_cast<std::ptrdiff_t>(sent_), events_.end() - 1};
}

std::string RecordingSink::Output(mayfly::v1::Stream stream) const {
  absl::MutexLock lock(&mutex_);
  std::string all;
  for (const ExecuteEvent& event : events_) {
    if (event.has_output() && event.output().stream() == stream) all += event.output().data();
  }
  return all;
}

std::optional<mayfly::v1::ExecutionResult> RecordingSink::result() const {
  EXPECT_TRUE(AwaitEnd());
  absl::MutexLock lock(&mutex_);
  if (!finished_ || events_.empty() || !events_.back().has_finished()) return std::nullopt;
  return events_.back().finished();
}

std::optional<grpc::Status> RecordingSink::status() const {
  EXPECT_TRUE(AwaitEnd());
  absl::MutexLock lock(&mutex_);
  return failure_;
}

void ExpectWellFormed(const std::vector<ExecuteEvent>& events) {
  ASSERT_FALSE(events.empty());
  ASSERT_TRUE(events.back().has_finished());
  const mayfly::v1::ExecutionResult& result = events.back().finished();
  std::map<mayfly::v1::Stream, int64_t> sent;
  std::map<std::string, int64_t> files;
  bool started = false;
  for (size_t i = 0; i + 1 < events.size(); ++i) {
    const ExecuteEvent& event = events[i];
    EXPECT_FALSE(event.has_finished());
    EXPECT_EQ(event.has_started(), !started) << "event " << i;
    started = true;
    if (event.has_output()) {
      EXPECT_GE(event.output().data().size(), 1u);
      EXPECT_LE(event.output().data().size(), 65536u);
      EXPECT_EQ(event.output().offset(), sent[event.output().stream()]);
      sent[event.output().stream()] += static_cast<int64_t>(event.output().data().size());
    } else if (event.has_file()) {
      EXPECT_LE(event.file().data().size(), 65536u);
      EXPECT_EQ(event.file().offset(), files[event.file().path()]);
      files[event.file().path()] += static_cast<int64_t>(event.file().data().size());
    }
  }
  EXPECT_NE(result.termination(), mayfly::v1::TERMINATION_UNSPECIFIED);
  EXPECT_FALSE(result.message().empty());
  EXPECT_EQ(result.has_exit_code(), result.termination() == mayfly::v1::TERMINATION_EXITED);
  EXPECT_EQ(result.has_signal(), result.termination() == mayfly::v1::TERMINATION_SIGNALED);
  ASSERT_TRUE(result.has_stdout() && result.has_stderr());
  EXPECT_EQ(result.stdout().sent(), sent[mayfly::v1::STREAM_STDOUT]);
  EXPECT_EQ(result.stderr().sent(), sent[mayfly::v1::STREAM_STDERR]);
  EXPECT_EQ(result.stdout().total(), result.stdout().sent() + result.stdout().dropped());
  EXPECT_EQ(result.stderr().total(), result.stderr().sent() + result.stderr().dropped());
  for (const mayfly::v1::OutputFile& file : result.files()) {
    if (file.omission() == mayfly::v1::OMISSION_UNSPECIFIED) {
      EXPECT_EQ(files.count(file.path()), 1u) << file.path();
      EXPECT_EQ(files[file.path()], file.size()) << file.path();
    }
  }
}

}  // namespace mayfly::worker
