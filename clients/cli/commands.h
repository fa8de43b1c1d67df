// The commands of `mayfly`, each from its parsed command line to its exit code.
//
// They write to the descriptors they are given and to nothing else, so that tests run them in process against a server
// of their own.
#ifndef MAYFLY_CLIENTS_CLI_COMMANDS_H_
#define MAYFLY_CLIENTS_CLI_COMMANDS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "clients/cli/cancellation.h"
#include "clients/cli/command_line.h"
#include "clients/cli/failure.h"

namespace mayfly::cli {

// Our three standard streams. Borrowed.
struct Streams {
  int in = 0;
  int out = 1;
  int err = 2;
};

// The whole CLI: parses `args` (argv without its first element; `env_address` is MAYFLY_ADDR or empty) and runs the
// command. Blocks until it is done; `cancellation` ends the call that is under way. Returns the exit code.
int RunCli(const std::vector<std::string>& args, absl::string_view env_address, const Streams& streams,
           Cancellation& cancellation);

// `mayfly run`: run_command.cc.
int RunProgram(const CommandLine& command_line, const Streams& streams, Cancellation& cancellation);

// `mayfly templates`: templates_command.cc.
int ListTemplates(const CommandLine& command_line, const Streams& streams, Cancellation& cancellation);

// `mayfly health`: health_command.cc.
int CheckHealth(const CommandLine& command_line, const Streams& streams, Cancellation& cancellation);

// Says what went wrong, as JSON on stdout or as text on stderr, and returns the failure's exit code.
int Report(const Failure& failure, bool json, const Streams& streams);

// Writes a command's answer to stdout and returns `exit_code`, or that of a stdout that cannot be written to.
int Answer(absl::string_view text, int exit_code, const Streams& streams);

}  // namespace mayfly::cli

#endif  // MAYFLY_CLIENTS_CLI_COMMANDS_H_
