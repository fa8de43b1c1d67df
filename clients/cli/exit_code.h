// The exit codes of `mayfly`: the program's own when it exited, else one that says what happened instead.
//
// A program may itself exit with one of the codes below. The last line on stderr tells the two apart ("mayfly: timed
// out: ..." is only printed when the program did not exit by itself), and --json always says exactly what happened.
#ifndef MAYFLY_CLIENTS_CLI_EXIT_CODE_H_
#define MAYFLY_CLIENTS_CLI_EXIT_CODE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "mayfly/v1/execution.pb.h"

namespace mayfly::cli {

enum ExitCode : int {
  kExitOk = 0,
  kExitUsage = 2,  // bad command line, or a local file that cannot be read
  kExitOutputLimit = 122,
  kExitResourceLimit = 123,  // process or disk limit
  kExitTimedOut = 124,       // as timeout(1) has it
  kExitMayflyFailed = 125,   // Mayfly refused, failed, or could not be reached
  kExitPolicyDenied = 126,
  kExitSignalBase = 128,  // 128+n: signal n, as shells have it
  kExitCancelled = 130,
  kExitOutOfMemory = 137,
  kExitStdoutClosed = 141,  // 128+SIGPIPE
};

// The exit code of the CLI for a program that ended so. An EXITED without exit_code, a SIGNALED without signal and an
// unknown termination are Mayfly's failure.
int ExitCodeFor(const v1::ExecutionResult& result);

// "timed out", "killed by signal 11 (Segmentation fault)": how it ended, in a few words, for the line on stderr.
std::string TerminationPhrase(const v1::ExecutionResult& result);

// "TIMED_OUT": the enum's name without its prefix. Values of a newer service are printed as numbers.
std::string TerminationName(v1::Termination termination);

// The table of the codes above, for --help.
absl::string_view ExitCodeTable();

}  // namespace mayfly::cli

#endif  // MAYFLY_CLIENTS_CLI_EXIT_CODE_H_
