// ExecutionCall: one accepted request on its way through the server: admission, the call to a worker, and the events
// back, each passed on when the one before it has been taken. It owns no thread and never blocks.
#ifndef MAYFLY_SERVER_EXECUTION_CALL_H_
#define MAYFLY_SERVER_EXECUTION_CALL_H_

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/client_callback.h"
#include "mayfly/v1/execution.pb.h"
#include "mayfly/worker/v1/worker.grpc.pb.h"
#include "server/admission.h"
#include "server/server_metrics.h"

namespace mayfly::server {

// Who gets the events of an ExecutionCall.
class EventConsumer {
 public:
  virtual ~EventConsumer() = default;
  // The next event. Call ExecutionCall::Next, from any thread, when it has been dealt with.
  virtual void OnEvent(mayfly::v1::ExecuteEvent event) = 0;
  // The last call, not before all events have been dealt with. OK: the last event was `finished`.
  virtual void OnEnd(const grpc::Status& status) = 0;
  // It has been busy with an event for too long: to give it up, and call Next soon, but not from within. Called with a
  // lock held; must not block.
  virtual void OnStalled() = 0;
};

class ExecutionCall : public Admission::Waiter,
                      public std::enable_shared_from_this<ExecutionCall>,
                      private grpc::ClientReadReactor<mayfly::v1::ExecuteEvent> {
 public:
  // What all calls share; must outlive them.
  struct Context {
    Admission* admission = nullptr;
    mayfly::worker::v1::Worker::Stub* worker = nullptr;
    ServerMetrics* metrics = nullptr;
  };

  // `request` has been checked. It and `consumer` live until OnEnd. `deadline` is the caller's, or infinite.
  ExecutionCall(const Context* context, const mayfly::v1::ExecuteRequest* request, absl::Time deadline,
                EventConsumer* consumer);

  // Asks for a place and goes on from there. Call once.
  void Start();

  // The consumer has dealt with the last event.
  void Next();

  // The caller is gone: ends the execution. OnEnd follows.
  void Cancel();

  // The server stops: ends the execution as CANCELLED, which the caller is told with a last event.
  void ShutDown();

  // Ends the execution if the consumer has been busy with one event since before `limit`: a caller that does not read
  // must not hold a place for ever.
  void CancelIfStalled(absl::Time limit);

 private:
  // Why it is being ended from this side.
  enum class Ending { kNone, kCancelled, kShutdown };

  // Admission::Waiter
  void OnAdmitted() override;
  void OnQueueTimeout() override;

  // grpc::ClientReadReactor
  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  // Ends it from this side, wherever it is.
  void EndBy(Ending ending);
  void StartWorkerCall();
  // Hands over the next event or the end, or starts reading. Called without the lock after every change.
  void Pump();
  void Push(mayfly::v1::ExecuteEvent event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReadIfIdle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Completes and counts an event of the worker's.
  void Note(mayfly::v1::ExecuteEvent* event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Decides what the caller is told when there will be no `finished` of the worker's.
  void EndWithoutFinished(const grpc::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PushFinished(mayfly::v1::Termination termination, absl::string_view message, absl::string_view evidence)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Context* const context_;
  const mayfly::v1::ExecuteRequest* const request_;
  const absl::Time deadline_;
  EventConsumer* const consumer_;
  const std::string execution_id_;
  const absl::Time arrived_;

  grpc::ClientContext worker_context_;
  mayfly::v1::ExecuteEvent read_event_;  // gRPC's while reading_

  absl::Mutex mutex_;
  Ending ending_ ABSL_GUARDED_BY(mutex_) = Ending::kNone;

  // Towards the worker.
  bool dispatched_ ABSL_GUARDED_BY(mutex_) = false;
  bool call_started_ ABSL_GUARDED_BY(mutex_) = false;
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool read_all_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time admitted_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  std::shared_ptr<ExecutionCall> self_ ABSL_GUARDED_BY(mutex_);  // while the call to the worker lives

  // Towards the consumer.
  bool held_back_ ABSL_GUARDED_BY(mutex_) = true;  // it is not settled yet whether there is room
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time busy_since_ ABSL_GUARDED_BY(mutex_);
  std::deque<mayfly::v1::ExecuteEvent> outbox_ ABSL_GUARDED_BY(mutex_);  // two at most
  std::optional<grpc::Status> end_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;

  // What has been passed on.
  uint64_t sequence_ ABSL_GUARDED_BY(mutex_) = 0;
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t stdout_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t stderr_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace mayfly::server

#endif  // MAYFLY_SERVER_EXECUTION_CALL_H_
