#include "worker/runner_stream.h"

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "policy/utf8.h"

namespace mayfly::worker {
namespace {

using runner::kMessageBytesMax;
using runner::kPathBytesMax;
using runner::kProtocolVersion;
using runner::v1::FromRunner;

constexpr int kExitCodeMax = 255;
constexpr int kSignalMax = 64;
constexpr int kOmissionMax = 4;  // mayfly.v1.OMISSION_NAME
constexpr uint32_t kModeMax = 0777;

// Never a value from the stream in these messages but numbers: they go to logs and to callers.
absl::Status Violation(absl::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat("the sandbox broke the runner's protocol: ", reason));
}

absl::string_view FrameName(FromRunner::FrameCase frame) {
  switch (frame) {
    case FromRunner::kReady:
      return "ready";
    case FromRunner::kStarted:
      return "started";
    case FromRunner::kOutput:
      return "output";
    case FromRunner::kExited:
      return "exited";
    case FromRunner::kFileHeader:
      return "file_header";
    case FromRunner::kFileData:
      return "file_data";
    case FromRunner::kDone:
      return "done";
    case FromRunner::kFailed:
      return "failed";
    case FromRunner::FRAME_NOT_SET:
      return "unknown";
  }
  return "unknown";
}

absl::Status CheckPath(absl::string_view path) {
  if (path.empty() || path.size() > kPathBytesMax) {
    return Violation(absl::StrCat("a file path of ", path.size(), " bytes; allowed are 1 to ", kPathBytesMax));
  }
  if (path.find('\0') != absl::string_view::npos) return Violation("a file path with a NUL");
  if (!policy::IsUtf8(path)) return Violation("a file path that is not UTF-8");
  for (absl::string_view part : absl::StrSplit(path, '/')) {
    if (part.empty() || part == "." || part == "..") {
      return Violation("a file path that is absolute or has an empty, \".\" or \"..\" part");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckData(size_t size) {
  if (size >= 1 && size <= runner::kDataBytesMax) return absl::OkStatus();
  return Violation(absl::StrCat(size, " bytes of data in a frame; allowed are 1 to ", runner::kDataBytesMax));
}

}  // namespace

RunnerStream::RunnerStream(Handler* handler, Limits limits) : handler_(handler), limits_(limits) {}

absl::Status RunnerStream::Feed(absl::string_view bytes) {
  if (!status_.ok()) return status_;
  if (state_ == State::kEnd && !bytes.empty()) return status_ = Violation("bytes after the last frame");
  decoder_.Push(bytes);
  absl::string_view payload;
  while (decoder_.Next(&payload)) {
    status_ = TakeFrame(payload);
    if (!status_.ok()) return status_;
  }
  if (!decoder_.status().ok()) {
    status_ = Violation(decoder_.status().message());
  } else if (state_ == State::kEnd && decoder_.in_frame()) {
    status_ = Violation("bytes after the last frame");
  }
  return status_;
}

absl::Status RunnerStream::Finish() const {
  if (!status_.ok() || state_ == State::kEnd) return status_;
  return Violation(decoder_.in_frame() ? "the stream ended within a frame" : "the stream ended without `done`");
}

absl::Status RunnerStream::TakeFrame(absl::string_view payload) {
  if (state_ == State::kEnd) return Violation("bytes after the last frame");
  FromRunner frame;
  if (!frame.ParseFromArray(payload.data(), static_cast<int>(payload.size()))) return Violation("a malformed frame");

  // One place for the order: which frames each state allows.
  const auto kind = frame.frame_case();
  switch (state_) {
    case State::kBoot:
      if (kind == FromRunner::kReady) return TakeReady(frame.ready());
      break;
    case State::kReady:
      if (kind == FromRunner::kFailed) return TakeFailed(frame.failed());
      if (kind == FromRunner::kStarted) {
        state_ = State::kRunning;
        handler_->OnStarted();
        return absl::OkStatus();
      }
      break;
    case State::kRunning:
      if (kind == FromRunner::kOutput) return TakeOutput(frame.mutable_output());
      if (kind == FromRunner::kExited) return TakeExited(frame.exited());
      break;
    case State::kExited:
      if (kind == FromRunner::kFileHeader) return TakeFileHeader(frame.file_header());
      if (kind == FromRunner::kDone) return TakeDone(frame.done());
      break;
    case State::kFileData:
      if (kind == FromRunner::kFileData) return TakeFileData(frame.mutable_file_data());
      break;
    case State::kEnd:
      break;
  }
  constexpr absl::string_view kPlaces[] = {"at the start",          "before the program's start",
                                           "while the program ran", "after the program's end",
                                           "within a file",         "after the last frame"};
  return Violation(absl::StrCat("frame `", FrameName(kind), "` ", kPlaces[static_cast<size_t>(state_)]));
}

absl::Status RunnerStream::TakeReady(const runner::v1::Ready& ready) {
  if (ready.protocol() != kProtocolVersion) {
    return Violation(absl::StrCat("protocol version ", ready.protocol(), "; this worker speaks ", kProtocolVersion));
  }
  state_ = State::kReady;
  handler_->OnReady();
  return absl::OkStatus();
}

absl::Status RunnerStream::TakeOutput(runner::v1::Output* output) {
  if (output->fd() != 1 && output->fd() != 2) {
    return Violation(absl::StrCat("output on descriptor ", output->fd(), "; allowed are 1 and 2"));
  }
  absl::Status good = CheckData(output->data().size());
  if (!good.ok()) return good;
  handler_->OnOutput(output->fd(), std::move(*output->mutable_data()));
  return absl::OkStatus();
}

absl::Status RunnerStream::TakeExited(const runner::v1::Exited& exited) {
  switch (exited.how_case()) {
    case runner::v1::Exited::kCode:
      if (exited.code() < 0 || exited.code() > kExitCodeMax) {
        return Violation(absl::StrCat("exit code ", exited.code(), "; allowed are 0 to ", kExitCodeMax));
      }
      break;
    case runner::v1::Exited::kSignal:
      if (exited.signal() < 1 || exited.signal() > kSignalMax) {
        return Violation(absl::StrCat("exit signal ", exited.signal(), "; allowed are 1 to ", kSignalMax));
      }
      break;
    case runner::v1::Exited::HOW_NOT_SET:
      return Violation("`exited` with neither a code nor a signal");
  }
  if (exited.cpu_nanos() < 0 || exited.rss_peak_bytes() < 0) return Violation("negative usage");
  state_ = State::kExited;
  handler_->OnExited(exited);
  return absl::OkStatus();
}

absl::Status RunnerStream::TakeFileHeader(const runner::v1::FileHeader& header) {
  if (files_ >= limits_.files_max) return Violation(absl::StrCat("more than ", limits_.files_max, " files"));
  absl::Status good = CheckPath(header.path());
  if (!good.ok()) return good;
  if (files_ > 0 && header.path() <= last_path_) return Violation("file paths that do not ascend");
  if (header.size() < 0) return Violation("a file of negative size");
  if (header.mode() > kModeMax) return Violation("a file mode above 0777");
  if (header.omission() < 0 || header.omission() > kOmissionMax) {
    return Violation(absl::StrCat("omission ", header.omission(), "; allowed are 0 to ", kOmissionMax));
  }
  if (header.omission() == 0) {
    // file_bytes_ never exceeds the limit, so this cannot overflow.
    if (header.size() > limits_.file_bytes_max - file_bytes_) {
      return Violation(absl::StrCat("files of more than ", limits_.file_bytes_max, " bytes together"));
    }
    file_bytes_ += header.size();
    file_bytes_left_ = header.size();
    if (file_bytes_left_ > 0) state_ = State::kFileData;
  }
  ++files_;
  last_path_ = header.path();
  handler_->OnFileHeader(header);
  return absl::OkStatus();
}

absl::Status RunnerStream::TakeFileData(std::string* data) {
  absl::Status good = CheckData(data->size());
  if (!good.ok()) return good;
  const auto size = static_cast<int64_t>(data->size());
  if (size > file_bytes_left_) return Violation("more data than the file's size");
  file_bytes_left_ -= size;
  if (file_bytes_left_ == 0) state_ = State::kExited;
  handler_->OnFileData(std::move(*data));
  return absl::OkStatus();
}

absl::Status RunnerStream::TakeDone(const runner::v1::Done& done) {
  if (done.files_unlisted() < 0) return Violation("a negative number of unlisted files");
  state_ = State::kEnd;
  handler_->OnDone(done);
  return absl::OkStatus();
}

absl::Status RunnerStream::TakeFailed(const runner::v1::Failed& failed) {
  const std::string& message = failed.message();
  if (message.empty() || message.size() > kMessageBytesMax || !policy::IsUtf8(message)) {
    return Violation(absl::StrCat("a failure message of ", message.size(), " bytes; allowed are 1 to ",
                                  kMessageBytesMax, ", UTF-8"));
  }
  for (const char c : message) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      return Violation("a failure message with control characters");
  }
  state_ = State::kEnd;
  handler_->OnFailed(message);
  return absl::OkStatus();
}

}  // namespace mayfly::worker
