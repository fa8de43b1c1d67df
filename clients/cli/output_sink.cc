#include "clients/cli/output_sink.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

namespace mayfly::cli {

absl::Status WriteAll(int fd, absl::string_view data) {
  while (!data.empty()) {
    const ssize_t written = write(fd, data.data(), data.size());
    if (written >= 0) {
      data.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN) {
      // Somebody made our stdout non-blocking (a terminal shared with such a program is): wait here instead.
      pollfd wait = {fd, POLLOUT, 0};
      poll(&wait, 1, -1);
    } else if (errno == EPIPE) {
      return absl::AbortedError("the reader is gone");
    } else if (errno != EINTR) {
      return absl::ErrnoToStatus(errno, "write");
    }
  }
  return absl::OkStatus();
}

}  // namespace mayfly::cli
