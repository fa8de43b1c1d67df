// WorkerService: the internal gRPC API, mayfly.worker.v1.Worker. It checks and hands over; the Executor does the work.
#ifndef MAYFLY_WORKER_WORKER_SERVICE_H_
#define MAYFLY_WORKER_WORKER_SERVICE_H_

#include "mayfly/worker/v1/worker.grpc.pb.h"
#include "worker/executor.h"
#include "worker/rootfs_store.h"
#include "worker/template.h"
#include "worker/worker_metrics.h"

namespace mayfly::worker {

class WorkerService : public mayfly::worker::v1::Worker::CallbackService {
 public:
  // Everything pointed to must outlive it.
  WorkerService(const TemplateMap* templates, int sandboxes_max, const RootfsStore* rootfs, Executor* executor,
                WorkerMetrics* metrics)
      : templates_(templates), sandboxes_max_(sandboxes_max), rootfs_(rootfs), executor_(executor), metrics_(metrics) {}

  grpc::ServerWriteReactor<mayfly::v1::ExecuteEvent>* Execute(
      grpc::CallbackServerContext* context, const mayfly::worker::v1::ExecuteRequest* request) override;

  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context,
                                     const mayfly::worker::v1::DescribeRequest* request,
                                     mayfly::worker::v1::DescribeResponse* response) override;

 private:
  // OK and the ticket without its sink, or why there is none.
  grpc::Status MakeTicket(const mayfly::worker::v1::ExecuteRequest& request, Ticket* ticket) const;

  const TemplateMap* const templates_;
  const int sandboxes_max_;
  const RootfsStore* const rootfs_;
  Executor* const executor_;
  WorkerMetrics* const metrics_;
};

}  // namespace mayfly::worker

#endif  // MAYFLY_WORKER_WORKER_SERVICE_H_
