// RecordingSink: an EventSink that keeps what it is given, and takes it as slowly as a test wants.
//
//   auto sink = std::make_shared<RecordingSink>();             // takes everything
//   auto slow = std::make_shared<RecordingSink>(/*takes=*/1);  // takes `started` and then no more, until Take(n)
//
// Thread-safe.
#ifndef MAYFLY_TESTS_UNIT_WORKER_RECORDING_SINK_H_
#define MAYFLY_TESTS_UNIT_WORKER_RECORDING_SINK_H_

#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "mayfly/v1/execution.pb.h"
#include "worker/event_sink.h"

namespace mayfly::worker {

class RecordingSink : public EventSink {
 public:
  static constexpr int kAll = std::numeric_limits<int>::max();

  explicit RecordingSink(int takes = kAll);

  // EventSink
  const WakeFd* wake() const override { return &wake_; }
  bool ready() const override;
  bool cancelled() const override;
  void Send(mayfly::v1::ExecuteEvent event) override;
  void Finish(std::deque<mayfly::v1::ExecuteEvent> last) override;
  void Fail(const grpc::Status& status) override;
  void AwaitDelivered(absl::Duration /*timeout*/, const std::atomic<bool>& /*hurry*/) override {}

  // The reader takes so many events more.
  void Take(int events);
  // The reader goes.
  void Cancel();

  // Each blocks until it is so; false when that takes longer than the tests' patience.
  bool AwaitStarted() const;
  bool AwaitEvents(size_t events) const;  // so many, or more
  bool AwaitHeartbeats(int heartbeats) const;
  bool AwaitStdout(size_t bytes) const;  // so many, or more
  bool AwaitEnd() const;

  // Everything sent so far, what came with Finish included.
  std::vector<mayfly::v1::ExecuteEvent> events() const;
  // Of these, what came with Finish, without `finished`.
  std::vector<mayfly::v1::ExecuteEvent> last_events() const;
  std::string stdout_data() const { return Output(mayfly::v1::STREAM_STDOUT); }
  std::string stderr_data() const { return Output(mayfly::v1::STREAM_STDERR); }

  // How it ended. Waits for that. One of the two.
  std::optional<mayfly::v1::ExecutionResult> result() const;
  std::optional<grpc::Status> status() const;

 private:
  bool Await(const std::function<bool()>& condition) const;
  std::string Output(mayfly::v1::Stream stream) const;
  int Count(mayfly::v1::ExecuteEvent::EventCase kind) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);

  const WakeFd wake_;

  mutable absl::Mutex mutex_;
  int takes_ ABSL_GUARDED_BY(mutex_);  // what the reader will still take
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<mayfly::v1::ExecuteEvent> events_ ABSL_GUARDED_BY(mutex_);
  size_t sent_ ABSL_GUARDED_BY(mutex_) = 0;  // of events_, those before Finish
  size_t stdout_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<grpc::Status> failure_ ABSL_GUARDED_BY(mutex_);
  int ends_ ABSL_GUARDED_BY(mutex_) = 0;
};

// What must hold for the events of every execution that ended with a result: `started` at most once and before
// output and files; one `finished`, last; offsets without gaps; sizes within bounds; the accounts add up with what was
// sent. Reports to GoogleTest.
void ExpectWellFormed(const std::vector<mayfly::v1::ExecuteEvent>& events);

}  // namespace mayfly::worker

#endif  // MAYFLY_TESTS_UNIT_WORKER_RECORDING_SINK_H_
