#include "server/executor_service.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "daemon/grpc_status.h"
#include "policy/request_check.h"
#include "server/run_collector.h"

namespace mayfly::server {
namespace {

// gRPC has "no deadline" as the clock's maximum.
absl::Time DeadlineOf(const grpc::CallbackServerContext& context) {
  const auto deadline = context.deadline();
  return deadline == std::chrono::system_clock::time_point::max() ? absl::InfiniteFuture() : absl::FromChrono(deadline);
}

// What Execute and Run share: an ExecutionCall bound to a reactor that gRPC owns.
class CallOwner : public EventConsumer {
 protected:
  explicit CallOwner(ActiveCalls* active_calls) : active_calls_(active_calls) {}
  ~CallOwner() override {
    if (call_ != nullptr) active_calls_->Remove(call_.get());
  }

  void StartCall(std::shared_ptr<ExecutionCall> call) {
    call_ = std::move(call);
    active_calls_->Add(call_);
    call_->Start();
  }

  ExecutionCall* call() { return call_.get(); }

 private:
  ActiveCalls* const active_calls_;
  std::shared_ptr<ExecutionCall> call_;
};

class ExecuteReactor : public grpc::ServerWriteReactor<mayfly::v1::ExecuteEvent>, public CallOwner {
 public:
  ExecuteReactor(ActiveCalls* active_calls, grpc::CallbackServerContext* context)
      : CallOwner(active_calls), context_(context) {}

  void Start(const ExecutionCall::Context* context, const mayfly::v1::ExecuteRequest* request, absl::Time deadline) {
    StartCall(std::make_shared<ExecutionCall>(context, request, deadline, this));
  }

  // EventConsumer
  void OnEvent(mayfly::v1::ExecuteEvent event) override {
    event_ = std::move(event);
    StartWrite(&event_);
  }
  void OnEnd(const grpc::Status& status) override { Finish(status); }
  void OnStalled() override { context_->TryCancel(); }  // OnWriteDone follows

  // grpc::ServerWriteReactor
  void OnWriteDone(bool /*ok*/) override { call()->Next(); }  // not ok: OnCancel comes, too
  void OnCancel() override {
    if (call() != nullptr) call()->Cancel();
  }
  void OnDone() override { delete this; }

 private:
  grpc::CallbackServerContext* const context_;  // gRPC's; lives until OnDone
  mayfly::v1::ExecuteEvent event_;              // gRPC's while it is being written
};

class RunReactor : public grpc::ServerUnaryReactor, public CallOwner {
 public:
  RunReactor(ActiveCalls* active_calls, int64_t bytes_max, mayfly::v1::ExecutionResult* response)
      : CallOwner(active_calls), response_(response), collector_(bytes_max) {}

  void Start(const ExecutionCall::Context* context, const mayfly::v1::ExecuteRequest* request, absl::Time deadline) {
    StartCall(std::make_shared<ExecutionCall>(context, request, deadline, this));
  }

  // EventConsumer
  void OnEvent(mayfly::v1::ExecuteEvent event) override {
    collector_.Add(std::move(event));
    call()->Next();
  }
  void OnEnd(const grpc::Status& status) override {
    if (status.ok()) *response_ = collector_.TakeResult();
    Finish(status);
  }
  void OnStalled() override {}  // it deals with every event at once

  // grpc::ServerUnaryReactor
  void OnCancel() override {
    if (call() != nullptr) call()->Cancel();
  }
  void OnDone() override { delete this; }

 private:
  mayfly::v1::ExecutionResult* const response_;  // gRPC's; lives until OnDone
  RunCollector collector_;
};

}  // namespace

grpc::Status ExecutorService::Check(const mayfly::v1::ExecuteRequest& request) const {
  const auto templates = catalog_->templates();
  if (templates == nullptr) {
    return daemon::StatusWithReason(grpc::StatusCode::UNAVAILABLE, daemon::kReasonUnavailable,
                                    catalog_->readiness().message(), absl::Seconds(1));
  }
  if (request.template_().empty()) {
    return daemon::InvalidRequest({{"template", "is required"}});
  }
  const auto found = templates->find(request.template_());
  if (found == templates->end()) {
    std::vector<std::string> known;
    for (const auto& [name, unused] : *templates) known.push_back(name);
    return daemon::TemplateNotFound(request.template_(), known);
  }
  const std::vector<policy::FieldViolation> violations = policy::CheckRequest(request, found->second);
  return violations.empty() ? grpc::Status::OK : daemon::InvalidRequest(violations);
}

template <typename Reactor>
Reactor* ExecutorService::Begin(Reactor* reactor, const grpc::CallbackServerContext& context,
                                const mayfly::v1::ExecuteRequest* request) const {
  const grpc::Status status = Check(*request);
  if (!status.ok()) {
    context_->metrics->RecordRefusal(status);
    reactor->Finish(status);
  } else {
    reactor->Start(context_, request, DeadlineOf(context));
  }
  return reactor;
}

grpc::ServerWriteReactor<mayfly::v1::ExecuteEvent>* ExecutorService::Execute(
    grpc::CallbackServerContext* context, const mayfly::v1::ExecuteRequest* request) {
  return Begin(new ExecuteReactor(active_calls_, context), *context, request);
}

grpc::ServerUnaryReactor* ExecutorService::Run(grpc::CallbackServerContext* context,
                                               const mayfly::v1::ExecuteRequest* request,
                                               mayfly::v1::ExecutionResult* response) {
  return Begin(new RunReactor(active_calls_, run_response_bytes_max_, response), *context, request);
}

grpc::ServerUnaryReactor* ExecutorService::ListTemplates(grpc::CallbackServerContext* context,
                                                         const mayfly::v1::ListTemplatesRequest* /*request*/,
                                                         mayfly::v1::ListTemplatesResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const auto templates = catalog_->templates();
  if (templates == nullptr) {
    reactor->Finish(daemon::StatusWithReason(grpc::StatusCode::UNAVAILABLE, daemon::kReasonUnavailable,
                                             catalog_->readiness().message(), absl::Seconds(1)));
    return reactor;
  }
  for (const auto& [name, offered] : *templates) *response->add_templates() = offered;
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

}  // namespace mayfly::server
