#include "policy/utf8.h"

#include <cstddef>

namespace mayfly::policy {
namespace {

unsigned char ByteAt(absl::string_view text, size_t index) {
  return static_cast<unsigned char>(text[index]);
}

// Length of the sequence that `lead` starts; 0 when none may start with it.
size_t SequenceLength(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  return 0;
}

// The smallest code point that needs so many bytes.
constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};

void AppendHex(unsigned char byte, std::string* out) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  out->append("\\x");
  out->push_back(kDigits[byte >> 4]);
  out->push_back(kDigits[byte & 0xf]);
}

}  // namespace

char32_t TakeCharacter(absl::string_view* text) {
  const unsigned char lead = ByteAt(*text, 0);
  const size_t length = SequenceLength(lead);
  char32_t code = length == 1 ? lead : lead & (0x7f >> length);
  bool good = length != 0 && text->size() >= length;
  for (size_t i = 1; good && i < length; ++i) {
    const unsigned char byte = ByteAt(*text, i);
    good = (byte & 0xc0) == 0x80;
    code = code << 6 | (byte & 0x3f);
  }
  good = good && code >= kSmallest[length] && code < kInvalidByte && !(code >= 0xd800 && code <= 0xdfff);
  text->remove_prefix(good ? length : 1);
  return good ? code : kInvalidByte + lead;
}

bool IsUtf8(absl::string_view text) {
  while (!text.empty()) {
    if (TakeCharacter(&text) >= kInvalidByte) return false;
  }
  return true;
}

std::string EscapeToUtf8(absl::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const absl::string_view before = text;
    const char32_t code = TakeCharacter(&text);
    if (code >= kInvalidByte || code == U'\\') {
      AppendHex(ByteAt(before, 0), &out);
    } else {
      out.append(before.data(), before.size() - text.size());
    }
  }
  return out;
}

}  // namespace mayfly::policy
