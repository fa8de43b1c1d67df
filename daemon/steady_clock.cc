#include "daemon/steady_clock.h"

#include <chrono>

#include "absl/time/clock.h"

namespace mayfly::daemon {

absl::Time SteadyNow() {
  using Clock = std::chrono::steady_clock;
  static const absl::Time begin_date = absl::Now();
  static const Clock::time_point begin = Clock::now();
  return begin_date + absl::FromChrono(Clock::now() - begin);
}

}  // namespace mayfly::daemon
