// What --json prints: one object on one line, with keys of the CLI's own, documented here and kept stable.
//
//   {"execution_id": "3f...", "template": "python", "termination": "EXITED", "exit_code": 7, "message": "...",
//    "evidence": ["exit frame: code 7"], "retry_safe": false,
//    "stdout": "0\n1\n", "stderr_base64": "/w==",
//    "stdout_account": {"total": 4, "sent": 4, "dropped": 0}, "stderr_account": {...},
//    "usage": {"wall_seconds": 0.1, "cpu_seconds": 0.05, "memory_peak_bytes": 123},
//    "files": [{"path": "a.png", "size": 5, "mode": "0644", "omitted": "TOO_LARGE"}], "files_unlisted": 0,
//    "timings": {"queue_seconds": 0.0, "sandbox_seconds": 0.2, "run_seconds": 0.1, "collect_seconds": 0.0},
//    "isolation": {"runtime": "runsc", "containerd_runtime": "...", "image_digest": "...", "task_id": "..."}}
//
// `exit_code` is there only with EXITED, `signal` only with SIGNALED, `cpu_seconds` only when it was measured,
// `omitted` only when a file was not returned. A stream is `stdout` when it is UTF-8, else `stdout_base64`. A failure
// is
//
//   {"error": {"code": "INVALID_ARGUMENT", "reason": "BAD_REQUEST", "message": "...", "exit_code": 125,
//              "violations": [{"field": "code", "description": "..."}], "retry_after_seconds": 1.0},
//    "execution_id": "...", "stdout": "...", "stderr": "..."}
//
// with `reason`, `violations` and `retry_after_seconds` only when the service gave them, and what the program had
// written until then only when it was accepted. All functions are pure; each result ends in a newline.
#ifndef MAYFLY_CLIENTS_CLI_JSON_REPORT_H_
#define MAYFLY_CLIENTS_CLI_JSON_REPORT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "clients/cli/execution.h"
#include "clients/cli/failure.h"
#include "mayfly/v1/execution.pb.h"

namespace mayfly::cli {

// An execution that ended, well or badly.
std::string ExecutionJson(const ExecutionEnd& end, absl::string_view stdout_data, absl::string_view stderr_data);

// {"error": {...}}
std::string FailureJson(const Failure& failure);

// {"templates": [{"name": "python", ..., "default_limits": {"wall_seconds": 10.0, "output_bytes": ...}, ...}]}
std::string TemplatesJson(const v1::ListTemplatesResponse& response);

// {"status": "SERVING"}
std::string HealthJson(absl::string_view status);


}  // namespace mayfly::cli

#endif  // MAYFLY_CLIENTS_CLI_JSON_REPORT_H_
