// What the server counts, that labels come from closed sets, and the endpoint.
#include "server/server_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "daemon/metrics_endpoint.h"
#include "tests/unit/server/server_under_test.h"

namespace mayfly::server {
namespace {

using mayfly::v1::ExecutionResult;
using Call = ScriptedWorker::Call;
using ::testing::HasSubstr;

TEST(ServerMetricsTest, CountsExecutions) {
  ServerUnderTest server;
  server.worker().SetScript([](Call& call) {
    call.Started();
    call.Stdout("12345");
    call.Stderr("12");
    return call.Exited(3);
  });
  for (int i = 0; i < 3; ++i) server.Execute();
  EXPECT_EQ(server.Metric("mayfly_server_executions_total", "exited"), 3);
  EXPECT_EQ(server.Metric("mayfly_server_executions_total", "python"), 3);
  EXPECT_EQ(server.Metric("mayfly_server_output_bytes_total", "stdout"), 15);
  EXPECT_EQ(server.Metric("mayfly_server_output_bytes_total", "stderr"), 6);
  EXPECT_EQ(server.Metric("mayfly_server_phase_seconds", "queue"), 3);
  EXPECT_EQ(server.Metric("mayfly_server_phase_seconds", "total"), 3);
  EXPECT_EQ(server.Metric("mayfly_build_info", "server"), 1);
}

// Ten thousand made-up names must not make ten thousand series, whatever field they are in.
TEST(ServerMetricsTest, CallersAddNoSeries) {
  ServerUnderTest server;
  const auto ask = [&](int i) {
    mayfly::v1::ExecuteRequest request = server.MakeRequest();
    request.mutable_caller()->set_agent_id(absl::StrCat("agent-", i));
    request.mutable_caller()->set_model_id(absl::StrCat("model-", i));
    ExecutionResult result;
    EXPECT_TRUE(server.Run(request, &result).ok());
    request.set_template_(absl::StrCat("random-", i));
    EXPECT_EQ(server.Run(request, &result).error_code(), grpc::StatusCode::NOT_FOUND);
    request.set_template_(std::string(1, static_cast<char>(i % 128)));
    EXPECT_FALSE(server.Run(request, &result).ok());
  };
  // The third kind of request answers INVALID_ARGUMENT or NOT_FOUND; both series are there after these.
  ask(0);
  server.Execute(mayfly::v1::ExecuteRequest());
  const size_t before = server.SeriesCount();
  for (int i = 1; i <= 200; ++i) ask(i);
  EXPECT_EQ(server.SeriesCount(), before);
}

TEST(MetricsEndpointTest, PicksAPort) {
  const auto endpoint = daemon::MetricsEndpoint::Start("127.0.0.1:0", ServerMetrics().registry());
  ASSERT_TRUE(endpoint.ok()) << endpoint.status();
  EXPECT_GT((*endpoint)->port(), 0);
}

TEST(MetricsEndpointTest, ABusyPortIsAClearError) {
  ServerMetrics metrics;
  const auto first = daemon::MetricsEndpoint::Start("127.0.0.1:0", metrics.registry());
  ASSERT_TRUE(first.ok()) << first.status();
  const std::string address = absl::StrCat("127.0.0.1:", (*first)->port());
  const auto second = daemon::MetricsEndpoint::Start(address, metrics.registry());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(address));
}

TEST(MetricsEndpointTest, AnAddressThatIsNotOursIsAClearError) {
  const auto endpoint = daemon::MetricsEndpoint::Start("192.0.2.1:0", ServerMetrics().registry());
  EXPECT_EQ(endpoint.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(endpoint.status().message()), HasSubstr("192.0.2.1:0"));
}

}  // namespace
}  // namespace mayfly::server
