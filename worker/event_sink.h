// EventSink: where the events of one execution go. In the daemon it is the stream to the server; it takes one event at
// a time, so that a slow reader slows the program down instead of growing our memory.
#ifndef MAYFLY_WORKER_EVENT_SINK_H_
#define MAYFLY_WORKER_EVENT_SINK_H_

#include <atomic>
#include <deque>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "grpcpp/support/status.h"
#include "mayfly/v1/execution.pb.h"
#include "worker/wake_fd.h"

namespace mayfly::worker {

// All methods are thread-safe and none but AwaitDelivered blocks. One thread sends.
class EventSink {
 public:
  virtual ~EventSink() = default;

  // Signalled when ready() or cancelled() may have changed. Lives as long as the sink.
  virtual const WakeFd* wake() const = 0;

  // The last event has been taken: Send may be called.
  virtual bool ready() const = 0;

  // The reader is gone, or its deadline has passed; nothing will be delivered any more.
  virtual bool cancelled() const = 0;

  // Requires ready().
  virtual void Send(mayfly::v1::ExecuteEvent event) = 0;

  // Sends `last` as the reader takes them, then ends the stream well. Call once, and nothing after it.
  virtual void Finish(std::deque<mayfly::v1::ExecuteEvent> last) = 0;

  // Ends the stream with `status` and no final event. Call once, instead of Finish.
  virtual void Fail(const grpc::Status& status) = 0;

  // After Finish or Fail: waits until the reader has taken everything. When it takes nothing for `timeout`, gives the
  // stream up; so it does a second after `hurry` has become true.
  virtual void AwaitDelivered(absl::Duration timeout, const std::atomic<bool>& hurry) = 0;
};

}  // namespace mayfly::worker

#endif  // MAYFLY_WORKER_EVENT_SINK_H_
