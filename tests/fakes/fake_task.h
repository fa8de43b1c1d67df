// FakeTask: one task of a FakeContainerd. Its states, its FIFOs, and a thread in which its guest runs.
//
//   created --Start--> running --guest returns, Kill--> stopped
//      \--------------------Kill---------------------------^
//
// Safe from any thread. Destroying it kills the guest and joins its thread.
#ifndef MAYFLY_TESTS_FAKES_FAKE_TASK_H_
#define MAYFLY_TESTS_FAKES_FAKE_TASK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "tests/fakes/fake_guest.h"
#include "tests/fakes/guest_io.h"

namespace mayfly::fakes {

class FakeTask {
 public:
  enum class State { kCreated, kRunning, kStopped };

  struct Exit {
    uint32_t status = 0;
    absl::Time at;
  };

  // Exit status of a task that was killed: 128 + SIGKILL.
  static constexpr uint32_t kKilledStatus = 137;

  // DeadlineExceeded when nobody reads stdout or stderr.
  static absl::StatusOr<std::shared_ptr<FakeTask>> Create(const std::string& stdin_path, const std::string& stdout_path,
                                                          const std::string& stderr_path, GuestFunction guest);
  ~FakeTask();
  FakeTask(const FakeTask&) = delete;
  FakeTask& operator=(const FakeTask&) = delete;

  // Unknown when it was started before, as the runc shim has it.
  absl::Status Start();

  // Ends it at once. NotFound when it has ended already.
  absl::Status Kill();

  State state() const;

  // Blocks until it has ended, and says how; no longer than `timeout`, then false.
  bool AwaitExit(absl::Duration timeout, Exit* exit) const;

 private:
  FakeTask(std::unique_ptr<GuestIo> io, GuestFunction guest) : guest_(std::move(guest)), io_(std::move(io)) {}

  void RunGuest(GuestIo* io);

  const GuestFunction guest_;
  mutable absl::Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kCreated;
  Exit exit_ ABSL_GUARDED_BY(mutex_);
  // Closed when the guest has returned. The guest's thread uses it without the mutex until then.
  std::unique_ptr<GuestIo> io_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mayfly::fakes

#endif  // MAYFLY_TESTS_FAKES_FAKE_TASK_H_
