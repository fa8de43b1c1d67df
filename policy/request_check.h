// Request check: whether a request is what execution.proto says it must be. Nothing is clamped or repaired: a request
// either runs as it was written or is refused with every reason at once.
//
// The server checks to answer the caller early; the worker checks again, because it trusts no server with what it puts
// into a sandbox. Pure functions, thread-safe, linear in the size of the request.
#ifndef MAYFLY_POLICY_REQUEST_CHECK_H_
#define MAYFLY_POLICY_REQUEST_CHECK_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "mayfly/v1/execution.pb.h"

namespace mayfly::policy {

// One reason to refuse a request; becomes a google.rpc.BadRequest.FieldViolation. Printable ASCII throughout: values
// are escaped and cut.
struct FieldViolation {
  std::string field;        // path in the request: files[3].path, env["A=B"], limits.wall_time; empty: the whole
  std::string description;  // names the value and the limit: "60s" is more than the template's maximum of 30s
};

// What is wrong with `request` for the template `offered`; empty when it may run. At most kViolationsMax. `offered`
// must be the template that `request.template` names (looking it up, and NOT_FOUND, are the caller's), and its own
// limits must be set.
std::vector<FieldViolation> CheckRequest(const mayfly::v1::ExecuteRequest& request,
                                         const mayfly::v1::Template& offered);

// An execution id is 32 lower-case hexadecimal digits: it becomes part of file names, cgroups and container ids.
std::optional<FieldViolation> CheckExecutionId(absl::string_view id);

// Whether `name` may name an environment variable: [A-Za-z_][A-Za-z0-9_]*.
bool IsEnvName(absl::string_view name);

}  // namespace mayfly::policy

#endif  // MAYFLY_POLICY_REQUEST_CHECK_H_
