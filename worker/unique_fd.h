// UniqueFd: owns one file descriptor and closes it. Not thread-safe; movable, not copyable.
#ifndef MAYFLY_WORKER_UNIQUE_FD_H_
#define MAYFLY_WORKER_UNIQUE_FD_H_

#include <unistd.h>

#include <utility>

namespace mayfly {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.Release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      Reset();
      fd_ = other.Release();
    }
    return *this;
  }
  ~UniqueFd() { Reset(); }

  bool valid() const { return fd_ >= 0; }
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }
  void Reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

}  // namespace mayfly

#endif  // MAYFLY_WORKER_UNIQUE_FD_H_
