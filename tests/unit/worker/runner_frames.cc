#include "tests/unit/worker/runner_frames.h"

#include <gtest/gtest.h>

#include "worker/runner/frame_codec.h"

namespace mayfly::worker {

using mayfly::runner::v1::FromRunner;

std::string Frame(const FromRunner& frame) {
  std::string bytes;
  EXPECT_TRUE(runner::AppendFrame(frame, &bytes).ok());
  return bytes;
}

std::string ReadyFrame(int protocol) {
  FromRunner frame;
  frame.mutable_ready()->set_protocol(protocol);
  return Frame(frame);
}

std::string StartedFrame() {
  FromRunner frame;
  frame.mutable_started();
  return Frame(frame);
}

std::string OutputFrame(int fd, const std::string& data) {
  FromRunner frame;
  frame.mutable_output()->set_fd(fd);
  frame.mutable_output()->set_data(data);
  return Frame(frame);
}

std::string ExitedFrame(int code) {
  FromRunner frame;
  frame.mutable_exited()->set_code(code);
  return Frame(frame);
}

std::string SignalFrame(int signal) {
  FromRunner frame;
  frame.mutable_exited()->set_signal(signal);
  return Frame(frame);
}

std::string FileHeaderFrame(const std::string& path, int64_t size, int omission) {
  FromRunner frame;
  frame.mutable_file_header()->set_path(path);
  frame.mutable_file_header()->set_size(size);
  frame.mutable_file_header()->set_mode(0644);
  frame.mutable_file_header()->set_omission(omission);
  return Frame(frame);
}

std::string FileDataFrame(const std::string& data) {
  FromRunner frame;
  frame.set_file_data(data);
  return Frame(frame);
}

std::string DoneFrame(int64_t files_unlisted) {
  FromRunner frame;
  frame.mutable_done()->set_files_unlisted(files_unlisted);
  return Frame(frame);
}

std::string FailedFrame(const std::string& message) {
  FromRunner frame;
  frame.mutable_failed()->set_message(message);
  return Frame(frame);
}

}  // namespace mayfly::worker
