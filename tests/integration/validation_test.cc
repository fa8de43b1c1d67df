// Every rule of execution.proto for a request: broken, it is INVALID_ARGUMENT with the field named; at its edge, it is
// kept. Nothing here starts a sandbox, but for the edges.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/integration/service.h"

namespace mayfly::test {
namespace {

using ValidationTest = StackTest;

struct Row {
  const char* what;
  // What the field's name must begin with, without indices.
  const char* field;
  std::function<void(v1::ExecuteRequest&)> spoil;
};

std::vector<Row> Rows() {
  using R = v1::ExecuteRequest;
  return {
      {"no template", "template", [](R& r) { r.clear_template_(); }},
      {"no code", "code", [](R& r) { r.clear_code(); }},
      {"code above 1 MiB", "code", [](R& r) { r.set_code(std::string((1 << 20) + 1, '#')); }},
      {"129 files", "files",
       [](R& r) {
         for (int i = 0; i < 129; ++i) AddFile(r, absl::StrCat("f", i), "x");
       }},
      {"files above 16 MiB together", "files",
       [](R& r) {
         AddFile(r, "a", std::string(8 << 20, 'a'));
         AddFile(r, "b", std::string((8 << 20) + 1, 'b'));
       }},
      {"file without a path", "files.path", [](R& r) { AddFile(r, "", "x"); }},
      {"path of 513 bytes", "files.path",
       [](R& r) { AddFile(r, std::string(256, 'a') + "/" + std::string(256, 'b'), "x"); }},
      {"path with ..", "files.path", [](R& r) { AddFile(r, "../x", "x"); }},
      {"absolute path", "files.path", [](R& r) { AddFile(r, "/x", "x"); }},
      {"path twice", "files",
       [](R& r) {
         AddFile(r, "x", "1");
         AddFile(r, "x", "2");
       }},
      {"main file", "files.path", [](R& r) { AddFile(r, "main.py", "x"); }},
      {"mode 01000", "files.mode", [](R& r) { AddFile(r, "x", "x", 01000); }},
      {"setuid mode", "files.mode", [](R& r) { AddFile(r, "x", "x", 04755); }},
      {"huge mode", "files.mode", [](R& r) { AddFile(r, "x", "x", 0xffffffff); }},
      {"257 arguments", "args",
       [](R& r) {
         for (int i = 0; i < 257; ++i) r.add_args("a");
       }},
      {"arguments above 64 KiB", "args",
       [](R& r) {
         r.add_args(std::string(40000, 'a'));
         r.add_args(std::string(40000, 'b'));
       }},
      {"argument with NUL", "args", [](R& r) { r.add_args(std::string("a\0b", 3)); }},
      {"environment name empty", "env", [](R& r) { (*r.mutable_env())[""] = "x"; }},
      {"environment name with =", "env", [](R& r) { (*r.mutable_env())["A=B"] = "x"; }},
      {"environment name from a digit", "env", [](R& r) { (*r.mutable_env())["1A"] = "x"; }},
      {"environment name with NUL", "env", [](R& r) { (*r.mutable_env())[std::string("A\0B", 3)] = "x"; }},
      {"environment name with a newline", "env", [](R& r) { (*r.mutable_env())["A\n"] = "x"; }},
      {"environment name not ASCII", "env", [](R& r) { (*r.mutable_env())["\xc3\xa9"] = "x"; }},
      {"environment value with NUL", "env", [](R& r) { (*r.mutable_env())["A"] = std::string("x\0", 2); }},
      {"PATH is the template's", "env", [](R& r) { (*r.mutable_env())["PATH"] = "/tmp"; }},
      {"HOME is the template's", "env", [](R& r) { (*r.mutable_env())["HOME"] = "/tmp"; }},
      {"LANG is the template's", "env", [](R& r) { (*r.mutable_env())["LANG"] = "C"; }},
      {"129 environment variables", "env",
       [](R& r) {
         for (int i = 0; i < 129; ++i) (*r.mutable_env())[absl::StrCat("V", i)] = "x";
       }},
      {"environment above 64 KiB", "env", [](R& r) { (*r.mutable_env())["A"] = std::string(70000, 'x'); }},
      {"stdin above 16 MiB", "stdin", [](R& r) { r.set_stdin(std::string((16 << 20) + 1, 's')); }},
      {"33 globs", "output_globs",
       [](R& r) {
         for (int i = 0; i < 33; ++i) r.add_output_globs("*");
       }},
      {"glob of 257 bytes", "output_globs", [](R& r) { r.add_output_globs(std::string(257, '*')); }},
      {"no wall time at all", "limits.wall_time", [](R& r) { SetWall(r, absl::ZeroDuration()); }},
      {"wall time below 10 ms", "limits.wall_time", [](R& r) { SetWall(r, absl::Milliseconds(9)); }},
      {"negative wall time", "limits.wall_time", [](R& r) { SetWall(r, absl::Seconds(-1)); }},
      {"wall time above the maximum", "limits.wall_time",
       [](R& r) { SetWall(r, absl::Minutes(10) + absl::Nanoseconds(1)); }},
      {"wall time beyond all sense", "limits.wall_time",
       [](R& r) { r.mutable_limits()->mutable_wall_time()->set_seconds(INT64_MAX); }},
      {"malformed nanos", "limits.wall_time",
       [](R& r) {
         r.mutable_limits()->mutable_wall_time()->set_seconds(1);
         r.mutable_limits()->mutable_wall_time()->set_nanos(1000000000);
       }},
      {"signs that differ", "limits.wall_time",
       [](R& r) {
         r.mutable_limits()->mutable_wall_time()->set_seconds(1);
         r.mutable_limits()->mutable_wall_time()->set_nanos(-1);
       }},
      {"no output bytes", "limits.output_bytes", [](R& r) { r.mutable_limits()->set_output_bytes(0); }},
      {"negative output bytes", "limits.output_bytes", [](R& r) { r.mutable_limits()->set_output_bytes(-1); }},
      {"output above the maximum", "limits.output_bytes",
       [](R& r) { r.mutable_limits()->set_output_bytes((1LL << 31) + 1); }},
      {"largest output bytes", "limits.output_bytes", [](R& r) { r.mutable_limits()->set_output_bytes(INT64_MAX); }},
      {"negative file bytes", "limits.file_bytes", [](R& r) { r.mutable_limits()->set_file_bytes(-1); }},
      {"files above the maximum", "limits.file_bytes",
       [](R& r) { r.mutable_limits()->set_file_bytes((64LL << 20) + 1); }},
      {"model_id of 129 bytes", "caller.model_id",
       [](R& r) { r.mutable_caller()->set_model_id(std::string(129, 'm')); }},
      {"agent_id not ASCII", "caller.agent_id", [](R& r) { r.mutable_caller()->set_agent_id("\xc3\xa9"); }},
      {"task_id with a newline", "caller.task_id", [](R& r) { r.mutable_caller()->set_task_id("a\nb"); }},
      {"task_id with NUL", "caller.task_id", [](R& r) { r.mutable_caller()->set_task_id(std::string("a\0", 2)); }},
      {"task_id with DEL", "caller.task_id", [](R& r) { r.mutable_caller()->set_task_id("a\x7f"); }},
  };
}

void ExpectRefused(const grpc::Status& status, const Row& row) {
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << Describe(status);
  EXPECT_TRUE(HasErrorInfo(status));
  const std::vector<std::string> fields = BadFields(status);
  EXPECT_TRUE(
      std::any_of(fields.begin(), fields.end(), [&](const std::string& f) { return absl::StartsWith(f, row.field); }))
      << "not named: " << row.field << "; named: " << absl::StrJoin(fields, ", ");
  EXPECT_LT(status.error_message().size(), 2000u) << "the message repeats the request";
}

TEST_F(ValidationTest, EveryRuleIsRefusedWithItsFieldNamed) {
  for (const Row& row : Rows()) {
    SCOPED_TRACE(row.what);
    auto request = Program("python", "print(1)");
    row.spoil(request);
    const Outcome outcome = Execute(request);
    ExpectRefused(outcome.status, row);
    EXPECT_TRUE(outcome.events.empty());
  }
}

TEST_F(ValidationTest, RunRefusesTheSame) {
  for (const Row& row : Rows()) {
    SCOPED_TRACE(row.what);
    auto request = Program("python", "print(1)");
    row.spoil(request);
    ExpectRefused(RunOnce(request).status, row);
  }
}

TEST_F(ValidationTest, EveryBadFieldIsNamedAtOnce) {
  auto request = Program("python", "print(1)");
  AddFile(request, "fine", "x");
  AddFile(request, "../x", "x");
  request.add_args(std::string("\0", 1));
  (*request.mutable_env())["1"] = "x";
  request.mutable_limits()->set_output_bytes(0);
  request.mutable_caller()->set_task_id("\n");
  const grpc::Status status = Execute(request).status;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  const std::vector<std::string> fields = BadFields(status);
  for (const char* due : {"files.path", "args", "env", "limits.output_bytes", "caller.task_id"}) {
    EXPECT_TRUE(
        std::any_of(fields.begin(), fields.end(), [&](const std::string& f) { return absl::StartsWith(f, due); }))
        << "not named: " << due << "; named: " << absl::StrJoin(fields, ", ");
  }
}

TEST_F(ValidationTest, ManyBadFieldsStayASmallAnswer) {
  auto request = Program("python", "print(1)");
  for (int i = 0; i < 100; ++i) AddFile(request, absl::StrCat("../", std::string(500, 'x'), i), "x");
  for (int i = 0; i < 250; ++i) request.add_args(std::string(200, '\0'));
  const grpc::Status status = Execute(request).status;
  // gRPC clients refuse trailers above 8 KiB: the caller must see INVALID_ARGUMENT all the same.
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << Describe(status);
  EXPECT_FALSE(BadFields(status).empty());
}

TEST_F(ValidationTest, EdgesAreKept) {
  struct Edge {
    const char* what;
    std::function<void(v1::ExecuteRequest&)> set;
  };
  const std::vector<Edge> edges = {
      {"one byte of code", [](auto& r) { r.set_code("1"); }},
      {"128 files",
       [](auto& r) {
         for (int i = 0; i < 128; ++i) AddFile(r, absl::StrCat("f", i), "x");
       }},
      {"256 arguments",
       [](auto& r) {
         for (int i = 0; i < 256; ++i) r.add_args("a");
       }},
      {"path of 512 bytes",
       [](auto& r) { AddFile(r, std::string(255, 'a') + "/" + std::string(254, 'b') + "/c", "x"); }},
      {"mode 0777", [](auto& r) { AddFile(r, "x", "x", 0777); }},
      {"128 variables",
       [](auto& r) {
         for (int i = 0; i < 128; ++i) (*r.mutable_env())[absl::StrCat("V", i)] = "x";
       }},
      {"32 globs of 256 bytes",
       [](auto& r) {
         for (int i = 0; i < 32; ++i) r.add_output_globs("g/" + std::string(254, 'g'));
       }},
      {"the largest limits",
       [](auto& r) {
         SetWall(r, absl::Minutes(10));
         r.mutable_limits()->set_output_bytes(1LL << 31);
         r.mutable_limits()->set_file_bytes(64 << 20);
       }},
      {"callers of 128 bytes", [](auto& r) { r.mutable_caller()->set_task_id(std::string(128, '~')); }},
      {"no caller at all", [](auto& r) { r.clear_caller(); }},
  };
  Concurrently(static_cast<int>(edges.size()), [&](int i) {
    SCOPED_TRACE(edges[i].what);
    auto request = Program("python", "print(1)");
    edges[i].set(request);
    EXPECT_TRUE(Exited(Execute(request), 0));
  });
}

TEST_F(ValidationTest, TheLeastWallTimeIsTaken) {
  auto request = Program("bash", "sleep 60");
  SetWall(request, absl::Milliseconds(10));
  const Outcome outcome = Execute(request);
  EXPECT_TRUE(Ended(outcome, v1::TERMINATION_TIMED_OUT));
  EXPECT_LT(outcome.RunTime(), absl::Seconds(1));
}

TEST_F(ValidationTest, SixteenMebibytesOfFilesAndOfStdinAreTakenEach) {
  auto files = Program("python-open", "import os\nprint(os.path.getsize('a') + os.path.getsize('b'))");
  AddFile(files, "a", std::string(8 << 20, 'a'));
  AddFile(files, "b", std::string(8 << 20, 'b'));
  const Outcome outcome = Execute(files);
  EXPECT_TRUE(Exited(outcome, 0));
  EXPECT_EQ(outcome.out, "16777216\n");
  auto stdin_only = Program("bash", "wc -c");
  stdin_only.set_stdin(std::string(16 << 20, 's'));
  const Outcome counted = Execute(stdin_only);
  EXPECT_TRUE(Exited(counted, 0));
  EXPECT_EQ(counted.out, "16777216\n");
}

TEST_F(ValidationTest, ARequestAbove32MebibytesIsRefused) {
  auto request = Program("python", std::string(1 << 20, '#'));
  AddFile(request, "a", std::string(16 << 20, 'a'));
  request.set_stdin(std::string(16 << 20, 's'));
  const grpc::Status status = Execute(request).status;
  // gRPC itself refuses what is above the server's message limit, with RESOURCE_EXHAUSTED.
  EXPECT_TRUE(status.error_code() == grpc::StatusCode::INVALID_ARGUMENT ||
              status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED)
      << Describe(status);
}

TEST_F(ValidationTest, UnknownTemplatesAreNotFound) {
  for (const char* name : {"no-such-template", "Python", "python ", "../python", "python\n"}) {
    SCOPED_TRACE(name);
    const Outcome outcome = Execute(Program(name, "print(1)"));
    EXPECT_EQ(outcome.status.error_code(), grpc::StatusCode::NOT_FOUND) << Describe(outcome.status);
    EXPECT_TRUE(HasErrorInfo(outcome.status));
    EXPECT_TRUE(outcome.events.empty());
    EXPECT_EQ(RunOnce(Program(name, "print(1)")).status.error_code(), grpc::StatusCode::NOT_FOUND);
  }
}

}  // namespace
}  // namespace mayfly::test
