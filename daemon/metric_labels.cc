#include "daemon/metric_labels.h"

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"

namespace mayfly::daemon {

std::string TerminationLabel(mayfly::v1::Termination termination) {
  absl::string_view name = mayfly::v1::Termination_Name(termination);
  absl::ConsumePrefix(&name, "TERMINATION_");
  return absl::AsciiStrToLower(name);
}

std::string CodeLabel(int code) {
  const std::string name = absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
  return name.empty() ? "other" : absl::AsciiStrToLower(name);
}

}  // namespace mayfly::daemon
