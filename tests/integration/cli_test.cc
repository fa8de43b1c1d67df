// clients/cli: what a person at a shell sees. The exit code is the program's; Mayfly's own are 124, 125, 137, 128 + n.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/integration/command.h"
#include "tests/integration/service.h"

namespace mayfly::test {
namespace {

namespace fs = std::filesystem;

class CliTest : public StackTest {
 protected:
  void SetUp() override {
    StackTest::SetUp();
    if (HasFatalFailure()) return;
    mayfly_ = absl::StrCat(RequiredEnv("MAYFLY_TEST_BIN"), "/mayfly");
    setenv("MAYFLY_ADDR", RequiredEnv("MAYFLY_TEST_ADDR").c_str(), 1);
    std::string pattern = (fs::temp_directory_path() / "mayfly-cli-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override {
    if (!directory_.empty()) fs::remove_all(directory_);
  }

  CommandResult Mayfly(std::vector<std::string> args, const std::string& input = "") {
    args.insert(args.begin(), mayfly_);
    return RunCommand(args, input);
  }
  std::string Write(const std::string& name, const std::string& content) {
    const fs::path path = directory_ / name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  static std::string Read(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }

  std::string mayfly_;
  fs::path directory_;
};

struct Language {
  const char* name;
  const char* count_and_exit_7;
};
const std::vector<Language> kLanguages = {
    {"python", "import sys\nfor i in range(3): print(i, flush=True)\nsys.exit(7)"},
    {"javascript", "for (let i = 0; i < 3; i++) console.log(i); process.exit(7)"},
    {"bash", "for i in 0 1 2; do echo $i; done; exit 7"},
};

TEST_F(CliTest, CountsAndExitsSevenInThreeLanguages) {
  for (const Language& language : kLanguages) {
    SCOPED_TRACE(language.name);
    const CommandResult result = Mayfly({"run", "-", "-t", language.name}, language.count_and_exit_7);
    EXPECT_EQ(result.out, "0\n1\n2\n") << result.err;
    EXPECT_EQ(result.exit_code, 7) << result.err;
  }
}

TEST_F(CliTest, PythonIsTheDefault) {
  const CommandResult result = Mayfly({"run", "-"}, kLanguages[0].count_and_exit_7);
  EXPECT_EQ(result.out, "0\n1\n2\n") << result.err;
  EXPECT_EQ(result.exit_code, 7) << result.err;
}

TEST_F(CliTest, OutputIsShownAsItComes) {
  const CommandResult result =
      Mayfly({"run", "-"}, "import time\nfor i in range(3):\n    print(i, flush=True)\n    time.sleep(0.4)\n");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "0\n1\n2\n");
  ASSERT_GE(result.pieces.size(), 3u) << "held back";
  EXPECT_GT(result.pieces.back().first - result.pieces.front().first, absl::Milliseconds(500));
}

TEST_F(CliTest, StreamsAreKeptApart) {
  const CommandResult result = Mayfly({"run", "-", "-t", "bash"}, "echo out; echo err >&2");
  EXPECT_EQ(result.out, "out\n");
  EXPECT_THAT(result.err, ::testing::HasSubstr("err\n"));
}

TEST_F(CliTest, BinaryOutputIsUntouched) {
  const CommandResult result = Mayfly({"run", "-"}, "import sys\nsys.stdout.buffer.write(bytes(range(256)) * 4096)");
  std::string expected;
  for (int i = 0; i < (1 << 20); ++i) expected.push_back(static_cast<char>(i % 256));
  EXPECT_TRUE(result.out == expected) << result.out.size();
}

TEST_F(CliTest, ExitCodesOfWhatWentWrong) {
  struct Row {
    const char* what;
    std::vector<std::string> args;
    std::string code;
    int exit_code;
  };
  const std::vector<Row> rows = {
      {"timed out", {"-t", "bash", "--timeout", "1s"}, "sleep 60", 124},
      {"timed out in ms", {"-t", "bash", "--timeout", "500ms"}, "sleep 60", 124},
      {"SIGTERM", {"-t", "bash"}, "kill -TERM $$; sleep 5", 143},
      {"SIGKILL that is not ours", {"-t", "bash"}, "kill -KILL $$", 137},
      {"SIGABRT", {"-t", "python-open"}, "import os; os.abort()", 134},
      {"out of memory",
       {"-t", "python", "--timeout", "60s"},
       "x = []\nwhile 1: x.append(bytearray(b'x' * (1 << 20)))",
       137},
      {"unknown template", {"-t", "no-such-template"}, "x", 125},
      {"a limit above the maximum", {"-t", "bash", "--timeout", "1000h"}, "x", 125},
      {"zero", {"-t", "bash"}, "exit 0", 0},
      {"255", {"-t", "bash"}, "exit 255", 255},
  };
  Concurrently(static_cast<int>(rows.size()), [&](int i) {
    SCOPED_TRACE(rows[i].what);
    std::vector<std::string> args = {"run", "-"};
    args.insert(args.end(), rows[i].args.begin(), rows[i].args.end());
    const CommandResult result = Mayfly(args, rows[i].code);
    EXPECT_EQ(result.exit_code, rows[i].exit_code) << result.err;
    if (rows[i].exit_code == 124 || rows[i].exit_code == 125) {
      EXPECT_FALSE(result.err.empty()) << "says why";
    }
  });
}

TEST_F(CliTest, NobodyAtTheAddressIs125) {
  const CommandResult result = Mayfly({"run", "-", "--addr", "unix:/nonexistent/mayfly.sock"}, "print(1)");
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_THAT(result.err, ::testing::HasSubstr("/nonexistent/mayfly.sock"));
  EXPECT_NE(Mayfly({"health", "--addr", "unix:/nonexistent/mayfly.sock"}).exit_code, 0);
}

TEST_F(CliTest, EverythingOfARequestCanBeGiven) {
  const std::string program = Write("program.py",
                                    "import os, sys\n"
                                    "print(sys.argv[1:], sys.stdin.read(), os.environ['KEY'])\n"
                                    "print(open('plain.txt').read(), open('in/renamed.txt').read())\n"
                                    "os.makedirs('out/deep')\n"
                                    "open('out/deep/result.txt', 'w').write('result')\n"
                                    "open('out/other.bin', 'wb').write(bytes(range(256)))\n");
  const std::string plain = Write("plain.txt", "plain");
  const std::string stdin_file = Write("stdin.txt", "stdin");
  const fs::path out = directory_ / "collected";
  const CommandResult result =
      Mayfly({"run",   program,   "-t",       "python-open", "--arg",     "one",    "--arg",
              "--two", "--stdin", stdin_file, "--file",      plain,       "--file", plain + ":in/renamed.txt",
              "--env", "KEY=a=b", "--out",    out,           "--collect", "out/**"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "['one', '--two'] stdin a=b\nplain plain\n");
  EXPECT_EQ(Read(out / "out/deep/result.txt"), "result");
  EXPECT_EQ(Read(out / "out/other.bin").size(), 256u);
}

TEST_F(CliTest, CollectedFilesStayInTheirDirectory) {
  // The names come from the sandbox: none may leave --out, and a link that waits there is not written through.
  fs::create_directory(directory_ / "collected");
  Write("victim", "untouched");
  fs::create_symlink(directory_ / "victim", directory_ / "collected/trap.txt");
  const CommandResult result =
      Mayfly({"run", "-", "-t", "bash", "--out", directory_ / "collected", "--collect", "*.txt"},
             "echo written > trap.txt; echo fine > ok.txt");
  EXPECT_EQ(Read(directory_ / "victim"), "untouched") << result.err;
  EXPECT_EQ(Read(directory_ / "collected/ok.txt"), "fine\n") << result.err;
}

TEST_F(CliTest, JsonIsTheResult) {
  const CommandResult result = Mayfly({"run", "-", "--json"}, kLanguages[0].count_and_exit_7);
  EXPECT_EQ(result.exit_code, 7) << result.err;
  // One document, or one a line; the last one has the result.
  std::string text(absl::StripAsciiWhitespace(result.out));
  auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) {
    const std::vector<std::string> lines = absl::StrSplit(text, '\n');
    for (const std::string& line : lines) {
      json = nlohmann::json::parse(line, nullptr, false);
      ASSERT_FALSE(json.is_discarded()) << "not JSON: " << line;
    }
  }
  ASSERT_TRUE(json.is_object()) << result.out;
  const std::string flat = json.dump();
  EXPECT_THAT(flat, ::testing::HasSubstr("\"termination\":"));
  EXPECT_THAT(flat, ::testing::HasSubstr("EXITED"));
  EXPECT_THAT(flat, ::testing::ContainsRegex("\"exit_?[cC]ode\":7"));
}

TEST_F(CliTest, TemplatesAndHealth) {
  const CommandResult templates = Mayfly({"templates"});
  EXPECT_EQ(templates.exit_code, 0) << templates.err;
  for (const char* name : {"python", "python-open", "javascript", "bash"}) {
    EXPECT_THAT(templates.out, ::testing::HasSubstr(name));
  }
  EXPECT_EQ(Mayfly({"health"}).exit_code, 0);
}

TEST_F(CliTest, HelpHasTheTableOfExitCodes) {
  for (const std::vector<std::string>& args : {std::vector<std::string>{"--help"}, {"run", "--help"}}) {
    const CommandResult help = Mayfly(args);
    EXPECT_EQ(help.exit_code, 0);
    for (const char* part : {"124", "125", "137", "128"}) EXPECT_THAT(help.out, ::testing::HasSubstr(part));
  }
}

TEST_F(CliTest, WrongUsageIsSaidAndNothingRuns) {
  const std::vector<std::vector<std::string>> wrong = {{"run"},
                                                       {"run", "-", "--no-such-flag"},
                                                       {"frobnicate"},
                                                       {"run", "-", "--timeout", "soon"},
                                                       {"run", "/nonexistent.py"}};
  for (const std::vector<std::string>& args : wrong) {
    SCOPED_TRACE(args.back());
    const CommandResult result = Mayfly(args, "print(1)");
    EXPECT_NE(result.exit_code, 0);
    EXPECT_FALSE(result.err.empty());
    EXPECT_EQ(result.out, "");
  }
}

}  // namespace
}  // namespace mayfly::test
