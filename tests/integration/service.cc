#include "tests/integration/service.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "tests/integration/stream_check.h"

namespace mayfly::test {
namespace {

constexpr size_t kShownBytes = 2000;

std::string Shown(const std::string& data) {
  if (data.size() <= kShownBytes) return data;
  return absl::StrCat(data.substr(0, kShownBytes), "... (", data.size(), " bytes)");
}

// Cancels a call at a moment that may come nearer while it waits.
class CancelTimer {
 public:
  explicit CancelTimer(grpc::ClientContext* context) : context_(context), thread_([this] { Wait(); }) {}
  ~CancelTimer() {
    {
      absl::MutexLock lock(&mutex_);
      over_ = true;
    }
    thread_.join();
  }
  void CancelAt(absl::Time at) {
    absl::MutexLock lock(&mutex_);
    at_ = std::min(at_, at);
  }

 private:
  void Wait() {
    absl::MutexLock lock(&mutex_);
    while (!over_) {
      if (absl::Now() >= at_) {
        context_->TryCancel();
        return;
      }
      const absl::Time seen = at_;
      auto changed = [this, seen]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return over_ || at_ != seen; };
      mutex_.AwaitWithDeadline(absl::Condition(&changed), at_);
    }
  }

  grpc::ClientContext* const context_;
  absl::Mutex mutex_;
  absl::Time at_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

void Note(const v1::ExecuteEvent& event, absl::Duration at, Outcome& outcome) {
  EventNote note{.kind = event.event_case(), .at = at, .data = {}};
  switch (event.event_case()) {
    case v1::ExecuteEvent::kAccepted:
      outcome.execution_id = event.accepted().execution_id();
      break;
    case v1::ExecuteEvent::kStarted:
      outcome.started_at = at;
      break;
    case v1::ExecuteEvent::kOutput:
      note.stream = event.output().stream();
      note.data = event.output().data();
      (note.stream == v1::STREAM_STDERR ? outcome.err : outcome.out) += note.data;
      break;
    case v1::ExecuteEvent::kFile:
      outcome.files[event.file().path()] += event.file().data();
      break;
    case v1::ExecuteEvent::kFinished:
      outcome.finished = true;
      outcome.finished_at = at;
      outcome.result = event.finished();
      break;
    default:
      break;
  }
  outcome.events.push_back(std::move(note));
}

google::rpc::Status Details(const grpc::Status& status) {
  google::rpc::Status details;
  details.ParseFromString(status.error_details());
  return details;
}

// The first detail of the message's type. Any type URLs end in "/" and the full name.
template <typename Message>
std::optional<Message> Detail(const grpc::Status& status) {
  const std::string suffix = absl::StrCat("/", Message::descriptor()->full_name());
  const google::rpc::Status details = Details(status);
  for (const auto& any : details.details()) {
    Message message;
    if (absl::EndsWith(any.type_url(), suffix) && message.ParseFromString(any.value())) return message;
  }
  return std::nullopt;
}

}  // namespace

std::string RequiredEnv(const char* name) {
  const char* value = std::getenv(name);
  if (value != nullptr && *value != '\0') return value;
  ADD_FAILURE() << name << " is not set: run these tests with ./tests/run, which brings up a stack for them (see "
                << "tests/integration/service.h)";
  return "";
}

int Repeat(int short_run, int full) {
  const char* value = std::getenv("MAYFLY_TEST_REPEAT");
  return value != nullptr && absl::string_view(value) == "full" ? full : short_run;
}

std::shared_ptr<grpc::Channel> TestChannel() {
  static const std::shared_ptr<grpc::Channel>* const channel = [] {
    const char* address = std::getenv("MAYFLY_TEST_ADDR");
    auto* made = new std::shared_ptr<grpc::Channel>();
    // Default message size limits on purpose: the service promises to fit them.
    if (address != nullptr && *address != '\0') {
      *made = grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
    }
    return made;
  }();
  return *channel;
}

void StackTest::SetUp() {
  if (RequiredEnv("MAYFLY_TEST_ADDR").empty()) FAIL() << "no service to test";
  ASSERT_TRUE(TestChannel()->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(10)))
      << "nothing answers at " << RequiredEnv("MAYFLY_TEST_ADDR");
}

