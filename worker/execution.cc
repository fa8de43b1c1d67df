#include "worker/execution.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "policy/proto_duration.h"
#include "policy/request_limits.h"
#include "worker/runner/frame_codec.h"

namespace mayfly::worker {
namespace {

using mayfly::v1::ExecuteEvent;
using policy::ToProto;

// Read from the sandbox at once; also the size of the largest event.
constexpr size_t kReadBytes = 64 * 1024;
// The most output that one read can bring: a frame that had begun before, and what was read.
constexpr size_t kYieldBytesMax = 2 * kReadBytes;
// Kept for a slow reader after the program's end; more is dropped and counted.
constexpr size_t kPendingBytesMax = 1024 * 1024;
// What an event costs beside its data: many tiny ones are no way around the bound.
constexpr size_t kEventOverheadBytes = 256;
// From the sandbox's death to the shim having copied what it wrote.
constexpr absl::Duration kDrainTimeout = absl::Seconds(1);
// The tail of the runner's stderr that is kept as evidence.
constexpr size_t kDiagnosticsBytesMax = 1024;

size_t CostOf(const ExecuteEvent& event) {
  return kEventOverheadBytes + event.output().data().size() + event.file().data().size();
}

}  // namespace

Execution::Execution(const mayfly::v1::ExecuteRequest& request, const Template& offered, Sandbox* sandbox,
                     EventSink* sink, const std::atomic<bool>* shutdown, const ExecutionTimeouts& timeouts, Clock clock,
                     absl::Time began)
    : request_(request),
      template_(offered),
      sandbox_(sandbox),
      sink_(sink),
      shutdown_(shutdown),
      timeouts_(timeouts),
      clock_(std::move(clock)),
      limits_(policy::ResolveLimits(request, offered.info)),
      feed_(request, offered, limits_),
      stream_(this, {limits_.file_bytes, policy::kOutputFilesMax}),
      began_(began),
      started_(absl::InfiniteFuture()),
      exited_(absl::InfiniteFuture()),
      last_event_(began),
      stdout_(limits_.output_bytes),
      stderr_(limits_.output_bytes),
      read_buffer_(kReadBytes, '\0') {
  evidence_.limits = limits_;
  evidence_.memory_bytes = offered.info.memory_bytes();
}

mayfly::v1::ExecutionResult Execution::Run() {
  CheckCauses();  // of the time in which the sandbox was made
  while (Alive()) {
    SendPending();
    Poll();
    CheckCauses();
  }
  ended_ = clock_();
  GatherEvidence();
  return MakeResult();
}

void Execution::Poll() {
  enum { kWake, kStdin, kStdout, kStderr };
  // A negative descriptor is skipped. stdout is read only when the sink has everything: that is the backpressure.
  pollfd fds[] = {{sink_->wake()->fd(), POLLIN, 0},
                  {feed_.done() ? -1 : sandbox_->stdin_fd(), POLLOUT, 0},
                  {stdout_open_ && pending_.empty() ? sandbox_->stdout_fd() : -1, POLLIN, 0},
                  {stderr_open_ ? sandbox_->stderr_fd() : -1, POLLIN, 0}};
  const absl::Duration left = std::max(NextDeadline() - clock_(), absl::ZeroDuration());
  const int timeout_ms =
      static_cast<int>(absl::ToInt64Milliseconds(std::min(left, absl::Minutes(1)) + absl::Microseconds(999)));
  if (poll(fds, std::size(fds), timeout_ms) <= 0) return;
  if (fds[kWake].revents != 0) sink_->wake()->Clear();
  if (fds[kStdin].revents != 0) FeedJob();
  if (fds[kStdout].revents != 0) ReadFrames();
  if (fds[kStderr].revents != 0) ReadDiagnostics();
}

// The order decides between causes that are there at the same time.
void Execution::CheckCauses() {
  const absl::Time now = clock_();
  if (!Alive()) return;
  if (stdout_.exceeded()) return EndBy(KillCause::kStdoutLimit);
  if (stderr_.exceeded()) return EndBy(KillCause::kStderrLimit);
  if (sink_->cancelled()) return EndBy(KillCause::kCancelled);
  if (SandboxIsSpent(now)) {
    phase_ = Phase::kDone;
    return;
  }
  if (now >= PhaseDeadline()) {
    switch (phase_) {
      case Phase::kStarting:
        return EndBy(KillCause::kStartTimeout);
      case Phase::kRunning:
        ReadAhead();
        if (phase_ != Phase::kRunning || !Alive()) return;
        return EndBy(KillCause::kWallLimit);
      case Phase::kCollecting:
        result_.add_evidence(
            absl::StrCat("collecting files was ended after ", absl::FormatDuration(timeouts_.collect)));
        phase_ = Phase::kDone;
        return;
      case Phase::kDone:
        return;
    }
  }
  if (shutdown_->load()) return EndBy(KillCause::kShutdown);
  if (phase_ == Phase::kRunning && now >= last_event_ + timeouts_.heartbeat) SendHeartbeat();
}

// True when the sandbox has died and nothing more comes from it. What the program wrote before is still on its way
// then, so the shim gets a while to copy it, counted from when we last waited for it with nothing else to do.
bool Execution::SandboxIsSpent(absl::Time now) {
  const bool exited = sandbox_->exit().has_value();
  if (stdout_open_ && !exited) return false;
  if (!stdout_open_ && exited && pending_.empty()) return true;
  if (died_ == absl::InfiniteFuture() || !pending_.empty()) died_ = now;
  return now >= died_ + kDrainTimeout;
}

absl::Time Execution::PhaseDeadline() const {
  switch (phase_) {
    case Phase::kStarting:
      return began_ + timeouts_.start;
    case Phase::kRunning:
      return started_ + limits_.wall_time;
    case Phase::kCollecting:
      return exited_ + timeouts_.collect;
    case Phase::kDone:
      break;
  }
  return absl::InfinitePast();
}

absl::Time Execution::NextDeadline() const {
  absl::Time next = std::min(PhaseDeadline(), died_ + kDrainTimeout);
  if (phase_ == Phase::kRunning && sink_->ready()) next = std::min(next, last_event_ + timeouts_.heartbeat);
  return next;
}

// What has ended by itself is not killed any more: what comes later does not change how it ended. How a dead sandbox
// ended is still to be read.
void Execution::EndBy(KillCause cause) {
  const bool about_the_output = cause == KillCause::kStdoutLimit || cause == KillCause::kStderrLimit;
  if (evidence_.program_exit.has_value() || (!about_the_output && sandbox_->exit().has_value())) {
    phase_ = Phase::kDone;
    return;
  }
  evidence_.kill = cause;
}

void Execution::Append(ExecuteEvent event) {
  pending_bytes_ += CostOf(event);
  pending_.push_back(std::move(event));
}

void Execution::SendPending() {
  while (!pending_.empty() && sink_->ready()) {
    pending_bytes_ -= CostOf(pending_.front());
    last_event_ = clock_();
    sink_->Send(std::move(pending_.front()));
    pending_.pop_front();
  }
}

void Execution::SendHeartbeat() {
  if (!sink_->ready() || !pending_.empty()) return;
  ExecuteEvent event;
  event.mutable_heartbeat();
  last_event_ = clock_();
  sink_->Send(std::move(event));
}

void Execution::FeedJob() {
  absl::Status status = feed_.WriteTo(sandbox_->stdin_fd());
  if (status.ok()) return;
  evidence_.failure = status;
  EndBy(KillCause::kJobFailed);
}

void Execution::ReadFrames() {
  const ssize_t count = read(sandbox_->stdout_fd(), read_buffer_.data(), read_buffer_.size());
  if (count < 0) return;  // EAGAIN or EINTR; a FIFO has no other
  if (count == 0) {
    stdout_open_ = false;
    return;
  }
  absl::Status status = stream_.Feed(absl::string_view(read_buffer_.data(), static_cast<size_t>(count)));
  if (!status.ok() && Alive()) {
    evidence_.failure = status;
    EndBy(KillCause::kProtocol);
  }
}

// Reads all that is there: when we are late, the program's end may be there already, behind what it wrote.
void Execution::ReadAhead() {
  pollfd fd = {sandbox_->stdout_fd(), POLLIN, 0};
  while (phase_ == Phase::kRunning && Alive() && stdout_open_ && pending_bytes_ + kYieldBytesMax <= kPendingBytesMax &&
         poll(&fd, 1, 0) > 0) {
    ReadFrames();
  }
}

void Execution::ReadDiagnostics() {
  char buffer[4096];
  const ssize_t count = read(sandbox_->stderr_fd(), buffer, sizeof(buffer));
  if (count < 0) return;
  if (count == 0) stderr_open_ = false;
  evidence_.diagnostics.append(buffer, static_cast<size_t>(count));
  if (evidence_.diagnostics.size() > kDiagnosticsBytesMax) {
    evidence_.diagnostics.erase(0, evidence_.diagnostics.size() - kDiagnosticsBytesMax);
  }
}

void Execution::OnStarted() {
  phase_ = Phase::kRunning;
  started_ = clock_();
  cpu_at_start_ = sandbox_->cgroup().cpu_time().value_or(absl::ZeroDuration());
  ExecuteEvent event;
  event.mutable_started();
  Append(std::move(event));
}

void Execution::OnOutput(int fd, std::string&& data) {
  OutputAccount& account = fd == 1 ? stdout_ : stderr_;
  const int64_t offset = account.offset();
  const auto admitted = static_cast<size_t>(account.Admit(static_cast<int64_t>(data.size())));
  if (admitted == 0) return;
  drain_full_ = drain_full_ || (draining_ && pending_bytes_ + admitted > kPendingBytesMax);
  if (drain_full_) {
    account.TakeBack(static_cast<int64_t>(admitted));
    return;
  }
  data.resize(admitted);
  const mayfly::v1::Stream stream = fd == 1 ? mayfly::v1::STREAM_STDOUT : mayfly::v1::STREAM_STDERR;
  // Many small writes that came together go on together.
  if (!pending_.empty() && pending_.back().has_output() && pending_.back().output().stream() == stream &&
      pending_.back().output().data().size() + admitted <= runner::kDataBytesMax) {
    pending_.back().mutable_output()->mutable_data()->append(data);
    pending_bytes_ += admitted;
    return;
  }
  ExecuteEvent event;
  event.mutable_output()->set_stream(stream);
  event.mutable_output()->set_offset(offset);
  event.mutable_output()->set_data(std::move(data));
  Append(std::move(event));
}

void Execution::OnExited(const mayfly::runner::v1::Exited& exited) {
  // What the worker's own kill did to the program is not how the program ended.
  if (evidence_.kill != KillCause::kNone) return;
  exited_ = clock_();
  phase_ = Phase::kCollecting;
  // One that wrote too much and ended before it was killed has crossed the limit first.
  if (stdout_.exceeded()) return EndBy(KillCause::kStdoutLimit);
  if (stderr_.exceeded()) return EndBy(KillCause::kStderrLimit);
  ProgramExit exit;
  if (exited.how_case() == mayfly::runner::v1::Exited::kCode) {
    exit.code = exited.code();
  } else {
    exit.signal = exited.signal();
  }
  evidence_.program_exit = exit;
  *result_.mutable_usage()->mutable_cpu_time() = ToProto(absl::Nanoseconds(exited.cpu_nanos()));
}

void Execution::OnFileHeader(const mayfly::runner::v1::FileHeader& header) {
  if (evidence_.kill != KillCause::kNone) return;  // files are returned of programs that ended by themselves
  mayfly::v1::OutputFile* file = result_.add_files();
  file->set_path(header.path());
  file->set_size(header.size());
  file->set_mode(header.mode());
  file->set_omission(static_cast<mayfly::v1::Omission>(header.omission()));
  file_offset_ = 0;
  if (header.omission() == 0 && header.size() == 0) OnFileData(std::string());
}

void Execution::OnFileData(std::string&& data) {
  if (evidence_.kill != KillCause::kNone) return;
  ExecuteEvent event;
  mayfly::v1::FileChunk* chunk = event.mutable_file();
  chunk->set_path(result_.files(result_.files_size() - 1).path());
  chunk->set_offset(file_offset_);
  file_offset_ += static_cast<int64_t>(data.size());
  chunk->set_data(std::move(data));
  Append(std::move(event));
}

void Execution::OnDone(const mayfly::runner::v1::Done& done) {
  result_.set_files_unlisted(done.files_unlisted());
  phase_ = Phase::kDone;
}

void Execution::OnFailed(const std::string& message) {
  evidence_.failure = absl::FailedPreconditionError(message);
  phase_ = Phase::kDone;
}

void Execution::DrainRemaining() {
  draining_ = true;
  const absl::Time deadline = clock_() + kDrainTimeout;
  while (stdout_open_ && !stream_.complete()) {
    pollfd fd = {sandbox_->stdout_fd(), POLLIN, 0};
    const int64_t left = absl::ToInt64Milliseconds(deadline - clock_());
    if (left <= 0 || poll(&fd, 1, static_cast<int>(left)) <= 0) break;
    ReadFrames();
  }
  while (stderr_open_) {
    pollfd fd = {sandbox_->stderr_fd(), POLLIN, 0};
    if (poll(&fd, 1, 0) <= 0) break;
    ReadDiagnostics();
  }
}

// Reads what the host knows before the sandbox, and its cgroup, are deleted. A program that was killed is gone when
// this returns, so that "ended" is true when the caller reads it.
void Execution::GatherEvidence() {
  if (evidence_.kill != KillCause::kNone) {
    absl::Status killed = sandbox_->Kill();
    if (!killed.ok()) {
      evidence_.kill_failed = true;
      result_.add_evidence(absl::StrCat("kill: ", killed.ToString()));
    }
  }
  if (!evidence_.program_exit.has_value() && evidence_.failure.ok()) DrainRemaining();
  const SandboxCgroup& cgroup = sandbox_->cgroup();
  evidence_.oom_kills = cgroup.oom_kills().value_or(0);
  evidence_.task_exit = sandbox_->exit();
  mayfly::v1::Usage* usage = result_.mutable_usage();
  usage->set_memory_peak_bytes(cgroup.memory_peak().value_or(0));
  if (!usage->has_cpu_time() && started_ != absl::InfiniteFuture()) {
    if (const auto cpu = cgroup.cpu_time())
      *usage->mutable_cpu_time() = ToProto(std::max(*cpu - cpu_at_start_, absl::ZeroDuration()));
  }
}

mayfly::v1::ExecutionResult Execution::MakeResult() {
  const absl::Time started = std::min(started_, ended_);
  const absl::Time exited = std::min(exited_, ended_);
  result_.set_template_(request_.template_());
  *result_.mutable_usage()->mutable_wall_time() = ToProto(exited - started);
  if (!result_.files().empty()) {
    mayfly::v1::OutputFile& last = *result_.mutable_files()->rbegin();
    if (last.omission() == 0 && file_offset_ < last.size()) last.set_omission(mayfly::v1::OMISSION_UNREADABLE);
  }
  *result_.mutable_stdout() = stdout_.ToProto();
  *result_.mutable_stderr() = stderr_.ToProto();
  mayfly::v1::Timings* timings = result_.mutable_timings();
  *timings->mutable_sandbox() = ToProto(started - began_);
  *timings->mutable_run() = ToProto(exited - started);
  *timings->mutable_collect() = ToProto(ended_ - exited);
  mayfly::v1::Isolation* isolation = result_.mutable_isolation();
  isolation->set_runtime(template_.runtime_name);
  isolation->set_containerd_runtime(template_.runtime.name);
  isolation->set_image_digest(std::string(template_.image_digest()));
  isolation->set_task_id(sandbox_->id());
  DecideTermination(evidence_, &result_);
  return std::move(result_);
}

}  // namespace mayfly::worker
