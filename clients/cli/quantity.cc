#include "clients/cli/quantity.h"

#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace mayfly::cli {
namespace {

struct Unit {
  absl::string_view suffix;
  int64_t bytes;
};

// Largest first: "KiB" must be tried before "B".
constexpr Unit kUnits[] = {{"GiB", int64_t{1} << 30}, {"MiB", int64_t{1} << 20}, {"KiB", int64_t{1} << 10}, {"B", 1}};

bool IsDigits(absl::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == absl::string_view::npos;
}

}  // namespace

absl::StatusOr<int64_t> ParseByteSize(absl::string_view text) {
  absl::string_view digits = text;
  int64_t unit_bytes = 1;
  for (const Unit& unit : kUnits) {
    if (absl::ConsumeSuffix(&digits, unit.suffix)) {
      unit_bytes = unit.bytes;
      break;
    }
  }
  int64_t number = 0;
  if (!IsDigits(digits) || !absl::SimpleAtoi(digits, &number) ||
      number > std::numeric_limits<int64_t>::max() / unit_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not a size; write 4096, 64KiB, 1MiB or 1GiB"));
  }
  return number * unit_bytes;
}

std::string FormatByteSize(int64_t bytes) {
  for (const Unit& unit : kUnits) {
    if (bytes != 0 && bytes % unit.bytes == 0) return absl::StrCat(bytes / unit.bytes, unit.suffix);
  }
  return absl::StrCat(bytes, "B");
}

absl::StatusOr<absl::Duration> ParseTimeout(absl::string_view text) {
  absl::Duration timeout;
  if (!absl::ParseDuration(text, &timeout) || timeout <= absl::ZeroDuration() || timeout == absl::InfiniteDuration()) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not a time; write 300ms, 5s or 1m30s"));
  }
  return timeout;
}

}  // namespace mayfly::cli