v1::ExecuteRequest Program(absl::string_view template_name, absl::string_view code) {
  v1::ExecuteRequest request;
  request.set_template_(std::string(template_name));
  request.set_code(std::string(code));
  request.mutable_caller()->set_model_id("mayfly-tests");
  return request;
}

v1::ExecuteRequest ProgramFile(absl::string_view name) {
  const std::string path = absl::StrCat(MAYFLY_TEST_PROGRAMS, "/", name);
  std::ifstream file(path, std::ios::binary);
  std::ostringstream code;
  code << file.rdbuf();
  EXPECT_TRUE(file.good()) << "cannot read tests/programs/" << name;
  const char* language = absl::EndsWith(name, ".py")   ? "python-open"
                         : absl::EndsWith(name, ".js") ? "javascript"
                                                       : "bash";
  return Program(language, code.str());
}

void SetWall(v1::ExecuteRequest& request, absl::Duration wall) {
  auto* limit = request.mutable_limits()->mutable_wall_time();
  limit->set_seconds(absl::IDivDuration(wall, absl::Seconds(1), &wall));
  limit->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(wall)));
}

void AddFile(v1::ExecuteRequest& request, absl::string_view path, absl::string_view content, uint32_t mode) {
  v1::InputFile* file = request.add_files();
  file->set_path(std::string(path));
  file->set_content(std::string(content));
  file->set_mode(mode);
}

const v1::OutputFile* Outcome::Listed(absl::string_view path) const {
  for (const v1::OutputFile& file : result.files()) {
    if (file.path() == path) return &file;
  }
  return nullptr;
}

Outcome Execute(const v1::ExecuteRequest& request, const ExecuteOptions& options) {
  Outcome outcome;
  if (TestChannel() == nullptr) {
    outcome.status = grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "MAYFLY_TEST_ADDR is not set");
    return outcome;
  }
  const auto stub = v1::Executor::NewStub(TestChannel());
  StreamCheck check(request);
  grpc::ClientContext context;
  const absl::Time begin = absl::Now();
  context.set_deadline(absl::ToChronoTime(begin + options.deadline));
  {
    CancelTimer timer(&context);
    if (options.cancel_after_call) timer.CancelAt(begin + *options.cancel_after_call);
    const auto reader = stub->Execute(&context, request);
    v1::ExecuteEvent event;
    while (reader->Read(&event)) {
      check.OnEvent(event);
      Note(event, absl::Now() - begin, outcome);
      if (event.has_started() && options.cancel_after) timer.CancelAt(absl::Now() + *options.cancel_after);
      if (options.on_event) options.on_event(event);
    }
    outcome.status = reader->Finish();
    outcome.ended_at = absl::Now() - begin;
  }
  check.OnEnd(outcome.status);
  for (const std::string& breach : check.breaches()) ADD_FAILURE() << "the stream's contract: " << breach;
  return outcome;
}

