#include "tests/unit/containerd/task_fifos.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

namespace mayfly::worker {
namespace {

constexpr int kReadTimeoutMillis = 10'000;

void CloseIfOpen(int* fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

}  // namespace

TaskFifos::TaskFifos() : directory_((std::filesystem::temp_directory_path() / "mayfly-fifos-XXXXXX").string()) {
  if (mkdtemp(directory_.data()) == nullptr) ADD_FAILURE() << "mkdtemp " << directory_;
  stdio_ = {directory_ + "/stdin", directory_ + "/stdout", directory_ + "/stderr"};
  for (const std::string& path : {stdio_.stdin_path, stdio_.stdout_path, stdio_.stderr_path}) {
    if (mkfifo(path.c_str(), 0600) != 0) ADD_FAILURE() << "mkfifo " << path;
  }
  stdin_ = open(stdio_.stdin_path.c_str(), O_RDWR | O_CLOEXEC);
  stdout_ = open(stdio_.stdout_path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  stderr_ = open(stdio_.stderr_path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

TaskFifos::~TaskFifos() {
  StopReading();
  CloseIfOpen(&stdin_);
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

void TaskFifos::StopReading() {
  CloseIfOpen(&stdout_);
  CloseIfOpen(&stderr_);
}

void TaskFifos::Write(absl::string_view data) {
  while (!data.empty()) {
    const ssize_t n = write(stdin_, data.data(), data.size());
    if (n <= 0) {
      ADD_FAILURE() << "writing to the task's stdin";
      return;
    }
    data.remove_prefix(static_cast<size_t>(n));
  }
}

std::string TaskFifos::Read() {
  pollfd watched{stdout_, POLLIN, 0};
  if (poll(&watched, 1, kReadTimeoutMillis) <= 0) return "";
  char buffer[4096];
  const ssize_t n = read(stdout_, buffer, sizeof(buffer));
  return n > 0 ? std::string(buffer, static_cast<size_t>(n)) : "";
}

std::string TaskFifos::ReadAll() {
  std::string all;
  for (std::string part = Read(); !part.empty(); part = Read()) all += part;
  return all;
}

}  // namespace mayfly::worker
