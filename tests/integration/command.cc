#include "tests/integration/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"

namespace mayfly::test {
namespace {

struct Pipe {
  int read = -1;
  int write = -1;
  bool Open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    read = ends[0];
    write = ends[1];
    return true;
  }
  ~Pipe() {
    Close(read);
    Close(write);
  }
  static void Close(int& fd) {
    if (fd >= 0) close(fd);
    fd = -1;
  }
};

pid_t Spawn(const std::vector<std::string>& argv, const Pipe& in, const Pipe& out, const Pipe& err) {
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.read, 0);
  posix_spawn_file_actions_adddup2(&actions, out.write, 1);
  posix_spawn_file_actions_adddup2(&actions, err.write, 2);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? pid : -1;
}

}  // namespace

CommandResult RunCommand(const std::vector<std::string>& argv, const std::string& input, absl::Duration timeout) {
  // A program that does not read its input must not end this one.
  signal(SIGPIPE, SIG_IGN);
  CommandResult result;
  const absl::Time begin = absl::Now();
  Pipe in, out, err;
  if (!in.Open() || !out.Open() || !err.Open()) {
    result.err = absl::StrCat("pipe: ", std::strerror(errno));
    return result;
  }
  const pid_t pid = Spawn(argv, in, out, err);
  if (pid < 0) {
    result.err = absl::StrCat("cannot start ", argv[0]);
    return result;
  }
  Pipe::Close(in.read);
  Pipe::Close(out.write);
  Pipe::Close(err.write);
  fcntl(in.write, F_SETFL, O_NONBLOCK);

  bool timed_out = false;
  absl::string_view unsent = input;
  char buffer[65536];
  while (out.read >= 0 || err.read >= 0) {
    if (in.write >= 0 && unsent.empty()) Pipe::Close(in.write);
    pollfd fds[3] = {{out.read, POLLIN, 0}, {err.read, POLLIN, 0}, {in.write, POLLOUT, 0}};
    const auto left = absl::ToInt64Milliseconds(begin + timeout - absl::Now());
    if (left <= 0 || poll(fds, 3, static_cast<int>(left)) == 0) {
      timed_out = true;
      break;
    }
    if (fds[0].revents != 0) {
      const ssize_t n = read(out.read, buffer, sizeof buffer);
      if (n > 0) {
        result.out.append(buffer, n);
        result.pieces.emplace_back(absl::Now() - begin, std::string(buffer, n));
      } else {
        Pipe::Close(out.read);
      }
    }
    if (fds[1].revents != 0) {
      const ssize_t n = read(err.read, buffer, sizeof buffer);
      if (n > 0) {
        result.err.append(buffer, n);
      } else {
        Pipe::Close(err.read);
      }
    }
    if (fds[2].revents != 0) {
      const ssize_t n = write(in.write, unsent.data(), unsent.size());
      if (n > 0) {
        unsent.remove_prefix(n);
      } else if (errno != EAGAIN) {
        Pipe::Close(in.write);
      }
    }
  }
  if (timed_out) kill(pid, SIGKILL);
  int status = 0;
  waitpid(pid, &status, 0);
  if (!timed_out) result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  result.took = absl::Now() - begin;
  return result;
}

}  // namespace mayfly::test
