#include "worker/runner/execution.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "worker/runner/file_listing.h"
#include "worker/runner/file_sender.h"
#include "worker/runner/frame_codec.h"
#include "worker/runner/job_files.h"
#include "worker/runner/program_identity.h"
#include "worker/runner/program_pump.h"
#include "policy/utf8.h"
#include "worker/runner/workspace.h"

namespace mayfly::runner {
namespace {

// How long what the program leaves behind may take to die. The kernel only needs time for it when it is busy.
constexpr absl::Duration kKillTimeout = absl::Seconds(5);

int64_t Nanos(const timeval& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + int64_t{time.tv_usec} * 1'000;
}

// One line of clean UTF-8: a message may quote a path, and a path may hold anything.
std::string OneLine(absl::string_view message) {
  std::string line = policy::EscapeToUtf8(message);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  if (line.size() > kMessageBytesMax) {
    line.resize(kMessageBytesMax);
    while (!policy::IsUtf8(line)) line.pop_back();  // at most three bytes of a character that was cut
  }
  return line;
}

}  // namespace

absl::Status Execution::Run() {
  absl::Status sent = SendReady();
  if (!sent.ok()) return sent;
  absl::Status prepared = Prepare();
  if (!prepared.ok()) return SendFailed(prepared);
  absl::StatusOr<Program> program = StartProgram(job_, workspace_.get());
  if (!program.ok()) return SendFailed(program.status());
  absl::Status followed = FollowProgram(&*program);
  if (!followed.ok()) return followed;
  return SendFiles();
}

absl::Status Execution::Prepare() {
  absl::StatusOr<v1::ToRunner> first = channel_->Read();
  if (!first.ok()) return first.status();
  if (!first->has_job()) return absl::InvalidArgumentError("the worker's first frame is not a job");
  job_ = std::move(*first->mutable_job());
  absl::Status good = CheckJob(job_);
  if (!good.ok()) return good;

  absl::StatusOr<GlobSet> globs =
      GlobSet::Parse(std::vector<std::string>(job_.output_globs().begin(), job_.output_globs().end()));
  if (!globs.ok()) return globs.status();
  globs_ = *std::move(globs);

  absl::Status assumed = AssumeIdentity({job_.uid(), job_.gid()});
  if (!assumed.ok()) return assumed;
  absl::Status taken = TakeFiles();
  if (!taken.ok()) return taken;
  return ResumeRoot();
}

absl::Status Execution::TakeFiles() {
  absl::StatusOr<UniqueFd> workspace = OpenWorkspace(job_.workspace());
  if (!workspace.ok()) return workspace.status();
  workspace_ = *std::move(workspace);
  JobFiles files(workspace_.get());
  while (true) {
    absl::StatusOr<v1::ToRunner> frame = channel_->Read();
    if (!frame.ok()) return frame.status();
    if (frame->has_start()) return absl::OkStatus();
    if (!frame->has_file()) return absl::InvalidArgumentError("a frame from the worker that is no file and no start");
    absl::Status written = files.Write(frame->file());
    if (!written.ok()) return written;
  }
}

absl::Status Execution::FollowProgram(Program* program) {
  v1::FromRunner started;
  started.mutable_started();
  absl::Status sent = channel_->Write(started);
  if (!sent.ok()) return sent;

  ProgramPump pump(channel_, reaper_, program);
  absl::StatusOr<int> ended = pump.Run();
  if (!ended.ok()) return ended.status();
  // First the kill, then the drain: an orphan that holds the pipes, or writes to them without end, must not delay the
  // answer, and whatever the program wrote before it ended is in the pipes by now.
  absl::Status killed = reaper_->KillAll(kKillTimeout);
  if (!killed.ok()) return killed;
  absl::Status drained = pump.Drain();
  if (!drained.ok()) return drained;
  return SendExited(*ended);
}

absl::Status Execution::SendReady() {
  v1::FromRunner frame;
  frame.mutable_ready()->set_protocol(kProtocolVersion);
  return channel_->Write(frame);
}

absl::Status Execution::SendFailed(const absl::Status& failure) {
  v1::FromRunner frame;
  frame.mutable_failed()->set_message(OneLine(failure.message()));
  return channel_->Write(frame);
}

absl::Status Execution::SendExited(int wait_status) {
  v1::FromRunner frame;
  v1::Exited* exited = frame.mutable_exited();
  if (WIFSIGNALED(wait_status)) {
    exited->set_signal(WTERMSIG(wait_status));
  } else {
    exited->set_code(WEXITSTATUS(wait_status));
  }
  rusage usage{};
  if (getrusage(RUSAGE_CHILDREN, &usage) != 0) return absl::ErrnoToStatus(errno, "reading the program's usage");
  exited->set_cpu_nanos(Nanos(usage.ru_utime) + Nanos(usage.ru_stime));
  exited->set_rss_peak_bytes(int64_t{usage.ru_maxrss} * 1024);
  return channel_->Write(frame);
}

absl::Status Execution::SendFiles() {
  // Nothing is left to kill or to start: root is not needed any more, and the files are the program's.
  absl::Status became = BecomeForGood({job_.uid(), job_.gid()});
  if (!became.ok()) return became;
  const FileListing listing = ListFiles(workspace_.get(), globs_, job_.files_max());
  return FileSender(workspace_.get(), job_.file_bytes_max(), channel_).Send(listing);
}

}  // namespace mayfly::runner
