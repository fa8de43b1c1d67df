// GuestIo: a fake task's ends of its FIFOs, as containerd's shim would hold them. Blocking reads and writes that a kill
// interrupts.
//
// Like the shim it keeps both ends of each FIFO open: the guest never sees end of file on stdin nor EPIPE on stdout,
// and stalls when nobody reads. Closing (the destructor) is what the reader sees as the end.
//
// Interrupt() and interrupted() are safe from any thread; the rest is for one thread.
#ifndef MAYFLY_TESTS_FAKES_GUEST_IO_H_
#define MAYFLY_TESTS_FAKES_GUEST_IO_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace mayfly::fakes {

class GuestIo {
 public:
  // Opens the FIFOs; an empty path is none, as /dev/null. Where the shim would wait for a reader of stdout or stderr
  // for 30 s and then fail, this fails at once: DeadlineExceeded.
  static absl::StatusOr<std::unique_ptr<GuestIo>> Open(const std::string& stdin_path, const std::string& stdout_path,
                                                       const std::string& stderr_path);
  ~GuestIo();
  GuestIo(const GuestIo&) = delete;
  GuestIo& operator=(const GuestIo&) = delete;

  // Blocks until all `size` bytes have come. False when interrupted.
  bool ReadStdin(char* buffer, size_t size);

  // Blocks until everything is written. False when interrupted.
  bool WriteStdout(absl::string_view data);
  bool WriteStderr(absl::string_view data);

  // Blocks. False when interrupted.
  bool Sleep(absl::Duration duration);

  // Makes what blocks return, and everything after it fail at once.
  void Interrupt();
  bool interrupted() const;

 private:
  GuestIo() = default;

  // Blocks until `fd` has one of `events` (poll's), or for `timeout`. False when interrupted.
  bool AwaitEvent(int fd, short events, absl::Duration timeout);
  bool Write(int fd, absl::string_view data);

  // Set by Open; -1 is none.
  int stdin_ = -1;
  int stdout_ = -1;
  int stderr_ = -1;
  int interrupt_ = -1;  // an eventfd, readable from the interrupt on
};

}  // namespace mayfly::fakes

#endif  // MAYFLY_TESTS_FAKES_GUEST_IO_H_
