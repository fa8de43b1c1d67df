// The bounds of a request that hold for every template, in one place. execution.proto states them to callers, and
// request_check enforces them; what a template bounds (wall time, output) is in mayfly.v1.Template.
#ifndef MAYFLY_POLICY_REQUEST_LIMITS_H_
#define MAYFLY_POLICY_REQUEST_LIMITS_H_

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace mayfly::policy {

inline constexpr int64_t kKiB = 1024;
inline constexpr int64_t kMiB = 1024 * kKiB;

// The whole request, serialized.
inline constexpr int64_t kRequestBytesMax = 32 * kMiB;
// What gRPC takes at all: a request that is a little too large gets an answer that names the limit.
inline constexpr int64_t kRequestWireBytesMax = 40 * kMiB;

inline constexpr int64_t kCodeBytesMax = 1 * kMiB;
inline constexpr int64_t kStdinBytesMax = 16 * kMiB;

inline constexpr int kInputFilesMax = 128;
inline constexpr int64_t kInputFileBytesMax = 16 * kMiB;  // contents together
inline constexpr size_t kPathBytesMax = 512;
inline constexpr size_t kPathPartBytesMax = 255;  // NAME_MAX: a longer one cannot be created
inline constexpr uint32_t kFileModeMax = 0777;

inline constexpr int kArgsMax = 256;
inline constexpr int64_t kArgBytesMax = 64 * kKiB;  // together, without terminators

inline constexpr int kEnvMax = 128;
inline constexpr int64_t kEnvBytesMax = 64 * kKiB;  // names and values together

inline constexpr int kOutputGlobsMax = 32;
inline constexpr size_t kOutputGlobBytesMax = 256;
inline constexpr int kOutputFilesMax = 256;  // listed in a result

inline constexpr size_t kCallerIdBytesMax = 128;
inline constexpr size_t kExecutionIdDigits = 32;

// A shorter limit would only measure how fast the interpreter starts.
inline constexpr absl::Duration kWallTimeMin = absl::Milliseconds(10);
inline constexpr int64_t kOutputBytesMin = 1;

// Violations reported of one request; a caller that made more has enough to go on with.
inline constexpr size_t kViolationsMax = 64;

}  // namespace mayfly::policy

#endif  // MAYFLY_POLICY_REQUEST_LIMITS_H_
