#include "policy/request_check.h"

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policy/request_limits.h"

namespace mayfly::policy {
namespace {

using mayfly::v1::ExecuteRequest;
using mayfly::v1::Template;
using std::string_literals::operator""s;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// "field: description" of each violation.
std::vector<std::string> Check(const ExecuteRequest& request) {
  Template offered;
  offered.set_name("python");
  offered.set_main_file("main.py");
  offered.set_workspace_bytes(64 * kMiB);
  for (const char* name : {"HOME", "LANG", "PATH", "TMPDIR"}) offered.add_reserved_env(name);
  offered.mutable_max_limits()->mutable_wall_time()->set_seconds(30);
  offered.mutable_max_limits()->set_output_bytes(1000);
  offered.mutable_max_limits()->set_file_bytes(2000);
  std::vector<std::string> found;
  for (const FieldViolation& violation : CheckRequest(request, offered)) {
    found.push_back(violation.field + ": " + violation.description);
  }
  return found;
}

ExecuteRequest Valid() {
  ExecuteRequest request;
  request.set_template_("python");
  request.set_code("print(1)");
  return request;
}

void AddFile(ExecuteRequest& request, const std::string& path, const std::string& content = "") {
  request.add_files()->set_path(path);
  request.mutable_files(request.files_size() - 1)->set_content(content);
}

TEST(RequestCheck, TakesTheSmallestAndTheLargest) {
  EXPECT_THAT(Check(Valid()), IsEmpty());

  ExecuteRequest request = Valid();
  request.set_code(std::string(kCodeBytesMax, '#'));
  request.set_stdin(std::string(14 * kMiB, 'x'));
  for (int i = 0; i < kInputFilesMax; ++i) {
    AddFile(request, "dir/" + std::to_string(i), std::string(kInputFileBytesMax / kInputFilesMax, 'x'));
    request.mutable_files(i)->set_mode(0777);
  }
  for (int i = 0; i < kArgsMax; ++i) request.add_args(std::string(kArgBytesMax / kArgsMax, 'x'));
  for (int i = 0; i < kEnvMax; ++i) {
    const std::string name = "NAME_" + std::to_string(i);
    (*request.mutable_env())[name] = std::string(kEnvBytesMax / kEnvMax - name.size(), 'x');
  }
  for (int i = 0; i < kOutputGlobsMax; ++i) request.add_output_globs("**/" + std::string(kOutputGlobBytesMax - 3, '?'));
  request.mutable_limits()->mutable_wall_time()->set_seconds(30);
  request.mutable_limits()->set_output_bytes(1000);
  request.mutable_limits()->set_file_bytes(2000);
  request.mutable_caller()->set_model_id(std::string(kCallerIdBytesMax, '~'));
  EXPECT_THAT(Check(request), IsEmpty());
}

TEST(RequestCheck, TakesStrangeButHarmlessValues) {
  ExecuteRequest request = Valid();
  for (const char* path : {"a", "b/main.py", "...", "..a/b..", "a b\n", "-rf", "é/☕", "\\", "c/*", "ab", "a.b/c"}) {
    AddFile(request, path);
  }
  for (const char* arg : {"", "-c", "--help", "$(id)", "\n"}) request.add_args(arg);
  (*request.mutable_env())["_"] = "a=b\n";
  (*request.mutable_env())["LD_PRELOAD"] = "";
  request.mutable_limits()->mutable_wall_time()->set_nanos(10000000);
  request.mutable_limits()->set_output_bytes(1);
  request.mutable_limits()->set_file_bytes(0);
  EXPECT_THAT(Check(request), IsEmpty());
}

TEST(RequestCheck, RefusesPathsThatLeaveTheWorkspaceOrAreAmbiguous) {
  const std::pair<std::string, std::string> cases[] = {
      {"../x", R"("../x" has a ".." part)"},
      {"a/../../b", R"("a/../../b" has a ".." part)"},
      {"a/..", R"("a/.." has a ".." part)"},
      {"/etc/x", R"("/etc/x" is absolute; it must be relative to the workspace)"},
      {"a\0b"s, R"("a\x00b" has a NUL byte)"},
      {"", "is empty"},
      {".", R"("." has a "." part)"},
      {"./a", R"("./a" has a "." part)"},
      {"a//b", R"("a//b" has an empty part)"},
      {"a/", R"("a/" has an empty part)"},
      {"\xc3.txt", R"("\xc3.txt" is not valid UTF-8)"},
      {"main.py", R"("main.py" is the path of the main file, too)"},
      {"main.py/x", R"("main.py/x" is below the main file, which is a file)"},
      {std::string(256, 'p'), "\"" + std::string(64, 'p') + "...\" (256 bytes) has a part longer than 255 bytes"},
  };
  for (const auto& [path, problem] : cases) {
    ExecuteRequest request = Valid();
    AddFile(request, path);
    EXPECT_THAT(Check(request), ElementsAre("files[0].path: " + problem));
  }
  ExecuteRequest request = Valid();
  std::string deep = "a";
  while (deep.size() <= kPathBytesMax) deep += "/a";
  AddFile(request, deep);
  EXPECT_THAT(Check(request), ElementsAre(testing::EndsWith("(513 bytes) is longer than 512 bytes")));
}

TEST(RequestCheck, RefusesFilesThatConflict) {
  ExecuteRequest request = Valid();
  for (const char* path : {"a/b/c", "a", "x", "x", "y", "z/y"}) AddFile(request, path);
  EXPECT_THAT(Check(request), ElementsAre(R"(files[0].path: "a/b/c" is below files[1], which is a file)",
                                          R"(files[3].path: "x" is the path of files[2], too)"));
}

struct Refusal {
  const char* what;
  std::function<void(ExecuteRequest&)> spoil;
  std::vector<std::string> violations;
};

void PrintTo(const Refusal& refusal, std::ostream* out) {
  *out << refusal.what;
}

class RefusalTest : public testing::TestWithParam<Refusal> {};

TEST_P(RefusalTest, NamesFieldValueAndLimit) {
  ExecuteRequest request = Valid();
  GetParam().spoil(request);
  EXPECT_EQ(Check(request), GetParam().violations);
}

const Refusal kSizes[] = {
    {"no template", [](auto& r) { r.clear_template_(); }, {"template: is required"}},
    {"no code", [](auto& r) { r.clear_code(); }, {"code: is empty; 1 byte to 1 MiB are allowed"}},
    {"code",
     [](auto& r) { r.set_code(std::string(kCodeBytesMax + 1, '#')); },
     {"code: 1048577 bytes; at most 1048576 are allowed"}},
    {"stdin",
     [](auto& r) { r.set_stdin(std::string(kStdinBytesMax + 1, 'x')); },
     {"stdin: 16777217 bytes; at most 16777216 are allowed"}},
    {"whole request",
     [](auto& r) {
       r.set_code("x");
       r.set_stdin(std::string(16 * kMiB, 'x'));
       AddFile(r, "a", std::string(16 * kMiB, 'x'));
     },
     {": 33554461 bytes in the whole request; at most 33554432 are allowed"}},
    {"files",
     [](auto& r) {
       for (int i = 0; i < 129; ++i) AddFile(r, std::to_string(i));
     },
     {"files: 129 files; at most 128 are allowed"}},
    {"file bytes",
     [](auto& r) {
       AddFile(r, "a", std::string(10 * kMiB, 'x'));
       AddFile(r, "b", std::string(7 * kMiB, 'x'));
     },
     {"files: 17825792 bytes of content together; at most 16777216 are allowed"}},
    {"mode",
     [](auto& r) {
       AddFile(r, "a");
       r.mutable_files(0)->set_mode(04755);
     },
     {"files[0].mode: 04755 is not in the range 0 to 0777"}},
    {"args",
     [](auto& r) {
       for (int i = 0; i < 257; ++i) r.add_args("");
     },
     {"args: 257 arguments; at most 256 are allowed"}},
    {"arg bytes",
     [](auto& r) { r.add_args(std::string(65537, 'x')); },
     {"args: 65537 bytes together; at most 65536 are allowed"}},
    {"arg with NUL",
     [](auto& r) {
       r.add_args("a");
       r.add_args("\0"s);
     },
     {R"(args[1]: "\x00" has a NUL byte)"}},
    {"env",
     [](auto& r) {
       for (int i = 0; i < 129; ++i) (*r.mutable_env())["N" + std::to_string(i)] = "";
     },
     {"env: 129 variables; at most 128 are allowed"}},
    {"env bytes",
     [](auto& r) { (*r.mutable_env())["N"] = std::string(65536, 'x'); },
     {"env: 65537 bytes of names and values together; at most 65536 are allowed"}},
    {"env names",
     [](auto& r) {
       for (const char* name : {"", "1A", "A=B", "A-B", "PATH", "é"}) (*r.mutable_env())[name] = "v";
     },
     {R"(env[""]: "" is not a name; it must match [A-Za-z_][A-Za-z0-9_]*)",
      R"(env["1A"]: "1A" is not a name; it must match [A-Za-z_][A-Za-z0-9_]*)",
      R"(env["A-B"]: "A-B" is not a name; it must match [A-Za-z_][A-Za-z0-9_]*)",
      R"(env["A=B"]: "A=B" is not a name; it must match [A-Za-z_][A-Za-z0-9_]*)",
      R"(env["PATH"]: "PATH" is the template's own and may not be replaced)",
      R"(env["\xc3\xa9"]: "\xc3\xa9" is not a name; it must match [A-Za-z_][A-Za-z0-9_]*)"}},
    {"env value with NUL",
     [](auto& r) { (*r.mutable_env())["A"] = "x\0y"s; },
     {R"(env["A"]: value "x\x00y" has a NUL byte)"}},
    {"globs",
     [](auto& r) {
       for (int i = 0; i < 33; ++i) r.add_output_globs("*");
     },
     {"output_globs: 33 patterns; at most 32 are allowed"}},
    {"glob contents",
     [](auto& r) {
       for (const char* g : {"", "/etc/*", "../*", "a/**/..", "\xff*"}) r.add_output_globs(g);
     },
     {"output_globs[0]: is empty", R"(output_globs[1]: "/etc/*" is absolute; it must be relative to the workspace)",
      R"(output_globs[2]: "../*" has a ".." part)", R"(output_globs[3]: "a/**/.." has a ".." part)",
      R"(output_globs[4]: "\xff*" is not valid UTF-8)"}},
    {"glob length",
     [](auto& r) { r.add_output_globs(std::string(257, '*')); },
     {"output_globs[0]: \"" + std::string(64, '*') + "...\" (257 bytes) is longer than 256 bytes"}},
};
INSTANTIATE_TEST_SUITE_P(Sizes, RefusalTest, testing::ValuesIn(kSizes));

void SetWallTime(ExecuteRequest& request, int64_t seconds, int32_t nanos) {
  request.mutable_limits()->mutable_wall_time()->set_seconds(seconds);
  request.mutable_limits()->mutable_wall_time()->set_nanos(nanos);
}

const std::string kWallRange = " is not in the range 10ms to 30s, the template's maximum";

const Refusal kLimits[] = {
    {"wall time above", [](auto& r) { SetWallTime(r, 30, 1); }, {"limits.wall_time: 30.000000001s" + kWallRange}},
    {"wall time below", [](auto& r) { SetWallTime(r, 0, 9999999); }, {"limits.wall_time: 9.999999ms" + kWallRange}},
    {"wall time zero", [](auto& r) { SetWallTime(r, 0, 0); }, {"limits.wall_time: 0" + kWallRange}},
    {"wall time negative", [](auto& r) { SetWallTime(r, -1, 0); }, {"limits.wall_time: -1s" + kWallRange}},
    {"wall time of mixed sign",
     [](auto& r) { SetWallTime(r, 1, -1); },
     {"limits.wall_time: seconds 1, nanos -1 is not a valid google.protobuf.Duration"}},
    {"wall time with too many nanoseconds",
     [](auto& r) { SetWallTime(r, 1, 1000000000); },
     {"limits.wall_time: seconds 1, nanos 1000000000 is not a valid google.protobuf.Duration"}},
    {"wall time that overflows",
     [](auto& r) { SetWallTime(r, std::numeric_limits<int64_t>::max(), 0); },
     {"limits.wall_time: seconds 9223372036854775807, nanos 0 is not a valid google.protobuf.Duration"}},
    {"output above",
     [](auto& r) { r.mutable_limits()->set_output_bytes(1001); },
     {"limits.output_bytes: 1001 is not in the range 1 to 1000, the template's maximum"}},
    {"output zero",
     [](auto& r) { r.mutable_limits()->set_output_bytes(0); },
     {"limits.output_bytes: 0 is not in the range 1 to 1000, the template's maximum"}},
    {"files above",
     [](auto& r) { r.mutable_limits()->set_file_bytes(2001); },
     {"limits.file_bytes: 2001 is not in the range 0 to 2000, the template's maximum"}},
    {"files negative",
     [](auto& r) { r.mutable_limits()->set_file_bytes(-1); },
     {"limits.file_bytes: -1 is not in the range 0 to 2000, the template's maximum"}},
    {"caller",
     [](auto& r) {
       r.mutable_caller()->set_model_id(std::string(129, 'm'));
       r.mutable_caller()->set_agent_id("a\n");
       r.mutable_caller()->set_task_id("é");
     },
     {"caller.model_id: \"" + std::string(64, 'm') + "...\" (129 bytes) is longer than 128 bytes",
      R"(caller.agent_id: "a\n" is not printable ASCII)", R"(caller.task_id: "\xc3\xa9" is not printable ASCII)"}},
};
INSTANTIATE_TEST_SUITE_P(Limits, RefusalTest, testing::ValuesIn(kLimits));

TEST(RequestCheck, RefusesWhatDoesNotFitTheWorkspace) {
  Template offered;
  offered.set_workspace_bytes(64 * kKiB);
  ExecuteRequest request = Valid();
  for (int i = 0; i < 16; ++i) AddFile(request, std::to_string(i), "1 byte takes a page");
  const std::vector<FieldViolation> violations = CheckRequest(request, offered);
  ASSERT_THAT(violations, SizeIs(1));
  EXPECT_EQ(violations[0].field, "files");
  EXPECT_EQ(violations[0].description, "code and files take 69632 bytes; the template's workspace has 65536");
}

TEST(RequestCheck, ReportsABoundedNumber) {
  ExecuteRequest request = Valid();
  for (int i = 0; i < kInputFilesMax; ++i) AddFile(request, "../x");
  EXPECT_THAT(Check(request), SizeIs(kViolationsMax));
}

TEST(ExecutionId, Is32LowerCaseHexadecimalDigits) {
  EXPECT_FALSE(CheckExecutionId("0123456789abcdef0123456789abcdef").has_value());
  for (const char* id :
       {"", "0123456789abcdef0123456789abcde", "0123456789abcdef0123456789abcdef0", "0123456789ABCDEF0123456789ABCDEF",
        "../../../../../../../../../../x/", "0123456789abcdef0123456789abcdeg"}) {
    const auto violation = CheckExecutionId(id);
    ASSERT_TRUE(violation.has_value()) << id;
    EXPECT_EQ(violation->field, "execution_id");
  }
  EXPECT_EQ(CheckExecutionId("x\n")->description, R"("x\n" is not 32 lower-case hexadecimal digits)");
}

}  // namespace
}  // namespace mayfly::policy
