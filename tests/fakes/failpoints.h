// Failpoints: makes chosen calls of a fake server go wrong.
//
//   fake.failpoints().Set("tasks.Create", {.error = absl::UnavailableError("gone")});              // every call fails
//   fake.failpoints().Set("tasks.Start", {.error = absl::InternalError("x"), .skip = 1, .times = 1});  // the second
//   fake.failpoints().Set("tasks.Delete", {.error = absl::UnavailableError("x"), .act = true});    // done, but
//   "failed" fake.failpoints().Set("tasks.Kill", {.hang = true});                                           // until
//   Release()
//
// Methods are named as in CallObserver: "tasks.Create". Safe from any thread.
#ifndef MAYFLY_TESTS_FAKES_FAILPOINTS_H_
#define MAYFLY_TESTS_FAKES_FAILPOINTS_H_

#include <functional>
#include <limits>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace mayfly::fakes {

struct Failpoint {
  absl::Status error = absl::OkStatus();        // what the caller is told; OK: the call's own answer
  absl::Duration delay = absl::ZeroDuration();  // before anything else
  bool hang = false;                            // after the delay: until Release(), or until the caller gives up
  bool act = false;                             // do what was asked, though `error` is answered
  int skip = 0;                                 // so many calls are left alone first
  int times = std::numeric_limits<int>::max();  // so many are affected then
};

class Failpoints {
 public:
  // Replaces the method's failpoint; its calls are counted anew for `skip` and `times`.
  void Set(absl::string_view method, Failpoint failpoint);

  // Removes all failpoints and lets hanging calls go on.
  void Clear();

  // Lets the method's hanging calls go on, and removes its failpoint.
  void Release(absl::string_view method);

  // How many calls of the method there have been, affected or not.
  int Calls(absl::string_view method) const;

  // Blocks until there have been `calls` of the method; false when that takes longer than `timeout`.
  bool AwaitCalls(absl::string_view method, int calls, absl::Duration timeout = absl::Seconds(10)) const;

  // For the server: counts the call and runs `action` as the failpoint has it. `cancelled` says whether the caller
  // has given up.
  absl::Status Run(absl::string_view method, absl::FunctionRef<bool()> cancelled,
                   absl::FunctionRef<absl::Status()> action);

 private:
  struct Armed {
    Failpoint failpoint;
    int seen = 0;
  };

  // Counts the call, and returns the failpoint when it is to be affected; else a harmless one. `*releases` is how often
  // the method had been released by then.
  Failpoint Take(const std::string& method, int* releases);

  // Blocks for the failpoint's delay, and while it hangs, until the next release. False when the caller has given up.
  bool Stall(const std::string& method, const Failpoint& failpoint, int releases, absl::FunctionRef<bool()> cancelled);

  mutable absl::Mutex mutex_;
  std::map<std::string, Armed> armed_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int> calls_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int> releases_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mayfly::fakes

#endif  // MAYFLY_TESTS_FAKES_FAILPOINTS_H_
