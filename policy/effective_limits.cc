#include "policy/effective_limits.h"

#include <algorithm>

#include "google/protobuf/duration.pb.h"

namespace mayfly::policy {
namespace {

absl::Duration FromProto(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos());
}

}  // namespace

EffectiveLimits ResolveLimits(const mayfly::v1::ExecuteRequest& request, const mayfly::v1::Template& offered) {
  const mayfly::v1::Limits& wish = request.limits();
  const mayfly::v1::Limits& defaults = offered.default_limits();
  const mayfly::v1::Limits& maxima = offered.max_limits();
  EffectiveLimits limits;
  limits.wall_time = FromProto(wish.has_wall_time() ? wish.wall_time() : defaults.wall_time());
  limits.output_bytes = wish.has_output_bytes() ? wish.output_bytes() : defaults.output_bytes();
  limits.file_bytes = wish.has_file_bytes() ? wish.file_bytes() : defaults.file_bytes();

  // Not clamping a request (that was refused before), but failing closed should it not have been checked.
  limits.wall_time = std::min(limits.wall_time, FromProto(maxima.wall_time()));
  limits.output_bytes = std::min(limits.output_bytes, maxima.output_bytes());
  limits.file_bytes = std::min(limits.file_bytes, maxima.file_bytes());
  return limits;
}

}  // namespace mayfly::policy
