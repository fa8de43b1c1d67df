#include "worker/worker_metrics.h"

#include <string>

#include "daemon/metric_labels.h"
#include "daemon/metrics_endpoint.h"
#include "policy/proto_duration.h"

namespace mayfly::worker {

using daemon::CodeLabel;
using daemon::LatencyBuckets;
using daemon::TerminationLabel;
using policy::FromProto;

WorkerMetrics::WorkerMetrics()
    : registry_(std::make_shared<prometheus::Registry>()),
      executions_(prometheus::BuildCounter()
                      .Name("mayfly_worker_executions_total")
                      .Help("Executions that ended with a result, by template and termination.")
                      .Register(*registry_)),
      refused_(prometheus::BuildCounter()
                   .Name("mayfly_worker_refused_total")
                   .Help("Executions that ended with a gRPC status and no result, by status code.")
                   .Register(*registry_)),
      phases_(prometheus::BuildHistogram()
                  .Name("mayfly_worker_phase_seconds")
                  .Help("Time per execution and phase: sandbox, run, collect, teardown.")
                  .Register(*registry_)),
      output_bytes_(prometheus::BuildCounter()
                        .Name("mayfly_worker_output_bytes_total")
                        .Help("Bytes of program output sent, by stream.")
                        .Register(*registry_)),
      dropped_bytes_(prometheus::BuildCounter()
                         .Name("mayfly_worker_output_dropped_bytes_total")
                         .Help("Bytes of program output received but not sent, by stream.")
                         .Register(*registry_)),
      containerd_calls_(prometheus::BuildHistogram()
                            .Name("mayfly_worker_containerd_call_seconds")
                            .Help("Latency of containerd calls, by method.")
                            .Register(*registry_)),
      containerd_errors_(prometheus::BuildCounter()
                             .Name("mayfly_worker_containerd_errors_total")
                             .Help("Failed containerd calls, by method and status code.")
                             .Register(*registry_)),
      teardown_failures_(prometheus::BuildCounter()
                             .Name("mayfly_worker_teardown_failures_total")
                             .Help("Sandboxes of which something was left behind.")
                             .Register(*registry_)
                             .Add({})),
      in_flight_(prometheus::BuildGauge()
                     .Name("mayfly_worker_in_flight")
                     .Help("Executions that hold a sandbox, its teardown included.")
                     .Register(*registry_)
                     .Add({})),
      line_depth_(prometheus::BuildGauge()
                      .Name("mayfly_worker_line_depth")
                      .Help("Executions that wait for a sandbox.")
                      .Register(*registry_)
                      .Add({})) {
  daemon::AddBuildInfo("worker", *registry_);
}

void WorkerMetrics::ObservePhase(absl::string_view phase, absl::Duration took) {
  phases_.Add({{"phase", std::string(phase)}}, LatencyBuckets()).Observe(absl::ToDoubleSeconds(took));
}

void WorkerMetrics::RecordResult(const mayfly::v1::ExecutionResult& result) {
  executions_.Add({{"template", result.template_()}, {"termination", TerminationLabel(result.termination())}})
      .Increment();
  ObservePhase("sandbox", FromProto(result.timings().sandbox()));
  ObservePhase("run", FromProto(result.timings().run()));
  ObservePhase("collect", FromProto(result.timings().collect()));
  output_bytes_.Add({{"stream", "stdout"}}).Increment(static_cast<double>(result.stdout().sent()));
  output_bytes_.Add({{"stream", "stderr"}}).Increment(static_cast<double>(result.stderr().sent()));
  dropped_bytes_.Add({{"stream", "stdout"}}).Increment(static_cast<double>(result.stdout().dropped()));
  dropped_bytes_.Add({{"stream", "stderr"}}).Increment(static_cast<double>(result.stderr().dropped()));
}

void WorkerMetrics::RecordRefusal(const grpc::Status& status) {
  refused_.Add({{"code", CodeLabel(status.error_code())}}).Increment();
}

void WorkerMetrics::RecordTeardown(absl::Duration took, bool clean) {
  ObservePhase("teardown", took);
  if (!clean) teardown_failures_.Increment();
}

void WorkerMetrics::RecordContainerdCall(absl::string_view method, const absl::Status& status, absl::Duration took) {
  containerd_calls_.Add({{"method", std::string(method)}}, LatencyBuckets()).Observe(absl::ToDoubleSeconds(took));
  if (status.ok()) return;
  containerd_errors_.Add({{"method", std::string(method)}, {"code", CodeLabel(status.raw_code())}}).Increment();
}

}  // namespace mayfly::worker
