// JobFeed through a real pipe: what arrives, byte for byte, and that it never blocks.
#include "worker/job_feed.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "mayfly/runner/v1/runner.pb.h"
#include "policy/request_limits.h"
#include "tests/unit/worker/test_templates.h"
#include "worker/runner/frame_codec.h"
#include "worker/unique_fd.h"

namespace mayfly::worker {
namespace {

using mayfly::runner::v1::ToRunner;
using ::testing::Contains;
using ::testing::ElementsAre;

constexpr size_t kPart = 65536;

class JobFeedTest : public ::testing::Test {
 protected:
  JobFeedTest() {
    int fds[2];
    if (pipe2(fds, O_NONBLOCK | O_CLOEXEC) != 0) abort();
    read_end_ = UniqueFd(fds[0]);
    write_end_ = UniqueFd(fds[1]);
    request_.set_template_("python");
    request_.set_code("print(1)\n");
  }

  // Feeds to the end, reading whenever the pipe is full.
  std::vector<ToRunner> FeedAll() {
    JobFeed feed(request_, templates_.find("python")->second, {absl::Seconds(1), 100, file_bytes_});
    std::string stream;
    while (!feed.done()) {
      const absl::Status status = feed.WriteTo(write_end_.get());
      EXPECT_TRUE(status.ok()) << status;
      if (!status.ok()) break;
      ++rounds_;
      absl::StrAppend(&stream, Drain());
    }
    absl::StrAppend(&stream, Drain());
    return Decode(stream);
  }

  std::string Drain() {
    std::string got;
    char buffer[8192];
    ssize_t count;
    while ((count = read(read_end_.get(), buffer, sizeof(buffer))) > 0) got.append(buffer, static_cast<size_t>(count));
    return got;
  }

  static std::vector<ToRunner> Decode(const std::string& stream) {
    std::vector<ToRunner> frames;
    runner::FrameDecoder decoder(runner::kToRunnerBytesMax);
    decoder.Push(stream);
    absl::string_view payload;
    while (decoder.Next(&payload)) {
      frames.emplace_back();
      EXPECT_TRUE(frames.back().ParseFromArray(payload.data(), static_cast<int>(payload.size())));
    }
    EXPECT_TRUE(decoder.status().ok()) << decoder.status();
    EXPECT_FALSE(decoder.in_frame());
    return frames;
  }

  static std::vector<ToRunner::FrameCase> Kinds(const std::vector<ToRunner>& frames) {
    std::vector<ToRunner::FrameCase> kinds;
    for (const ToRunner& frame : frames) kinds.push_back(frame.frame_case());
    return kinds;
  }

  static std::string Stdin(const std::vector<ToRunner>& frames) {
    std::string all;
    for (const ToRunner& frame : frames) {
      if (frame.frame_case() != ToRunner::kStdin) continue;
      EXPECT_GE(frame.stdin().size(), 1u);
      EXPECT_LE(frame.stdin().size(), kPart);
      all += frame.stdin();
    }
    return all;
  }

