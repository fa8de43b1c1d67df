#include "worker/runner/worker_channel.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include <utility>

namespace mayfly::runner {
namespace {

constexpr size_t kReadBytes = 65'536;

// The pipes are the worker's, and may be non-blocking by its choice.
void WaitFor(int fd, short events) {
  pollfd waited{fd, events, 0};
  poll(&waited, 1, -1);
}

}  // namespace

// Not make_unique: it would touch every page of a buffer of which a job mostly needs one.
WorkerChannel::WorkerChannel(int in, int out) : in_(in), out_(out), input_(new char[kReadBytes]) {}

absl::StatusOr<v1::ToRunner> WorkerChannel::Read() {
  v1::ToRunner frame;
  while (!TakeReceived(&frame)) {
    absl::Status received = Receive();
    if (!received.ok()) return received;
  }
  return frame;
}

bool WorkerChannel::TakeReceived(v1::ToRunner* frame) {
  absl::string_view payload;
  if (!status_.ok() || !decoder_.Next(&payload)) return false;
  if (!frame->ParseFromArray(payload.data(), static_cast<int>(payload.size()))) {
    status_ = absl::InvalidArgumentError("a malformed frame from the worker");
    return false;
  }
  return true;
}

absl::Status WorkerChannel::Receive() {
  if (!status_.ok()) return status_;
  if (!decoder_.status().ok()) return status_ = decoder_.status();
  while (true) {
    const ssize_t count = read(in_, input_.get(), kReadBytes);
    if (count > 0) {
      decoder_.Push(absl::string_view(input_.get(), static_cast<size_t>(count)));
      return absl::OkStatus();
    }
    if (count == 0) return status_ = absl::UnavailableError("the worker closed its pipe");
    if (errno == EAGAIN) {
      WaitFor(in_, POLLIN);
    } else if (errno != EINTR) {
      return status_ = absl::ErrnoToStatus(errno, "reading from the worker");
    }
  }
}

absl::Status WorkerChannel::Write(const v1::FromRunner& frame) {
  output_.clear();
  absl::Status encoded = AppendFrame(frame, &output_);
  if (!encoded.ok()) return encoded;
  absl::string_view left = output_;
  while (!left.empty()) {
    const ssize_t count = write(out_, left.data(), left.size());
    if (count >= 0) {
      left.remove_prefix(static_cast<size_t>(count));
    } else if (errno == EAGAIN) {
      WaitFor(out_, POLLOUT);
    } else if (errno == EPIPE) {
      return absl::UnavailableError("the worker closed its pipe");
    } else if (errno != EINTR) {
      return absl::ErrnoToStatus(errno, "writing to the worker");
    }
  }
  return absl::OkStatus();
}

}  // namespace mayfly::runner
