#include "clients/cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mayfly::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Args = std::vector<std::string>;

CommandLine Parse(const Args& args, absl::string_view env_address = "") {
  const auto parsed = ParseCommandLine(args, env_address);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed.value_or(CommandLine());
}

std::string Error(const Args& args) {
  const auto parsed = ParseCommandLine(args, "");
  return parsed.ok() ? "parsed" : std::string(parsed.status().message());
}

TEST(ParseCommandLine, ReadsEveryOptionOfRun) {
  const CommandLine line = Parse(
      {"run",       "a.py",         "-t",          "python-open", "--arg",  "x",           "--arg", "-y",
       "--stdin",   "in.txt",       "--file",      "d.csv",       "--file", "a:b.csv:c/d", "--out", "o",
       "--collect", "*.png",        "--collect=x", "--timeout",   "5s",     "--env",       "A=b=c", "--output-limit",
       "64KiB",     "--file-limit", "1MiB",        "--model-id",  "m",      "--agent-id",  "g",     "--task-id=t",
       "--addr",    "unix:/x",      "--json"});
  EXPECT_EQ(line.verb, Verb::kRun);
  EXPECT_EQ(line.address, "unix:/x");
  EXPECT_TRUE(line.json);
  const RunOptions& run = line.run;
  EXPECT_EQ(run.program, "a.py");
  EXPECT_EQ(run.template_name, "python-open");
  EXPECT_THAT(run.args, ElementsAre("x", "-y"));
  EXPECT_EQ(run.stdin_path, "in.txt");
  ASSERT_EQ(run.files.size(), 2u);
  EXPECT_EQ(run.files[0].remote, "d.csv");
  EXPECT_EQ(run.files[1].local, "a:b.csv");
  EXPECT_EQ(run.files[1].remote, "c/d");
  EXPECT_EQ(run.out_dir, "o");
  EXPECT_THAT(run.globs, ElementsAre("*.png", "x"));
  EXPECT_EQ(run.timeout, absl::Seconds(5));
  EXPECT_EQ(run.output_limit_bytes, 65536);
  EXPECT_EQ(run.file_limit_bytes, 1048576);
  EXPECT_THAT(run.env, ElementsAre(std::make_pair("A", "b=c")));
  EXPECT_EQ(run.model_id + run.agent_id + run.task_id, "mgt");
}

TEST(ParseCommandLine, TakesTheTemplateFromTheExtension) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a.py", "python"}, {"b.js", "javascript"}, {"c.mjs", "javascript"}, {"d.cjs", "javascript"},
      {"e.sh", "bash"},   {"f.bash", "bash"},     {"-", "python"},
  };
  for (const auto& [program, name] : cases) EXPECT_EQ(Parse({"run", program}).run.template_name, name) << program;
  EXPECT_THAT(Error({"run", "prog.rb"}), HasSubstr("-t"));
}

TEST(ParseCommandLine, TakesTheAddressFromFlagThenEnvironmentThenDefault) {
  EXPECT_EQ(Parse({"health"}).address, "unix:/run/mayfly/server.sock");
  EXPECT_EQ(Parse({"health"}, "host:1").address, "host:1");
  EXPECT_EQ(Parse({"--addr", "host:2", "health"}, "host:1").address, "host:2");
}

TEST(ParseCommandLine, PassesEverythingAfterTheDashesOn) {
  const CommandLine line = Parse({"run", "--arg", "first", "a.sh", "--", "--json", "-x", "--"});
  EXPECT_FALSE(line.json);
  EXPECT_THAT(line.run.args, ElementsAre("first", "--json", "-x", "--"));
}

TEST(ParseCommandLine, TakesAValueAttachedToALetter) {
  EXPECT_EQ(Parse({"run", "-tbash", "-"}).run.template_name, "bash");
}

TEST(ParseCommandLine, ShowsHelpForATopic) {
  EXPECT_EQ(Parse({"--help"}).help_topic, Verb::kHelp);
  for (const Args& args : {Args{"run", "--help"}, Args{"help", "run"}, Args{"--help", "run"}, Args{"run", "-h"}}) {
    const CommandLine line = Parse(args);
    EXPECT_EQ(line.verb, Verb::kHelp);
    EXPECT_EQ(line.help_topic, Verb::kRun);
  }
}

TEST(ParseCommandLine, SaysWhatIsWrong) {
  const std::vector<std::pair<Args, std::string>> cases = {
      {{}, "say what to do"},
      {{"fly"}, "'fly' is not a command"},
      {{"run"}, "needs the FILE"},
      {{"run", ""}, "unexpected argument"},
      {{"run", "a.py", "b.py"}, "go after --"},
      {{"run", "a.py", "--frob"}, "no option --frob"},
      {{"run", "a.py", "--timeout"}, "--timeout needs a value"},
      {{"run", "a.py", "--timeout", "5"}, "--timeout: '5' is not a time"},
      {{"run", "a.py", "--output-limit", "64K"}, "--output-limit: '64K' is not a size"},
      {{"run", "a.py", "--json=yes"}, "--json takes no value"},
      {{"run", "a.py", "--env", "A"}, "NAME=VALUE"},
      {{"run", "a.py", "--env", "A=1", "--env", "A=2"}, "A is given twice"},
      {{"run", "a.py", "--file", ":x"}, "LOCAL:REMOTE"},
      {{"run", "a.py", "--file", "x:"}, "LOCAL:REMOTE"},
      {{"run", "a.py", "--out", "d"}, "needs --collect"},
      {{"run", "a.py", "--collect", "*"}, "needs --out"},
      {{"run", "-", "--stdin", "-"}, "cannot both"},
      {{"health", "--timeout", "5s"}, "only with run"},
      {{"health", "--", "x"}, "only with run"},
      {{"templates", "x"}, "unexpected argument 'x'"},
  };
  for (const auto& [args, message] : cases) EXPECT_THAT(Error(args), HasSubstr(message));
}

TEST(WantsJson, StopsAtTheDashes) {
  EXPECT_TRUE(WantsJson({"fly", "--json"}));
  EXPECT_FALSE(WantsJson({"run", "--", "--json"}));
}

}  // namespace
}  // namespace mayfly::cli
