// UTF-8: whether bytes are well-formed text, strictly: no overlong forms, no surrogates, nothing above U+10FFFF.
#ifndef MAYFLY_POLICY_UTF8_H_
#define MAYFLY_POLICY_UTF8_H_

#include "absl/strings/string_view.h"

namespace mayfly::policy {

bool IsValidUtf8(absl::string_view bytes);

}  // namespace mayfly::policy

#endif  // MAYFLY_POLICY_UTF8_H_
