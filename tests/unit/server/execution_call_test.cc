// One call through the server, with a real client before it and a scripted worker behind it.
#include "server/execution_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "daemon/grpc_status.h"
#include "google/protobuf/util/message_differencer.h"
#include "google/protobuf/util/time_util.h"
#include "policy/request_check.h"
#include "tests/unit/server/server_under_test.h"
#include "tests/unit/worker/rpc_details.h"

namespace mayfly::server {
namespace {

using google::protobuf::util::MessageDifferencer;
using google::protobuf::util::TimeUtil;
using mayfly::v1::ExecuteEvent;
using mayfly::v1::ExecutionResult;
using Call = ScriptedWorker::Call;
using ::testing::HasSubstr;

// `accepted` first, `finished` last, numbered without gaps.
void ExpectWellFormed(const Answer& answer) {
  EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  ASSERT_GE(answer.events.size(), 2u);
  EXPECT_TRUE(answer.events.front().has_accepted());
  EXPECT_TRUE(answer.events.back().has_finished());
  for (size_t i = 0; i < answer.events.size(); ++i) {
    EXPECT_EQ(answer.events[i].sequence(), i + 1);
    EXPECT_EQ(answer.events[i].has_finished(), i + 1 == answer.events.size());
  }
}

// A place is free: a call that would be refused otherwise gets through.
void ExpectPlace(ServerUnderTest& server) {
  server.worker().SetScript([](Call& call) { return call.Exited(0); });
  EXPECT_TRUE(server.AwaitMetric("mayfly_server_in_flight", 0));
  EXPECT_EQ(server.Execute().result().exit_code(), 0);
}

// A client that reads by hand, and whose call ends with it.
class OpenCall {
 public:
  explicit OpenCall(ServerUnderTest& server) : stream_(server.stub().Execute(&context_, ServerUnderTest::MakeRequest())) {}
  ~OpenCall() {
    Cancel();
    ReadToEnd();
  }

