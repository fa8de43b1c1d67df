// Effective limits: what one execution may use at most, the request's wish or else the template's default.
#ifndef MAYFLY_POLICY_EFFECTIVE_LIMITS_H_
#define MAYFLY_POLICY_EFFECTIVE_LIMITS_H_

#include <cstdint>

#include "absl/time/time.h"
#include "mayfly/v1/execution.pb.h"

namespace mayfly::policy {

struct EffectiveLimits {
  absl::Duration wall_time;
  int64_t output_bytes = 0;  // of stdout, and as many again of stderr
  int64_t file_bytes = 0;    // of all returned files together
};

// Requires that CheckRequest found nothing wrong. A request that was not checked never gets more than the template's
// maxima, all the same. Thread-safe.
EffectiveLimits ResolveLimits(const mayfly::v1::ExecuteRequest& request, const mayfly::v1::Template& offered);

}  // namespace mayfly::policy

#endif  // MAYFLY_POLICY_EFFECTIVE_LIMITS_H_
