#include "daemon/metrics_endpoint.h"

#include <exception>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "prometheus/gauge.h"

#ifndef MAYFLY_VERSION
#error "MAYFLY_VERSION is set by CMake"
#endif

namespace mayfly::daemon {

prometheus::Histogram::BucketBoundaries LatencyBuckets() {
  return {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300};
}

void AddBuildInfo(absl::string_view daemon, prometheus::Registry& registry) {
  prometheus::BuildGauge()
      .Name("mayfly_build_info")
      .Help("Always 1; the labels say what runs.")
      .Register(registry)
      .Add({{"daemon", std::string(daemon)}, {"version", MAYFLY_VERSION}, {"compiler", __VERSION__}})
      .Set(1);
}

absl::StatusOr<std::unique_ptr<MetricsEndpoint>> MetricsEndpoint::Start(
    const std::string& address, std::shared_ptr<prometheus::Registry> registry) {
  std::unique_ptr<MetricsEndpoint> endpoint(new MetricsEndpoint());
  endpoint->registry_ = std::move(registry);
  try {  // prometheus-cpp throws when it cannot listen; it goes no further than here
    endpoint->exposer_ = std::make_unique<prometheus::Exposer>(std::vector<std::string>{
        "listening_ports", address, "num_threads", "4",
        // One that is slow to ask must not keep Prometheus waiting.
        "request_timeout_ms", "2000"});
  } catch (const std::exception& error) {
    return absl::UnavailableError(absl::StrCat("metrics: cannot listen on ", address, " (in use?): ", error.what()));
  }
  endpoint->exposer_->RegisterCollectable(endpoint->registry_);
  return endpoint;
}

int MetricsEndpoint::port() const {
  return exposer_->GetListeningPorts().front();
}

}  // namespace mayfly::daemon
