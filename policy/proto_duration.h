// Durations, as protobuf has them and as Abseil has them.
#ifndef MAYFLY_POLICY_PROTO_DURATION_H_
#define MAYFLY_POLICY_PROTO_DURATION_H_

#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/util/time_util.h"

namespace mayfly::policy {

inline absl::Duration FromProto(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos());
}

// Requires a finite duration of less than 292 years.
inline google::protobuf::Duration ToProto(absl::Duration duration) {
  return google::protobuf::util::TimeUtil::NanosecondsToDuration(absl::ToInt64Nanoseconds(duration));
}

}  // namespace mayfly::policy

#endif  // MAYFLY_POLICY_PROTO_DURATION_H_
