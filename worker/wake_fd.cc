#include "worker/wake_fd.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace mayfly::worker {

absl::StatusOr<WakeFd> WakeFd::Create() {
  UniqueFd fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, "creating an eventfd");
  return WakeFd(std::move(fd));
}

void WakeFd::Signal() const {
  const uint64_t one = 1;
  // Can only fail when the counter is full, and then it is readable already.
  (void)!write(fd_.get(), &one, sizeof(one));
}

void WakeFd::Clear() const {
  uint64_t count;
  (void)!read(fd_.get(), &count, sizeof(count));
}

}  // namespace mayfly::worker