RunOutcome RunOnce(const v1::ExecuteRequest& request, absl::Duration deadline) {
  RunOutcome outcome;
  if (TestChannel() == nullptr) {
    outcome.status = grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "MAYFLY_TEST_ADDR is not set");
    return outcome;
  }
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + deadline));
  outcome.status = v1::Executor::NewStub(TestChannel())->Run(&context, request, &outcome.result);
  if (!outcome.status.ok()) return outcome;
  std::vector<std::string> breaches;
  const v1::ExecutionResult& result = outcome.result;
  CheckResult(request, result, breaches);
  if (result.stdout().sent() != static_cast<int64_t>(result.stdout_data().size())) {
    breaches.push_back(absl::StrCat("stdout.sent is ", result.stdout().sent(), " with ", result.stdout_data().size(),
                                    " bytes of stdout_data"));
  }
  if (result.stderr().sent() != static_cast<int64_t>(result.stderr_data().size())) {
    breaches.push_back(absl::StrCat("stderr.sent is ", result.stderr().sent(), " with ", result.stderr_data().size(),
                                    " bytes of stderr_data"));
  }
  for (const v1::OutputFile& file : result.files()) {
    const int64_t due = file.omission() == v1::OMISSION_UNSPECIFIED ? file.size() : 0;
    if (static_cast<int64_t>(file.content().size()) != due) {
      breaches.push_back(absl::StrCat(file.path(), ": ", file.content().size(), " bytes of content, due are ", due));
    }
  }
  for (const std::string& breach : breaches) ADD_FAILURE() << "the answer's contract: " << breach;
  return outcome;
}

::testing::AssertionResult Exited(const Outcome& outcome, int code) {
  if (outcome.finished && outcome.result.termination() == v1::TERMINATION_EXITED &&
      outcome.result.exit_code() == code) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "not EXITED " << code << ": " << Describe(outcome);
}

::testing::AssertionResult Signaled(const Outcome& outcome, int signal) {
  if (outcome.finished && outcome.result.termination() == v1::TERMINATION_SIGNALED &&
      outcome.result.signal() == signal) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "not SIGNALED " << signal << ": " << Describe(outcome);
}

::testing::AssertionResult Ended(const Outcome& outcome, v1::Termination termination) {
  if (outcome.finished && outcome.result.termination() == termination) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "not " << v1::Termination_Name(termination) << ": " << Describe(outcome);
}

std::string Describe(const grpc::Status& status) {
  return absl::StrCat("status ", static_cast<int>(status.error_code()), " ", status.error_message(), " ",
                      Details(status).ShortDebugString());
}

std::string Describe(const Outcome& outcome) {
  if (!outcome.finished) return absl::StrCat(Describe(outcome.status), "\nstdout: ", Shown(outcome.out));
  const v1::ExecutionResult& result = outcome.result;
  return absl::StrCat(v1::Termination_Name(result.termination()),
                      result.has_exit_code() ? absl::StrCat(" code ", result.exit_code()) : "",
                      result.has_signal() ? absl::StrCat(" signal ", result.signal()) : "", ", ", result.message(),
                      "\nevidence: ", absl::StrJoin(result.evidence(), "; "), "\nran for ",
                      absl::FormatDuration(outcome.RunTime()), "\nstdout: ", Shown(outcome.out),
                      "\nstderr: ", Shown(outcome.err));
}

std::vector<std::string> BadFields(const grpc::Status& status) {
  std::vector<std::string> fields;
  const auto bad = Detail<google::rpc::BadRequest>(status);
  if (!bad) return fields;
  for (const auto& violation : bad->field_violations()) {
    std::string plain;
    int depth = 0;
    for (const char c : violation.field()) {
      if (c == '[') ++depth;
      if (depth == 0) plain.push_back(c);
      if (c == ']') --depth;
    }
    EXPECT_FALSE(violation.description().empty()) << "no description for " << violation.field();
    fields.push_back(plain);
  }
  return fields;
}

::testing::AssertionResult HasErrorInfo(const grpc::Status& status) {
  const auto info = Detail<google::rpc::ErrorInfo>(status);
  if (info && info->domain() == "mayfly.dev" && !info->reason().empty()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "no ErrorInfo of mayfly.dev with a reason: " << Describe(status);
}

bool HasRetryInfo(const grpc::Status& status) {
  return Detail<google::rpc::RetryInfo>(status).has_value();
}

void Concurrently(int count, const std::function<void(int)>& work, int at_once) {
  std::atomic<int> next = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < std::min(count, at_once); ++i) {
    threads.emplace_back([&] {
      for (int job = next++; job < count; job = next++) work(job);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace mayfly::test