  const TemplateMap templates_ = TestTemplates("a@sha256:b");
  mayfly::v1::ExecuteRequest request_;
  int64_t file_bytes_ = 200;
  int rounds_ = 0;
  UniqueFd read_end_, write_end_;
};

TEST_F(JobFeedTest, SmallestJob) {
  const std::vector<ToRunner> frames = FeedAll();
  ASSERT_THAT(Kinds(frames), ElementsAre(ToRunner::kJob, ToRunner::kFile, ToRunner::kStart, ToRunner::kStdinEnd));
  const mayfly::runner::v1::Job& job = frames[0].job();
  EXPECT_THAT(job.argv(), ElementsAre("/usr/bin/python3", "/workspace/main.py"));
  EXPECT_THAT(job.env(), Contains("HOME=/workspace"));
  EXPECT_EQ(job.workspace(), "/workspace");
  EXPECT_EQ(job.uid(), 65534u);
  EXPECT_EQ(job.gid(), 65534u);
  EXPECT_EQ(job.file_bytes_max(), 200);
  EXPECT_EQ(job.files_max(), policy::kOutputFilesMax);
  EXPECT_EQ(frames[1].file().path(), "main.py");
  EXPECT_EQ(frames[1].file().data(), "print(1)\n");
  EXPECT_EQ(frames[1].file().mode(), 0644u);
  EXPECT_TRUE(frames[1].file().first());
}

TEST_F(JobFeedTest, ArgumentsEnvironmentAndGlobsAreExact) {
  for (const char* arg : {"", "-c", "--help", "$(id)", "a\nb"}) request_.add_args(arg);
  (*request_.mutable_env())["A"] = "b=c\n";
  request_.add_output_globs("out/**");
  const std::vector<ToRunner> frames = FeedAll();
  EXPECT_THAT(frames[0].job().argv(),
              ElementsAre("/usr/bin/python3", "/workspace/main.py", "", "-c", "--help", "$(id)", "a\nb"));
  EXPECT_THAT(frames[0].job().env(), Contains("A=b=c\n"));
  EXPECT_THAT(frames[0].job().output_globs(), ElementsAre("out/**"));
}

// Everything that a request may have of what goes into the one job frame.
TEST_F(JobFeedTest, LargestJobFrame) {
  for (int i = 0; i < policy::kArgsMax; ++i) request_.add_args(std::string(policy::kArgBytesMax / policy::kArgsMax, 'a'));
  for (int i = 0; i < policy::kEnvMax; ++i) {
    const std::string name = absl::StrCat("V", i);
    (*request_.mutable_env())[name] =
        std::string(static_cast<size_t>(policy::kEnvBytesMax / policy::kEnvMax) - name.size(), 'e');
  }
  for (int i = 0; i < policy::kOutputGlobsMax; ++i) {
    request_.add_output_globs(std::string(policy::kOutputGlobBytesMax, 'g'));
  }
  EXPECT_THAT(Kinds(FeedAll()), ElementsAre(ToRunner::kJob, ToRunner::kFile, ToRunner::kStart, ToRunner::kStdinEnd));
}

TEST_F(JobFeedTest, FilesComeInParts) {
  struct Expected {
    std::string path;
    size_t size;
    std::vector<size_t> parts;
  };
  const std::vector<Expected> cases = {{"empty", 0, {0}},
                                       {"dir/one", 1, {1}},
                                       {"below", kPart - 1, {kPart - 1}},
                                       {"exact", kPart, {kPart}},
                                       {"above", kPart + 1, {kPart, 1}},
                                       {"twice", 2 * kPart, {kPart, kPart}}};
  for (const Expected& file : cases) {
    mayfly::v1::InputFile* added = request_.add_files();
    added->set_path(file.path);
    for (size_t i = 0; i < file.size; ++i) added->mutable_content()->push_back(static_cast<char>(i * 7 % 251));
    if (file.path == "dir/one") added->set_mode(0755);
  }
  const std::vector<ToRunner> frames = FeedAll();
  size_t at = 2;  // after the job and the code
  for (const Expected& file : cases) {
    std::string content;
    for (size_t part = 0; part < file.parts.size(); ++part, ++at) {
      ASSERT_LT(at, frames.size());
      const auto& data = frames[at].file();
      EXPECT_EQ(data.path(), file.path);
      EXPECT_EQ(data.first(), part == 0) << file.path;
      EXPECT_EQ(data.data().size(), file.parts[part]) << file.path;
      EXPECT_EQ(data.mode(), file.path == "dir/one" ? 0755u : 0644u);
      content += data.data();
    }
    const auto sent = std::find_if(request_.files().begin(), request_.files().end(),
                                   [&](const auto& candidate) { return candidate.path() == file.path; });
    EXPECT_EQ(content, sent->content()) << file.path;
  }
  ASSERT_EQ(at + 2, frames.size());
  EXPECT_TRUE(frames[at].has_start());
  EXPECT_TRUE(frames[at + 1].has_stdin_end());
}

TEST_F(JobFeedTest, CodeComesInPartsToo) {
  request_.set_code(std::string(kPart + 5, 'c'));
  const std::vector<ToRunner> frames = FeedAll();
  ASSERT_THAT(Kinds(frames), ElementsAre(ToRunner::kJob, ToRunner::kFile, ToRunner::kFile, ToRunner::kStart,
                                         ToRunner::kStdinEnd));
  EXPECT_TRUE(frames[1].file().first());
  EXPECT_FALSE(frames[2].file().first());
  EXPECT_EQ(frames[2].file().data(), "ccccc");
}

TEST_F(JobFeedTest, StdinIsExact) {
  request_.set_stdin(std::string("a\r\nb\0\xff\xfe\n\n", 9));
  const std::vector<ToRunner> frames = FeedAll();
  EXPECT_EQ(Stdin(frames), request_.stdin());
  EXPECT_TRUE(frames.back().has_stdin_end());
}

TEST_F(JobFeedTest, GoesOnWhereAFullPipeStoppedIt) {
  ASSERT_GE(fcntl(write_end_.get(), F_SETPIPE_SZ, 4096), 0);
  for (size_t i = 0; i < 3 * kPart + 17; ++i) request_.mutable_stdin()->push_back(static_cast<char>(i % 253));
  const std::vector<ToRunner> frames = FeedAll();
  EXPECT_EQ(Stdin(frames), request_.stdin());
  EXPECT_GT(rounds_, 40);
}

TEST_F(JobFeedTest, AFullPipeIsNoError) {
  request_.set_stdin(std::string(4 << 20, 'x'));
  JobFeed feed(request_, templates_.find("python")->second, {absl::Seconds(1), 100, 100});
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(feed.WriteTo(write_end_.get()).ok());
    EXPECT_FALSE(feed.done());
  }
}

TEST_F(JobFeedTest, AReaderThatIsGoneIsAnError) {
  signal(SIGPIPE, SIG_IGN);
  read_end_ = UniqueFd();
  JobFeed feed(request_, templates_.find("python")->second, {absl::Seconds(1), 100, 100});
  const absl::Status status = feed.WriteTo(write_end_.get());
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("writing the job"));
  EXPECT_FALSE(feed.done());
}

}  // namespace
}  // namespace mayfly::worker
