// The internal API over a real socket: what a server sees of a worker.
#include "worker/worker_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "daemon/grpc_listener.h"
#include "grpcpp/create_channel.h"
#include "tests/fakes/fake_guest.h"
#include "tests/unit/worker/rpc_details.h"
#include "tests/unit/worker/temp_dir.h"
#include "tests/unit/worker/worker_under_test.h"

namespace mayfly::worker {
namespace {

using fakes::FakeGuest;
using mayfly::v1::ExecuteEvent;
using ::testing::HasSubstr;

constexpr char kExecutionId[] = "0123456789abcdef0123456789abcdef";

class WorkerServiceTest : public ::testing::Test {
 protected:
  void Start(WorkerUnderTest::Options options = {}) {
    worker_ = std::make_unique<WorkerUnderTest>(options);
    service_ = std::make_unique<WorkerService>(&worker_->templates(), options.sandboxes_max, &worker_->rootfs(),
                                               &worker_->executor(), &worker_->metrics());
    const std::string address = "unix:" + dir_.path() + "/worker.sock";
    auto listener = daemon::GrpcListener::Start({.address = address}, {service_.get()});
    ASSERT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
    stub_ = mayfly::worker::v1::Worker::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  }

  ~WorkerServiceTest() override {
    if (worker_ == nullptr) return;
    // As main() does it: first the executions, then their streams.
    worker_->executor().Shutdown(absl::Seconds(30));
    listener_.reset();
    EXPECT_TRUE(worker_->StopAndFindNothingLeft());
  }

  static mayfly::worker::v1::ExecuteRequest MakeRequest(const std::string& code) {
    mayfly::worker::v1::ExecuteRequest request;
    request.set_execution_id(kExecutionId);
    *request.mutable_request() = WorkerUnderTest::MakeRequest(code);
    return request;
  }

  // Reads the stream to its end.
  grpc::Status Execute(const mayfly::worker::v1::ExecuteRequest& request, std::vector<ExecuteEvent>* events) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(60)));
    auto stream = stub_->Execute(&context, request);
    ExecuteEvent event;
    while (stream->Read(&event)) events->push_back(event);
    return stream->Finish();
  }

  grpc::Status Execute(const mayfly::worker::v1::ExecuteRequest& request) {
    std::vector<ExecuteEvent> events;
    const grpc::Status status = Execute(request, &events);
    EXPECT_TRUE(events.empty());
    return status;
  }

  mayfly::worker::v1::DescribeResponse Describe() {
    grpc::ClientContext context;
    mayfly::worker::v1::DescribeResponse response;
    const grpc::Status status = stub_->Describe(&context, {}, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  TempDir dir_;
  std::unique_ptr<WorkerUnderTest> worker_;
  std::unique_ptr<WorkerService> service_;
  std::unique_ptr<daemon::GrpcListener> listener_;
  std::unique_ptr<mayfly::worker::v1::Worker::Stub> stub_;
};

TEST_F(WorkerServiceTest, RunsAProgram) {
  Start();
  std::vector<ExecuteEvent> events;
  const grpc::Status status = Execute(MakeRequest("print hello\nfile out 3\nexit 7"), &events);
  EXPECT_TRUE(status.ok()) << status.error_message();
  ExpectWellFormed(events);
  EXPECT_EQ(events.back().finished().execution_id(), kExecutionId);
  EXPECT_EQ(events.back().finished().exit_code(), 7);
  for (const ExecuteEvent& event : events) EXPECT_EQ(event.sequence(), 0u) << "the server counts";
}

TEST_F(WorkerServiceTest, MuchOutputArrivesWhole) {
  Start();
  std::vector<ExecuteEvent> events;
  ASSERT_TRUE(Execute(MakeRequest("spam 5000000"), &events).ok());
  ExpectWellFormed(events);
  EXPECT_EQ(events.back().finished().stdout().sent(), 5'000'000);
}

TEST_F(WorkerServiceTest, DescribesItself) {
  Start();
  const auto response = Describe();
  ASSERT_EQ(response.templates_size(), 2);
  EXPECT_EQ(response.templates(0).name(), "bash");
  EXPECT_EQ(response.templates(1).name(), "python");
  EXPECT_EQ(response.templates(1).max_limits().wall_time().seconds(), 60);
  EXPECT_EQ(response.sandboxes_max(), 2);
  EXPECT_TRUE(response.ready()) << response.not_ready_reason();
  EXPECT_FALSE(response.draining());
}

TEST_F(WorkerServiceTest, SaysWhyItIsNotReady) {
  WorkerUnderTest::Options options;
  options.image_missing = true;
  Start(options);
  const auto response = Describe();
  EXPECT_FALSE(response.ready());
  EXPECT_FALSE(response.not_ready_reason().empty());
  const grpc::Status status = Execute(MakeRequest("print hi"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Reason(status), "UNAVAILABLE");
}

TEST_F(WorkerServiceTest, TrustsNoServersRequest) {
  Start();
  struct Case {
    std::function<void(mayfly::worker::v1::ExecuteRequest*)> spoil;
    grpc::StatusCode code;
    std::string reason, field;
  };
  const std::vector<Case> cases = {
      {[](auto* request) { request->set_execution_id("../../etc"); }, grpc::StatusCode::INVALID_ARGUMENT,
       "INVALID_REQUEST", "execution_id"},
      {[](auto* request) { request->clear_execution_id(); }, grpc::StatusCode::INVALID_ARGUMENT, "INVALID_REQUEST",
       "execution_id"},
      {[](auto* request) { request->mutable_request()->set_template_("ruby"); }, grpc::StatusCode::NOT_FOUND,
       "TEMPLATE_NOT_FOUND", ""},
      {[](auto* request) { request->mutable_request()->clear_code(); }, grpc::StatusCode::INVALID_ARGUMENT,
       "INVALID_REQUEST", "code"},
      {[](auto* request) { request->mutable_request()->add_files()->set_path("../x"); },
       grpc::StatusCode::INVALID_ARGUMENT, "INVALID_REQUEST", "files[0].path"},
      {[](auto* request) {
         request->mutable_request()->mutable_limits()->mutable_wall_time()->set_seconds(61);
       },
       grpc::StatusCode::INVALID_ARGUMENT, "INVALID_REQUEST", "limits.wall_time"},
  };
  for (const Case& bad : cases) {
    auto request = MakeRequest("print hi");
    bad.spoil(&request);
    const grpc::Status status = Execute(request);
    EXPECT_EQ(status.error_code(), bad.code) << status.error_message();
    EXPECT_EQ(Reason(status), bad.reason);
    const auto bad_request = RpcDetail<google::rpc::BadRequest>(status);
    EXPECT_EQ(bad_request.has_value(), !bad.field.empty());
    if (bad_request.has_value()) {
      EXPECT_EQ(bad_request->field_violations(0).field(), bad.field);
    }
  }
  EXPECT_EQ(worker_->fake().failpoints().Calls("containers.Create"), 0);
  EXPECT_EQ(worker_->Metric("mayfly_worker_refused_total"), static_cast<double>(cases.size()));
}

TEST_F(WorkerServiceTest, CancelKillsTheSandbox) {
  Start();
  grpc::ClientContext context;
  auto stream = stub_->Execute(&context, MakeRequest("print a\nhang"));
  ExecuteEvent event;
  while (!event.has_output()) ASSERT_TRUE(stream->Read(&event));
  context.TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(worker_->fake().failpoints().AwaitCalls("tasks.Kill", 1));
  EXPECT_TRUE(worker_->fake().failpoints().AwaitCalls("containers.Delete", 1));
}

TEST_F(WorkerServiceTest, DeadlineKillsTheSandbox) {
  Start();
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Milliseconds(300)));
  auto stream = stub_->Execute(&context, MakeRequest("hang"));
  ExecuteEvent event;
  while (stream->Read(&event)) {
  }
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  // Unless it passed before the sandbox was there.
  worker_->executor().Shutdown(absl::Seconds(30));
  EXPECT_EQ(worker_->fake().CountAll().tasks, 0);
}

