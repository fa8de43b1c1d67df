// Executor: the worker's threads. Each carries one execution at a time through its whole life, from making its sandbox
// to its teardown, so that the number of threads is the number of sandboxes and neither can grow.
#ifndef MAYFLY_WORKER_EXECUTOR_H_
#define MAYFLY_WORKER_EXECUTOR_H_

#include <atomic>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/steady_clock.h"
#include "grpcpp/support/status.h"
#include "mayfly/v1/execution.pb.h"
#include "worker/event_sink.h"
#include "worker/execution.h"
#include "worker/rootfs_store.h"
#include "worker/sandbox.h"
#include "worker/template.h"
#include "worker/worker_metrics.h"

namespace mayfly::worker {

// One accepted execution.
struct Ticket {
  std::string execution_id;
  // Lives until the sink's Finish or Fail.
  const mayfly::v1::ExecuteRequest* request = nullptr;
  const Template* offered = nullptr;
  std::shared_ptr<EventSink> sink;
  absl::Time submitted;  // set by Submit
};

class Executor {
 public:
  struct Options {
    int sandboxes_max = 1;
    int line_max = 0;
    ExecutionTimeouts timeouts;
    // A reader that takes nothing for so long after the program's end is given up. Longer than the server's own patience
    // with its callers (server/active_calls.h), so that it is the server that decides.
    absl::Duration delivery_timeout = absl::Seconds(90);
    Clock clock = daemon::SteadyNow;
  };

  // Everything pointed to must outlive it.
  Executor(Options options, SandboxContext context, const RootfsStore* rootfs, WorkerMetrics* metrics);

  // Shuts down at once.
  ~Executor();

  // Takes the ticket, or returns why not: RESOURCE_EXHAUSTED (with RetryInfo) or UNAVAILABLE (draining). Does not
  // block.
  grpc::Status Submit(Ticket ticket);

  bool draining() const;

  // Accepts no more, lets what runs go on for `drain`, ends the rest as CANCELLED, and returns when every sandbox is
  // torn down. Idempotent.
  void Shutdown(absl::Duration drain);

 private:
  void Run();
  void Execute(const Ticket& ticket);
  // Runs the ticket's program in `sandbox` and hands the result to the sink.
  void ExecuteIn(Sandbox* sandbox, const Ticket& ticket, absl::Time began);
  // For an execution whose sandbox could not be made.
  void FailToStart(const Ticket& ticket, const absl::Status& why, absl::Time began);
  void Conclude(const Ticket& ticket, absl::Time began, mayfly::v1::ExecutionResult result,
                std::deque<mayfly::v1::ExecuteEvent> last_events);
  void Refuse(const Ticket& ticket, const grpc::Status& status);

  const Options options_;
  const SandboxContext context_;
  const RootfsStore* const rootfs_;
  WorkerMetrics* const metrics_;
  std::atomic<bool> ending_{false};

  mutable absl::Mutex mutex_;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<Ticket> line_ ABSL_GUARDED_BY(mutex_);
  std::set<EventSink*> running_ ABSL_GUARDED_BY(mutex_);

  std::vector<std::thread> threads_;  // last: they use the others
};

}  // namespace mayfly::worker

#endif  // MAYFLY_WORKER_EXECUTOR_H_
