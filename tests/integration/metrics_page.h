// A Prometheus text page: fetched over HTTP and parsed.
//
//   MetricsPage page = FetchMetrics("127.0.0.1:9464");
//   double runs = page.Sum("executions_total", {{"template", "python"}});
#ifndef MAYFLY_TESTS_INTEGRATION_METRICS_PAGE_H_
#define MAYFLY_TESTS_INTEGRATION_METRICS_PAGE_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace mayfly::test {

struct Sample {
  std::string name;
  std::map<std::string, std::string> labels;
  double value = 0;
};

struct MetricsPage {
  std::vector<Sample> samples;
  // Values of `# TYPE`, by metric name.
  std::map<std::string, std::string> types;
  // Lines that are neither comments nor samples.
  std::vector<std::string> malformed;

  // Every series: name and labels, without values.
  std::set<std::string> Series() const;
  // Sum over samples that have these labels (values compared without case) and whose name contains `name_part`.
  double Sum(absl::string_view name_part, const std::map<std::string, std::string>& labels = {}) const;
};

MetricsPage ParseMetrics(absl::string_view text);

// GET http://ADDRESS/metrics. Fails the test when there is no answer or it is not 200. Blocks, at most 5 s.
MetricsPage FetchMetrics(const std::string& address);

}  // namespace mayfly::test

#endif  // MAYFLY_TESTS_INTEGRATION_METRICS_PAGE_H_
