// UTF-8, strictly, for names that callers and user code chose. Pure functions, thread-safe.
#ifndef MAYFLY_POLICY_UTF8_H_
#define MAYFLY_POLICY_UTF8_H_

#include <string>

#include "absl/strings/string_view.h"

namespace mayfly::policy {

// What TakeCharacter returns for a byte that is not part of well-formed UTF-8: this, plus the byte. Above every
// code point, so that bad bytes compare equal only to themselves.
inline constexpr char32_t kInvalidByte = 0x110000;

// Removes the first character of `*text`, which must not be empty, and returns its code point. Strict: no overlong
// forms, no surrogates, nothing above U+10FFFF; of an ill-formed sequence one byte is taken at a time.
char32_t TakeCharacter(absl::string_view* text);

bool IsUtf8(absl::string_view text);

// `text` with every backslash and every byte that is not UTF-8 as \xNN (upper-case hexadecimal). Two different texts
// never come out the same.
std::string EscapeToUtf8(absl::string_view text);

}  // namespace mayfly::policy

#endif  // MAYFLY_POLICY_UTF8_H_
