// Fuzzes RunnerStream: no bytes from a sandbox may crash the worker, exceed the bounds that the Handler is promised, or
// be judged differently when they come in other pieces.
//
// The first byte of the input says how the rest is cut.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/string_view.h"
#include "worker/runner_stream.h"

namespace {

using mayfly::worker::RunnerStream;

constexpr RunnerStream::Limits kLimits{.file_bytes_max = 1 << 20, .files_max = 8};

void Check(bool promise) {
  if (!promise) abort();
}

// Holds the stream to what runner_stream.h promises.
class Promises : public RunnerStream::Handler {
 public:
  void OnReady() override { Check(calls_++ == 0); }
  void OnStarted() override { Check(calls_++ == 1); }
  void OnOutput(int fd, std::string&& data) override {
    ++calls_;
    Check((fd == 1 || fd == 2) && !data.empty() && data.size() <= 65'536 && !exited_);
  }
  void OnExited(const mayfly::runner::v1::Exited& exited) override {
    ++calls_;
    Check(!exited_);
    exited_ = true;
    Check(exited.has_code() ? exited.code() >= 0 && exited.code() <= 255
                            : exited.has_signal() && exited.signal() >= 1 && exited.signal() <= 64);
  }
  void OnFileHeader(const mayfly::runner::v1::FileHeader& header) override {
    ++calls_;
    Check(exited_ && left_ == 0 && ++files_ <= kLimits.files_max);
    Check(header.path() > path_ && header.path().size() <= 1024 && header.path()[0] != '/');
    Check(("/" + header.path() + "/").find("/../") == std::string::npos);
    path_ = header.path();
    if (header.omission() == 0) {
      left_ = header.size();
      bytes_ += header.size();
      Check(left_ >= 0 && bytes_ <= kLimits.file_bytes_max);
    }
  }
  void OnFileData(std::string&& data) override {
    ++calls_;
    left_ -= static_cast<int64_t>(data.size());
    Check(!data.empty() && left_ >= 0);
  }
  void OnDone(const mayfly::runner::v1::Done&) override { End(); }
  void OnFailed(const std::string& message) override {
    Check(!message.empty() && message.size() <= 1024);
    End();
  }

  int calls() const { return calls_; }

 private:
  void End() {
    ++calls_;
    Check(!ended_ && left_ == 0);
    ended_ = true;
  }

  int calls_ = 0;
  bool exited_ = false;
  bool ended_ = false;
  int files_ = 0;
  int64_t left_ = 0;
  int64_t bytes_ = 0;
  std::string path_;
};

struct Verdict {
  bool good;
  int calls;
};

Verdict Judge(absl::string_view bytes, size_t piece) {
  Promises promises;
  RunnerStream stream(&promises, kLimits);
  for (size_t at = 0; at < bytes.size(); at += piece) {
    // A copy of its own, so that a stale view is found.
    const std::string copy(bytes.substr(at, piece));
    if (!stream.Feed(copy).ok()) {
      const int calls = promises.calls();
      Check(!stream.Feed("x").ok() && promises.calls() == calls);
      break;
    }
  }
  return {stream.Finish().ok(), promises.calls()};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const absl::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Verdict cut = Judge(bytes, size_t{data[0]} + 1);
  const Verdict whole = Judge(bytes, bytes.size());
  Check(cut.good == whole.good && cut.calls == whole.calls);
  return 0;
}
