#include "daemon/random_id.h"

#include <sys/random.h>

#include <cstdlib>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"

namespace mayfly::daemon {

std::string RandomId() {
  char bytes[16];
  // Up to 256 bytes come whole; it only waits in the first moments after boot. A machine without randomness is broken.
  if (getrandom(bytes, sizeof(bytes), 0) != static_cast<ssize_t>(sizeof(bytes))) std::abort();
  return absl::BytesToHexString(absl::string_view(bytes, sizeof(bytes)));
}

}  // namespace mayfly::daemon
