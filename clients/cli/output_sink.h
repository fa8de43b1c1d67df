// OutputSink: where the bytes go that a program writes. Two kinds: straight on to our own stdout and stderr, or into
// memory for --json. And WriteAll, the write(2) that both they and files use.
#ifndef MAYFLY_CLIENTS_CLI_OUTPUT_SINK_H_
#define MAYFLY_CLIENTS_CLI_OUTPUT_SINK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "mayfly/v1/execution.pb.h"

namespace mayfly::cli {

// Writes all of `data`, as it is and at once. Blocks as long as the reader at the other end does, also when `fd` is
// non-blocking. Aborted when the reader is gone (EPIPE, with SIGPIPE ignored); else the error of write(2).
absl::Status WriteAll(int fd, absl::string_view data);

// Not thread-safe.
class OutputSink {
 public:
  virtual ~OutputSink() = default;
  // `stream` is stdout or stderr. After an error the execution is cancelled and no more is written. Aborted: the reader
  // is gone.
  virtual absl::Status Write(v1::Stream stream, absl::string_view data) = 0;
};

// Passes bytes on as they come, without a buffer.
class DescriptorSink : public OutputSink {
 public:
  // Borrows the descriptors.
  DescriptorSink(int stdout_fd, int stderr_fd) : stdout_fd_(stdout_fd), stderr_fd_(stderr_fd) {}
  absl::Status Write(v1::Stream stream, absl::string_view data) override {
    return WriteAll(stream == v1::STREAM_STDOUT ? stdout_fd_ : stderr_fd_, data);
  }

 private:
  const int stdout_fd_;
  const int stderr_fd_;
};

// Keeps bytes; the template's output limit bounds how many there can be.
class CapturingSink : public OutputSink {
 public:
  absl::Status Write(v1::Stream stream, absl::string_view data) override {
    (stream == v1::STREAM_STDOUT ? stdout_ : stderr_).append(data.data(), data.size());
    return absl::OkStatus();
  }
  const std::string& stdout_data() const { return stdout_; }
  const std::string& stderr_data() const { return stderr_; }

 private:
  std::string stdout_;
  std::string stderr_;
};

}  // namespace mayfly::cli

#endif  // MAYFLY_CLIENTS_CLI_OUTPUT_SINK_H_