  // Reads up to an event that has `kind`.
  bool AwaitEvent(ExecuteEvent::EventCase kind) {
    ExecuteEvent event;
    while (stream_->Read(&event)) {
      if (event.event_case() == kind) return true;
    }
    return false;
  }
  void Cancel() { context_.TryCancel(); }
  grpc::Status ReadToEnd() {
    if (finished_) return status_;
    ExecuteEvent event;
    while (stream_->Read(&event)) {
    }
    finished_ = true;
    return status_ = stream_->Finish();
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<ExecuteEvent>> stream_;
  bool finished_ = false;
  grpc::Status status_;
};

// ---- Passing on.

TEST(ExecutionCallTest, PassesEventsOn) {
  ServerUnderTest server;
  server.worker().SetScript([](Call& call) {
    call.Started();
    call.Stdout(std::string("a\0\xff", 3));
    call.Stderr("b");
    call.Stdout("c");
    ExecuteEvent heartbeat;
    heartbeat.mutable_heartbeat();
    call.Send(heartbeat);
    call.File("out/x", "content");
    ExecutionResult result;
    result.set_termination(mayfly::v1::TERMINATION_SIGNALED);
    result.set_signal(11);
    result.set_message("The program was ended.");
    result.add_evidence("exit frame");
    return call.Finish(result);
  });
  const Answer answer = server.Execute();
  ExpectWellFormed(answer);
  ASSERT_EQ(answer.events.size(), 8u);
  EXPECT_TRUE(answer.events[1].has_started());
  EXPECT_EQ(answer.events[2].output().data(), std::string("a\0\xff", 3));
  EXPECT_EQ(answer.events[3].output().stream(), mayfly::v1::STREAM_STDERR);
  EXPECT_EQ(answer.events[4].output().offset(), 3);
  EXPECT_TRUE(answer.events[5].has_heartbeat());
  EXPECT_EQ(answer.events[6].file().data(), "content");
  EXPECT_EQ(answer.result().signal(), 11);
  EXPECT_EQ(answer.result().evidence(0), "exit frame");
  EXPECT_EQ(answer.result().stdout().sent(), 4);
  EXPECT_TRUE(answer.result().timings().has_queue());
  EXPECT_EQ(answer.result().execution_id(), answer.events[0].accepted().execution_id());
}

TEST(ExecutionCallTest, PassesTheRequestOnUnchanged) {
  ServerUnderTest server;
  mayfly::v1::ExecuteRequest request = server.MakeRequest();
  request.add_args("--help");
  request.set_stdin("a\r\nb");
  (*request.mutable_env())["A"] = "1";
  request.add_files()->set_path("in");
  request.mutable_limits()->mutable_wall_time()->set_seconds(3);
  request.mutable_caller()->set_agent_id("agent-7");
  mayfly::worker::v1::ExecuteRequest got;
  server.worker().SetScript([&](Call& call) {
    got = call.request();
    return call.Exited(0);
  });
  const Answer answer = server.Execute(request);
  EXPECT_TRUE(MessageDifferencer::Equals(got.request(), request));
  EXPECT_EQ(got.execution_id(), answer.events[0].accepted().execution_id());
  EXPECT_EQ(policy::CheckExecutionId(got.execution_id()), std::nullopt);
}

TEST(ExecutionCallTest, IdsNeverRepeat) {
  ServerUnderTest server;
  std::set<std::string> ids;
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(ids.insert(server.Execute().events.at(0).accepted().execution_id()).second);
  }
}

TEST(ExecutionCallTest, MuchOutputArrivesInOrder) {
  ServerUnderTest server;
  constexpr int kEvents = 500;
  server.worker().SetScript([](Call& call) {
    call.Started();
    for (int i = 0; i < kEvents; ++i) call.Stdout(std::string(65536, static_cast<char>('a' + i % 26)));
    return call.Exited(0);
  });
  const Answer answer = server.Execute();
  ExpectWellFormed(answer);
  ASSERT_EQ(answer.events.size(), size_t{kEvents} + 3);
  for (size_t i = 0; i < kEvents; ++i) {
    ASSERT_EQ(answer.events[i + 2].output().offset(), static_cast<int64_t>(i) * 65536);
    ASSERT_EQ(answer.events[i + 2].output().data()[65535], static_cast<char>('a' + i % 26));
  }
}

// Whatever a worker sends after `finished`: it was the last event.
TEST(ExecutionCallTest, NothingFollowsFinished) {
  ServerUnderTest server;
  server.worker().SetScript([](Call& call) {
    call.Started();
    call.Exited(0);
    call.Stdout("late");
    call.Exited(1);
    return grpc::Status(grpc::StatusCode::INTERNAL, "late");
  });
  const Answer answer = server.Execute();
  ExpectWellFormed(answer);
  EXPECT_EQ(answer.events.size(), 3u);
  EXPECT_EQ(answer.result().exit_code(), 0);
}

struct StatusCase {
  const char* name;
  grpc::Status status;
};

class WorkerStatusTest : public ::testing::TestWithParam<StatusCase> {};

TEST_P(WorkerStatusTest, IsPassedOnWithItsDetails) {
  ServerUnderTest server;
  server.worker().SetScript([](Call&) { return GetParam().status; });
  const Answer answer = server.Execute();
  ASSERT_EQ(answer.events.size(), 1u);
  EXPECT_TRUE(answer.events[0].has_accepted());
  EXPECT_EQ(answer.status.error_code(), GetParam().status.error_code());
  EXPECT_EQ(answer.status.error_message(), GetParam().status.error_message());
  EXPECT_EQ(answer.status.error_details(), GetParam().status.error_details());
  ExecutionResult result;
  EXPECT_EQ(server.Run(server.MakeRequest(), &result).error_details(), GetParam().status.error_details());
  ExpectPlace(server);
}

INSTANTIATE_TEST_SUITE_P(
    All, WorkerStatusTest,
    ::testing::Values(StatusCase{"Full", daemon::StatusWithReason(grpc::StatusCode::RESOURCE_EXHAUSTED,
                                                                  daemon::kReasonQueueFull, "all are taken",
                                                                  absl::Milliseconds(1500))},
                      StatusCase{"Draining", daemon::StatusWithReason(grpc::StatusCode::UNAVAILABLE,
                                                                      daemon::kReasonDraining, "stopping",
                                                                      absl::Seconds(1))},
                      StatusCase{"Invalid", daemon::InvalidRequest({{"code", "is empty"}, {"args[1]", "has a NUL"}})},
                      StatusCase{"NotFound", daemon::TemplateNotFound("ruby", {"python"})}),
    [](const auto& info) { return info.param.name; });

// ---- Workers that are lost.

TEST(ExecutionCallTest, WorkerIsNotThere) {
  ServerUnderTest server;
  server.worker().Stop();
  const Answer answer = server.Execute();
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Reason(answer.status), "UNAVAILABLE");
  EXPECT_GT(RetryDelay(answer.status), absl::ZeroDuration());
}

TEST(ExecutionCallTest, WorkerIsLostBeforeTheStart) {
  ServerUnderTest server;
  server.worker().SetScript([](Call& call) {
    call.AwaitCancelled();
    return grpc::Status::CANCELLED;
  });
  std::thread killer([&] {
    EXPECT_TRUE(server.worker().AwaitBegun(1));
    server.worker().Stop();
  });
  const Answer answer = server.Execute();
  killer.join();
  ASSERT_EQ(answer.events.size(), 1u);
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::UNAVAILABLE) << answer.status.error_message();
  EXPECT_EQ(Reason(answer.status), "UNAVAILABLE");
  EXPECT_GT(RetryDelay(answer.status), absl::ZeroDuration());
}

