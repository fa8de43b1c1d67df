// The public API: what is refused and how, the templates, and Run.
#include "server/executor_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/unit/server/server_under_test.h"
#include "tests/unit/worker/rpc_details.h"

namespace mayfly::server {
namespace {

using mayfly::v1::ExecuteRequest;
using mayfly::v1::ExecutionResult;
using Call = ScriptedWorker::Call;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ExecutorServiceTest, ListsTemplates) {
  ServerUnderTest server;
  grpc::ClientContext context;
  mayfly::v1::ListTemplatesResponse response;
  ASSERT_TRUE(server.stub().ListTemplates(&context, {}, &response).ok());
  ASSERT_EQ(response.templates_size(), 1);
  EXPECT_EQ(response.templates(0).name(), "python");
  EXPECT_EQ(response.templates(0).max_limits().wall_time().seconds(), 60);
}

TEST(ExecutorServiceTest, WithoutAWorkerEverythingIsUnavailable) {
  ServerUnderTest server({.worker_there = false});
  grpc::ClientContext context;
  mayfly::v1::ListTemplatesResponse response;
  ExecutionResult result;
  for (const grpc::Status& status : {server.stub().ListTemplates(&context, {}, &response), server.Execute().status,
                                     server.Run(server.MakeRequest(), &result)}) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_EQ(Reason(status), "UNAVAILABLE");
    EXPECT_GT(RetryDelay(status), absl::ZeroDuration());
    EXPECT_THAT(status.error_message(), HasSubstr("worker"));
  }
}

TEST(ExecutorServiceTest, UnknownTemplate) {
  ServerUnderTest server;
  ExecuteRequest request = server.MakeRequest();
  request.set_template_("ruby\n\x7f");
  const Answer answer = server.Execute(request);
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_TRUE(answer.events.empty());
  EXPECT_EQ(Reason(answer.status), "TEMPLATE_NOT_FOUND");
  EXPECT_EQ(answer.status.error_message(), "template: there is no \"ruby\\n\\x7f\"; there is python");
}

struct Case {
  const char* name;
  std::function<void(ExecuteRequest*)> spoil;
  std::vector<std::string> fields;
};

class InvalidRequestTest : public ::testing::TestWithParam<Case> {};

TEST_P(InvalidRequestTest, NamesEveryField) {
  ServerUnderTest server;
  ExecuteRequest request = server.MakeRequest();
  GetParam().spoil(&request);
  ExecutionResult result;
  for (const grpc::Status& status : {server.Execute(request).status, server.Run(request, &result)}) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
    EXPECT_EQ(Reason(status), "INVALID_REQUEST");
    const auto bad_request = RpcDetail<google::rpc::BadRequest>(status);
    ASSERT_TRUE(bad_request.has_value());
    std::vector<std::string> fields;
    for (const auto& violation : bad_request->field_violations()) {
      fields.push_back(violation.field());
      EXPECT_FALSE(violation.description().empty());
    }
    EXPECT_EQ(fields, GetParam().fields);
    EXPECT_THAT(status.error_message(), ::testing::StartsWith(fields.at(0) + ": "));
  }
  EXPECT_EQ(server.worker().begun(), 0);
  EXPECT_EQ(server.Metric("mayfly_server_refused_total", "invalid_argument"), 2);
}

INSTANTIATE_TEST_SUITE_P(
    All, InvalidRequestTest,
    ::testing::Values(Case{"NoTemplate", [](ExecuteRequest* request) { request->clear_template_(); }, {"template"}},
                      Case{"NoCode", [](ExecuteRequest* request) { request->clear_code(); }, {"code"}},
                      Case{"Several",
                           [](ExecuteRequest* request) {
                             request->clear_code();
                             request->add_files()->set_path("../x");
                             request->mutable_limits()->set_output_bytes(0);
                           },
                           {"code", "files[0].path", "limits.output_bytes"}},
                      Case{"MoreThanTheMaximum",
                           [](ExecuteRequest* request) {
                             request->mutable_limits()->mutable_wall_time()->set_seconds(61);
                           },
                           {"limits.wall_time"}}),
    [](const auto& info) { return info.param.name; });

// ---- Run.

TEST(RunTest, AnswersOnce) {
  ServerUnderTest server;
  server.worker().SetScript([](Call& call) {
    call.Started();
    call.Stdout("out");
    call.Stderr("err");
    call.Stdout("put");
    call.File("f", "content");
    ExecutionResult result;
    result.set_termination(mayfly::v1::TERMINATION_EXITED);
    result.set_exit_code(3);
    result.add_files()->set_path("f");
    result.mutable_files(0)->set_size(7);
    return call.Finish(result);
  });
  ExecutionResult result;
  const grpc::Status status = server.Run(server.MakeRequest(), &result);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(result.exit_code(), 3);
  EXPECT_EQ(result.stdout_data(), "output");
  EXPECT_EQ(result.stderr_data(), "err");
  EXPECT_EQ(result.files(0).content(), "content");
  EXPECT_EQ(result.execution_id().size(), 32u);
}

TEST(RunTest, IsBounded) {
  ServerUnderTest server({.run_response_bytes_max = 100'000});
  server.worker().SetScript([](Call& call) {
    call.Started();
    for (int i = 0; i < 100; ++i) call.Stdout(std::string(65536, 'x'));
    call.File("f", std::string(10, 'f'));
    ExecutionResult result;
    result.set_termination(mayfly::v1::TERMINATION_EXITED);
    result.set_exit_code(0);
    result.add_files()->set_path("f");
    result.mutable_files(0)->set_size(10);
    return call.Finish(result);
  });
  ExecutionResult result;
  ASSERT_TRUE(server.Run(server.MakeRequest(), &result).ok());
  EXPECT_EQ(result.stdout_data(), std::string(100'000, 'x'));
  EXPECT_EQ(result.stdout().total(), 6'553'600);
  EXPECT_EQ(result.stdout().sent(), 100'000);
  EXPECT_EQ(result.stdout().dropped(), 6'453'600);
  EXPECT_EQ(result.files(0).omission(), mayfly::v1::OMISSION_TOO_LARGE);
}

// The answer that the default bound allows fits into what every gRPC client takes by default.
TEST(RunTest, TheDefaultFitsADefaultClient) {
  ServerUnderTest server;
  server.worker().SetScript([](Call& call) {
    call.Started();
    for (int i = 0; i < 100; ++i) call.Stdout(std::string(65536, 'x'));
    return call.Exited(0);
  });
  ExecutionResult result;
  ASSERT_TRUE(server.Run(server.MakeRequest(), &result).ok());
  EXPECT_LT(result.ByteSizeLong(), size_t{4} << 20);
}

TEST(RunTest, ALostWorkerIsAResult) {
  ServerUnderTest server;
  server.worker().SetScript([](Call& call) {
    call.Started();
    call.Stdout("before");
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "");
  });
  ExecutionResult result;
  ASSERT_TRUE(server.Run(server.MakeRequest(), &result).ok());
  EXPECT_EQ(result.termination(), mayfly::v1::TERMINATION_SANDBOX_FAILED);
  EXPECT_EQ(result.stdout_data(), "before");
  EXPECT_EQ(result.stdout().sent(), 6);
}

}  // namespace
}  // namespace mayfly::server
