// The worker's view of what comes out of a sandbox: the runner's frames, checked.
//
// Behind the stream may be anything: user code that broke out into the guest's kernel can write whatever it likes to
// the sandbox's stdout. So every byte is taken for hostile. RunnerStream cuts it into frames, checks each one's order,
// sizes and values, and calls the Handler only for what is right; the first thing that is not ends the stream for good.
// What is right may still be a lie (an exit code, say), but only about the sandbox's own program.
//
//   RunnerStream stream(&handler, {.file_bytes_max = 1 << 20, .files_max = 256});
//   while (... n = read(fd, buffer, sizeof(buffer)) > 0 ...) {
//     absl::Status good = stream.Feed(absl::string_view(buffer, n));
//     if (!good.ok()) ... kill the sandbox; good.message() says why ...
//   }
//   absl::Status complete = stream.Finish();
//
// The order: ready, started, output*, exited, (file_header file_data*)*, done; or ready, failed.
// Memory: at most one frame is held (128 KiB). No I/O, no threads, never blocks. Not thread-safe.
#ifndef MAYFLY_WORKER_RUNNER_STREAM_H_
#define MAYFLY_WORKER_RUNNER_STREAM_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "worker/runner/frame_codec.h"

namespace mayfly::worker {

class RunnerStream {
 public:
  // Called from within Feed, in the order of the stream. Must not call back into the RunnerStream.
  class Handler {
   public:
    virtual ~Handler() = default;

    virtual void OnReady() = 0;
    virtual void OnStarted() = 0;
    // `fd` is 1 or 2; `data` is 1 to 65,536 bytes.
    virtual void OnOutput(int fd, std::string&& data) = 0;
    // Either a code from 0 to 255 or a signal from 1 to 64 is set; cpu_nanos and rss_peak_bytes are not negative.
    virtual void OnExited(const runner::v1::Exited& exited) = 0;
    // A file, in strictly ascending order of paths. The path is UTF-8, 1 to 1,024 bytes, relative, without NUL and
    // without empty, "." or ".." parts; it may hold line breaks and other control characters. The size is not
    // negative, the mode at most 0777, the omission a value of mayfly.v1.Omission. With omission 0, exactly `size`
    // bytes of OnFileData follow.
    virtual void OnFileHeader(const runner::v1::FileHeader& header) = 0;
    // 1 to 65,536 bytes.
    virtual void OnFileData(std::string&& data) = 0;
    virtual void OnDone(const runner::v1::Done& done) = 0;
    // The program could not be started, in one line of 1 to 1,024 bytes of UTF-8 without control characters.
    virtual void OnFailed(const std::string& message) = 0;
  };

  // The same as in the job that the runner got.
  struct Limits {
    int64_t file_bytes_max = 0;  // all contents together
    int32_t files_max = 0;       // file headers
  };

  // `handler` must outlive the stream.
  RunnerStream(Handler* handler, Limits limits);

  RunnerStream(const RunnerStream&) = delete;
  RunnerStream& operator=(const RunnerStream&) = delete;

  // Takes the next bytes, in pieces of any size. InvalidArgument, with a short reason, when the runner broke the
  // protocol; from then on every call returns the same and the handler is not called again.
  absl::Status Feed(absl::string_view bytes);

  // To be called at the end of the bytes: OK when the last frame was `done` or `failed`; InvalidArgument otherwise.
  absl::Status Finish() const;

  // True after `done` or `failed`: nothing more may come.
  bool complete() const { return state_ == State::kEnd; }

 private:
  enum class State {
    kBoot,      // nothing yet
    kReady,     // `started` or `failed` must come
    kRunning,   // output or `exited`
    kExited,    // a file or `done`
    kFileData,  // data of the last announced file
    kEnd,       // nothing
  };

  absl::Status TakeFrame(absl::string_view payload);
  absl::Status TakeReady(const runner::v1::Ready& ready);
  absl::Status TakeOutput(runner::v1::Output* output);
  absl::Status TakeExited(const runner::v1::Exited& exited);
  absl::Status TakeFileHeader(const runner::v1::FileHeader& header);
  absl::Status TakeFileData(std::string* data);
  absl::Status TakeDone(const runner::v1::Done& done);
  absl::Status TakeFailed(const runner::v1::Failed& failed);

  Handler* const handler_;
  const Limits limits_;

  runner::FrameDecoder decoder_{runner::kFromRunnerBytesMax};
  absl::Status status_;
  State state_ = State::kBoot;
  int64_t files_ = 0;            // headers so far
  int64_t file_bytes_ = 0;       // sizes announced so far
  int64_t file_bytes_left_ = 0;  // of the current file
  std::string last_path_;
};

}  // namespace mayfly::worker

#endif  // MAYFLY_WORKER_RUNNER_STREAM_H_
