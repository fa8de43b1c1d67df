// WorkerMetrics: what Prometheus sees of a worker. Labels come from closed sets: the configuration's template names,
// enums, containerd's methods.
#ifndef MAYFLY_WORKER_WORKER_METRICS_H_
#define MAYFLY_WORKER_WORKER_METRICS_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "grpcpp/support/status.h"
#include "mayfly/v1/execution.pb.h"
#include "prometheus/counter.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"

namespace mayfly::worker {

// Thread-safe.
class WorkerMetrics {
 public:
  WorkerMetrics();

  // An execution that ended with a result.
  void RecordResult(const mayfly::v1::ExecutionResult& result);
  // One that ended with a status, and why.
  void RecordRefusal(const grpc::Status& status);
  void RecordTeardown(absl::Duration took, bool clean);
  void RecordContainerdCall(absl::string_view method, const absl::Status& status, absl::Duration took);
  void SetInFlight(int executions) { in_flight_.Set(executions); }
  void SetLineDepth(int waiting) { line_depth_.Set(waiting); }

  std::shared_ptr<prometheus::Registry> registry() const { return registry_; }

 private:
  void ObservePhase(absl::string_view phase, absl::Duration took);

  const std::shared_ptr<prometheus::Registry> registry_;
  prometheus::Family<prometheus::Counter>& executions_;
  prometheus::Family<prometheus::Counter>& refused_;
  prometheus::Family<prometheus::Histogram>& phases_;
  prometheus::Family<prometheus::Counter>& output_bytes_;
  prometheus::Family<prometheus::Counter>& dropped_bytes_;
  prometheus::Family<prometheus::Histogram>& containerd_calls_;
  prometheus::Family<prometheus::Counter>& containerd_errors_;
  prometheus::Counter& teardown_failures_;
  prometheus::Gauge& in_flight_;
  prometheus::Gauge& line_depth_;
};

}  // namespace mayfly::worker

#endif  // MAYFLY_WORKER_WORKER_METRICS_H_
