// Label values of metrics, from closed sets.
#ifndef MAYFLY_DAEMON_METRIC_LABELS_H_
#define MAYFLY_DAEMON_METRIC_LABELS_H_

#include <string>

#include "mayfly/v1/execution.pb.h"

namespace mayfly::daemon {

// "exited", "timed_out", ...: the enum's name in lower case, without its prefix.
std::string TerminationLabel(mayfly::v1::Termination termination);

// "ok", "unavailable", ...: a gRPC or Abseil status code (their values are the same); "other" for any other number.
std::string CodeLabel(int code);

}  // namespace mayfly::daemon

#endif  // MAYFLY_DAEMON_METRIC_LABELS_H_
