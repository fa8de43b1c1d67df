#include "tests/fakes/fake_task.h"

#include <utility>

#include "absl/time/clock.h"

namespace mayfly::fakes {

absl::StatusOr<std::shared_ptr<FakeTask>> FakeTask::Create(const std::string& stdin_path,
                                                           const std::string& stdout_path,
                                                           const std::string& stderr_path, GuestFunction guest) {
  absl::StatusOr<std::unique_ptr<GuestIo>> io = GuestIo::Open(stdin_path, stdout_path, stderr_path);
  if (!io.ok()) return io.status();
  return std::shared_ptr<FakeTask>(new FakeTask(*std::move(io), std::move(guest)));
}

FakeTask::~FakeTask() {
  Kill().IgnoreError();
  std::thread thread;
  {
    absl::MutexLock lock(&mutex_);
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
}

absl::Status FakeTask::Start() {
  absl::MutexLock lock(&mutex_);
  if (state_ == State::kRunning) return absl::UnknownError("cannot start a running process");
  if (state_ == State::kStopped) return absl::UnknownError("cannot start a stopped process");
  state_ = State::kRunning;
  thread_ = std::thread([this, io = io_.get()] { RunGuest(io); });
  return absl::OkStatus();
}

absl::Status FakeTask::Kill() {
  absl::MutexLock lock(&mutex_);
  if (state_ == State::kStopped) return absl::NotFoundError("process already finished");
  if (state_ == State::kRunning) {
    io_->Interrupt();
  } else {
    io_.reset();
  }
  state_ = State::kStopped;
  exit_ = {kKilledStatus, absl::Now()};
  return absl::OkStatus();
}

FakeTask::State FakeTask::state() const {
  absl::MutexLock lock(&mutex_);
  return state_;
}

bool FakeTask::AwaitExit(absl::Duration timeout, Exit* exit) const {
  const auto stopped = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return state_ == State::kStopped; };
  absl::MutexLock lock(&mutex_);
  if (!mutex_.AwaitWithTimeout(absl::Condition(&stopped), timeout)) return false;
  *exit = exit_;
  return true;
}

void FakeTask::RunGuest(GuestIo* io) {
  FakeGuest guest(io);
  guest_(guest);
  absl::MutexLock lock(&mutex_);
  io_.reset();
  if (state_ == State::kStopped) return;
  state_ = State::kStopped;
  exit_ = {guest.exit_status(), absl::Now()};
}

}  // namespace mayfly::fakes
