#include "tests/fakes/failpoints.h"

#include <utility>

#include "absl/time/clock.h"

namespace mayfly::fakes {
namespace {

// gRPC's synchronous server does not wake a handler whose caller has given up.
constexpr absl::Duration kCancellationPoll = absl::Milliseconds(5);

}  // namespace

void Failpoints::Set(absl::string_view method, Failpoint failpoint) {
  absl::MutexLock lock(&mutex_);
  armed_[std::string(method)] = Armed{std::move(failpoint)};
}

void Failpoints::Clear() {
  absl::MutexLock lock(&mutex_);
  for (const auto& [method, armed] : armed_) ++releases_[method];
  armed_.clear();
}

void Failpoints::Release(absl::string_view method) {
  absl::MutexLock lock(&mutex_);
  armed_.erase(std::string(method));
  ++releases_[std::string(method)];
}

int Failpoints::Calls(absl::string_view method) const {
  absl::MutexLock lock(&mutex_);
  const auto found = calls_.find(std::string(method));
  return found == calls_.end() ? 0 : found->second;
}

bool Failpoints::AwaitCalls(absl::string_view method, int calls, absl::Duration timeout) const {
  const std::string key(method);
  const auto reached = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    const auto found = calls_.find(key);
    return (found == calls_.end() ? 0 : found->second) >= calls;
  };
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(&reached), timeout);
}

absl::Status Failpoints::Run(absl::string_view method, absl::FunctionRef<bool()> cancelled,
                             absl::FunctionRef<absl::Status()> action) {
  const std::string key(method);
  int releases = 0;
  const Failpoint failpoint = Take(key, &releases);
  if (!Stall(key, failpoint, releases, cancelled)) return absl::CancelledError("the caller gave up");
  if (failpoint.error.ok()) return action();
  if (failpoint.act) action().IgnoreError();
  return failpoint.error;
}

Failpoint Failpoints::Take(const std::string& method, int* releases) {
  absl::MutexLock lock(&mutex_);
  *releases = releases_[method];
  ++calls_[method];
  const auto found = armed_.find(method);
  if (found == armed_.end()) return Failpoint{};
  Armed& armed = found->second;
  const int nth = armed.seen++;
  const bool affected = nth >= armed.failpoint.skip && nth - armed.failpoint.skip < armed.failpoint.times;
  return affected ? armed.failpoint : Failpoint{};
}

bool Failpoints::Stall(const std::string& method, const Failpoint& failpoint, int releases,
                       absl::FunctionRef<bool()> cancelled) {
  const absl::Time until = absl::Now() + failpoint.delay;
  absl::MutexLock lock(&mutex_);
  const auto released = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return releases_[method] != releases; };
  while (absl::Now() < until || (failpoint.hang && !released())) {
    if (cancelled()) return false;
    mutex_.AwaitWithTimeout(absl::Condition(&released), kCancellationPoll);
    if (released()) return true;
  }
  return true;
}

}  // namespace mayfly::fakes
