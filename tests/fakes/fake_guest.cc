#include "tests/fakes/fake_guest.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "worker/runner/frame_codec.h"

namespace mayfly::fakes {
namespace {

using mayfly::runner::v1::FromRunner;
using mayfly::runner::v1::ToRunner;

// Made up, but not 0: that they arrive can be seen.
constexpr int64_t kCpuNanos = 1'000'000;
constexpr int64_t kRssPeakBytes = 4'194'304;
constexpr uint32_t kFileMode = 0644;

}  // namespace

bool FakeGuest::ReadFrame(ToRunner* frame) {
  unsigned char header[runner::kFrameHeaderBytes];
  if (!io_->ReadStdin(reinterpret_cast<char*>(header), sizeof(header))) return false;
  uint32_t size = 0;
  for (size_t i = 0; i < sizeof(header); ++i) size |= uint32_t{header[i]} << (8 * i);
  if (size == 0 || size > runner::kToRunnerBytesMax) return ProtocolError(absl::StrCat("a frame of ", size, " bytes"));
  std::string message(size, '\0');
  if (!io_->ReadStdin(message.data(), size)) return false;
  return frame->ParseFromString(message) || ProtocolError("a malformed frame");
}

bool FakeGuest::ReadJob() {
  ToRunner frame;
  if (!ReadFrame(&frame)) return false;
  if (!frame.has_job()) return ProtocolError("the first frame is no job");
  job_ = std::move(*frame.mutable_job());
  while (ReadFrame(&frame)) {
    if (frame.has_start()) return true;
    if (!frame.has_file()) return ProtocolError("neither file nor start after the job");
    const mayfly::runner::v1::InputData& part = frame.file();
    if (part.first()) {
      files_.push_back({part.path(), "", part.mode()});
    } else if (files_.empty() || files_.back().path != part.path()) {
      return ProtocolError(absl::StrCat("a part of ", part.path(), " without its first"));
    }
    files_.back().data += part.data();
  }
  return false;
}

bool FakeGuest::ReadStdin(std::string* data) {
  data->clear();
  if (stdin_ended_) return true;
  ToRunner frame;
  if (!ReadFrame(&frame)) return false;
  stdin_ended_ = frame.has_stdin_end();
  if (stdin_ended_) return true;
  if (frame.frame_case() != ToRunner::kStdin) return ProtocolError("neither stdin nor stdin_end after the start");
  *data = frame.stdin();
  return true;
}

FakeGuest::InputFile FakeGuest::MainFile() const {
  for (const std::string& argument : job_.argv()) {
    for (const InputFile& file : files_) {
      if (argument == file.path || absl::EndsWith(argument, absl::StrCat("/", file.path))) return file;
    }
  }
  return files_.empty() ? InputFile{} : files_.front();
}

bool FakeGuest::Ready() {
  FromRunner frame;
  frame.mutable_ready()->set_protocol(1);
  return Send(frame);
}

bool FakeGuest::Started() {
  FromRunner frame;
  frame.mutable_started();
  return Send(frame);
}

bool FakeGuest::Failed(absl::string_view message) {
  FromRunner frame;
  frame.mutable_failed()->set_message(std::string(message));
  return Send(frame);
}

bool FakeGuest::Output(int fd, absl::string_view data) {
  while (!data.empty()) {
    FromRunner frame;
    frame.mutable_output()->set_fd(fd);
    frame.mutable_output()->set_data(std::string(data.substr(0, runner::kDataBytesMax)));
    if (!Send(frame)) return false;
    data.remove_prefix(std::min(data.size(), runner::kDataBytesMax));
  }
  return true;
}

bool FakeGuest::Send(const FromRunner& frame) {
  std::string bytes;
  return runner::AppendFrame(frame, &bytes).ok() && SendRaw(bytes);
}

bool FakeGuest::SendRaw(absl::string_view bytes) {
  return io_->WriteStdout(bytes);
}

void FakeGuest::AddOutputFile(absl::string_view path, std::string data) {
  output_files_.emplace_back(std::string(path), std::move(data));
}

bool FakeGuest::Exit(int code) {
  FromRunner frame;
  frame.mutable_exited()->set_code(code);
  return Finish(std::move(frame));
}

bool FakeGuest::Signal(int signal) {
  FromRunner frame;
  frame.mutable_exited()->set_signal(signal);
  return Finish(std::move(frame));
}

bool FakeGuest::Finish(FromRunner exited) {
  exited.mutable_exited()->set_cpu_nanos(kCpuNanos);
  exited.mutable_exited()->set_rss_peak_bytes(kRssPeakBytes);
  if (!Send(exited)) return false;
  for (const auto& [path, data] : output_files_) {
    FromRunner header;
    header.mutable_file_header()->set_path(path);
    header.mutable_file_header()->set_size(static_cast<int64_t>(data.size()));
    header.mutable_file_header()->set_mode(kFileMode);
    if (!Send(header)) return false;
    for (size_t at = 0; at < data.size(); at += runner::kDataBytesMax) {
      FromRunner part;
      part.set_file_data(data.substr(at, runner::kDataBytesMax));
      if (!Send(part)) return false;
    }
  }
  FromRunner done;
  done.mutable_done();
  return Send(done);
}

void FakeGuest::Hang() {
  // A pause that ends only by a kill.
  while (io_->Sleep(absl::Hours(1))) {
  }
}

bool FakeGuest::Sleep(absl::Duration duration) {
  return io_->Sleep(duration);
}

bool FakeGuest::ProtocolError(std::string message) {
  if (protocol_error_.empty()) protocol_error_ = std::move(message);
  return false;
}

}  // namespace mayfly::fakes
