// UniqueFd owns a file descriptor.
#ifndef MAYFLY_WORKER_UNIQUE_FD_H_
#define MAYFLY_WORKER_UNIQUE_FD_H_

#include <unistd.h>

#include <utility>

namespace mayfly::worker {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

}  // namespace mayfly::worker

#endif  // MAYFLY_WORKER_UNIQUE_FD_H_
