#include "policy/quoted.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace mayfly::policy {

std::string Escaped(absl::string_view value) {
  // Not absl::CHexEscape: that also escapes a letter like b behind an escape, for C's sake and not for people's.
  std::string text;
  text.reserve(value.size());
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      text += "\\n";
    } else if (c == '"' || c == '\\') {
      text += {'\\', c};
    } else if (absl::ascii_isprint(byte)) {
      text += c;
    } else {
      absl::StrAppend(&text, "\\x", absl::Hex(byte, absl::kZeroPad2));
    }
  }
  return text;
}

std::string Quoted(absl::string_view value, size_t bytes_max) {
  if (value.size() <= bytes_max) return absl::StrCat("\"", Escaped(value), "\"");
  return absl::StrCat("\"", Escaped(value.substr(0, bytes_max)), "...\" (", value.size(), " bytes)");
}

}  // namespace mayfly::policy
