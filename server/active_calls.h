// ActiveCalls knows every ExecutionCall there is: to end those whose callers have stopped reading, and all of them when
// the server stops.
#ifndef MAYFLY_SERVER_ACTIVE_CALLS_H_
#define MAYFLY_SERVER_ACTIVE_CALLS_H_

#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/execution_call.h"

namespace mayfly::server {

// Thread-safe.
class ActiveCalls {
 public:
  // A caller that takes nothing for `stall_timeout` is cut off.
  explicit ActiveCalls(absl::Duration stall_timeout = absl::Minutes(1));
  ~ActiveCalls();

  void Add(const std::shared_ptr<ExecutionCall>& call);
  void Remove(const ExecutionCall* call);

  // Waits up to `drain` for all calls to end, then ends the rest and waits, bounded, for that, too.
  void Shutdown(absl::Duration drain);

 private:
  void Run();
  std::vector<std::shared_ptr<ExecutionCall>> Snapshot() ABSL_SHARED_LOCKS_REQUIRED(mutex_);

  const absl::Duration stall_timeout_;

  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<const ExecutionCall*, std::weak_ptr<ExecutionCall>> calls_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;  // last: it uses the others
};

}  // namespace mayfly::server

#endif  // MAYFLY_SERVER_ACTIVE_CALLS_H_
