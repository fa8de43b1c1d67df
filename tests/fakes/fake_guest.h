// FakeGuest: what runs inside a fake task. It plays the runner, PID 1 of a sandbox, over the task's FIFOs; a test says
// how, well-behaved or hostile:
//
//   fake.SetGuest([](FakeGuest& guest) {
//     guest.Ready();
//     guest.ReadJob();
//     guest.Started();
//     guest.Output(1, "hello\n");
//     guest.SendRaw("\xff\xff\xff\xff");  // a frame of 4 GiB
//     guest.Hang();
//   });
//
// The task ends when the function returns, with exit status 0 unless Die() set another. A kill makes everything that
// blocks return false at once, and everything after it; a guest need not look at it, but must not loop for ever.
//
// For one thread.
#ifndef MAYFLY_TESTS_FAKES_FAKE_GUEST_H_
#define MAYFLY_TESTS_FAKES_FAKE_GUEST_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "mayfly/runner/v1/runner.pb.h"
#include "tests/fakes/guest_io.h"

namespace mayfly::fakes {

class FakeGuest {
 public:
  struct InputFile {
    std::string path;
    std::string data;
    uint32_t mode = 0;
  };

  // `io` must outlive it.
  explicit FakeGuest(GuestIo* io) : io_(io) {}
  FakeGuest(const FakeGuest&) = delete;
  FakeGuest& operator=(const FakeGuest&) = delete;

  // Frames from the worker. False when killed, or when the worker broke the protocol: see protocol_error().
  bool ReadFrame(mayfly::runner::v1::ToRunner* frame);
  // Everything up to and including `start`.
  bool ReadJob();
  // The next piece of standard input; empty at its end, and from then on.
  bool ReadStdin(std::string* data);

  // What ReadJob() has read.
  const mayfly::runner::v1::Job& job() const { return job_; }
  const std::vector<InputFile>& files() const { return files_; }
  // The file that argv names, which is the code; else the first file. Empty without files.
  InputFile MainFile() const;
  // What the worker did wrong; empty when nothing.
  const std::string& protocol_error() const { return protocol_error_; }

  // Frames to the worker. They block while the FIFO is full; false when killed.
  bool Ready();
  bool Started();
  bool Failed(absl::string_view message);
  bool Output(int fd, absl::string_view data);  // as many frames as it takes
  // False also for a frame that is empty or too long; SendRaw sends those.
  bool Send(const mayfly::runner::v1::FromRunner& frame);
  bool SendRaw(absl::string_view bytes);

  // A file that Exit() or Signal() returns.
  void AddOutputFile(absl::string_view path, std::string data);
  // The program's end: `exited`, the output files, `done`.
  bool Exit(int code);
  bool Signal(int signal);

  // Ends the task with `status`, as when the sandbox dies: the guest should return after it, and nothing is sent.
  void Die(uint32_t status) { exit_status_ = status; }
  // Until killed.
  void Hang();
  // False when killed.
  bool Sleep(absl::Duration duration);

  uint32_t exit_status() const { return exit_status_; }

 private:
  bool ProtocolError(std::string message);
  bool Finish(mayfly::runner::v1::FromRunner exited);

  GuestIo* const io_;
  mayfly::runner::v1::Job job_;
  std::vector<InputFile> files_;
  std::vector<std::pair<std::string, std::string>> output_files_;
  bool stdin_ended_ = false;
  std::string protocol_error_;
  uint32_t exit_status_ = 0;
};

// Plays a whole task.
using GuestFunction = std::function<void(FakeGuest&)>;

}  // namespace mayfly::fakes

#endif  // MAYFLY_TESTS_FAKES_FAKE_GUEST_H_