TEST(ExecutionCallTest, WorkerIsLostWhileTheProgramRuns) {
  ServerUnderTest server;
  absl::Notification sent;
  server.worker().SetScript([&](Call& call) {
    call.Started();
    call.Stdout("12345");
    call.Stderr("67");
    sent.Notify();
    call.AwaitCancelled();
    return grpc::Status::CANCELLED;
  });
  grpc::ClientContext context;
  auto stream = server.stub().Execute(&context, server.MakeRequest());
  Answer answer;
  ExecuteEvent event;
  while (answer.events.size() < 4 && stream->Read(&event)) answer.events.push_back(event);
  ASSERT_TRUE(sent.HasBeenNotified());
  server.worker().Stop();
  while (stream->Read(&event)) answer.events.push_back(event);
  answer.status = stream->Finish();
  ExpectWellFormed(answer);
  const ExecutionResult result = answer.result();
  EXPECT_EQ(result.termination(), mayfly::v1::TERMINATION_SANDBOX_FAILED);
  EXPECT_TRUE(result.retry_safe());
  EXPECT_EQ(result.template_(), "python");
  EXPECT_EQ(result.execution_id(), answer.events[0].accepted().execution_id());
  EXPECT_EQ(result.stdout().sent(), 5);
  EXPECT_EQ(result.stdout().total(), 5);
  EXPECT_EQ(result.stderr().sent(), 2);
  EXPECT_EQ(result.stdout().dropped() + result.stderr().dropped(), 0);
}

TEST(ExecutionCallTest, WorkerEndsWithoutAResult) {
  ServerUnderTest server;
  server.worker().SetScript([](Call&) { return grpc::Status::OK; });
  EXPECT_EQ(server.Execute().status.error_code(), grpc::StatusCode::INTERNAL);
  server.worker().SetScript([](Call& call) {
    call.Started();
    return grpc::Status::OK;
  });
  EXPECT_EQ(server.Execute().result().termination(), mayfly::v1::TERMINATION_SANDBOX_FAILED);
}

// ---- Callers that go.

TEST(ExecutionCallTest, CancelReachesTheWorkerAndFreesThePlace) {
  ServerUnderTest server({.in_flight_max = 1, .queue_max = 0});
  server.worker().SetScript([](Call& call) {
    call.Started();
    EXPECT_TRUE(call.AwaitCancelled());
    return grpc::Status::CANCELLED;
  });
  OpenCall call(server);
  ASSERT_TRUE(call.AwaitEvent(ExecuteEvent::kStarted));
  const absl::Time cancelled = absl::Now();
  call.Cancel();
  ASSERT_TRUE(server.worker().AwaitEnded(1));
  EXPECT_LT(absl::Now() - cancelled, absl::Seconds(10)) << "and not when something times out";
  ExpectPlace(server);
  EXPECT_EQ(server.Metric("mayfly_server_refused_total", "cancelled"), 1);
}

TEST(ExecutionCallTest, CancelInTheMiddleOfMuchOutput) {
  ServerUnderTest server({.in_flight_max = 1, .queue_max = 0});
  server.worker().SetScript([](Call& call) {
    call.Started();
    while (call.Stdout(std::string(65536, 'x'))) {
    }
    return grpc::Status::CANCELLED;
  });
  OpenCall call(server);
  ASSERT_TRUE(call.AwaitEvent(ExecuteEvent::kOutput));
  call.Cancel();
  ASSERT_TRUE(server.worker().AwaitEnded(1));
  ExpectPlace(server);
}

TEST(ExecutionCallTest, CancelledRunReachesTheWorkerToo) {
  ServerUnderTest server({.in_flight_max = 1, .queue_max = 0});
  server.worker().SetScript([](Call& call) {
    call.Started();
    EXPECT_TRUE(call.AwaitCancelled());
    return grpc::Status::CANCELLED;
  });
  grpc::ClientContext context;
  std::thread canceller([&] {
    EXPECT_TRUE(server.worker().AwaitBegun(1));
    context.TryCancel();
  });
  ExecutionResult result;
  EXPECT_EQ(server.stub().Run(&context, server.MakeRequest(), &result).error_code(), grpc::StatusCode::CANCELLED);
  canceller.join();
  ASSERT_TRUE(server.worker().AwaitEnded(1));
  ExpectPlace(server);
}

