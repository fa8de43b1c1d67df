// From RunOptions to an ExecuteRequest: reads the local files that the command line names.
#ifndef MAYFLY_CLIENTS_CLI_EXECUTE_REQUEST_H_
#define MAYFLY_CLIENTS_CLI_EXECUTE_REQUEST_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "clients/cli/command_line.h"
#include "mayfly/v1/execution.pb.h"

namespace mayfly::cli {

// The largest file that is read here; no request may carry more.
inline constexpr int64_t kLocalFileBytesMax = int64_t{32} << 20;

// Reads everything and builds the request. Blocks until all files are read; "-" reads `stdin_fd` to its end. Errors
// name the file: NotFound, PermissionDenied, FailedPrecondition (a directory), OutOfRange (larger than
// kLocalFileBytesMax). What a request may contain is the service's to judge.
absl::StatusOr<v1::ExecuteRequest> BuildRequest(const RunOptions& options, int stdin_fd);

}  // namespace mayfly::cli

#endif  // MAYFLY_CLIENTS_CLI_EXECUTE_REQUEST_H_
