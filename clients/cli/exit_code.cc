#include "clients/cli/exit_code.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace mayfly::cli {

int ExitCodeFor(const v1::ExecutionResult& result) {
  switch (result.termination()) {
    case v1::TERMINATION_EXITED:
      return result.has_exit_code() ? result.exit_code() & 0xff : kExitMayflyFailed;
    case v1::TERMINATION_SIGNALED:
      return result.has_signal() ? (kExitSignalBase + result.signal()) & 0xff : kExitMayflyFailed;
    case v1::TERMINATION_TIMED_OUT:
      return kExitTimedOut;
    case v1::TERMINATION_OUT_OF_MEMORY:
      return kExitOutOfMemory;
    case v1::TERMINATION_PROCESS_LIMIT:
    case v1::TERMINATION_DISK_LIMIT:
      return kExitResourceLimit;
    case v1::TERMINATION_OUTPUT_LIMIT:
      return kExitOutputLimit;
    case v1::TERMINATION_POLICY_DENIED:
      return kExitPolicyDenied;
    case v1::TERMINATION_CANCELLED:
      return kExitCancelled;
    default:  // SANDBOX_FAILED, and whatever a newer service may say
      return kExitMayflyFailed;
  }
}

std::string TerminationPhrase(const v1::ExecutionResult& result) {
  switch (result.termination()) {
    case v1::TERMINATION_EXITED:
      return absl::StrCat("exited with code ", result.exit_code());
    case v1::TERMINATION_SIGNALED: {
      const char* description = sigdescr_np(result.signal());
      return absl::StrCat("killed by signal ", result.signal(),
                          description == nullptr ? "" : absl::StrCat(" (", description, ")"));
    }
    case v1::TERMINATION_TIMED_OUT:
      return "timed out";
    case v1::TERMINATION_OUT_OF_MEMORY:
      return "out of memory";
    case v1::TERMINATION_PROCESS_LIMIT:
      return "process limit";
    case v1::TERMINATION_OUTPUT_LIMIT:
      return "output limit";
    case v1::TERMINATION_DISK_LIMIT:
      return "disk limit";
    case v1::TERMINATION_POLICY_DENIED:
      return "denied by policy";
    case v1::TERMINATION_CANCELLED:
      return "cancelled";
    case v1::TERMINATION_SANDBOX_FAILED:
      return "sandbox failed";
    default:
      return absl::StrCat("ended in a way this client does not know (", TerminationName(result.termination()), ")");
  }
}

std::string TerminationName(v1::Termination termination) {
  const std::string name = v1::Termination_Name(termination);
  if (name.empty()) return absl::StrCat(static_cast<int>(termination));
  return std::string(absl::StripPrefix(name, "TERMINATION_"));
}

absl::string_view ExitCodeTable() {
  return R"(Exit codes:
  the program's own   EXITED: it ended by itself
  128+n               SIGNALED: signal n ended it
  122                 OUTPUT_LIMIT: it wrote more than allowed
  123                 PROCESS_LIMIT or DISK_LIMIT
  124                 TIMED_OUT
  125                 Mayfly itself failed, refused the request or is not there (SANDBOX_FAILED, too)
  126                 POLICY_DENIED: the import policy refused the code
  130                 CANCELLED: by Ctrl-C or SIGTERM here, or because the service shut down
  137                 OUT_OF_MEMORY
  141                 whoever read our stdout or stderr went away; the program was cancelled
  2                   bad command line, or a local file that cannot be read

A program may exit with such a code, too. What it did not do itself is told in a last line
on stderr ("mayfly: timed out: ..."), and exactly by --json.
)";
}

}  // namespace mayfly::cli
