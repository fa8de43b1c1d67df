#include "worker/job_feed.h"

#include <unistd.h>

#include <cerrno>

#include "policy/language_profile.h"
#include "policy/oci_spec.h"
#include "policy/request_limits.h"
#include "worker/runner/frame_codec.h"

namespace mayfly::worker {
namespace {

constexpr uint32_t kDefaultFileMode = 0644;

}  // namespace

JobFeed::JobFeed(const mayfly::v1::ExecuteRequest& request, const Template& offered,
                 const policy::EffectiveLimits& limits)
    : request_(request), template_(offered), limits_(limits) {}

absl::Status JobFeed::WriteTo(int fd) {
  while (!done()) {
    if (buffer_.empty()) {
      absl::Status made = MakeNextFrame();
      if (!made.ok()) return made;
    }
    const ssize_t count = write(fd, buffer_.data() + buffer_sent_, buffer_.size() - buffer_sent_);
    if (count < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) return absl::OkStatus();
      return absl::ErrnoToStatus(errno, "writing the job to the sandbox");
    }
    buffer_sent_ += static_cast<size_t>(count);
    if (buffer_sent_ == buffer_.size()) {
      buffer_.clear();
      buffer_sent_ = 0;
    }
  }
  return absl::OkStatus();
}

mayfly::runner::v1::Job JobFeed::MakeJob() const {
  mayfly::runner::v1::Job job;
  for (std::string& arg : policy::ProgramArgv(*template_.language, template_.interpreter,
                                              {request_.args().begin(), request_.args().end()})) {
    job.add_argv(std::move(arg));
  }
  for (std::string& variable : policy::ProgramEnv(template_.env, {request_.env().begin(), request_.env().end()})) {
    job.add_env(std::move(variable));
  }
  job.set_workspace(std::string(policy::kWorkspacePath));
  job.set_uid(policy::kProgramUid);
  job.set_gid(policy::kProgramGid);
  *job.mutable_output_globs() = request_.output_globs();
  job.set_file_bytes_max(limits_.file_bytes);
  job.set_files_max(policy::kOutputFilesMax);
  return job;
}

bool JobFeed::MakeFilePart(absl::string_view path, absl::string_view content, uint32_t mode,
                           mayfly::runner::v1::InputData* part) {
  part->set_path(std::string(path));
  part->set_first(!file_open_);
  part->set_mode(mode == 0 ? kDefaultFileMode : mode);
  const absl::string_view data = content.substr(offset_, runner::kDataBytesMax);
  part->set_data(std::string(data));
  offset_ += data.size();
  file_open_ = offset_ < content.size();
  if (!file_open_) offset_ = 0;
  return !file_open_;
}

absl::Status JobFeed::MakeNextFrame() {
  mayfly::runner::v1::ToRunner frame;
  switch (step_) {
    case Step::kJob:
      *frame.mutable_job() = MakeJob();
      step_ = Step::kMainFile;
      break;
    case Step::kMainFile:
      if (MakeFilePart(template_.language->main_file, request_.code(), kDefaultFileMode, frame.mutable_file())) {
        step_ = request_.files().empty() ? Step::kStart : Step::kFiles;
      }
      break;
    case Step::kFiles: {
      const mayfly::v1::InputFile& file = request_.files(file_);
      if (MakeFilePart(file.path(), file.content(), file.mode(), frame.mutable_file())) ++file_;
      if (file_ == request_.files_size()) step_ = Step::kStart;
      break;
    }
    case Step::kStart:
      frame.mutable_start();
      step_ = request_.stdin().empty() ? Step::kStdinEnd : Step::kStdin;
      break;
    case Step::kStdin: {
      const absl::string_view data = absl::string_view(request_.stdin()).substr(offset_, runner::kDataBytesMax);
      frame.set_stdin(std::string(data));
      offset_ += data.size();
      if (offset_ == request_.stdin().size()) step_ = Step::kStdinEnd;
      break;
    }
    case Step::kStdinEnd:
      frame.mutable_stdin_end();
      step_ = Step::kDone;
      break;
    case Step::kDone:
      return absl::InternalError("the job is written already");
  }
  return runner::AppendFrame(frame, &buffer_);
}

}  // namespace mayfly::worker
