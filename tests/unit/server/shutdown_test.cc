// How a server stops: nobody new, who runs may finish within the drain, and everyone is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "tests/unit/server/server_under_test.h"
#include "tests/unit/worker/rpc_details.h"

namespace mayfly::server {
namespace {

using mayfly::v1::ExecuteEvent;
using mayfly::v1::ExecutionResult;
using Call = ScriptedWorker::Call;
using ::testing::HasSubstr;

class ShutdownTest : public ::testing::Test {
 protected:
  // Executions that run until they are cancelled or released.
  void HoldPlaces(ServerUnderTest& server) {
    server.worker().SetScript([this](Call& call) {
      call.Started();
      call.Stdout("12345");
      while (!call.cancelled() && !release_.WaitForNotificationWithTimeout(absl::Milliseconds(2))) {
      }
      return call.cancelled() ? grpc::Status::CANCELLED : call.Exited(7);
    });
  }

  absl::Notification release_;
};

TEST_F(ShutdownTest, WhoRunsIsEndedAndWhoWaitsIsRefused) {
  ServerUnderTest server({.in_flight_max = 1, .queue_max = 2});
  HoldPlaces(server);
  grpc::ClientContext context;
  auto stream = server.stub().Execute(&context, server.MakeRequest());
  Answer running, waiting;
  ExecuteEvent event;
  while (!event.has_output() && stream->Read(&event)) running.events.push_back(event);
  ExecutionResult unused;
  grpc::Status waiting_run;
  std::thread second([&] { waiting = server.Execute(); });
  ASSERT_TRUE(server.AwaitMetric("mayfly_server_queue_depth", 1));
  std::thread third([&] { waiting_run = server.Run(server.MakeRequest(), &unused); });
  ASSERT_TRUE(server.AwaitMetric("mayfly_server_queue_depth", 2));
  server.Shutdown(absl::ZeroDuration());
  second.join();
  third.join();
  while (stream->Read(&event)) running.events.push_back(event);
  running.status = stream->Finish();

  EXPECT_TRUE(running.status.ok()) << running.status.error_message();
  const ExecutionResult result = running.result();
  EXPECT_EQ(result.termination(), mayfly::v1::TERMINATION_CANCELLED);
  EXPECT_THAT(result.message(), HasSubstr("shutting down"));
  EXPECT_FALSE(result.retry_safe());
  EXPECT_EQ(result.stdout().sent(), 5);
  EXPECT_EQ(running.events.back().sequence(), running.events.size());
  for (const grpc::Status& status : {waiting.status, waiting_run}) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_EQ(Reason(status), "DRAINING");
    EXPECT_GT(RetryDelay(status), absl::ZeroDuration());
  }
  EXPECT_TRUE(server.worker().AwaitEnded(1)) << "the worker is told";
  EXPECT_EQ(server.worker().begun(), 1);
}

TEST_F(ShutdownTest, WhoFinishesWithinTheDrainIsNotEnded) {
  ServerUnderTest server({.in_flight_max = 1, .queue_max = 1});
  HoldPlaces(server);
  Answer running, waiting;
  std::thread first([&] { running = server.Execute(); });
  ASSERT_TRUE(server.worker().AwaitBegun(1));
  std::thread second([&] { waiting = server.Execute(); });
  ASSERT_TRUE(server.AwaitMetric("mayfly_server_queue_depth", 1));
  server.Drain();
  const Answer refused = server.Execute();
  EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Reason(refused.status), "DRAINING");
  EXPECT_TRUE(refused.events.empty());
  release_.Notify();
  server.Shutdown(absl::Seconds(30));
  first.join();
  second.join();
  EXPECT_EQ(running.result().exit_code(), 7);
  EXPECT_EQ(waiting.result().exit_code(), 7);
}

TEST_F(ShutdownTest, ARunThatIsEndedIsAResult) {
  ServerUnderTest server;
  server.worker().SetScript([this](Call& call) {
    call.Started();
    // More than can be on its way: when all is sent, the server has got the first of it.
    for (int i = 0; i < 200; ++i) call.Stdout(std::string(65536, 'x'));
    release_.Notify();
    EXPECT_TRUE(call.AwaitCancelled());
    return grpc::Status::CANCELLED;
  });
  ExecutionResult result;
  grpc::Status status;
  std::thread caller([&] { status = server.Run(server.MakeRequest(), &result); });
  ASSERT_TRUE(release_.WaitForNotificationWithTimeout(absl::Seconds(30)));
  server.Shutdown(absl::ZeroDuration());
  caller.join();
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(result.termination(), mayfly::v1::TERMINATION_CANCELLED);
  EXPECT_FALSE(result.stdout_data().empty());
  EXPECT_EQ(result.stdout().sent(), static_cast<int64_t>(result.stdout_data().size()));
}

// Its sandbox is not ready yet: nothing ran, so another server may run it.
TEST_F(ShutdownTest, WhoHasNotStartedIsRefused) {
  ServerUnderTest server;
  server.worker().SetScript([](Call& call) {
    call.AwaitCancelled();
    return grpc::Status::CANCELLED;
  });
  Answer answer;
  std::thread caller([&] { answer = server.Execute(); });
  ASSERT_TRUE(server.worker().AwaitBegun(1));
  server.Shutdown(absl::ZeroDuration());
  caller.join();
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Reason(answer.status), "DRAINING");
}

TEST_F(ShutdownTest, ACallerThatDoesNotReadDoesNotHoldItUp) {
  ServerUnderTest server;
  server.worker().SetScript([](Call& call) {
    call.Started();
    while (call.Stdout(std::string(65536, 'x'))) {
    }
    return grpc::Status::CANCELLED;
  });
  grpc::ClientContext context;
  auto stream = server.stub().Execute(&context, server.MakeRequest());
  ASSERT_TRUE(server.worker().AwaitBegun(1));
  const absl::Time begin = absl::Now();
  server.Shutdown(absl::ZeroDuration());
  EXPECT_LT(absl::Now() - begin, absl::Seconds(20));
  EXPECT_TRUE(server.worker().AwaitEnded(1));
  ExecuteEvent event;
  while (stream->Read(&event)) {
  }
  stream->Finish();
}

TEST_F(ShutdownTest, OfAnIdleServerIsImmediate) {
  ServerUnderTest server;
  server.Execute();
  const absl::Time begin = absl::Now();
  server.Shutdown(absl::Seconds(60));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(20));
}

}  // namespace
}  // namespace mayfly::server
