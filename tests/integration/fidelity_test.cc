// A program sees what its caller sent, and its language behaves as everywhere else. Field cases 35-45.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/integration/service.h"

namespace mayfly::test {
namespace {

using FidelityTest = StackTest;

std::string AllBytes(size_t size) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>(i * 131 + (i >> 8)));
  return bytes;
}

// Full: 200 of each. Short: 12.
TEST_F(FidelityTest, Case35_StdinEndsUnderLoad) {
  const std::vector<std::string> inputs = {"hi", ""};
  Concurrently(2 * Repeat(12, 200), [&](int i) {
    auto request = ProgramFile("echo_stdin.sh");
    request.set_stdin(inputs[i % 2]);
    const Outcome outcome = Execute(request);
    EXPECT_TRUE(Exited(outcome, 0));
    EXPECT_EQ(outcome.out, inputs[i % 2] + "end\n");
  });
}

TEST_F(FidelityTest, Case36_ReadingWithoutStdinIsEndOfFileAtOnce) {
  const Outcome outcome = Execute(Program("python", "input()"));
  EXPECT_TRUE(Exited(outcome, 1));
  EXPECT_TRUE(absl::StrContains(outcome.err, "EOFError")) << outcome.err;
  EXPECT_LT(outcome.RunTime(), absl::Seconds(4));
}

TEST_F(FidelityTest, Case37_UnreadStdinDelaysNothing) {
  const std::vector<v1::ExecuteRequest> programs = {
      Program("python", "print('ok')"),
      Program("bash", "echo ok"),
      Program("javascript", "console.log('ok')"),
      Program("python", "import sys; sys.stdin.close(); print('ok')"),
      Program("bash", "exec 0<&-; echo ok"),
      Program("python", "import sys; sys.stdin.buffer.read(100); print('ok')")};
  Concurrently(
      static_cast<int>(programs.size()),
      [&](int i) {
        SCOPED_TRACE(programs[i].code());
        auto request = programs[i];
        request.set_stdin(std::string(8 << 20, 's'));
        const Outcome outcome = Execute(request);
        EXPECT_TRUE(Exited(outcome, 0));
        EXPECT_EQ(outcome.out, "ok\n");
        EXPECT_LT(outcome.RunTime(), absl::Seconds(6));
      },
      3);
}

TEST_F(FidelityTest, Case37_EightMebibytesAreEchoed) {
  const std::string input = AllBytes(8 << 20);
  const std::vector<std::string> programs = {"echo_stdin.py", "echo_stdin.js", "echo_stdin.sh"};
  Concurrently(static_cast<int>(programs.size()), [&](int i) {
    SCOPED_TRACE(programs[i]);
    auto request = ProgramFile(programs[i]);
    request.set_stdin(input);
    SetWall(request, absl::Seconds(60));
    const Outcome outcome = Execute(request);
    EXPECT_TRUE(Exited(outcome, 0));
    EXPECT_TRUE(outcome.out == input + (i == 2 ? "end\n" : "")) << outcome.out.size() << " bytes";
  });
}

TEST_F(FidelityTest, Case38_StdinIsByteExact) {
  const std::vector<std::string> inputs = {"a\r\nb",        std::string("\0", 1), "\n",
                                           "no newline",    AllBytes(300),        "\x04\x03\x1a",
                                           AllBytes(65536), AllBytes(65537)};
  const std::vector<std::string> programs = {"echo_stdin.py", "echo_stdin.js"};
  Concurrently(static_cast<int>(inputs.size()), [&](int i) {
    auto request = ProgramFile(programs[i % 2]);
    request.set_stdin(inputs[i]);
    const Outcome outcome = Execute(request);
    EXPECT_TRUE(Exited(outcome, 0));
    EXPECT_TRUE(outcome.out == inputs[i]) << outcome.out.size() << " of " << inputs[i].size() << " bytes";
  });
}

