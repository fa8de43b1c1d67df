#include "policy/utf8.h"

#include <cstddef>
#include <cstdint>

namespace mayfly::policy {
namespace {

// What a first byte announces: how many bytes follow, and the range of the first of them, where overlong forms,
// surrogates and code points that are too large show (Unicode, table 3-7).
struct Lead {
  int following;
  uint8_t low;
  uint8_t high;
};

constexpr Lead kInvalid = {-1, 0, 0};

Lead ReadLead(uint8_t byte) {
  if (byte < 0x80) return {0, 0, 0};
  if (byte < 0xC2) return kInvalid;
  if (byte < 0xE0) return {1, 0x80, 0xBF};
  if (byte == 0xE0) return {2, 0xA0, 0xBF};
  if (byte == 0xED) return {2, 0x80, 0x9F};
  if (byte < 0xF0) return {2, 0x80, 0xBF};
  if (byte == 0xF0) return {3, 0x90, 0xBF};
  if (byte < 0xF4) return {3, 0x80, 0xBF};
  if (byte == 0xF4) return {3, 0x80, 0x8F};
  return kInvalid;
}

}  // namespace

bool IsValidUtf8(absl::string_view bytes) {
  for (size_t i = 0; i < bytes.size();) {
    Lead lead = ReadLead(static_cast<uint8_t>(bytes[i++]));
    if (lead.following < 0) return false;
    for (; lead.following > 0; --lead.following, ++i) {
      if (i == bytes.size()) return false;
      const auto byte = static_cast<uint8_t>(bytes[i]);
      if (byte < lead.low || byte > lead.high) return false;
      lead.low = 0x80;
      lead.high = 0xBF;
    }
  }
  return true;
}

}  // namespace mayfly::policy
