// ServerMetrics: what Prometheus sees of a server. Labels come from closed sets: the worker's template names and enums;
// a template name that a caller made up never becomes a label.
#ifndef MAYFLY_SERVER_SERVER_METRICS_H_
#define MAYFLY_SERVER_SERVER_METRICS_H_

#include <memory>

#include "absl/time/time.h"
#include "grpcpp/support/status.h"
#include "mayfly/v1/execution.pb.h"
#include "prometheus/counter.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"

namespace mayfly::server {

// Thread-safe.
class ServerMetrics {
 public:
  ServerMetrics();

  // An execution that ended with a result; `total` from its arrival.
  void RecordResult(const mayfly::v1::ExecutionResult& result, absl::Duration total);
  // A call that ended with a status and no result.
  void RecordRefusal(const grpc::Status& status);
  void RecordQueued(absl::Duration queued);
  void SetLoad(int in_flight, int queued) {
    in_flight_.Set(in_flight);
    queue_depth_.Set(queued);
  }
  void SetWorkerReady(bool ready) { worker_ready_.Set(ready ? 1 : 0); }

  std::shared_ptr<prometheus::Registry> registry() const { return registry_; }

 private:
  const std::shared_ptr<prometheus::Registry> registry_;
  prometheus::Family<prometheus::Counter>& executions_;
  prometheus::Family<prometheus::Counter>& refused_;
  prometheus::Family<prometheus::Histogram>& phases_;
  prometheus::Family<prometheus::Counter>& output_bytes_;
  prometheus::Gauge& in_flight_;
  prometheus::Gauge& queue_depth_;
  prometheus::Gauge& worker_ready_;
};

}  // namespace mayfly::server

#endif  // MAYFLY_SERVER_SERVER_METRICS_H_
