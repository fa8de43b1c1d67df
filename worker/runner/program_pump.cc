#include "worker/runner/program_pump.h"

#include <errno.h>
#include <poll.h>
#include <sys/types.h>
#include <unistd.h>

#include <utility>

#include "absl/types/optional.h"

namespace mayfly::runner {
namespace {

constexpr short kReadable = POLLIN | POLLHUP | POLLERR;
constexpr short kGone = POLLHUP | POLLERR;

}  // namespace

// Not make_unique: it would touch every page of a buffer of which a small output needs one.
ProgramPump::ProgramPump(WorkerChannel* channel, ProcessReaper* reaper, Program* program)
    : channel_(channel), reaper_(reaper), program_(program), buffer_(new char[kDataBytesMax]) {}

absl::StatusOr<int> ProgramPump::Run() {
  while (true) {
    absl::Status taken = TakeInput();
    if (!taken.ok()) return taken;
    // The worker's pipe is read only when the last input is through. Its end means that the worker is gone, which is
    // noticed in either case.
    const bool input_waits = !input_.empty();
    pollfd fds[] = {
        {channel_->in(), static_cast<short>(input_waits ? 0 : POLLIN), 0},
        {input_waits ? program_->stdin_writer.get() : -1, POLLOUT, 0},
        {program_->stdout_reader.get(), POLLIN, 0},
        {program_->stderr_reader.get(), POLLIN, 0},
        {reaper_->fd(), POLLIN, 0},
    };
    if (poll(fds, std::size(fds), -1) < 0) {
      if (errno == EINTR) continue;
      return absl::ErrnoToStatus(errno, "polling");
    }
    if (!input_waits && (fds[0].revents & kReadable) != 0) {
      absl::Status received = channel_->Receive();
      if (!received.ok()) return received;
    } else if (input_waits && (fds[0].revents & kGone) != 0) {
      return absl::UnavailableError("the worker closed its pipe");
    }
    if (fds[1].revents != 0) WriteInput();
    for (const int fd : {1, 2}) {
      if ((fds[fd + 1].revents & kReadable) == 0) continue;
      absl::StatusOr<bool> sent = Forward(fd, fd == 1 ? &program_->stdout_reader : &program_->stderr_reader);
      if (!sent.ok()) return sent.status();
    }
    if (fds[4].revents != 0) {
      const absl::optional<int> ended = reaper_->Reap(program_->pid);
      if (ended.has_value()) return *ended;
    }
  }
}

absl::Status ProgramPump::Drain() {
  CloseInput();
  for (const int fd : {1, 2}) {
    UniqueFd* reader = fd == 1 ? &program_->stdout_reader : &program_->stderr_reader;
    absl::StatusOr<bool> more = reader->valid();
    while (more.ok() && *more) more = Forward(fd, reader);
    if (!more.ok()) return more.status();
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> ProgramPump::Forward(int fd, UniqueFd* reader) {
  const ssize_t count = read(reader->get(), buffer_.get(), kDataBytesMax);
  if (count < 0 && errno == EINTR) return true;
  if (count < 0 && errno == EAGAIN) return false;
  if (count < 0) return absl::ErrnoToStatus(errno, "reading the program's output");
  if (count == 0) {
    reader->Reset();
    return false;
  }
  v1::Output* output = frame_.mutable_output();
  output->set_fd(fd);
  output->mutable_data()->assign(buffer_.get(), static_cast<size_t>(count));
  absl::Status sent = channel_->Write(frame_);
  if (!sent.ok()) return sent;
  return true;
}

absl::Status ProgramPump::TakeInput() {
  v1::ToRunner frame;
  while (input_.empty() && channel_->TakeReceived(&frame)) {
    switch (frame.frame_case()) {
      case v1::ToRunner::kStdin:
        if (!program_->stdin_writer.valid()) break;  // closed by the program or by stdin_end: nobody wants it
        input_ = std::move(*frame.mutable_stdin());
        input_written_ = 0;
        WriteInput();
        break;
      case v1::ToRunner::kStdinEnd:
        CloseInput();
        break;
      default:
        return absl::InvalidArgumentError("a frame from the worker that is neither input nor its end");
    }
  }
  return absl::OkStatus();
}

void ProgramPump::WriteInput() {
  while (input_written_ < input_.size()) {
    const ssize_t count =
        write(program_->stdin_writer.get(), input_.data() + input_written_, input_.size() - input_written_);
    if (count >= 0) {
      input_written_ += static_cast<size_t>(count);
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR) {
      CloseInput();  // EPIPE: the program does not read any more, which is its good right
      return;
    }
  }
  input_.clear();
}

void ProgramPump::CloseInput() {
  program_->stdin_writer.Reset();
  input_.clear();
}

}  // namespace mayfly::runner