TEST_F(FidelityTest, Case39_LargeSourcesRun) {
  const std::vector<size_t> sizes = {300 * 1024, 1 << 20};
  Concurrently(static_cast<int>(sizes.size()), [&](int i) {
    const std::string tail = "\nimport os\nprint('size', os.path.getsize(__file__))\n";
    std::string code = "x = 1\n";
    while (code.size() + 120 + tail.size() < sizes[i]) code += "# " + std::string(116, 'p') + "\n";
    code += "#" + std::string(sizes[i] - code.size() - tail.size() - 1, 'q') + tail;
    ASSERT_EQ(code.size(), sizes[i]);
    const Outcome outcome = Execute(Program("python-open", code));
    EXPECT_TRUE(Exited(outcome, 0));
    EXPECT_EQ(outcome.out, absl::StrCat("size ", sizes[i], "\n"));
  });
}

TEST_F(FidelityTest, Case39_ArgumentsAreExact) {
  const std::vector<std::string> args = {
      "",  "-c",  "--help",       "$(id)",   "line\nbreak", "--", "-",         "'\"", "\\",
      "*", "a b", "\xe2\x98\x95", "${HOME}", ";id",         "-e", "--version", "\t",  std::string(2000, 'z')};
  const std::vector<std::string> programs = {"args.py", "args.js", "args.sh"};
  Concurrently(3, [&](int i) {
    SCOPED_TRACE(programs[i]);
    auto request = ProgramFile(programs[i]);
    for (const std::string& arg : args) request.add_args(arg);
    const Outcome outcome = Execute(request);
    ASSERT_TRUE(Exited(outcome, 0));
    if (i == 2) {
      std::string expected;
      for (const std::string& arg : args) expected += arg + std::string(1, '\0');
      EXPECT_EQ(outcome.out, expected);
      return;
    }
    const auto got = nlohmann::json::parse(outcome.out, nullptr, /*allow_exceptions=*/false);
    EXPECT_EQ(got, nlohmann::json(args)) << outcome.out;
  });
}

TEST_F(FidelityTest, Case39_FlagsInFrontAreTheProgramsOwn) {
  const std::vector<std::string> flags = {"-c", "--version", "-h", "--", "-e", "-x"};
  const std::vector<std::string> programs = {"args.py", "args.js"};
  Concurrently(static_cast<int>(flags.size()), [&](int i) {
    auto request = ProgramFile(programs[i % 2]);
    request.add_args(flags[i]);
    const Outcome outcome = Execute(request);
    EXPECT_TRUE(Exited(outcome, 0));
    EXPECT_EQ(outcome.out, absl::StrCat("[\"", flags[i], "\"]\n"));
  });
}

TEST_F(FidelityTest, Case40_TracebacksShowTheProgramOnly) {
  const Outcome outcome = Execute(Program("python", "\n\nraise KeyError(2)"));
  ASSERT_TRUE(Exited(outcome, 1));
  EXPECT_EQ(outcome.err,
            "Traceback (most recent call last):\n"
            "  File \"/workspace/main.py\", line 3, in <module>\n"
            "    raise KeyError(2)\n"
            "KeyError: 2\n");
}

TEST_F(FidelityTest, Case40_NoGlobalOfOursAndTheWorkspaceFirstInThePath) {
  auto request = Program("python-open",
                         "print(sorted(globals()))\n"
                         "import sys, os\n"
                         "print(sys.path[0], os.getcwd(), __name__, __file__)\n"
                         "import neighbour\n");
  AddFile(request, "neighbour.py", "print('imported')\n");
  const Outcome outcome = Execute(request);
  ASSERT_TRUE(Exited(outcome, 0));
  EXPECT_EQ(outcome.out,
            "['__annotations__', '__builtins__', '__cached__', '__doc__', '__file__', '__loader__', '__name__', "
            "'__package__', '__spec__']\n"
            "/workspace /workspace __main__ /workspace/main.py\n"
            "imported\n");
}

