// The time for measuring and for deadlines: it never jumps, whatever happens to the machine's date.
#ifndef MAYFLY_DAEMON_STEADY_CLOCK_H_
#define MAYFLY_DAEMON_STEADY_CLOCK_H_

#include "absl/time/time.h"

namespace mayfly::daemon {

// The date at the first call, and what has passed since then by the steady clock. Thread-safe.
absl::Time SteadyNow();

}  // namespace mayfly::daemon

#endif  // MAYFLY_DAEMON_STEADY_CLOCK_H_
