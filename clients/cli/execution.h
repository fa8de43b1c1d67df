// Execution: one call of Execute, from the request to its one end.
#ifndef MAYFLY_CLIENTS_CLI_EXECUTION_H_
#define MAYFLY_CLIENTS_CLI_EXECUTION_H_

#include <optional>
#include <string>

#include "clients/cli/cancellation.h"
#include "clients/cli/connection.h"
#include "clients/cli/failure.h"
#include "clients/cli/output_directory.h"
#include "clients/cli/output_sink.h"
#include "mayfly/v1/execution.pb.h"

namespace mayfly::cli {

// How it ended: exactly one of `result` and `failure` is set, except that a program may have ended (`result`) and its
// files could not be written (`failure`, too).
struct ExecutionEnd {
  std::string execution_id;  // empty when the service did not accept it
  std::optional<v1::ExecutionResult> result;
  std::optional<Failure> failure;

  // What the process shall exit with: the failure's code before the program's.
  int exit_code() const;
};

// Runs `request` and hands what the program writes to `sink` while it runs, and its files to `directory`, which may be
// null when the request asks for none. Blocks until the stream has ended. A sink that fails, a cancellation and a
// stream that breaks the protocol (event_order.h) cancel the call, which kills the program.
ExecutionEnd Execute(const Connection& connection, const v1::ExecuteRequest& request, OutputSink& sink,
                     OutputDirectory* directory, Cancellation& cancellation);

}  // namespace mayfly::cli

#endif  // MAYFLY_CLIENTS_CLI_EXECUTION_H_