TEST_F(FidelityTest, Case40_NodeErrorsShowTheRealFile) {
  const Outcome outcome = Execute(Program("javascript", "\n\nnull.x"));
  ASSERT_TRUE(Exited(outcome, 1));
  EXPECT_THAT(outcome.err, ::testing::MatchesRegex("(.|\n)*/workspace/main\\.[a-z]+:3(.|\n)*"));
}

TEST_F(FidelityTest, Case42_Multiprocessing) {
  auto request = ProgramFile("multiprocessing_all.py");
  SetWall(request, absl::Seconds(60));
  const Outcome outcome = Execute(request);
  EXPECT_TRUE(Exited(outcome, 0));
  EXPECT_EQ(outcome.out, "fork ok\nspawn ok\nlock ok\nshm ok\n");
}

TEST_F(FidelityTest, Case43_LateOutputIsKept) {
  const Outcome python = Execute(ProgramFile("late_output.py"));
  EXPECT_TRUE(Exited(python, 0));
  EXPECT_EQ(python.out, "asyncio\nmain\nthread\natexit\n");
  const Outcome node = Execute(ProgramFile("late_output.js"));
  EXPECT_TRUE(Exited(node, 4));
  EXPECT_EQ(node.out, "main\ntimer\nexit\n");
  const Outcome rejected = Execute(Program("javascript", "console.log('before'); Promise.reject(new Error('x'))"));
  EXPECT_TRUE(Exited(rejected, 1));
  EXPECT_EQ(rejected.out, "before\n");
  const Outcome trapped = Execute(Program("bash", "trap 'echo trap' EXIT; echo main"));
  EXPECT_TRUE(Exited(trapped, 0));
  EXPECT_EQ(trapped.out, "main\ntrap\n");
}

TEST_F(FidelityTest, Case45_TextIsUtf8) {
  struct Row {
    const char* language;
    const char* code;
    const char* out;
  };
  const std::vector<Row> rows = {
      {"python",
       "import sys\nprint(\"\xe6\xb5\x8b\xe8\xaf\x95\".encode(\"gbk\").decode(\"gbk\"), \"\xc3\xa9\xe2\x98\x95\", "
       "sys.stdout.encoding)",
       "\xe6\xb5\x8b\xe8\xaf\x95 \xc3\xa9\xe2\x98\x95 utf-8\n"},
      {"python", "import sys\nprint(sys.stdin.encoding, sys.stderr.encoding, sys.getfilesystemencoding())",
       "utf-8 utf-8 utf-8\n"},
      {"python", "open('f', 'w').write('\xe2\x98\x95')\nprint(open('f', 'rb').read())", "b'\\xe2\\x98\\x95'\n"},
      {"javascript", "console.log('\xc3\xa9\xe2\x98\x95')", "\xc3\xa9\xe2\x98\x95\n"},
      {"bash", "s='\xc3\xa9\xe2\x98\x95'; echo \"$s ${#s}\"", "\xc3\xa9\xe2\x98\x95 2\n"},
  };
  Concurrently(static_cast<int>(rows.size()), [&](int i) {
    SCOPED_TRACE(rows[i].code);
    const Outcome outcome = Execute(Program(rows[i].language, rows[i].code));
    EXPECT_TRUE(Exited(outcome, 0));
    EXPECT_EQ(outcome.out, rows[i].out);
  });
}

TEST_F(FidelityTest, EnvironmentVariablesAreExact) {
  auto request =
      Program("python-open", "import os, json\nprint(json.dumps([os.environ[k] for k in ('A', 'B_2', '_c')]))");
  (*request.mutable_env())["A"] = "";
  (*request.mutable_env())["B_2"] = "x=y\n'\"$(id)";
  (*request.mutable_env())["_c"] = "\xe2\x98\x95";
  const Outcome outcome = Execute(request);
  ASSERT_TRUE(Exited(outcome, 0));
  EXPECT_EQ(nlohmann::json::parse(outcome.out, nullptr, false), nlohmann::json({"", "x=y\n'\"$(id)", "\xe2\x98\x95"}));
}

}  // namespace
}  // namespace mayfly::test
