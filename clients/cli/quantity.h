// Quantities as people write them on the command line: sizes ("64KiB") and times ("5s", "1m30s"). Pure functions.
#ifndef MAYFLY_CLIENTS_CLI_QUANTITY_H_
#define MAYFLY_CLIENTS_CLI_QUANTITY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace mayfly::cli {

// "4096", "64KiB", "1MiB", "2GiB" (also "B"): bytes, 0 or more. Powers of 1000 have no unit here: "64K" is refused,
// since people disagree about what it means. InvalidArgument names the text.
absl::StatusOr<int64_t> ParseByteSize(absl::string_view text);

// The same backwards, in the largest unit that divides it: 65536 is "64KiB", 65537 "65537B".
std::string FormatByteSize(int64_t bytes);

// "300ms", "5s", "1m30s": positive and finite. A number without a unit is refused. InvalidArgument names the text.
absl::StatusOr<absl::Duration> ParseTimeout(absl::string_view text);

}  // namespace mayfly::cli

#endif  // MAYFLY_CLIENTS_CLI_QUANTITY_H_
