// Admission: the bounded queue in front of the workers. First come, first served; full means full.
#ifndef MAYFLY_SERVER_ADMISSION_H_
#define MAYFLY_SERVER_ADMISSION_H_

#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "daemon/steady_clock.h"

namespace mayfly::server {

// Thread-safe; no method blocks.
class Admission {
 public:
  // Something that waits for a place. One of the two is called at most once, on any thread, without locks held.
  class Waiter {
   public:
    virtual ~Waiter() = default;
    // It has a place now; Leave() gives it back.
    virtual void OnAdmitted() = 0;
    // It waited for queue_timeout in vain.
    virtual void OnQueueTimeout() = 0;
  };

  enum class Entry {
    kAdmitted,  // it has a place; OnAdmitted is not called
    kQueued,
    kFull,
    kDraining,
  };

  struct Options {
    int in_flight_max = 1;
    int queue_max = 0;
    int64_t queue_bytes_max = std::numeric_limits<int64_t>::max();  // of all that wait
    absl::Duration queue_timeout = absl::Seconds(60);
    std::function<absl::Time()> clock = daemon::SteadyNow;
    // Called, with the lock held, when one of the numbers has changed; for metrics.
    std::function<void(int in_flight, int queued)> observer = [](int, int) {};
  };

  explicit Admission(Options options);
  // Nobody may wait or hold a place any more.
  ~Admission();

  // `bytes` is what the waiter holds of memory while it waits.
  Entry Enter(std::shared_ptr<Waiter> waiter, int64_t bytes = 0);

  // True when `waiter` was still waiting: it does not wait any more, and nothing will be called.
  bool Withdraw(const Waiter* waiter);

  // Gives a place back. `held` is how long it was held, for the estimate.
  void Leave(absl::Duration held);

  // From now on Enter answers kDraining. Who waits already goes on waiting.
  void Drain();

  // The same, and who waits is not admitted any more either: a place that is given back stays free. They are still
  // called at their timeout, unless they withdraw before. Idempotent.
  void Close();

  // When another try may find a place, by what executions have taken lately.
  absl::Duration RetryAfter() const;

 private:
  struct Queued {
    std::shared_ptr<Waiter> waiter;
    int64_t bytes;
    absl::Time deadline;
  };

  void Run();
  std::shared_ptr<Waiter> TakeFirst() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Report() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;

  mutable absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  int in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t queue_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<Queued> queue_ ABSL_GUARDED_BY(mutex_);  // all waited equally long at most: deadlines ascend
  absl::Duration held_average_ ABSL_GUARDED_BY(mutex_) = absl::Seconds(1);

  std::thread timer_;  // last: it uses the others
};

}  // namespace mayfly::server

#endif  // MAYFLY_SERVER_ADMISSION_H_