TEST(ExecutionCallTest, DeadlineReachesTheWorkerAndFreesThePlace) {
  ServerUnderTest server({.in_flight_max = 1, .queue_max = 0});
  absl::Time deadline;
  server.worker().SetScript([&](Call& call) {
    deadline = call.deadline();
    call.Started();
    EXPECT_TRUE(call.AwaitCancelled());
    return grpc::Status::CANCELLED;
  });
  grpc::ClientContext context;
  const absl::Time wanted = absl::Now() + absl::Milliseconds(500);
  context.set_deadline(absl::ToChronoTime(wanted));
  auto stream = server.stub().Execute(&context, server.MakeRequest());
  ExecuteEvent event;
  while (stream->Read(&event)) {
    EXPECT_FALSE(event.has_finished());
  }
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  ASSERT_TRUE(server.worker().AwaitEnded(1));
  EXPECT_LT(deadline, wanted + absl::Seconds(5));
  ExpectPlace(server);
  // The caller wanted it so; no sandbox has failed.
  EXPECT_EQ(server.Metric("mayfly_server_executions_total", "sandbox_failed"), 0);
  EXPECT_EQ(server.Metric("mayfly_server_refused_total", "cancelled"), 1);
}

TEST(ExecutionCallTest, WithoutADeadlineTheWorkerHasNone) {
  ServerUnderTest server;
  absl::Time deadline;
  server.worker().SetScript([&](Call& call) {
    deadline = call.deadline();
    return call.Exited(0);
  });
  grpc::ClientContext context;
  ExecutionResult result;
  EXPECT_TRUE(server.stub().Run(&context, server.MakeRequest(), &result).ok());
  EXPECT_EQ(deadline, absl::InfiniteFuture());
}

TEST(ExecutionCallTest, ACallerThatNeverReadsIsCutOff) {
  ServerUnderTest server({.in_flight_max = 1, .queue_max = 0, .stall_timeout = absl::Milliseconds(200)});
  server.worker().SetScript([](Call& call) {
    call.Started();
    while (call.Stdout(std::string(65536, 'x'))) {
    }
    return grpc::Status::CANCELLED;
  });
  OpenCall call(server);
  ASSERT_TRUE(server.worker().AwaitEnded(1));
  ExpectPlace(server);
  EXPECT_EQ(call.ReadToEnd().error_code(), grpc::StatusCode::CANCELLED) << "its call has ended, too";
}

// Time that passes without events is not the caller's slowness.
TEST(ExecutionCallTest, ASilentProgramIsNotCutOff) {
  ServerUnderTest server({.stall_timeout = absl::Milliseconds(50)});
  absl::Notification go_on;
  server.worker().SetScript([&](Call& call) {
    call.Started();
    go_on.WaitForNotificationWithTimeout(absl::Seconds(30));
    return call.Exited(7);
  });
  OpenCall call(server);
  ASSERT_TRUE(call.AwaitEvent(ExecuteEvent::kStarted));
  absl::SleepFor(absl::Milliseconds(1500));  // longer than a sweep: what is tested is that nothing happens
  go_on.Notify();
  EXPECT_TRUE(call.AwaitEvent(ExecuteEvent::kFinished));
  EXPECT_TRUE(call.ReadToEnd().ok());
}

// ---- The queue.

class QueueTest : public ::testing::Test {
 protected:
  // Executions that run until released.
  void HoldPlaces(ServerUnderTest& server) {
    server.worker().SetScript([this](Call& call) {
      {
        absl::MutexLock lock(&mutex_);
        order_.push_back(call.request().request().code());
      }
      call.Started();
      release_.WaitForNotificationWithTimeout(absl::Seconds(30));
      return call.Exited(0);
    });
  }

