// Quoted: an untrusted value as it may stand in a message for people: in quotes, escaped to printable ASCII, cut.
#ifndef MAYFLY_POLICY_QUOTED_H_
#define MAYFLY_POLICY_QUOTED_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace mayfly::policy {

// Printable ASCII: newlines as \n, quotes and backslashes with a backslash, all other bytes as \xNN.
std::string Escaped(absl::string_view value);

// `"a\nb"`; of a value longer than `bytes_max` its start: `"abc..." (300 bytes)`.
std::string Quoted(absl::string_view value, size_t bytes_max = 64);

}  // namespace mayfly::policy

#endif  // MAYFLY_POLICY_QUOTED_H_
