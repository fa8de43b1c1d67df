// ExecutorService: the public gRPC API, mayfly.v1.Executor.
#ifndef MAYFLY_SERVER_EXECUTOR_SERVICE_H_
#define MAYFLY_SERVER_EXECUTOR_SERVICE_H_

#include "mayfly/v1/execution.grpc.pb.h"
#include "server/active_calls.h"
#include "server/execution_call.h"
#include "server/template_catalog.h"

namespace mayfly::server {

class ExecutorService : public mayfly::v1::Executor::CallbackService {
 public:
  // Everything pointed to must outlive it.
  ExecutorService(const ExecutionCall::Context* context, const TemplateCatalog* catalog, ActiveCalls* active_calls,
                  int64_t run_response_bytes_max)
      : context_(context),
        catalog_(catalog),
        active_calls_(active_calls),
        run_response_bytes_max_(run_response_bytes_max) {}

  grpc::ServerWriteReactor<mayfly::v1::ExecuteEvent>* Execute(grpc::CallbackServerContext* context,
                                                              const mayfly::v1::ExecuteRequest* request) override;
  grpc::ServerUnaryReactor* Run(grpc::CallbackServerContext* context, const mayfly::v1::ExecuteRequest* request,
                                mayfly::v1::ExecutionResult* response) override;
  grpc::ServerUnaryReactor* ListTemplates(grpc::CallbackServerContext* context,
                                          const mayfly::v1::ListTemplatesRequest* request,
                                          mayfly::v1::ListTemplatesResponse* response) override;

 private:
  // OK when the request may run.
  grpc::Status Check(const mayfly::v1::ExecuteRequest& request) const;

  // Starts `reactor`, of Execute or Run, on the request, or finishes it with the reason why not. Returns it.
  template <typename Reactor>
  Reactor* Begin(Reactor* reactor, const grpc::CallbackServerContext& context,
                 const mayfly::v1::ExecuteRequest* request) const;

  const ExecutionCall::Context* const context_;
  const TemplateCatalog* const catalog_;
  ActiveCalls* const active_calls_;
  const int64_t run_response_bytes_max_;
};

}  // namespace mayfly::server

#endif  // MAYFLY_SERVER_EXECUTOR_SERVICE_H_