  absl::Notification release_;
  absl::Mutex mutex_;
  std::vector<std::string> order_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(QueueTest, FullMeansFull) {
  ServerUnderTest server({.in_flight_max = 1, .queue_max = 1});
  HoldPlaces(server);
  OpenCall running(server);
  ASSERT_TRUE(running.AwaitEvent(ExecuteEvent::kStarted));
  OpenCall waiting(server);
  ASSERT_TRUE(waiting.AwaitEvent(ExecuteEvent::kAccepted));
  EXPECT_EQ(server.Metric("mayfly_server_queue_depth"), 1);
  const Answer refused = server.Execute();
  EXPECT_TRUE(refused.events.empty()) << "it was never accepted";
  EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Reason(refused.status), "QUEUE_FULL");
  EXPECT_GT(RetryDelay(refused.status), absl::ZeroDuration());
  EXPECT_EQ(server.Metric("mayfly_server_refused_total", "resource_exhausted"), 1);
  release_.Notify();
  EXPECT_TRUE(running.ReadToEnd().ok());
  EXPECT_TRUE(waiting.ReadToEnd().ok());
  EXPECT_EQ(server.worker().begun(), 2);
}

TEST_F(QueueTest, FirstComeFirstServed) {
  ServerUnderTest server({.in_flight_max = 1, .queue_max = 4});
  HoldPlaces(server);
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&, i] { EXPECT_TRUE(server.Execute(server.MakeRequest(std::to_string(i))).status.ok()); });
    ASSERT_TRUE(i == 0 ? server.worker().AwaitBegun(1) : server.AwaitMetric("mayfly_server_queue_depth", i));
  }
  release_.Notify();
  for (std::thread& caller : callers) caller.join();
  absl::MutexLock lock(&mutex_);
  EXPECT_THAT(order_, ::testing::ElementsAre("0", "1", "2", "3"));
}

TEST_F(QueueTest, CancelWhileQueuedFreesThePlaceInTheQueue) {
  ServerUnderTest server({.in_flight_max = 1, .queue_max = 1});
  HoldPlaces(server);
  OpenCall running(server);
  ASSERT_TRUE(running.AwaitEvent(ExecuteEvent::kStarted));
  OpenCall waiting(server);
  ASSERT_TRUE(waiting.AwaitEvent(ExecuteEvent::kAccepted));
  waiting.Cancel();
  EXPECT_EQ(waiting.ReadToEnd().error_code(), grpc::StatusCode::CANCELLED);
  ASSERT_TRUE(server.AwaitMetric("mayfly_server_queue_depth", 0));
  OpenCall next(server);
  EXPECT_TRUE(next.AwaitEvent(ExecuteEvent::kAccepted));
  release_.Notify();
  EXPECT_TRUE(running.ReadToEnd().ok());
  EXPECT_TRUE(next.ReadToEnd().ok());
  EXPECT_EQ(server.worker().begun(), 2) << "the cancelled one never reached the worker";
}

TEST_F(QueueTest, WaitingIsBounded) {
  ServerUnderTest server({.in_flight_max = 1, .queue_max = 1, .queue_timeout = absl::Milliseconds(100)});
  HoldPlaces(server);
  OpenCall running(server);
  ASSERT_TRUE(running.AwaitEvent(ExecuteEvent::kStarted));
  const Answer answer = server.Execute();
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(Reason(answer.status), "QUEUE_TIMEOUT");
  EXPECT_GT(RetryDelay(answer.status), absl::ZeroDuration());
  release_.Notify();
  EXPECT_TRUE(running.ReadToEnd().ok());
  EXPECT_EQ(server.worker().begun(), 1);
}

TEST_F(QueueTest, TheCallersDeadlineHoldsInTheQueue) {
  ServerUnderTest server({.in_flight_max = 1, .queue_max = 1});
  HoldPlaces(server);
  OpenCall running(server);
  ASSERT_TRUE(running.AwaitEvent(ExecuteEvent::kStarted));
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Milliseconds(100)));
  ExecutionResult result;
  EXPECT_EQ(server.stub().Run(&context, server.MakeRequest(), &result).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(server.AwaitMetric("mayfly_server_queue_depth", 0));
  release_.Notify();
  EXPECT_TRUE(running.ReadToEnd().ok());
  EXPECT_EQ(server.worker().begun(), 1);
}

TEST_F(QueueTest, QueueingIsTimed) {
  ServerUnderTest server({.in_flight_max = 1, .queue_max = 1});
  HoldPlaces(server);
  OpenCall running(server);
  ASSERT_TRUE(running.AwaitEvent(ExecuteEvent::kStarted));
  std::thread releaser([&] {
    EXPECT_TRUE(server.AwaitMetric("mayfly_server_queue_depth", 1));
    absl::SleepFor(absl::Milliseconds(20));  // what is measured
    release_.Notify();
  });
  const Answer answer = server.Execute();
  releaser.join();
  EXPECT_GE(TimeUtil::DurationToMilliseconds(answer.result().timings().queue()), 20);
}

}  // namespace
}  // namespace mayfly::server
