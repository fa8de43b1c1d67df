#include "tests/unit/cli/scripted_executor.h"

#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server_builder.h"

namespace mayfly::cli {

void ScriptedExecutor::Call::Send(v1::ExecuteEvent event) {
  event.set_sequence(++sequence_);
  writer_->Write(event);
}

void ScriptedExecutor::Call::Accepted() {
  v1::ExecuteEvent event;
  event.mutable_accepted()->set_execution_id("0123456789abcdef0123456789abcdef");
  Send(std::move(event));
}

void ScriptedExecutor::Call::Started() {
  v1::ExecuteEvent event;
  event.mutable_started();
  Send(std::move(event));
}

void ScriptedExecutor::Call::Output(v1::Stream stream, int64_t& offset, const std::string& data) {
  v1::ExecuteEvent event;
  event.mutable_output()->set_stream(stream);
  event.mutable_output()->set_offset(offset);
  event.mutable_output()->set_data(data);
  offset += static_cast<int64_t>(data.size());
  Send(std::move(event));
}

void ScriptedExecutor::Call::Stdout(const std::string& data) {
  Output(v1::STREAM_STDOUT, stdout_bytes_, data);
}
void ScriptedExecutor::Call::Stderr(const std::string& data) {
  Output(v1::STREAM_STDERR, stderr_bytes_, data);
}

void ScriptedExecutor::Call::File(const std::string& path, const std::string& data) {
  v1::ExecuteEvent event;
  event.mutable_file()->set_path(path);
  event.mutable_file()->set_data(data);
  Send(std::move(event));
}

grpc::Status ScriptedExecutor::Call::Finish(v1::ExecutionResult result) {
  for (auto [account, bytes] :
       {std::pair(result.mutable_stdout(), stdout_bytes_), std::pair(result.mutable_stderr(), stderr_bytes_)}) {
    account->set_total(bytes);
    account->set_sent(bytes);
  }
  v1::ExecuteEvent event;
  *event.mutable_finished() = std::move(result);
  Send(std::move(event));
  return grpc::Status::OK;
}

grpc::Status ScriptedExecutor::Call::Exited(int code) {
  v1::ExecutionResult result;
  result.set_termination(v1::TERMINATION_EXITED);
  result.set_exit_code(code);
  return Finish(std::move(result));
}

bool ScriptedExecutor::Call::AwaitCancellation() {
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  // The synchronous API has no way to be told; nothing else depends on how often this looks.
  while (!context_->IsCancelled()) {
    if (absl::Now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

ScriptedExecutor::ScriptedExecutor(Script script) : script_(std::move(script)) {
  grpc::EnableDefaultHealthCheckService(true);
  directory_ = "/tmp/mayfly-cli-XXXXXX";  // short: a socket's path has at most 107 bytes
  if (mkdtemp(directory_.data()) == nullptr) abort();
  address_ = "unix:" + directory_ + "/s";
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address_, grpc::InsecureServerCredentials());
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) abort();
}

ScriptedExecutor::~ScriptedExecutor() {
  server_->Shutdown();
  std::filesystem::remove_all(directory_);
}

grpc::Status ScriptedExecutor::Execute(grpc::ServerContext* context, const v1::ExecuteRequest* request,
                                       grpc::ServerWriter<v1::ExecuteEvent>* writer) {
  Call call(context, writer);
  return script_(*request, call);
}

grpc::Status ScriptedExecutor::ListTemplates(grpc::ServerContext* /*context*/,
                                             const v1::ListTemplatesRequest* /*request*/,
                                             v1::ListTemplatesResponse* response) {
  v1::Template& item = *response->add_templates();
  item.set_name("python");
  item.set_description("CPython 3.11");
  item.set_language("python");
  item.set_memory_bytes(128 << 20);
  item.set_cpus(0.5);
  item.set_processes(64);
  item.mutable_default_limits()->mutable_wall_time()->set_seconds(10);
  item.mutable_max_limits()->mutable_wall_time()->set_seconds(60);
  item.mutable_default_limits()->set_output_bytes(1 << 20);
  item.mutable_max_limits()->set_output_bytes(int64_t{4} << 30);
  return grpc::Status::OK;
}

}  // namespace mayfly::cli
