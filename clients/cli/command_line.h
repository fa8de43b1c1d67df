// What the user typed, as data: `mayfly run prog.py --timeout 5s -- a b` becomes a CommandLine.
//
// Parsing is pure: it opens no file and makes no call, so every rule is testable with strings. Options may stand before
// or after the verb and the file, as "--name value", "--name=value", "-t value" or "-tvalue"; an option's value is
// taken as it is, also when it starts with "-". What follows "--" are the program's arguments.
#ifndef MAYFLY_CLIENTS_CLI_COMMAND_LINE_H_
#define MAYFLY_CLIENTS_CLI_COMMAND_LINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace mayfly::cli {

// Where the dev stack listens (deploy/dev).
inline constexpr absl::string_view kDefaultAddress = "unix:/run/mayfly/server.sock";

enum class Verb { kRun, kTemplates, kHealth, kVersion, kHelp };

// --file LOCAL[:REMOTE]
struct FileArgument {
  std::string local;   // path here
  std::string remote;  // path in the workspace
};

// Everything of `mayfly run`. What is not set is left to the template.
struct RunOptions {
  std::string program;        // a path, or "-" for standard input
  std::string template_name;  // never empty after parsing
  std::vector<std::string> args;
  std::string stdin_path;  // empty: no input; "-": standard input
  std::vector<FileArgument> files;
  std::vector<std::pair<std::string, std::string>> env;
  std::string out_dir;             // empty: no files are collected
  std::vector<std::string> globs;  // empty exactly when out_dir is
  std::optional<absl::Duration> timeout;
  std::optional<int64_t> output_limit_bytes;
  std::optional<int64_t> file_limit_bytes;
  std::string model_id;
  std::string agent_id;
  std::string task_id;
};

struct CommandLine {
  Verb verb = Verb::kHelp;
  Verb help_topic = Verb::kHelp;  // with verb kHelp: whose help; kHelp is the overview
  std::string address;            // a gRPC target, e.g. "unix:/path" or "127.0.0.1:8080"
  bool json = false;
  RunOptions run;  // with verb kRun
};

// Parses argv without its first element. `env_address` is the value of MAYFLY_ADDR, or empty. InvalidArgument says what
// is wrong in one line.
absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& args, absl::string_view env_address);

// Whether the user asked for JSON, as far as that can be said of a command line that does not parse.
bool WantsJson(const std::vector<std::string>& args);

}  // namespace mayfly::cli

#endif  // MAYFLY_CLIENTS_CLI_COMMAND_LINE_H_
