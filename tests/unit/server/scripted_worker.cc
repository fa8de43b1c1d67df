#include "tests/unit/server/scripted_worker.h"

#include <chrono>
#include <utility>

#include "absl/time/clock.h"
#include "grpc/grpc.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server_builder.h"

namespace mayfly::server {
namespace {

using mayfly::v1::ExecuteEvent;

// Far beyond anything but a bug, on the busiest machine.
constexpr absl::Duration kPatience = absl::Seconds(30);

// Without a reference that is never given back, the last gRPC object of a test takes the library down with it, and gRPC
// 1.51 then now and then waits 10 s for a thread of its own.
[[maybe_unused]] const bool kLibraryKept = (grpc_init(), true);

}  // namespace

absl::Time ScriptedWorker::Call::deadline() const {
  const auto deadline = context_->deadline();
  return deadline == std::chrono::system_clock::time_point::max() ? absl::InfiniteFuture() : absl::FromChrono(deadline);
}

bool ScriptedWorker::Call::Started() {
  ExecuteEvent event;
  event.mutable_started();
  return Send(event);
}

bool ScriptedWorker::Call::Output(mayfly::v1::Stream stream, int64_t* offset, const std::string& data) {
  ExecuteEvent event;
  event.mutable_output()->set_stream(stream);
  event.mutable_output()->set_offset(*offset);
  event.mutable_output()->set_data(data);
  *offset += static_cast<int64_t>(data.size());
  return Send(event);
}

bool ScriptedWorker::Call::Stdout(const std::string& data) {
  return Output(mayfly::v1::STREAM_STDOUT, &stdout_bytes_, data);
}

bool ScriptedWorker::Call::Stderr(const std::string& data) {
  return Output(mayfly::v1::STREAM_STDERR, &stderr_bytes_, data);
}

bool ScriptedWorker::Call::File(const std::string& path, const std::string& data) {
  ExecuteEvent event;
  event.mutable_file()->set_path(path);
  event.mutable_file()->set_data(data);
  return Send(event);
}

grpc::Status ScriptedWorker::Call::Finish(mayfly::v1::ExecutionResult result) {
  result.set_execution_id(request_->execution_id());
  result.set_template_(request_->request().template_());
  result.mutable_stdout()->set_total(stdout_bytes_);
  result.mutable_stdout()->set_sent(stdout_bytes_);
  result.mutable_stderr()->set_total(stderr_bytes_);
  result.mutable_stderr()->set_sent(stderr_bytes_);
  ExecuteEvent event;
  *event.mutable_finished() = std::move(result);
  Send(event);
  return grpc::Status::OK;
}

grpc::Status ScriptedWorker::Call::Exited(int code) {
  mayfly::v1::ExecutionResult result;
  result.set_termination(mayfly::v1::TERMINATION_EXITED);
  result.set_exit_code(code);
  return Finish(std::move(result));
}

bool ScriptedWorker::Call::AwaitCancelled() {
  // The synchronous API has no way to be told; nothing else depends on how often this looks.
  for (const absl::Time deadline = absl::Now() + kPatience; absl::Now() < deadline;) {
    if (context_->IsCancelled()) return true;
    absl::SleepFor(absl::Milliseconds(2));
  }
  return false;
}

ScriptedWorker::ScriptedWorker(bool running)
    : address_("unix:" + dir_.path() + "/worker.sock"), script_([](Call& call) {
        call.Started();
        return call.Exited(0);
      }) {
  description_.set_ready(true);
  description_.set_sandboxes_max(8);
  mayfly::v1::Template* python = description_.add_templates();
  python->set_name("python");
  python->set_language("python");
  python->set_main_file("main.py");
  python->set_workspace_bytes(64 << 20);
  python->mutable_default_limits()->mutable_wall_time()->set_seconds(10);
  python->mutable_default_limits()->set_output_bytes(1 << 20);
  python->mutable_default_limits()->set_file_bytes(1 << 20);
  python->mutable_max_limits()->mutable_wall_time()->set_seconds(60);
  python->mutable_max_limits()->set_output_bytes(1 << 30);
  python->mutable_max_limits()->set_file_bytes(1 << 20);
  if (running) Start();
}

ScriptedWorker::~ScriptedWorker() { Stop(); }

void ScriptedWorker::SetScript(Script script) {
  absl::MutexLock lock(&mutex_);
  script_ = std::move(script);
}

void ScriptedWorker::SetDescription(mayfly::worker::v1::DescribeResponse description) {
  absl::MutexLock lock(&mutex_);
  description_ = std::move(description);
}

mayfly::worker::v1::DescribeResponse ScriptedWorker::description() const {
  absl::MutexLock lock(&mutex_);
  return description_;
}

void ScriptedWorker::Stop() {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  server_.reset();
}

void ScriptedWorker::Start() {
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address_, grpc::InsecureServerCredentials());
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
}

bool ScriptedWorker::AwaitBegun(int calls) const {
  const auto enough = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return begun_ >= calls; };
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(&enough), kPatience);
}

bool ScriptedWorker::AwaitEnded(int calls) const {
  const auto enough = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return ended_ >= calls; };
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(&enough), kPatience);
}

int ScriptedWorker::begun() const {
  absl::MutexLock lock(&mutex_);
  return begun_;
}

grpc::Status ScriptedWorker::Execute(grpc::ServerContext* context, const mayfly::worker::v1::ExecuteRequest* request,
                                     grpc::ServerWriter<ExecuteEvent>* writer) {
  Script script;
  {
    absl::MutexLock lock(&mutex_);
    ++begun_;
    script = script_;
  }
  Call call(context, request, writer);
  const grpc::Status status = script(call);
  absl::MutexLock lock(&mutex_);
  ++ended_;
  return status;
}

grpc::Status ScriptedWorker::Describe(grpc::ServerContext* /*context*/,
                                      const mayfly::worker::v1::DescribeRequest* /*request*/,
                                      mayfly::worker::v1::DescribeResponse* response) {
  *response = description();
  return grpc::Status::OK;
}

}  // namespace mayfly::server
