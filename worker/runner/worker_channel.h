// The runner's two pipes to the worker, as frames.
//
// Writing blocks until the worker has taken the bytes: that is the backpressure which makes a slow client slow the
// program down instead of filling memory. Single-threaded, like the whole runner.
#ifndef MAYFLY_WORKER_RUNNER_WORKER_CHANNEL_H_
#define MAYFLY_WORKER_RUNNER_WORKER_CHANNEL_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "mayfly/runner/v1/runner.pb.h"
#include "worker/runner/frame_codec.h"

namespace mayfly::runner {

class WorkerChannel {
 public:
  // Reads from descriptor `in` and writes to `out`; both stay the caller's and must outlive the channel.
  WorkerChannel(int in, int out);

  // The worker's next frame. Blocks until it is there. Unavailable when the worker closed the pipe, InvalidArgument
  // when what it sent is malformed.
  absl::StatusOr<v1::ToRunner> Read();

  // The same in two halves, for a loop that polls. TakeReceived takes a frame out of what was received already; false
  // when it holds none that is whole. Receive reads once, and blocks unless in() is readable; requires that
  // TakeReceived has returned false. Errors as in Read; a malformed frame is reported by the Receive after it.
  bool TakeReceived(v1::ToRunner* frame);
  absl::Status Receive();

  // Sends one frame; blocks. Unavailable when the worker closed the pipe.
  absl::Status Write(const v1::FromRunner& frame);

  int in() const { return in_; }

 private:
  const int in_;
  const int out_;
  absl::Status status_;  // of receiving
  FrameDecoder decoder_{kToRunnerBytesMax};
  std::unique_ptr<char[]> input_;
  std::string output_;
};

}  // namespace mayfly::runner

#endif  // MAYFLY_WORKER_RUNNER_WORKER_CHANNEL_H_
