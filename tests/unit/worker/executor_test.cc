// The executor: how many at once, who waits, who is turned away, and how it stops.
#include "worker/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "tests/fakes/fake_guest.h"
#include "tests/unit/worker/rpc_details.h"
#include "tests/unit/worker/worker_under_test.h"

namespace mayfly::worker {
namespace {

using fakes::FakeGuest;
using ::testing::HasSubstr;

WorkerUnderTest::Options Sizes(int sandboxes_max, int line_max) {
  WorkerUnderTest::Options options;
  options.sandboxes_max = sandboxes_max;
  options.line_max = line_max;
  return options;
}

TEST(ExecutorTest, NeverMoreSandboxesThanAllowedAndNeverTheSameTwice) {
  constexpr int kSandboxes = 3, kExecutions = 30;
  WorkerUnderTest worker(Sizes(kSandboxes, kExecutions));
  std::atomic<int> now{0}, most{0};
  worker.fake().SetGuest([&](FakeGuest& guest) {
    const int running = ++now;
    for (int seen = most; seen < running && !most.compare_exchange_weak(seen, running);) {
    }
    if (guest.Ready() && guest.ReadJob() && guest.Started()) {
      guest.Output(1, guest.MainFile().data);
      guest.Sleep(absl::Milliseconds(5));  // so that they overlap
      guest.Exit(0);
    }
    --now;
  });
  std::vector<std::shared_ptr<RecordingSink>> sinks;
  for (int i = 0; i < kExecutions; ++i) sinks.push_back(worker.Run(std::to_string(i)));
  std::set<std::string> sandboxes, executions;
  for (int i = 0; i < kExecutions; ++i) {
    const auto result = sinks[static_cast<size_t>(i)]->result();
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->exit_code(), 0);
    EXPECT_EQ(sinks[static_cast<size_t>(i)]->stdout_data(), std::to_string(i));
    EXPECT_TRUE(sandboxes.insert(result->isolation().task_id()).second) << "a sandbox was used twice";
    EXPECT_TRUE(executions.insert(result->execution_id()).second);
  }
  EXPECT_LE(most, kSandboxes);
  EXPECT_GE(most, 2);
  EXPECT_EQ(worker.fake().failpoints().Calls("tasks.Create"), kExecutions);
  EXPECT_TRUE(worker.StopAndFindNothingLeft());
}

// A sandbox counts until it is torn down: with a slow containerd there are never more of them.
TEST(ExecutorTest, TeardownHoldsThePlace) {
  WorkerUnderTest worker(Sizes(1, 1));
  worker.fake().failpoints().Set("tasks.Delete", {.hang = true});
  EXPECT_EQ(worker.Run("exit 0")->result()->exit_code(), 0);
  ASSERT_TRUE(worker.fake().failpoints().AwaitCalls("tasks.Delete", 1));
  const auto second = worker.Run("exit 0");
  EXPECT_EQ(worker.Submit(worker.MakeRequest("exit 0"), std::make_shared<RecordingSink>()).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(worker.fake().CountAll().containers, 1);
  worker.fake().failpoints().Clear();
  EXPECT_EQ(second->result()->exit_code(), 0);
  EXPECT_TRUE(worker.StopAndFindNothingLeft());
}

TEST(ExecutorTest, FullMeansFull) {
  WorkerUnderTest worker(Sizes(1, 2));
  const auto running = worker.Run("hang");
  ASSERT_TRUE(running->AwaitStarted());
  const auto first = worker.Run("print 1");
  const auto second = worker.Run("print 2");
  const auto refused = std::make_shared<RecordingSink>();
  const grpc::Status status = worker.Submit(worker.MakeRequest("print 3"), refused);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Reason(status), "QUEUE_FULL");
  EXPECT_GT(RetryDelay(status), absl::ZeroDuration());
  EXPECT_EQ(worker.Metric("mayfly_worker_line_depth"), 2);
  EXPECT_EQ(worker.Metric("mayfly_worker_in_flight"), 1);
  running->Cancel();
  EXPECT_EQ(first->result()->exit_code(), 0);
  EXPECT_EQ(second->result()->exit_code(), 0);
  EXPECT_TRUE(worker.StopAndFindNothingLeft());
  EXPECT_EQ(worker.Metric("mayfly_worker_line_depth"), 0);
  EXPECT_EQ(worker.Metric("mayfly_worker_in_flight"), 0);
}

TEST(ExecutorTest, FirstComeFirstServed) {
  WorkerUnderTest worker(Sizes(1, 10));
  absl::Mutex mutex;
  std::vector<std::string> order;
  worker.fake().SetGuest([&](FakeGuest& guest) {
    if (!guest.Ready() || !guest.ReadJob() || !guest.Started()) return;
    {
      absl::MutexLock lock(&mutex);
      order.push_back(guest.MainFile().data);
    }
    guest.Exit(0);
  });
  std::vector<std::shared_ptr<RecordingSink>> sinks;
  for (const char* code : {"a", "b", "c", "d"}) sinks.push_back(worker.Run(code));
  for (const auto& sink : sinks) EXPECT_EQ(sink->result()->exit_code(), 0);
  absl::MutexLock lock(&mutex);
  EXPECT_THAT(order, ::testing::ElementsAre("a", "b", "c", "d"));
}

TEST(ExecutorTest, CancelledInLineNeverGetsASandbox) {
  WorkerUnderTest worker(Sizes(1, 2));
  const auto running = worker.Run("hang");
  ASSERT_TRUE(running->AwaitStarted());
  const auto waiting = worker.Run("print never");
  waiting->Cancel();
  running->Cancel();
  const auto status = waiting->status();
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(worker.StopAndFindNothingLeft());
  EXPECT_EQ(worker.fake().failpoints().Calls("containers.Create"), 1);
}

TEST(ExecutorTest, ShutdownEndsWhatRunsAndRefusesWhatWaits) {
  WorkerUnderTest worker(Sizes(2, 4));
  const auto first = worker.Run("print a\nhang");
  const auto second = worker.Run("hang");
  ASSERT_TRUE(first->AwaitStdout(2));
  ASSERT_TRUE(second->AwaitStarted());
  const auto waiting = worker.Run("print never");
  worker.executor().Shutdown(absl::ZeroDuration());
  for (const auto& sink : {first, second}) {
    const auto result = sink->result();
    ASSERT_TRUE(result.has_value());
    ExpectWellFormed(sink->events());
    EXPECT_EQ(result->termination(), mayfly::v1::TERMINATION_CANCELLED);
    EXPECT_THAT(result->message(), HasSubstr("shutting down"));
  }
  EXPECT_EQ(first->stdout_data(), "a\n");
  const auto status = waiting->status();
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Reason(*status), "DRAINING");
  EXPECT_TRUE(worker.StopAndFindNothingLeft());
}

