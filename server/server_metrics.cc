#include "server/server_metrics.h"

#include "daemon/metric_labels.h"
#include "daemon/metrics_endpoint.h"

namespace mayfly::server {

using daemon::LatencyBuckets;

ServerMetrics::ServerMetrics()
    : registry_(std::make_shared<prometheus::Registry>()),
      executions_(prometheus::BuildCounter()
                      .Name("mayfly_server_executions_total")
                      .Help("Executions that ended with a result, by template and termination.")
                      .Register(*registry_)),
      refused_(prometheus::BuildCounter()
                   .Name("mayfly_server_refused_total")
                   .Help("Execute and Run calls that ended with a gRPC status and no result, by status code.")
                   .Register(*registry_)),
      phases_(prometheus::BuildHistogram()
                  .Name("mayfly_server_phase_seconds")
                  .Help("Time per execution and phase: queue, total (from arrival to result).")
                  .Register(*registry_)),
      output_bytes_(prometheus::BuildCounter()
                        .Name("mayfly_server_output_bytes_total")
                        .Help("Bytes of program output sent to callers, by stream.")
                        .Register(*registry_)),
      in_flight_(prometheus::BuildGauge()
                     .Name("mayfly_server_in_flight")
                     .Help("Executions at workers.")
                     .Register(*registry_)
                     .Add({})),
      queue_depth_(prometheus::BuildGauge()
                       .Name("mayfly_server_queue_depth")
                       .Help("Executions that wait for a place.")
                       .Register(*registry_)
                       .Add({})),
      worker_ready_(prometheus::BuildGauge()
                        .Name("mayfly_server_worker_ready")
                        .Help("1 when the worker answers and takes executions.")
                        .Register(*registry_)
                        .Add({})) {
  daemon::AddBuildInfo("server", *registry_);
}

void ServerMetrics::RecordResult(const mayfly::v1::ExecutionResult& result, absl::Duration total) {
  executions_.Add({{"template", result.template_()}, {"termination", daemon::TerminationLabel(result.termination())}})
      .Increment();
  phases_.Add({{"phase", "total"}}, LatencyBuckets()).Observe(absl::ToDoubleSeconds(total));
  output_bytes_.Add({{"stream", "stdout"}}).Increment(static_cast<double>(result.stdout().sent()));
  output_bytes_.Add({{"stream", "stderr"}}).Increment(static_cast<double>(result.stderr().sent()));
}

void ServerMetrics::RecordRefusal(const grpc::Status& status) {
  refused_.Add({{"code", daemon::CodeLabel(status.error_code())}}).Increment();
}

void ServerMetrics::RecordQueued(absl::Duration queued) {
  phases_.Add({{"phase", "queue"}}, LatencyBuckets()).Observe(absl::ToDoubleSeconds(queued));
}

}  // namespace mayfly::server
