// UniqueFd: owns one file descriptor and closes it. Not thread-safe; movable, not copyable.
#ifndef MAYFLY_CLIENTS_CLI_UNIQUE_FD_H_
#define MAYFLY_CLIENTS_CLI_UNIQUE_FD_H_

#include <unistd.h>

#include <utility>

namespace mayfly::cli {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      Reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~UniqueFd() { Reset(); }

  bool valid() const { return fd_ >= 0; }
  int get() const { return fd_; }
  void Reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

}  // namespace mayfly::cli

#endif  // MAYFLY_CLIENTS_CLI_UNIQUE_FD_H_
