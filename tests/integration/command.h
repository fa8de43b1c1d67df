// Runs a program of the host and takes what it says.
//
//   CommandResult result = RunCommand({"mayfly", "run", "-"}, "print(1)");
//
// Blocks until the program has ended, at most `timeout`; then it is killed and `exit_code` is -1. Thread-safe.
#ifndef MAYFLY_TESTS_INTEGRATION_COMMAND_H_
#define MAYFLY_TESTS_INTEGRATION_COMMAND_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"

namespace mayfly::test {

struct CommandResult {
  // As a shell says it: 128 + n for a signal.
  int exit_code = -1;
  std::string out;
  std::string err;
  // When each piece of stdout came, since the start.
  std::vector<std::pair<absl::Duration, std::string>> pieces;
  absl::Duration took;
};

CommandResult RunCommand(const std::vector<std::string>& argv, const std::string& input = "",
                         absl::Duration timeout = absl::Seconds(90));

}  // namespace mayfly::test

#endif  // MAYFLY_TESTS_INTEGRATION_COMMAND_H_