TEST_F(WorkerServiceTest, ReaderThatNeverReadsIsGivenUp) {
  WorkerUnderTest::Options options;
  options.sandboxes_max = 1;
  options.delivery_timeout = absl::Milliseconds(100);
  Start(options);
  grpc::ClientContext context;
  auto request = MakeRequest("spam 60000000");
  request.mutable_request()->mutable_limits()->set_output_bytes(60'000'000);
  request.mutable_request()->mutable_limits()->mutable_wall_time()->set_nanos(300'000'000);
  auto stream = stub_->Execute(&context, request);
  // Its sandbox and its place are free again although nothing was ever read.
  std::vector<ExecuteEvent> events;
  EXPECT_TRUE(Execute(MakeRequest("exit 3"), &events).ok());
  EXPECT_EQ(events.back().finished().exit_code(), 3);
  context.TryCancel();
  stream->Finish();
}

TEST_F(WorkerServiceTest, FullMeansFull) {
  WorkerUnderTest::Options options;
  options.sandboxes_max = 1;
  options.line_max = 0;
  Start(options);
  grpc::ClientContext context;
  auto stream = stub_->Execute(&context, MakeRequest("hang"));
  ExecuteEvent event;
  ASSERT_TRUE(stream->Read(&event));
  const grpc::Status status = Execute(MakeRequest("print hi"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Reason(status), "QUEUE_FULL");
  EXPECT_GT(RetryDelay(status), absl::ZeroDuration());
  context.TryCancel();
  stream->Finish();
}

TEST_F(WorkerServiceTest, ShutdownTellsTheCallers) {
  Start();
  grpc::ClientContext context;
  auto stream = stub_->Execute(&context, MakeRequest("hang"));
  ExecuteEvent event;
  ASSERT_TRUE(stream->Read(&event));
  ASSERT_TRUE(event.has_started());
  worker_->executor().Shutdown(absl::ZeroDuration());
  ASSERT_TRUE(stream->Read(&event));
  EXPECT_EQ(event.finished().termination(), mayfly::v1::TERMINATION_CANCELLED);
  EXPECT_FALSE(stream->Read(&event));
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_TRUE(Describe().draining());
  const grpc::Status status = Execute(MakeRequest("print hi"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Reason(status), "DRAINING");
}

// Series are made of templates and enums, never of what a caller wrote.
TEST_F(WorkerServiceTest, RequestsAddNoSeries) {
  Start();
  const auto count = [&] {
    size_t series = 0;
    for (const auto& family : worker_->metrics().registry()->Collect()) series += family.metric.size();
    return series;
  };
  auto request = MakeRequest("print hi");
  request.mutable_request()->set_template_("random-0");
  Execute(request);
  const size_t before = count();
  for (int i = 1; i < 50; ++i) {
    request.mutable_request()->set_template_("random-" + std::to_string(i));
    EXPECT_EQ(Execute(request).error_code(), grpc::StatusCode::NOT_FOUND);
  }
  // containerd is watched meanwhile; its methods are a closed set, too.
  EXPECT_LE(count(), before + 2);
}

}  // namespace
}  // namespace mayfly::worker
