#include "clients/cli/help.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "clients/cli/exit_code.h"

namespace mayfly::cli {
namespace {

constexpr absl::string_view kOverview = R"(mayfly: run code in a sandbox of its own, used once and destroyed

Usage:
  mayfly run FILE|- [options] [-- ARG...]   run a program; stream what it writes
  mayfly templates [--json]                 what the service offers, with limits
  mayfly health [--json]                    exit 0 when the service takes executions, else 125
  mayfly version
  mayfly run --help                         all options of run

Options of every command:
  --addr TARGET   the service, as a gRPC target: unix:/path or host:port
                  (default: $MAYFLY_ADDR, else unix:/run/mayfly/server.sock)
  --json          answer with one JSON object on stdout, errors too

)";

constexpr absl::string_view kRun = R"(mayfly run FILE|- [options] [-- ARG...]

Runs FILE (or what comes on standard input) in a fresh sandbox and streams its stdout and stderr.
Ctrl-C cancels it and waits for the answer; a second Ctrl-C leaves at once.

  -t, --template NAME     template to run it with (default: by extension: .py python; .js .mjs .cjs
                          javascript; .sh .bash bash; for -: python)
  --arg ARG               argument of the program; repeatable. All that follows -- are arguments, too
  --stdin FILE|-          standard input of the program (default: empty)
  --file LOCAL[:REMOTE]   put a file into the workspace, with its permission bits, as REMOTE
                          (default: its own name); repeatable
  --env NAME=VALUE        environment variable of the program; repeatable
  --out DIR               where to put the files that --collect asks for; made when missing
  --collect GLOB          return these files of the workspace: *.png, out/**; repeatable
  --timeout TIME          wall time of the program: 300ms, 5s, 1m30s (default: the template's)
  --output-limit SIZE     bytes of stdout, and as many of stderr: 64KiB (default: the template's)
  --file-limit SIZE       bytes of all returned files together (default: the template's)
  --model-id ID, --agent-id ID, --task-id ID
                          who asks, for the service's logs
  --addr TARGET           the service (default: $MAYFLY_ADDR, else unix:/run/mayfly/server.sock)
  --json                  no streaming: one JSON object at the end, with stdout and stderr as text, or as
                          stdout_base64 and stderr_base64 when they are not UTF-8

)";

constexpr absl::string_view kTemplates = R"(mayfly templates [--addr TARGET] [--json]

Lists the templates of the service: what `mayfly run -t NAME` may name, and the limits that hold.
)";

constexpr absl::string_view kHealth = R"(mayfly health [--addr TARGET] [--json]

Asks the service's standard health check. Exit code 0: SERVING. 125: anything else; stderr says what.
)";

}  // namespace

std::string HelpText(Verb topic) {
  switch (topic) {
    case Verb::kRun:
      return absl::StrCat(kRun, ExitCodeTable());
    case Verb::kTemplates:
      return std::string(kTemplates);
    case Verb::kHealth:
      return std::string(kHealth);
    case Verb::kVersion:
    case Verb::kHelp:
      break;
  }
  return absl::StrCat(kOverview, ExitCodeTable());
}

}  // namespace mayfly::cli
