#include "worker/runner/frame_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace mayfly::runner {
namespace {

std::string Raw(uint32_t length, const std::string& payload) {
  std::string out;
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(length >> (8 * i)));
  return out + payload;
}

// All frames of `stream`, fed in pieces of `piece` bytes.
std::vector<std::string> Decode(FrameDecoder* decoder, const std::string& stream, size_t piece) {
  std::vector<std::string> frames;
  for (size_t at = 0; at < stream.size(); at += piece) {
    decoder->Push(absl::string_view(stream).substr(at, piece));
    absl::string_view payload;
    while (decoder->Next(&payload)) frames.emplace_back(payload);
  }
  return frames;
}

TEST(FrameCodecTest, EncodesLengthAndMessage) {
  v1::FromRunner message;
  message.mutable_ready()->set_protocol(1);
  std::string out = "before";
  ASSERT_TRUE(AppendFrame(message, &out).ok());
  EXPECT_EQ(out, "before" + Raw(4, message.SerializeAsString()));
}

TEST(FrameCodecTest, RefusesToEncodeWhatNobodyMayDecode) {
  std::string out;
  EXPECT_FALSE(AppendFrame(v1::FromRunner(), &out).ok());
  v1::FromRunner from;
  from.mutable_output()->set_data(std::string(kFromRunnerBytesMax, 'x'));
  EXPECT_FALSE(AppendFrame(from, &out).ok());
  v1::ToRunner to;
  to.set_stdin(std::string(kFromRunnerBytesMax, 'x'));
  EXPECT_TRUE(AppendFrame(to, &out).ok());
  out.clear();
  to.set_stdin(std::string(kToRunnerBytesMax, 'x'));
  EXPECT_FALSE(AppendFrame(to, &out).ok());
  EXPECT_TRUE(out.empty());
}

TEST(FrameCodecTest, CutsAtAnyPiece) {
  const std::vector<std::string> payloads = {"a", std::string(1000, 'b'), "cc", std::string(300, 'd')};
  std::string stream;
  for (const std::string& payload : payloads) stream += Raw(static_cast<uint32_t>(payload.size()), payload);
  for (size_t piece = 1; piece <= stream.size(); ++piece) {
    FrameDecoder decoder(1000);
    EXPECT_EQ(Decode(&decoder, stream, piece), payloads) << "in pieces of " << piece;
    EXPECT_TRUE(decoder.status().ok());
    EXPECT_FALSE(decoder.in_frame());
  }
}

TEST(FrameCodecTest, SaysThatAFrameIsIncomplete) {
  FrameDecoder decoder(10);
  EXPECT_TRUE(Decode(&decoder, Raw(3, "ab"), 100).empty());
  EXPECT_TRUE(decoder.status().ok());
  EXPECT_TRUE(decoder.in_frame());
}

TEST(FrameCodecTest, RefusesALengthAsSoonAsItIsThere) {
  for (const uint32_t length : {0u, 11u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
    for (const size_t piece : {1u, 4u, 100u}) {
      FrameDecoder decoder(10);
      EXPECT_EQ(Decode(&decoder, Raw(2, "ok") + Raw(length, ""), piece), std::vector<std::string>{"ok"});
      EXPECT_EQ(decoder.status().code(), absl::StatusCode::kInvalidArgument) << length;
      // For good.
      EXPECT_TRUE(Decode(&decoder, Raw(2, "ok"), piece).empty());
      EXPECT_FALSE(decoder.status().ok());
    }
  }
}

TEST(FrameCodecTest, AFrameWithinOnePieceIsNotCopied) {
  const std::string stream = Raw(2, "ab") + Raw(2, "cd");
  FrameDecoder decoder(10);
  decoder.Push(stream);
  absl::string_view payload;
  ASSERT_TRUE(decoder.Next(&payload));
  EXPECT_EQ(payload.data(), stream.data() + 4);
  ASSERT_TRUE(decoder.Next(&payload));
  EXPECT_EQ(payload.data(), stream.data() + 10);
}

}  // namespace
}  // namespace mayfly::runner
