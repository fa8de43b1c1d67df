// MetricsEndpoint: the HTTP endpoint that Prometheus scrapes, and the registry behind it.
#ifndef MAYFLY_DAEMON_METRICS_ENDPOINT_H_
#define MAYFLY_DAEMON_METRICS_ENDPOINT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "prometheus/exposer.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"

namespace mayfly::daemon {

// Buckets for anything from a warm hand-out to a long program, in seconds.
prometheus::Histogram::BucketBoundaries LatencyBuckets();

// Adds mayfly_build_info{daemon, version, compiler} = 1.
void AddBuildInfo(absl::string_view daemon, prometheus::Registry& registry);

class MetricsEndpoint {
 public:
  // Serves GET /metrics of `registry` on "address:port"; port 0 picks one. An address that is in use or not ours is
  // an error that names it.
  static absl::StatusOr<std::unique_ptr<MetricsEndpoint>> Start(const std::string& address,
                                                                std::shared_ptr<prometheus::Registry> registry);

  int port() const;

 private:
  MetricsEndpoint() = default;

  std::shared_ptr<prometheus::Registry> registry_;
  std::unique_ptr<prometheus::Exposer> exposer_;
};

}  // namespace mayfly::daemon

#endif  // MAYFLY_DAEMON_METRICS_ENDPOINT_H_
