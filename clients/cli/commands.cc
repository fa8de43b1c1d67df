#include "clients/cli/commands.h"

#include "absl/strings/str_cat.h"
#include "clients/cli/help.h"
#include "clients/cli/json_report.h"
#include "clients/cli/output_sink.h"

namespace mayfly::cli {

int RunCli(const std::vector<std::string>& args, absl::string_view env_address, const Streams& streams,
           Cancellation& cancellation) {
  const absl::StatusOr<CommandLine> command_line = ParseCommandLine(args, env_address);
  if (!command_line.ok()) return Report(UsageFailure(command_line.status()), WantsJson(args), streams);
  switch (command_line->verb) {
    case Verb::kRun:
      return RunProgram(*command_line, streams, cancellation);
    case Verb::kTemplates:
      return ListTemplates(*command_line, streams, cancellation);
    case Verb::kHealth:
      return CheckHealth(*command_line, streams, cancellation);
    case Verb::kVersion:
      return Answer(absl::StrCat("mayfly ", MAYFLY_VERSION, "\n"), kExitOk, streams);
    case Verb::kHelp:
      break;
  }
  return Answer(HelpText(command_line->help_topic), kExitOk, streams);
}

int Report(const Failure& failure, bool json, const Streams& streams) {
  if (json) return Answer(FailureJson(failure), failure.exit_code, streams);
  // When stderr is gone, too, the exit code still tells.
  WriteAll(streams.err, FailureText(failure)).IgnoreError();
  return failure.exit_code;
}

int Answer(absl::string_view text, int exit_code, const Streams& streams) {
  const absl::Status written = WriteAll(streams.out, text);
  if (written.ok()) return exit_code;
  if (absl::IsAborted(written)) return kExitStdoutClosed;
  const Failure failure = LocalFailure("LOCAL_OUTPUT", kExitMayflyFailed, written.ToString());
  WriteAll(streams.err, FailureText(failure)).IgnoreError();
  return failure.exit_code;
}

}  // namespace mayfly::cli
