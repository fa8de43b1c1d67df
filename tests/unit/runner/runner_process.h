// RunnerProcess: the real runner, outside a sandbox but in a PID and mount namespace of its own, with a tmpfs for its
// workspace and the capabilities that a sandbox gives it. For tests; needs root.
//
// MAYFLY_RUNNER_COMMAND in the environment replaces that by a command, run by sh, that starts the runner some other way
// (in gVisor, say) with the workspace at /workspace: the same cases then run against that.
#ifndef MAYFLY_TESTS_UNIT_RUNNER_RUNNER_PROCESS_H_
#define MAYFLY_TESTS_UNIT_RUNNER_RUNNER_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "worker/unique_fd.h"
#include "worker/runner_stream.h"

namespace mayfly::runner {

struct TestFile {
  std::string path;
  std::string content;
  uint32_t mode = 0644;
};

struct TestJob {
  std::vector<std::string> argv;
  std::vector<std::string> env = {"PATH=/usr/bin:/bin"};
  std::vector<TestFile> files;
  std::string stdin;
  std::vector<std::string> globs;
  int64_t file_bytes_max = 1 << 20;
  int32_t files_max = 256;
};

// A job that runs `script` with /bin/sh.
TestJob Script(const std::string& script);

struct CollectedFile {
  v1::FileHeader header;
  std::string content;
};

// All that came out.
struct Outcome {
  bool started = false;
  std::string out;
  std::string err;
  absl::optional<v1::Exited> exited;
  std::map<std::string, CollectedFile> files;
  int64_t unlisted = 0;
  std::string failed;
  absl::Status stream;     // RunnerStream::Feed and Finish
  int runner_status = -1;  // the runner's own exit code
  absl::Duration took;
};

class RunnerProcess {
 public:
  // `pipe_mode`: of the pipes to the runner.
  explicit RunnerProcess(mode_t pipe_mode = 0600);
  ~RunnerProcess();

  // Runs `job` to its end; at most 30 s, after which the stream has ended early.
  Outcome Run(const TestJob& job);

  // For tests that end it in the middle.
  void SendJob(const TestJob& job, bool stdin_end);
  void CloseStdin();
  // Reads until `done`, the end, 30 s have passed, or `out` holds `until` (if not empty).
  void Read(Outcome* outcome, const std::string& until = "");
  // The exit code of the runner; waits at most 30 s.
  int Wait();

 private:
  int64_t file_bytes_max_ = 0;
  int32_t files_max_ = 0;
  std::string workspace_;
  pid_t pid_ = -1;
  UniqueFd to_runner_;
  UniqueFd from_runner_;
  std::thread writer_;
};

}  // namespace mayfly::runner

#endif  // MAYFLY_TESTS_UNIT_RUNNER_RUNNER_PROCESS_H_
