#include "clients/cli/exit_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "clients/cli/help.h"

namespace mayfly::cli {
namespace {

using ::testing::HasSubstr;

v1::ExecutionResult Ended(v1::Termination termination) {
  v1::ExecutionResult result;
  result.set_termination(termination);
  return result;
}

TEST(ExitCodeFor, IsTheProgramsOwn) {
  v1::ExecutionResult result = Ended(v1::TERMINATION_EXITED);
  for (const int code : {0, 1, 7, 124, 255}) {
    result.set_exit_code(code);
    EXPECT_EQ(ExitCodeFor(result), code);
  }
}

TEST(ExitCodeFor, IsThatOfAShellForASignal) {
  v1::ExecutionResult result = Ended(v1::TERMINATION_SIGNALED);
  result.set_signal(11);
  EXPECT_EQ(ExitCodeFor(result), 139);
  EXPECT_EQ(TerminationPhrase(result), "killed by signal 11 (Segmentation fault)");
}

TEST(ExitCodeFor, NeverReadsAMissingCodeAsSuccess) {
  EXPECT_EQ(ExitCodeFor(Ended(v1::TERMINATION_EXITED)), 125);
  EXPECT_EQ(ExitCodeFor(Ended(v1::TERMINATION_SIGNALED)), 125);
  EXPECT_EQ(ExitCodeFor(Ended(v1::TERMINATION_UNSPECIFIED)), 125);
  EXPECT_EQ(ExitCodeFor(Ended(static_cast<v1::Termination>(99))), 125);
}

TEST(ExitCodeFor, TellsEveryOtherTermination) {
  const std::vector<std::pair<v1::Termination, int>> cases = {
      {v1::TERMINATION_TIMED_OUT, 124},  {v1::TERMINATION_OUT_OF_MEMORY, 137},  {v1::TERMINATION_PROCESS_LIMIT, 123},
      {v1::TERMINATION_DISK_LIMIT, 123}, {v1::TERMINATION_OUTPUT_LIMIT, 122},   {v1::TERMINATION_POLICY_DENIED, 126},
      {v1::TERMINATION_CANCELLED, 130},  {v1::TERMINATION_SANDBOX_FAILED, 125},
  };
  for (const auto& [termination, code] : cases) {
    EXPECT_EQ(ExitCodeFor(Ended(termination)), code);
    // The table in --help tells the same.
    const std::string help = HelpText(Verb::kRun);
    const size_t line = help.find(absl::string_view("\n  " + std::to_string(code)).data());
    ASSERT_NE(line, std::string::npos) << code;
    EXPECT_THAT(help.substr(line + 1, help.find('\n', line + 1) - line), HasSubstr(TerminationName(termination)));
  }
}

TEST(TerminationName, IsTheBareNameOrTheNumber) {
  EXPECT_EQ(TerminationName(v1::TERMINATION_TIMED_OUT), "TIMED_OUT");
  EXPECT_EQ(TerminationName(static_cast<v1::Termination>(99)), "99");
}

}  // namespace
}  // namespace mayfly::cli
