#include "worker/worker_service.h"

#include <memory>
#include <utility>

#include "daemon/grpc_status.h"
#include "policy/request_check.h"
#include "worker/stream_sink.h"

namespace mayfly::worker {
namespace {

// A stream that ends at once with a status.
class RefusedStream : public grpc::ServerWriteReactor<mayfly::v1::ExecuteEvent> {
 public:
  explicit RefusedStream(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace

grpc::Status WorkerService::MakeTicket(const mayfly::worker::v1::ExecuteRequest& request, Ticket* ticket) const {
  if (auto violation = policy::CheckExecutionId(request.execution_id())) return daemon::InvalidRequest({*violation});
  const auto found = templates_->find(request.request().template_());
  if (found == templates_->end()) {
    std::vector<std::string> known;
    for (const auto& [name, unused] : *templates_) known.push_back(name);
    return daemon::TemplateNotFound(request.request().template_(), known);
  }
  std::vector<policy::FieldViolation> violations = policy::CheckRequest(request.request(), found->second.info);
  if (!violations.empty()) return daemon::InvalidRequest(violations);
  ticket->execution_id = request.execution_id();
  ticket->request = &request.request();
  ticket->offered = &found->second;
  return grpc::Status::OK;
}

grpc::ServerWriteReactor<mayfly::v1::ExecuteEvent>* WorkerService::Execute(
    grpc::CallbackServerContext* context, const mayfly::worker::v1::ExecuteRequest* request) {
  Ticket ticket;
  grpc::Status status = MakeTicket(*request, &ticket);
  if (!status.ok()) {
    metrics_->RecordRefusal(status);
    return new RefusedStream(status);
  }
  absl::StatusOr<std::shared_ptr<StreamSink>> sink = StreamSink::Create(context);
  if (!sink.ok()) {
    status = daemon::ToGrpc(sink.status());
    metrics_->RecordRefusal(status);
    return new RefusedStream(status);
  }
  StreamSink* reactor = sink->get();  // gRPC keeps it alive until its OnDone
  ticket.sink = *sink;
  status = executor_->Submit(std::move(ticket));
  if (!status.ok()) {
    metrics_->RecordRefusal(status);
    (*sink)->Fail(status);
  }
  return reactor;
}

grpc::ServerUnaryReactor* WorkerService::Describe(grpc::CallbackServerContext* context,
                                                  const mayfly::worker::v1::DescribeRequest* /*request*/,
                                                  mayfly::worker::v1::DescribeResponse* response) {
  for (const auto& [name, offered] : *templates_) *response->add_templates() = offered.info;
  response->set_sandboxes_max(sandboxes_max_);
  response->set_draining(executor_->draining());
  const absl::Status readiness = rootfs_->readiness();
  response->set_ready(readiness.ok());
  response->set_not_ready_reason(std::string(readiness.message()));
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

}  // namespace mayfly::worker
