#include "tests/fakes/guest_io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace mayfly::fakes {
namespace {

absl::StatusOr<int> OpenBothEnds(const std::string& path) {
  if (path.empty()) return -1;
  const int fd = open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("opening fifo ", path));
  return fd;
}

absl::StatusOr<int> OpenForWriting(const std::string& path) {
  if (path.empty()) return -1;
  // Only without the other end of our own can it be seen whether somebody reads.
  const int probe = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (probe < 0 && errno == ENXIO) {
    return absl::DeadlineExceededError(
        absl::StrCat("opening fifo ", path, ": nobody reads: context deadline exceeded"));
  }
  if (probe < 0) return absl::ErrnoToStatus(errno, absl::StrCat("opening fifo ", path));
  absl::StatusOr<int> fd = OpenBothEnds(path);
  close(probe);
  return fd;
}

void CloseIfOpen(int fd) {
  if (fd >= 0) close(fd);
}

}  // namespace

absl::StatusOr<std::unique_ptr<GuestIo>> GuestIo::Open(const std::string& stdin_path, const std::string& stdout_path,
                                                       const std::string& stderr_path) {
  std::unique_ptr<GuestIo> io(new GuestIo());
  io->interrupt_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (io->interrupt_ < 0) return absl::ErrnoToStatus(errno, "making an eventfd");
  absl::StatusOr<int> fd = OpenForWriting(stdout_path);
  if (!fd.ok()) return fd.status();
  io->stdout_ = *fd;
  fd = OpenForWriting(stderr_path);
  if (!fd.ok()) return fd.status();
  io->stderr_ = *fd;
  fd = OpenBothEnds(stdin_path);
  if (!fd.ok()) return fd.status();
  io->stdin_ = *fd;
  return io;
}

GuestIo::~GuestIo() {
  for (int fd : {stdin_, stdout_, stderr_, interrupt_}) CloseIfOpen(fd);
}

bool GuestIo::ReadStdin(char* buffer, size_t size) {
  if (stdin_ < 0) return false;
  while (size > 0) {
    if (!AwaitEvent(stdin_, POLLIN, absl::InfiniteDuration())) return false;
    const ssize_t n = read(stdin_, buffer, size);
    if (n < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (n > 0) {
      buffer += n;
      size -= static_cast<size_t>(n);
    }
  }
  return true;
}

bool GuestIo::WriteStdout(absl::string_view data) {
  return Write(stdout_, data);
}

bool GuestIo::WriteStderr(absl::string_view data) {
  return Write(stderr_, data);
}

bool GuestIo::Write(int fd, absl::string_view data) {
  if (fd < 0) return !interrupted();
  while (!data.empty()) {
    if (!AwaitEvent(fd, POLLOUT, absl::InfiniteDuration())) return false;
    const ssize_t n = write(fd, data.data(), data.size());
    if (n < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (n > 0) data.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

bool GuestIo::Sleep(absl::Duration duration) {
  return AwaitEvent(-1, 0, duration);
}

void GuestIo::Interrupt() {
  const uint64_t one = 1;
  // Can only fail when the counter is full, that is, interrupted already.
  static_cast<void>(!write(interrupt_, &one, sizeof(one)));
}

bool GuestIo::interrupted() const {
  pollfd watched{interrupt_, POLLIN, 0};
  return poll(&watched, 1, 0) > 0;
}

bool GuestIo::AwaitEvent(int fd, short events, absl::Duration timeout) {
  const timespec limit = absl::ToTimespec(timeout);
  pollfd watched[] = {{interrupt_, POLLIN, 0}, {fd, events, 0}};
  int ready = 0;
  do {
    ready = ppoll(watched, 2, timeout == absl::InfiniteDuration() ? nullptr : &limit, nullptr);
  } while (ready < 0 && errno == EINTR);
  return ready >= 0 && watched[0].revents == 0;
}

}  // namespace mayfly::fakes
