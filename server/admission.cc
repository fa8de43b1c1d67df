#include "server/admission.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace mayfly::server {
namespace {

// Weight of the newest execution in the average that RetryAfter rests on.
constexpr double kAverageWeight = 0.1;
constexpr absl::Duration kRetryAfterMin = absl::Milliseconds(100);
constexpr absl::Duration kRetryAfterMax = absl::Minutes(1);

}  // namespace

Admission::Admission(Options options) : options_(std::move(options)) {
  timer_ = std::thread([this] { Run(); });
}

Admission::~Admission() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  timer_.join();
}

Admission::Entry Admission::Enter(std::shared_ptr<Waiter> waiter, int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  if (draining_) return Entry::kDraining;
  if (in_flight_ < options_.in_flight_max && queue_.empty()) {
    ++in_flight_;
    Report();
    return Entry::kAdmitted;
  }
  if (queue_.size() >= static_cast<size_t>(options_.queue_max)) return Entry::kFull;
  if (bytes > options_.queue_bytes_max - queue_bytes_) return Entry::kFull;
  queue_bytes_ += bytes;
  queue_.push_back({std::move(waiter), bytes, options_.clock() + options_.queue_timeout});
  Report();
  return Entry::kQueued;
}

bool Admission::Withdraw(const Waiter* waiter) {
  absl::MutexLock lock(&mutex_);
  const auto found = std::find_if(queue_.begin(), queue_.end(),
                                  [waiter](const Queued& queued) { return queued.waiter.get() == waiter; });
  if (found == queue_.end()) return false;
  queue_bytes_ -= found->bytes;
  queue_.erase(found);
  Report();
  return true;
}

void Admission::Leave(absl::Duration held) {
  std::shared_ptr<Waiter> next;
  {
    absl::MutexLock lock(&mutex_);
    held_average_ += kAverageWeight * (held - held_average_);
    if (queue_.empty() || closed_) {
      --in_flight_;
    } else {  // the place goes straight on to the first in line
      next = TakeFirst();
    }
    Report();
  }
  if (next != nullptr) next->OnAdmitted();
}

void Admission::Drain() {
  absl::MutexLock lock(&mutex_);
  draining_ = true;
}

void Admission::Close() {
  absl::MutexLock lock(&mutex_);
  draining_ = true;
  closed_ = true;
}

absl::Duration Admission::RetryAfter() const {
  absl::MutexLock lock(&mutex_);
  const absl::Duration wait =
      held_average_ * (static_cast<double>(queue_.size() + 1) / static_cast<double>(options_.in_flight_max));
  return std::clamp(wait, kRetryAfterMin, kRetryAfterMax);
}

std::shared_ptr<Admission::Waiter> Admission::TakeFirst() {
  std::shared_ptr<Waiter> first = std::move(queue_.front().waiter);
  queue_bytes_ -= queue_.front().bytes;
  queue_.pop_front();
  return first;
}

void Admission::Report() {
  options_.observer(in_flight_, static_cast<int>(queue_.size()));
}

void Admission::Run() {
  while (true) {
    std::vector<std::shared_ptr<Waiter>> expired;
    {
      absl::MutexLock lock(&mutex_);
      if (queue_.empty()) {
        const auto wanted = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return stopping_ || !queue_.empty(); };
        mutex_.Await(absl::Condition(&wanted));
      } else {
        mutex_.AwaitWithTimeout(absl::Condition(&stopping_), queue_.front().deadline - options_.clock());
      }
      if (stopping_) return;
      while (!queue_.empty() && queue_.front().deadline <= options_.clock()) {
        expired.push_back(TakeFirst());
      }
      if (!expired.empty()) Report();
    }
    for (const auto& waiter : expired) waiter->OnQueueTimeout();
  }
}

}  // namespace mayfly::server
