// WakeFd: an eventfd with which other threads (gRPC's, mostly) wake a thread that sits in poll().
#ifndef MAYFLY_WORKER_WAKE_FD_H_
#define MAYFLY_WORKER_WAKE_FD_H_

#include "absl/status/statusor.h"
#include "worker/unique_fd.h"

namespace mayfly::worker {

class WakeFd {
 public:
  // ResourceExhausted when the process has no descriptor left.
  static absl::StatusOr<WakeFd> Create();

  // Makes fd() readable until Clear(). From any thread; never blocks.
  void Signal() const;
  // Call it before looking at what the signal may be about, so that no signal is lost.
  void Clear() const;

  int fd() const { return fd_.get(); }

 private:
  explicit WakeFd(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
};

}  // namespace mayfly::worker

#endif  // MAYFLY_WORKER_WAKE_FD_H_
