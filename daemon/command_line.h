// The command line that both daemons share: --config FILE, --check, --version, --help.
#ifndef MAYFLY_DAEMON_COMMAND_LINE_H_
#define MAYFLY_DAEMON_COMMAND_LINE_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace mayfly::daemon {

// Exit codes of both daemons.
inline constexpr int kExitOk = 0;
inline constexpr int kExitStartFailed = 1;  // an address in use, no permission, ...
inline constexpr int kExitUsage = 2;        // wrong command line or configuration; nothing was started

struct CommandLine {
  std::string config_file;
  bool check_only = false;  // read the configuration, say whether it is right, and exit
};

// The parsed command line; or nullopt and `*exit_code` when there is nothing more to do: help and version were printed,
// or an error was.
std::optional<CommandLine> ParseCommandLine(int argc, char** argv, absl::string_view daemon, int* exit_code);

}  // namespace mayfly::daemon

#endif  // MAYFLY_DAEMON_COMMAND_LINE_H_
