#include "worker/stream_sink.h"

#include <utility>

namespace mayfly::worker {

absl::StatusOr<std::shared_ptr<StreamSink>> StreamSink::Create(grpc::CallbackServerContext* context) {
  absl::StatusOr<WakeFd> wake = WakeFd::Create();
  if (!wake.ok()) return wake.status();
  std::shared_ptr<StreamSink> sink(new StreamSink(context, *std::move(wake)));
  sink->self_ = sink;
  return sink;
}

bool StreamSink::ready() const {
  absl::MutexLock lock(&mutex_);
  return !writing_ && !finishing_ && !cancelled_;
}

bool StreamSink::cancelled() const {
  absl::MutexLock lock(&mutex_);
  return cancelled_;
}

void StreamSink::Send(mayfly::v1::ExecuteEvent event) {
  absl::MutexLock lock(&mutex_);
  current_ = std::move(event);
  writing_ = true;
  StartWrite(&current_);
}

void StreamSink::Finish(std::deque<mayfly::v1::ExecuteEvent> last) {
  absl::MutexLock lock(&mutex_);
  last_ = std::move(last);
  finishing_ = true;
  Advance();
}

void StreamSink::Fail(const grpc::Status& status) {
  absl::MutexLock lock(&mutex_);
  status_ = status;
  finishing_ = true;
  Advance();
}

void StreamSink::Advance() {
  if (writing_ || !finishing_ || finished_) return;
  if (cancelled_) last_.clear();
  if (!last_.empty()) {
    current_ = std::move(last_.front());
    last_.pop_front();
    writing_ = true;
    StartWrite(&current_);
    return;
  }
  finished_ = true;
  grpc::ServerWriteReactor<mayfly::v1::ExecuteEvent>::Finish(status_);
}

void StreamSink::OnWriteDone(bool ok) {
  absl::MutexLock lock(&mutex_);
  writing_ = false;
  ++taken_;
  if (!ok) cancelled_ = true;
  Advance();
  wake_.Signal();
}

void StreamSink::OnCancel() {
  absl::MutexLock lock(&mutex_);
  cancelled_ = true;
  Advance();
  wake_.Signal();
}

void StreamSink::OnDone() {
  std::shared_ptr<StreamSink> self = std::move(self_);  // may be the last one
  absl::MutexLock lock(&mutex_);
  done_ = true;
}

void StreamSink::AwaitDelivered(absl::Duration timeout, const std::atomic<bool>& hurry) {
  constexpr absl::Duration kSlice = absl::Seconds(1);
  absl::MutexLock lock(&mutex_);
  uint64_t before = taken_;
  absl::Duration idle;
  while (!mutex_.AwaitWithTimeout(absl::Condition(&done_), kSlice)) {
    idle = taken_ == before ? idle + kSlice : absl::ZeroDuration();
    before = taken_;
    if (idle < timeout && !hurry) continue;
    context_->TryCancel();
    mutex_.Await(absl::Condition(&done_));
    return;
  }
}

}  // namespace mayfly::worker
