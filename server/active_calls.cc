#include "server/active_calls.h"

#include "absl/time/clock.h"
#include "daemon/steady_clock.h"

namespace mayfly::server {
namespace {

constexpr absl::Duration kSweepPeriod = absl::Seconds(1);
// For the last events of calls that were ended, to callers that read.
constexpr absl::Duration kEndTimeout = absl::Seconds(5);

}  // namespace

ActiveCalls::ActiveCalls(absl::Duration stall_timeout) : stall_timeout_(stall_timeout) {
  thread_ = std::thread([this] { Run(); });
}

ActiveCalls::~ActiveCalls() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void ActiveCalls::Add(const std::shared_ptr<ExecutionCall>& call) {
  absl::MutexLock lock(&mutex_);
  calls_.emplace(call.get(), call);
}

void ActiveCalls::Remove(const ExecutionCall* call) {
  absl::MutexLock lock(&mutex_);
  calls_.erase(call);
}

std::vector<std::shared_ptr<ExecutionCall>> ActiveCalls::Snapshot() {
  std::vector<std::shared_ptr<ExecutionCall>> calls;
  for (const auto& [key, weak] : calls_) {
    if (std::shared_ptr<ExecutionCall> call = weak.lock()) calls.push_back(std::move(call));
  }
  return calls;
}

void ActiveCalls::Shutdown(absl::Duration drain) {
  const auto none_left = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return calls_.empty(); };
  std::vector<std::shared_ptr<ExecutionCall>> calls;
  {
    absl::MutexLock lock(&mutex_);
    if (mutex_.AwaitWithTimeout(absl::Condition(&none_left), drain)) return;
    calls = Snapshot();
  }
  for (const auto& call : calls) call->ShutDown();
  calls.clear();
  absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(&none_left), kEndTimeout);
}

void ActiveCalls::Run() {
  while (true) {
    std::vector<std::shared_ptr<ExecutionCall>> calls;
    {
      absl::MutexLock lock(&mutex_);
      if (mutex_.AwaitWithTimeout(absl::Condition(&stopping_), kSweepPeriod)) return;
      calls = Snapshot();
    }
    const absl::Time limit = daemon::SteadyNow() - stall_timeout_;
    for (const auto& call : calls) call->CancelIfStalled(limit);
  }
}

}  // namespace mayfly::server