TEST(ExecutorTest, ShutdownLetsProgramsFinishWithinTheDrain) {
  WorkerUnderTest worker(Sizes(1, 4));
  absl::Notification go_on;
  worker.fake().SetGuest([&](FakeGuest& guest) {
    if (!guest.Ready() || !guest.ReadJob() || !guest.Started()) return;
    go_on.WaitForNotificationWithTimeout(absl::Seconds(30));
    guest.Exit(7);
  });
  const auto running = worker.Run("x");
  const auto waiting = worker.Run("x");
  ASSERT_TRUE(running->AwaitStarted());
  EXPECT_FALSE(worker.executor().draining());
  std::thread stopper([&] { worker.executor().Shutdown(absl::Seconds(60)); });
  while (!worker.executor().draining()) std::this_thread::yield();
  const grpc::Status refused = worker.Submit(worker.MakeRequest("x"), std::make_shared<RecordingSink>());
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Reason(refused), "DRAINING");
  EXPECT_GT(RetryDelay(refused), absl::ZeroDuration());
  go_on.Notify();
  stopper.join();
  EXPECT_EQ(running->result()->exit_code(), 7);
  EXPECT_EQ(waiting->result()->exit_code(), 7);
  EXPECT_TRUE(worker.StopAndFindNothingLeft());
}

TEST(ExecutorTest, ShutdownWhileASandboxIsMade) {
  WorkerUnderTest worker(Sizes(1, 0));
  worker.fake().failpoints().Set("tasks.Create", {.hang = true});
  const auto sink = worker.Run("hang");
  ASSERT_TRUE(worker.fake().failpoints().AwaitCalls("tasks.Create", 1));
  std::thread stopper([&] { worker.executor().Shutdown(absl::ZeroDuration()); });
  while (!worker.executor().draining()) std::this_thread::yield();
  worker.fake().failpoints().Release("tasks.Create");
  stopper.join();
  EXPECT_EQ(sink->result()->termination(), mayfly::v1::TERMINATION_CANCELLED);
  EXPECT_TRUE(worker.StopAndFindNothingLeft());
}

TEST(ExecutorTest, WithoutItsImageATemplateIsUnavailable) {
  WorkerUnderTest::Options options;
  options.image_missing = true;
  WorkerUnderTest worker(options);
  const auto status = worker.Run("print hi")->status();
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(status->error_message(), HasSubstr("is not ready"));
  EXPECT_GT(RetryDelay(*status), absl::ZeroDuration());
  EXPECT_TRUE(worker.StopAndFindNothingLeft());
}

// What a containerd object must carry, so that its owner can be told.
TEST(ExecutorTest, ContainersCarryTheInstance) {
  WorkerUnderTest worker;
  const auto sink = worker.Run("hang");
  ASSERT_TRUE(sink->AwaitStarted());
  const auto containers = worker.fake().Containers();
  ASSERT_EQ(containers.size(), 1u);
  EXPECT_EQ(containers[0].labels.at("dev.mayfly/instance"), "test");
  EXPECT_EQ(containers[0].runtime, "io.containerd.runc.v2");
  EXPECT_THAT(containers[0].spec_json, HasSubstr("/mayfly/" + containers[0].id)) << "a cgroup of its own";
  sink->Cancel();
  EXPECT_EQ(sink->result()->isolation().task_id(), containers[0].id);
  EXPECT_TRUE(worker.StopAndFindNothingLeft());
}

}  // namespace
}  // namespace mayfly::worker
