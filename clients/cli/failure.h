// Failure: what went wrong when there is no result to show: a refused or failed call, a bad command line, a local file.
//
// How a *program* ended is never a Failure; that is an ExecutionResult. A gRPC status becomes a Failure with its
// google.rpc details decoded, and is shown like this:
//
//   mayfly: INVALID_ARGUMENT (BAD_REQUEST): the request is not valid
//     limits.wall_time: 120s is more than this template's maximum of 60s
//
// All functions are pure.
#ifndef MAYFLY_CLIENTS_CLI_FAILURE_H_
#define MAYFLY_CLIENTS_CLI_FAILURE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "clients/cli/exit_code.h"
#include "grpcpp/support/status.h"

namespace mayfly::cli {

// One bad field of the request, from google.rpc.BadRequest.
struct Violation {
  std::string field;
  std::string description;
};

struct Failure {
  int exit_code = kExitMayflyFailed;
  std::string code;    // "INVALID_ARGUMENT", or "USAGE", "LOCAL_FILE", "STDOUT_CLOSED" when the CLI itself says so
  std::string reason;  // stable word from google.rpc.ErrorInfo; may be empty
  std::string message;
  std::vector<Violation> violations;
  std::optional<absl::Duration> retry_after;  // from google.rpc.RetryInfo
};

// Decodes a status that is not OK. Details that do not decode are left out: they come from the network.
Failure FailureFromCall(const grpc::Status& status);

// A failure on this side of the call; `code` and `exit_code` say of which kind.
Failure LocalFailure(absl::string_view code, int exit_code, absl::string_view message);

// A bad command line: exit code 2.
Failure UsageFailure(const absl::Status& status);

// A local file: exit code 2.
Failure FileFailure(const absl::Status& status);

// As shown above: lines that each end in a newline, control characters escaped. Empty for a closed stdout, of which
// nobody wants to hear.
std::string FailureText(const Failure& failure);

// `text` as one line that a terminal shows and does not obey: newlines and other control characters as \n, \x1b.
std::string PrintableLine(absl::string_view text);

}  // namespace mayfly::cli

#endif  // MAYFLY_CLIENTS_CLI_FAILURE_H_
