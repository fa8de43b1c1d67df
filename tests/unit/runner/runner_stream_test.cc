// RunnerStream against everything that a sandbox may send.
#include "worker/runner_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace mayfly::worker {
namespace {

using runner::v1::Done;
using runner::v1::Exited;
using runner::v1::FileHeader;
using runner::v1::FromRunner;

constexpr RunnerStream::Limits kLimits{.file_bytes_max = 100'000, .files_max = 3};

// Writes down the calls, one word each.
class Recorder : public RunnerStream::Handler {
 public:
  void OnReady() override { Add("ready"); }
  void OnStarted() override { Add("started"); }
  void OnOutput(int fd, std::string&& data) override { Add(absl::StrCat("output", fd, ":", data)); }
  void OnExited(const Exited& exited) override {
    Add(exited.has_code() ? absl::StrCat("code", exited.code()) : absl::StrCat("signal", exited.signal()));
  }
  void OnFileHeader(const FileHeader& header) override {
    Add(absl::StrCat("file:", header.path(), ":", header.size()));
  }
  void OnFileData(std::string&& data) override { Add(absl::StrCat("data:", data)); }
  void OnDone(const Done& done) override { Add(absl::StrCat("done", done.files_unlisted())); }
  void OnFailed(const std::string& message) override { Add(absl::StrCat("failed:", message)); }

  const std::string& calls() const { return calls_; }

 private:
  void Add(const std::string& call) { absl::StrAppend(&calls_, calls_.empty() ? "" : " ", call); }
  std::string calls_;
};

std::string Encode(const FromRunner& frame) {
  std::string out;
  EXPECT_TRUE(runner::AppendFrame(frame, &out).ok());
  return out;
}

FromRunner Ready(int protocol = 1) {
  FromRunner frame;
  frame.mutable_ready()->set_protocol(protocol);
  return frame;
}
FromRunner Started() {
  FromRunner frame;
  frame.mutable_started();
  return frame;
}
FromRunner Output(int fd, const std::string& data) {
  FromRunner frame;
  frame.mutable_output()->set_fd(fd);
  frame.mutable_output()->set_data(data);
  return frame;
}
FromRunner ExitedCode(int code) {
  FromRunner frame;
  frame.mutable_exited()->set_code(code);
  return frame;
}
FromRunner ExitedSignal(int signal) {
  FromRunner frame;
  frame.mutable_exited()->set_signal(signal);
  return frame;
}
FromRunner Header(const std::string& path, int64_t size, int omission = 0, uint32_t mode = 0644) {
  FromRunner frame;
  FileHeader* header = frame.mutable_file_header();
  header->set_path(path);
  header->set_size(size);
  header->set_omission(omission);
  header->set_mode(mode);
  return frame;
}
FromRunner Data(const std::string& data) {
  FromRunner frame;
  frame.set_file_data(data);
  return frame;
}
FromRunner DoneFrame(int64_t unlisted = 0) {
  FromRunner frame;
  frame.mutable_done()->set_files_unlisted(unlisted);
  return frame;
}
FromRunner FailedFrame(const std::string& message) {
  FromRunner frame;
  frame.mutable_failed()->set_message(message);
  return frame;
}

std::string Encode(const std::vector<FromRunner>& frames) {
  std::string out;
  for (const FromRunner& frame : frames) out += Encode(frame);
  return out;
}

// The frames that lead into each place of the protocol.
const std::vector<FromRunner> kBoot = {};
const std::vector<FromRunner> kReady = {Ready()};
const std::vector<FromRunner> kRunning = {Ready(), Started()};
const std::vector<FromRunner> kExited = {Ready(), Started(), ExitedCode(0)};
const std::vector<FromRunner> kInFile = {Ready(), Started(), ExitedCode(0), Header("f", 4), Data("ab")};
const std::vector<FromRunner> kDone = {Ready(), Started(), ExitedCode(0), DoneFrame()};
const std::vector<FromRunner> kFailed = {Ready(), FailedFrame("no")};

TEST(RunnerStreamTest, TellsAWholeExecutionInOrderWhateverThePieces) {
  const std::string stream =
      Encode({Ready(), Started(), Output(1, "out"), Output(2, "err"), ExitedCode(7), Header("a", 0), Header("b/c", 5),
              Data("he"), Data("llo"), Header("big", int64_t{1} << 40, 1), DoneFrame(2)});
  for (size_t piece = 1; piece <= stream.size(); ++piece) {
    Recorder recorder;
    RunnerStream checked(&recorder, kLimits);
    for (size_t at = 0; at < stream.size(); at += piece) {
      EXPECT_FALSE(checked.complete());
      ASSERT_TRUE(checked.Feed(absl::string_view(stream).substr(at, piece)).ok());
    }
    EXPECT_EQ(recorder.calls(),
              "ready started output1:out output2:err code7 file:a:0 file:b/c:5 data:he data:llo file:big:1099511627776 "
              "done2");
    EXPECT_TRUE(checked.complete());
    EXPECT_TRUE(checked.Finish().ok());
  }
}

TEST(RunnerStreamTest, TellsAFailure) {
  Recorder recorder;
  RunnerStream checked(&recorder, kLimits);
  EXPECT_TRUE(checked.Feed(Encode({Ready(), FailedFrame("executing /x: No such file or directory")})).ok());
  EXPECT_EQ(recorder.calls(), "ready failed:executing /x: No such file or directory");
  EXPECT_TRUE(checked.Finish().ok());
}

// Every frame in every place: what is not listed as legal must be refused, and the handler not called.
TEST(RunnerStreamTest, EveryTransition) {
  struct Place {
    std::string name;
    std::vector<FromRunner> before;
    std::vector<std::string> legal;
  };
  const std::vector<Place> places = {
      {"boot", kBoot, {"ready"}},
      {"ready", kReady, {"started", "failed"}},
      {"running", kRunning, {"output", "exited"}},
      {"exited", kExited, {"file_header", "done"}},
      {"in file", kInFile, {"file_data"}},
      {"done", kDone, {}},
      {"failed", kFailed, {}},
  };
  const std::vector<std::pair<std::string, FromRunner>> frames = {
      {"ready", Ready()},        {"started", Started()},          {"output", Output(1, "x")},
      {"exited", ExitedCode(0)}, {"file_header", Header("z", 1)}, {"file_data", Data("x")},
      {"done", DoneFrame()},     {"failed", FailedFrame("no")},
  };
  for (const Place& place : places) {
    for (const auto& [name, frame] : frames) {
      Recorder recorder;
      RunnerStream checked(&recorder, kLimits);
      ASSERT_TRUE(checked.Feed(Encode(place.before)).ok());
      const std::string calls = recorder.calls();
      const bool legal = std::count(place.legal.begin(), place.legal.end(), name) > 0;
      const absl::Status fed = checked.Feed(Encode(frame));
      EXPECT_EQ(fed.ok(), legal) << name << " when " << place.name;
      EXPECT_EQ(recorder.calls() != calls, legal) << name << " when " << place.name;
      EXPECT_EQ(fed.code(), legal ? absl::StatusCode::kOk : absl::StatusCode::kInvalidArgument);
    }
  }
}

struct BoundCase {
  std::string what;
  std::vector<FromRunner> before;
  FromRunner frame;
  bool good;
};

void CheckBounds(const std::vector<BoundCase>& cases) {
  for (const BoundCase& c : cases) {
    Recorder recorder;
    RunnerStream checked(&recorder, kLimits);
    ASSERT_TRUE(checked.Feed(Encode(c.before)).ok()) << c.what;
    EXPECT_EQ(checked.Feed(Encode(c.frame)).ok(), c.good) << c.what;
  }
}

TEST(RunnerStreamTest, BoundsOfOutputAndExit) {
  FromRunner no_exit;
  no_exit.mutable_exited();
  FromRunner negative_cpu = ExitedCode(0);
  negative_cpu.mutable_exited()->set_cpu_nanos(-1);
  FromRunner negative_rss = ExitedCode(0);
  negative_rss.mutable_exited()->set_rss_peak_bytes(-1);
  CheckBounds({
      {"protocol 0", kBoot, Ready(0), false},
      {"protocol 2", kBoot, Ready(2), false},
      {"fd 0", kRunning, Output(0, "x"), false},
      {"fd 3", kRunning, Output(3, "x"), false},
      {"fd -1", kRunning, Output(-1, "x"), false},
      {"no output", kRunning, Output(1, ""), false},
      {"most output", kRunning, Output(1, std::string(65'536, 'x')), true},
      {"too much output", kRunning, Output(1, std::string(65'537, 'x')), false},
      {"code -1", kRunning, ExitedCode(-1), false},
      {"code 255", kRunning, ExitedCode(255), true},
      {"code 256", kRunning, ExitedCode(256), false},
      {"signal 0", kRunning, ExitedSignal(0), false},
      {"signal 1", kRunning, ExitedSignal(1), true},
      {"signal 64", kRunning, ExitedSignal(64), true},
      {"signal 65", kRunning, ExitedSignal(65), false},
      {"neither", kRunning, no_exit, false},
      {"negative CPU", kRunning, negative_cpu, false},
      {"negative memory", kRunning, negative_rss, false},
      {"no failure message", kReady, FailedFrame(""), false},
      {"longest failure message", kReady, FailedFrame(std::string(1024, 'x')), true},
      {"too long a failure message", kReady, FailedFrame(std::string(1025, 'x')), false},
      {"two lines", kReady, FailedFrame("a\nb"), false},
      {"an escape sequence", kReady, FailedFrame("a\x1b[2J"), false},
  });
}

TEST(RunnerStreamTest, BoundsOfFiles) {
  const std::vector<FromRunner> three = {Ready(),        Started(),      ExitedCode(0),
                                         Header("a", 0), Header("b", 0), Header("c", 0)};
  std::vector<FromRunner> full = {Ready(), Started(), ExitedCode(0), Header("a", 60'000),
                                  Data(std::string(60'000, 'x'))};
  std::vector<FromRunner> cases_in_data = {Ready(), Started(), ExitedCode(0), Header("a", 66'000)};
  CheckBounds({
      {"a fourth file", three, Header("d", 0), false},
      {"same path again", kExited, Header("a", 0), true},
      {"path twice", {Ready(), Started(), ExitedCode(0), Header("a", 0)}, Header("a", 0), false},
      {"path out of order", {Ready(), Started(), ExitedCode(0), Header("b", 0)}, Header("a", 0), false},
      {"all bytes", kExited, Header("a", 100'000), true},
      {"a byte too many", kExited, Header("a", 100'001), false},
      {"an absurd size", kExited, Header("a", INT64_MAX), false},
      {"a negative size", kExited, Header("a", -1), false},
      {"all bytes of two", full, Header("b", 40'000), true},
      {"a byte too many of two", full, Header("b", 40'001), false},
      {"omitted, any size", full, Header("b", INT64_MAX, 1), true},
      {"omitted, a negative size", full, Header("b", -1, 1), false},
      {"last omission", kExited, Header("a", 0, 4), true},
      {"no such omission", kExited, Header("a", 0, 5), false},
      {"negative omission", kExited, Header("a", 0, -1), false},
      {"largest mode", kExited, Header("a", 0, 0, 0777), true},
      {"too large a mode", kExited, Header("a", 0, 0, 01000), false},
      {"data for an empty file", {Ready(), Started(), ExitedCode(0), Header("a", 0)}, Data("x"), false},
      {"data for an omitted file", {Ready(), Started(), ExitedCode(0), Header("a", 9, 1)}, Data("x"), false},
      {"empty data", cases_in_data, Data(""), false},
      {"most data", cases_in_data, Data(std::string(65'536, 'x')), true},
      {"too much data", cases_in_data, Data(std::string(65'537, 'x')), false},
      {"more data than announced", kInFile, Data("cde"), false},
      {"data up to the end", kInFile, Data("cd"), true},
      {"next file too early", kInFile, Header("g", 0), false},
      {"negative unlisted", kExited, DoneFrame(-1), false},
  });
}

TEST(RunnerStreamTest, Paths) {
  const std::vector<std::string> good = {
      "a", "a/b", "..a", "a..", ".a", "...", "\xc3\xa9", "a b\n", std::string(1024, 'a')};
  const std::vector<std::string> bad = {"",
                                        "/",
                                        "/a",
                                        "a/",
                                        "a//b",
                                        ".",
                                        "..",
                                        "../a",
                                        "a/../b",
                                        "a/..",
                                        "./a",
                                        "a/./b",
                                        std::string("a\0b", 3),
                                        std::string(1025, 'a')};
  std::vector<BoundCase> cases;
  for (const std::string& path : good) cases.push_back({"path " + path, kExited, Header(path, 0), true});
  for (const std::string& path : bad) cases.push_back({"path " + path, kExited, Header(path, 0), false});
  CheckBounds(cases);
}

// The library that writes frames here would not write these.
TEST(RunnerStreamTest, MalformedFrames) {
  const std::string ready = Encode(Ready());
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"no length", std::string(4, '\0')},
      {"an absurd length", std::string(4, '\xff')},
      {"one byte too long", std::string("\x01\x00\x02\x00", 4)},
      {"not protobuf", std::string("\x03\x00\x00\x00\xff\xff\xff", 7)},
      {"an unknown field alone", std::string("\x02\x00\x00\x00\x78\x01", 6)},
      {"text", "Traceback (most recent call last):\n"},
      {"a truncated field", std::string("\x02\x00\x00\x00\x0a\x7f", 6)},
  };
  for (const auto& [what, bytes] : cases) {
    Recorder recorder;
    RunnerStream checked(&recorder, kLimits);
    ASSERT_TRUE(checked.Feed(ready).ok());
    EXPECT_FALSE(checked.Feed(bytes).ok()) << what;
    EXPECT_EQ(recorder.calls(), "ready") << what;
  }
}

TEST(RunnerStreamTest, APathThatIsNotUtf8) {
  // file_header { path: "\xff" }
  Recorder recorder;
  RunnerStream checked(&recorder, kLimits);
  ASSERT_TRUE(checked.Feed(Encode(kExited)).ok());
  EXPECT_FALSE(checked.Feed(std::string("\x05\x00\x00\x00\x2a\x03\x0a\x01\xff", 9)).ok());
}

TEST(RunnerStreamTest, AnErrorStays) {
  Recorder recorder;
  RunnerStream checked(&recorder, kLimits);
  const absl::Status first = checked.Feed(Encode(Started()));
  EXPECT_FALSE(first.ok());
  EXPECT_EQ(checked.Feed(Encode(Ready())), first);
  EXPECT_EQ(checked.Finish(), first);
  EXPECT_EQ(recorder.calls(), "");
}

TEST(RunnerStreamTest, NothingMayFollowTheLastFrame) {
  for (const auto* last : {&kDone, &kFailed}) {
    for (const bool in_one_piece : {true, false}) {
      Recorder recorder;
      RunnerStream checked(&recorder, kLimits);
      if (in_one_piece) {
        EXPECT_FALSE(checked.Feed(Encode(*last) + "x").ok());
      } else {
        EXPECT_TRUE(checked.Feed(Encode(*last)).ok());
        EXPECT_TRUE(checked.Feed("").ok());
        EXPECT_FALSE(checked.Feed("x").ok());
      }
    }
  }
}

TEST(RunnerStreamTest, AnEndBeforeTheEnd) {
  for (const auto* before : {&kBoot, &kReady, &kRunning, &kExited, &kInFile}) {
    Recorder recorder;
    RunnerStream checked(&recorder, kLimits);
    ASSERT_TRUE(checked.Feed(Encode(*before)).ok());
    EXPECT_FALSE(checked.complete());
    EXPECT_EQ(checked.Finish().code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace mayfly::worker
