#include "worker/runner/frame_codec.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace mayfly::runner {
namespace {

uint32_t DecodeLength(absl::string_view header) {
  uint32_t length = 0;
  for (size_t i = 0; i < kFrameHeaderBytes; ++i) length |= uint32_t{static_cast<unsigned char>(header[i])} << (8 * i);
  return length;
}

absl::Status AppendMessage(const google::protobuf::MessageLite& message, size_t bytes_max, std::string* out) {
  const size_t length = message.ByteSizeLong();
  if (length == 0 || length > bytes_max) {
    return absl::InvalidArgumentError(absl::StrCat("a frame of ", length, " bytes; allowed are 1 to ", bytes_max));
  }
  for (size_t i = 0; i < kFrameHeaderBytes; ++i) out->push_back(static_cast<char>((length >> (8 * i)) & 0xff));
  message.AppendPartialToString(out);
  return absl::OkStatus();
}

}  // namespace

absl::Status AppendFrame(const v1::ToRunner& message, std::string* out) {
  return AppendMessage(message, kToRunnerBytesMax, out);
}

absl::Status AppendFrame(const v1::FromRunner& message, std::string* out) {
  return AppendMessage(message, kFromRunnerBytesMax, out);
}

void FrameDecoder::Push(absl::string_view bytes) {
  input_ = bytes;
}

bool FrameDecoder::Next(absl::string_view* payload) {
  if (!status_.ok()) return false;
  if (partial_given_) {
    partial_.clear();
    partial_given_ = false;
  }
  if (partial_.empty() && input_.size() >= kFrameHeaderBytes) {
    const uint32_t length = DecodeLength(input_);
    if (!CheckLength(length)) return false;
    if (input_.size() - kFrameHeaderBytes >= length) {
      *payload = input_.substr(kFrameHeaderBytes, length);
      input_.remove_prefix(kFrameHeaderBytes + length);
      return true;
    }
  }
  if (!Gather(kFrameHeaderBytes)) return false;
  const uint32_t length = DecodeLength(partial_);
  if (!CheckLength(length) || !Gather(kFrameHeaderBytes + length)) return false;
  *payload = absl::string_view(partial_).substr(kFrameHeaderBytes);
  partial_given_ = true;
  return true;
}

bool FrameDecoder::Gather(size_t count) {
  if (partial_.size() < count) {
    const size_t taken = std::min(count - partial_.size(), input_.size());
    partial_.append(input_.data(), taken);
    input_.remove_prefix(taken);
  }
  return partial_.size() >= count;
}

bool FrameDecoder::CheckLength(uint32_t length) {
  if (length >= 1 && length <= frame_bytes_max_) return true;
  status_ = absl::InvalidArgumentError(
      absl::StrCat("a frame of ", length, " bytes was announced; allowed are 1 to ", frame_bytes_max_));
  input_ = absl::string_view();
  partial_.clear();
  return false;
}

}  // namespace mayfly::runner
