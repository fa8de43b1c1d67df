// EventOrder: checks that a stream of ExecuteEvents is one that the service may send.
//
// The CLI shows what it was sent as the truth, so it must notice when something is missing: a gap in the sequence
// numbers or in an output stream, events in an order that makes no sense, an accounting that does not add up. The rules
// are those of proto/mayfly/v1/execution.proto. Not thread-safe; does no I/O.
#ifndef MAYFLY_CLIENTS_CLI_EVENT_ORDER_H_
#define MAYFLY_CLIENTS_CLI_EVENT_ORDER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "mayfly/v1/execution.pb.h"

namespace mayfly::cli {

class EventOrder {
 public:
  // Takes the next event. DataLoss says which rule it breaks; the stream is then not to be trusted any further.
  absl::Status Check(const v1::ExecuteEvent& event);

 private:
  absl::Status CheckOutput(const v1::Output& output);
  absl::Status CheckFinished(const v1::ExecutionResult& result) const;

  uint64_t sequence_ = 0;
  bool accepted_ = false;
  bool started_ = false;
  bool finished_ = false;
  int64_t stdout_bytes_ = 0;
  int64_t stderr_bytes_ = 0;
};

}  // namespace mayfly::cli

#endif  // MAYFLY_CLIENTS_CLI_EVENT_ORDER_H_
