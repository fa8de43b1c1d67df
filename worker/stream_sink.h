// StreamSink: the EventSink of the daemon, a gRPC server stream of events to the mayfly-server.
#ifndef MAYFLY_WORKER_STREAM_SINK_H_
#define MAYFLY_WORKER_STREAM_SINK_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "worker/event_sink.h"

namespace mayfly::worker {

class StreamSink : public EventSink, public grpc::ServerWriteReactor<mayfly::v1::ExecuteEvent> {
 public:
  // The sink is shared by gRPC, until the call is done, and whoever sends.
  static absl::StatusOr<std::shared_ptr<StreamSink>> Create(grpc::CallbackServerContext* context);

  // EventSink
  const WakeFd* wake() const override { return &wake_; }
  bool ready() const override;
  bool cancelled() const override;
  void Send(mayfly::v1::ExecuteEvent event) override;
  void Finish(std::deque<mayfly::v1::ExecuteEvent> last) override;
  void Fail(const grpc::Status& status) override;
  void AwaitDelivered(absl::Duration timeout, const std::atomic<bool>& hurry) override;

  // grpc::ServerWriteReactor
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  StreamSink(grpc::CallbackServerContext* context, WakeFd wake) : context_(context), wake_(std::move(wake)) {}

  // Starts the next write, or ends the stream when it is time to.
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  grpc::CallbackServerContext* const context_;  // valid until done_
  const WakeFd wake_;

  mutable absl::Mutex mutex_;
  mayfly::v1::ExecuteEvent current_ ABSL_GUARDED_BY(mutex_);  // being written
  uint64_t taken_ ABSL_GUARDED_BY(mutex_) = 0;  // events so far
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  bool finishing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);
  std::deque<mayfly::v1::ExecuteEvent> last_ ABSL_GUARDED_BY(mutex_);

  // Set before gRPC knows the sink, cleared by its last call, OnDone.
  std::shared_ptr<StreamSink> self_;
};

}  // namespace mayfly::worker

#endif  // MAYFLY_WORKER_STREAM_SINK_H_
