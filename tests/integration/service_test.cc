// The service's other faces: Run, ListTemplates, health, reflection, many callers at once. Field cases 65.
#include "tests/integration/service.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace mayfly::test {
namespace {

using ServiceTest = StackTest;

constexpr int64_t kMiB = 1 << 20;
constexpr int64_t kRunResponseBytes = 3 * kMiB;  // default of run_response_bytes_max

// One message there, one back, with messages as bytes: health and reflection need no generated code.
grpc::Status CallRaw(const std::string& method, const std::string& request, std::string& response) {
  grpc::GenericStub stub(TestChannel());
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  grpc::CompletionQueue queue;
  const auto next = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const auto call = stub.PrepareCall(&context, method, &queue);
  call->StartCall(nullptr);
  next();
  grpc::Slice slice(request);
  call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
  next();
  call->WritesDone(nullptr);
  next();
  grpc::ByteBuffer answer;
  call->Read(&answer, nullptr);
  if (next()) {
    grpc::Slice flat;
    if (answer.DumpToSingleSlice(&flat).ok()) {
      response.assign(reinterpret_cast<const char*>(flat.begin()), flat.size());
    }
  }
  grpc::Status status;
  call->Finish(&status, nullptr);
  next();
  return status;
}

TEST_F(ServiceTest, HealthIsServing) {
  // HealthCheckRequest{service}, field 1; HealthCheckResponse{status: SERVING}.
  for (const std::string& service : {std::string(), std::string("mayfly.v1.Executor")}) {
    std::string request, response;
    if (!service.empty()) request = absl::StrCat("\x0a", std::string(1, static_cast<char>(service.size())), service);
    const grpc::Status status = CallRaw("/grpc.health.v1.Health/Check", request, response);
    EXPECT_TRUE(status.ok()) << "\"" << service << "\": " << Describe(status);
    EXPECT_EQ(response, "\x08\x01") << "\"" << service << "\"";
  }
  std::string response;
  EXPECT_EQ(CallRaw("/grpc.health.v1.Health/Check", "\x0a\x04nope", response).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST_F(ServiceTest, ReflectionListsTheService) {
  // ServerReflectionRequest{list_services: "*"}, field 7.
  std::string response;
  CallRaw("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "\x3a\x01*", response);
  EXPECT_THAT(response, ::testing::HasSubstr("mayfly.v1.Executor"));
  EXPECT_THAT(response, ::testing::HasSubstr("grpc.health.v1.Health"));
  EXPECT_THAT(response, ::testing::Not(::testing::HasSubstr("mayfly.worker"))) << "the internal service is not offered";
  // ServerReflectionRequest{file_containing_symbol}, field 4.
  std::string file;
  CallRaw("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "\x22\x12mayfly.v1.Executor", file);
  EXPECT_THAT(file, ::testing::HasSubstr("ExecuteRequest"));
}

TEST_F(ServiceTest, TemplatesAreListedWithTheirLimits) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  v1::ListTemplatesResponse response;
  ASSERT_TRUE(v1::Executor::NewStub(TestChannel())->ListTemplates(&context, {}, &response).ok());
  std::vector<std::string> names;
  for (const v1::Template& t : response.templates()) {
    SCOPED_TRACE(t.name());
    names.push_back(t.name());
    EXPECT_FALSE(t.main_file().empty());
    EXPECT_FALSE(t.description().empty());
    EXPECT_EQ(t.memory_bytes(), 128 * kMiB);
    EXPECT_DOUBLE_EQ(t.cpus(), 0.5);
    EXPECT_EQ(t.processes(), 64);
    EXPECT_EQ(t.workspace_bytes(), 64 * kMiB);
    EXPECT_EQ(t.tmp_bytes(), 64 * kMiB);
    EXPECT_EQ(t.default_limits().wall_time().seconds(), 10);
    EXPECT_EQ(t.max_limits().wall_time().seconds(), 600);
    EXPECT_EQ(t.default_limits().output_bytes(), 16 * kMiB);
    EXPECT_EQ(t.max_limits().output_bytes(), 2048 * kMiB);
    EXPECT_EQ(t.default_limits().file_bytes(), 8 * kMiB);
    EXPECT_EQ(t.max_limits().file_bytes(), 64 * kMiB);
    EXPECT_TRUE(std::is_sorted(t.reserved_env().begin(), t.reserved_env().end()));
    EXPECT_THAT(std::vector<std::string>(t.reserved_env().begin(), t.reserved_env().end()),
                ::testing::IsSupersetOf({"PATH", "HOME", "LANG"}));
  }
  EXPECT_THAT(names, ::testing::ElementsAre("bash", "javascript", "python", "python-open"));
}

TEST_F(ServiceTest, EveryReservedVariableIsRefused) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  v1::ListTemplatesResponse response;
  ASSERT_TRUE(v1::Executor::NewStub(TestChannel())->ListTemplates(&context, {}, &response).ok());
  for (const v1::Template& t : response.templates()) {
    for (const std::string& name : t.reserved_env()) {
      auto request = Program(t.name(), "1");
      (*request.mutable_env())[name] = "x";
      EXPECT_EQ(Execute(request).status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << t.name() << " " << name;
    }
  }
}

TEST_F(ServiceTest, RunSaysWhatExecuteSays) {
  struct Row {
    const char* language;
    const char* code;
  };
  const std::vector<Row> rows = {
      {"python",
       "import sys\nprint('out')\nprint('err', file=sys.stderr)\nopen('f.txt', 'w').write('file')\nsys.exit(3)"},
      {"bash", "echo out; kill -TERM $$; sleep 5"},
      {"bash", "echo out; sleep 60"},
      {"bash", "yes"},
      {"javascript", "console.log('out'); throw new Error('x')"},
  };
  Concurrently(static_cast<int>(rows.size()), [&](int i) {
    SCOPED_TRACE(rows[i].code);
    auto request = Program(rows[i].language, rows[i].code);
    request.add_output_globs("*.txt");
    request.mutable_limits()->set_output_bytes(100000);
    SetWall(request, absl::Seconds(3));
    const Outcome streamed = Execute(request);
    const RunOutcome ran = RunOnce(request);
    ASSERT_TRUE(streamed.finished) << Describe(streamed);
    ASSERT_TRUE(ran.status.ok()) << Describe(ran.status);
    EXPECT_EQ(ran.result.termination(), streamed.result.termination());
    EXPECT_EQ(ran.result.has_exit_code(), streamed.result.has_exit_code());
    EXPECT_EQ(ran.result.exit_code(), streamed.result.exit_code());
    EXPECT_EQ(ran.result.signal(), streamed.result.signal());
    EXPECT_EQ(ran.result.stdout_data(), streamed.out);
    EXPECT_EQ(ran.result.stderr_data(), streamed.err);
    ASSERT_EQ(ran.result.files_size(), streamed.result.files_size());
    for (const v1::OutputFile& file : ran.result.files()) EXPECT_EQ(file.content(), streamed.files.at(file.path()));
    EXPECT_NE(ran.result.execution_id(), streamed.result.execution_id());
    EXPECT_NE(ran.result.isolation().task_id(), streamed.result.isolation().task_id());
  });
}

TEST_F(ServiceTest, RunDropsWhatDoesNotFitAndCountsIt) {
  const RunOutcome one = RunOnce(Program("python", "import sys\nsys.stdout.write('o' * (4 << 20))"));
  ASSERT_TRUE(one.status.ok()) << Describe(one.status);
  EXPECT_EQ(one.result.termination(), v1::TERMINATION_EXITED) << "the answer's size is no limit of the program";
  EXPECT_EQ(one.result.exit_code(), 0);
  EXPECT_EQ(one.result.stdout().total(), 4 * kMiB);
  EXPECT_EQ(one.result.stdout().sent(), kRunResponseBytes);
  EXPECT_EQ(one.result.stdout().dropped(), 1 * kMiB);

  auto request = Program("python",
                         "import sys\nsys.stdout.write('o' * (2 << 20))\nsys.stderr.write('e' * (2 << 20))\n"
                         "open('f', 'w').write('f' * (2 << 20))\nopen('g', 'w').write('g')");
  request.add_output_globs("[fg]");
  const RunOutcome all = RunOnce(request);
  ASSERT_TRUE(all.status.ok()) << Describe(all.status);
  EXPECT_EQ(all.result.termination(), v1::TERMINATION_EXITED);
  int64_t sum = all.result.stdout().sent() + all.result.stderr().sent();
  for (const v1::OutputFile& file : all.result.files()) sum += static_cast<int64_t>(file.content().size());
  EXPECT_LE(sum, kRunResponseBytes);
  EXPECT_EQ(all.result.stdout().total(), 2 * kMiB);
  EXPECT_EQ(all.result.stderr().total(), 2 * kMiB);
  ASSERT_EQ(all.result.files_size(), 2);
  EXPECT_EQ(all.result.files(0).omission(), v1::OMISSION_TOO_LARGE);
  EXPECT_EQ(all.result.files(0).size(), 2 * kMiB);
}

TEST_F(ServiceTest, Case65_FiveMebibytesInAndOut) {
  auto request = ProgramFile("big_in_and_out.py");
  std::string data, extra;
  for (int i = 0; i < 5 * kMiB; ++i) {
    data.push_back(static_cast<char>(i * 7 + (i >> 12)));
    extra.push_back(static_cast<char>(i * 13 + (i >> 10)));
  }
  AddFile(request, "big.bin", data);
  request.set_stdin(extra);
  request.add_output_globs("copy.bin");
  SetWall(request, absl::Seconds(60));
  const Outcome outcome = Execute(request);
  EXPECT_TRUE(Exited(outcome, 0));
  EXPECT_TRUE(outcome.out == data) << outcome.out.size();
  EXPECT_TRUE(outcome.files.contains("copy.bin") && outcome.files.at("copy.bin") == extra);
  EXPECT_EQ(outcome.err.size(), 64u);

  const RunOutcome ran = RunOnce(request);
  ASSERT_TRUE(ran.status.ok()) << Describe(ran.status) << ": the answer must fit a client's default limit";
  EXPECT_EQ(ran.result.stdout().total(), 5 * kMiB);
  EXPECT_EQ(ran.result.termination(), v1::TERMINATION_EXITED);
}

TEST_F(ServiceTest, FiftyConcurrentExecutionsEachGetTheirOwn) {
  absl::Mutex mutex;
  std::set<std::string> ids, tasks;
  Concurrently(
      50,
      [&](int i) {
        const Outcome outcome = Execute(Program("bash", absl::StrCat("echo ", i, "; echo e", i, " >&2; exit ", i)));
        EXPECT_TRUE(Exited(outcome, i));
        EXPECT_EQ(outcome.out, absl::StrCat(i, "\n"));
        EXPECT_EQ(outcome.err, absl::StrCat("e", i, "\n"));
        absl::MutexLock lock(&mutex);
        ids.insert(outcome.execution_id);
        tasks.insert(outcome.result.isolation().task_id());
      },
      50);
  EXPECT_EQ(ids.size(), 50u);
  EXPECT_EQ(tasks.size(), 50u) << "a sandbox was used twice";
}

TEST_F(ServiceTest, TimingsAddUp) {
  const Outcome outcome = Execute(Program("python", "import time; time.sleep(1)"));
  ASSERT_TRUE(Exited(outcome, 0));
  const auto seconds = [](const google::protobuf::Duration& d) {
    return static_cast<double>(d.seconds()) + d.nanos() / 1e9;
  };
  const v1::Timings& timings = outcome.result.timings();
  EXPECT_GE(seconds(timings.run()), 1.0);
  EXPECT_GT(seconds(timings.sandbox()), 0.0);
  EXPECT_GE(seconds(timings.queue()), 0.0);
  const double sum =
      seconds(timings.queue()) + seconds(timings.sandbox()) + seconds(timings.run()) + seconds(timings.collect());
  EXPECT_LE(sum, absl::ToDoubleSeconds(outcome.finished_at) + 0.05);
  EXPECT_GE(sum, absl::ToDoubleSeconds(outcome.finished_at) - 0.5);
}

}  // namespace
}  // namespace mayfly::test
