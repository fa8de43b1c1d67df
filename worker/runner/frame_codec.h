// The frames between the worker and the runner: a 4-byte little-endian length, then so many bytes of one message of
// runner.proto. Both sides use this codec, and both take what they read for hostile: memory stays below one frame,
// whatever a length field says.
//
//   FrameDecoder decoder(kFromRunnerBytesMax);
//   decoder.Push(bytes_just_read);
//   absl::string_view payload;
//   while (decoder.Next(&payload)) { ... message.ParseFromArray(payload.data(), payload.size()) ... }
//   if (!decoder.status().ok()) { ... the stream is worthless from here on ... }
//
// Not thread-safe; no I/O; never blocks.
#ifndef MAYFLY_WORKER_RUNNER_FRAME_CODEC_H_
#define MAYFLY_WORKER_RUNNER_FRAME_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "mayfly/runner/v1/runner.pb.h"

namespace mayfly::runner {

// What the runner says in `ready`.
inline constexpr int kProtocolVersion = 1;

// The longest message, without its length field. The worker's may be longer: a job carries up to 64 KiB of arguments,
// 64 KiB of environment and 8 KiB of globs in one frame.
inline constexpr size_t kFromRunnerBytesMax = 131'072;
inline constexpr size_t kToRunnerBytesMax = 262'144;

// The most bytes of output, input or file content in one frame.
inline constexpr size_t kDataBytesMax = 65'536;

// The longest path of a file and the longest message of `failed`.
inline constexpr size_t kPathBytesMax = 1024;
inline constexpr size_t kMessageBytesMax = 1024;

// The length field.
inline constexpr size_t kFrameHeaderBytes = 4;

// Appends `message` as one frame to `out`. InvalidArgument, and `out` unchanged, when it is empty or longer than its
// direction allows.
absl::Status AppendFrame(const v1::ToRunner& message, std::string* out);
absl::Status AppendFrame(const v1::FromRunner& message, std::string* out);

// Cuts a stream of bytes, arriving in pieces of any size, into frames.
class FrameDecoder {
 public:
  // A frame longer than `frame_bytes_max` is an error as soon as its length is there.
  explicit FrameDecoder(size_t frame_bytes_max) : frame_bytes_max_(frame_bytes_max) {}

  FrameDecoder(const FrameDecoder&) = delete;
  FrameDecoder& operator=(const FrameDecoder&) = delete;

  // Hands over the next piece of the stream. It is not copied: it must stay in place until Next has returned false.
  // Requires that Next has returned false since the last Push.
  void Push(absl::string_view bytes);

  // True: `*payload` is the next frame's message, valid until the next call of Next or Push. A frame that lies within
  // one piece is not copied. False: more bytes are needed, or status() is an error.
  bool Next(absl::string_view* payload);

  // OK, or InvalidArgument saying what was wrong with the stream. Stays an error once it is one.
  const absl::Status& status() const { return status_; }

  // True when the bytes so far end within a frame. Meaningful once Next has returned false.
  bool in_frame() const { return !partial_.empty(); }

 private:
  // Moves up to `count` bytes in all into partial_. True when it holds that many.
  bool Gather(size_t count);
  bool CheckLength(uint32_t length);

  const size_t frame_bytes_max_;
  absl::Status status_;
  absl::string_view input_;     // what is left of the last piece
  std::string partial_;         // start of a frame that spans pieces, its length field included
  bool partial_given_ = false;  // partial_ is a whole frame that Next has returned
};

}  // namespace mayfly::runner

#endif  // MAYFLY_WORKER_RUNNER_FRAME_CODEC_H_
