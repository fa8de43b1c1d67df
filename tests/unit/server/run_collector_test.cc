#include "server/run_collector.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mayfly::server {
namespace {

using mayfly::v1::ExecuteEvent;
using mayfly::v1::ExecutionResult;

ExecuteEvent Output(mayfly::v1::Stream stream, const std::string& data) {
  ExecuteEvent event;
  event.mutable_output()->set_stream(stream);
  event.mutable_output()->set_data(data);
  return event;
}

ExecuteEvent Stdout(const std::string& data) { return Output(mayfly::v1::STREAM_STDOUT, data); }
ExecuteEvent Stderr(const std::string& data) { return Output(mayfly::v1::STREAM_STDERR, data); }

ExecuteEvent Part(const std::string& path, const std::string& data) {
  ExecuteEvent event;
  event.mutable_file()->set_path(path);
  event.mutable_file()->set_data(data);
  return event;
}

struct File {
  std::string path;
  int64_t size;
  mayfly::v1::Omission omission = mayfly::v1::OMISSION_UNSPECIFIED;
};

// As a worker's: everything was sent.
ExecuteEvent Finished(int64_t stdout_bytes, int64_t stderr_bytes, const std::vector<File>& files = {}) {
  ExecuteEvent event;
  ExecutionResult* result = event.mutable_finished();
  result->set_termination(mayfly::v1::TERMINATION_EXITED);
  result->mutable_stdout()->set_total(stdout_bytes);
  result->mutable_stdout()->set_sent(stdout_bytes);
  result->mutable_stderr()->set_total(stderr_bytes);
  result->mutable_stderr()->set_sent(stderr_bytes);
  for (const File& file : files) {
    mayfly::v1::OutputFile* listed = result->add_files();
    listed->set_path(file.path);
    listed->set_size(file.size);
    listed->set_omission(file.omission);
  }
  return event;
}

ExecutionResult Collect(int64_t bytes_max, const std::vector<ExecuteEvent>& events) {
  RunCollector collector(bytes_max);
  for (const ExecuteEvent& event : events) {
    EXPECT_FALSE(collector.finished());
    collector.Add(event);
  }
  EXPECT_TRUE(collector.finished());
  return collector.TakeResult();
}

TEST(RunCollectorTest, GathersBothStreams) {
  ExecuteEvent accepted, started, heartbeat;
  accepted.mutable_accepted();
  started.mutable_started();
  heartbeat.mutable_heartbeat();
  const ExecutionResult result = Collect(100, {accepted, started, Stdout("a\n"), heartbeat, Stderr("x"),
                                               Stdout(std::string("\xff\0", 2)), Finished(4, 1)});
  EXPECT_EQ(result.stdout_data(), std::string("a\n\xff\0", 4));
  EXPECT_EQ(result.stderr_data(), "x");
  EXPECT_EQ(result.stdout().sent(), 4);
  EXPECT_EQ(result.stdout().dropped(), 0);
}

TEST(RunCollectorTest, ExactlyWhatFitsIsWhole) {
  const ExecutionResult result = Collect(10, {Stdout("12345"), Stderr("67890"), Finished(5, 5)});
  EXPECT_EQ(result.stdout().dropped() + result.stderr().dropped(), 0);
  EXPECT_EQ(result.stderr_data(), "67890");
}

TEST(RunCollectorTest, CountsWhatDoesNotFit) {
  const ExecutionResult result = Collect(8, {Stdout("12345"), Stderr("abcde"), Stdout("6"), Finished(6, 5)});
  EXPECT_EQ(result.stdout_data(), "12345");
  EXPECT_EQ(result.stderr_data(), "abc");
  EXPECT_EQ(result.stdout().total(), 6);
  EXPECT_EQ(result.stdout().sent(), 5);
  EXPECT_EQ(result.stdout().dropped(), 1);
  EXPECT_EQ(result.stderr().sent(), 3);
  EXPECT_EQ(result.stderr().dropped(), 2);
}

// What the worker dropped stays dropped.
TEST(RunCollectorTest, AddsToWhatTheWorkerDropped) {
  ExecuteEvent finished = Finished(4, 0);
  finished.mutable_finished()->mutable_stdout()->set_total(1000);
  finished.mutable_finished()->mutable_stdout()->set_dropped(996);
  const ExecutionResult result = Collect(3, {Stdout("1234"), finished});
  EXPECT_EQ(result.stdout_data(), "123");
  EXPECT_EQ(result.stdout().total(), 1000);
  EXPECT_EQ(result.stdout().dropped(), 997);
}

TEST(RunCollectorTest, PutsFilesTogether) {
  const ExecutionResult result = Collect(
      100, {Part("a", "12"), Part("a", "3"), Part("empty", ""), Finished(0, 0, {{"a", 3}, {"empty", 0}})});
  EXPECT_EQ(result.files(0).content(), "123");
  EXPECT_EQ(result.files(0).omission(), mayfly::v1::OMISSION_UNSPECIFIED);
  EXPECT_EQ(result.files(1).content(), "");
  EXPECT_EQ(result.files(1).omission(), mayfly::v1::OMISSION_UNSPECIFIED);
}

// A file is whole or not there; and one that is too large leaves its place to those after it.
TEST(RunCollectorTest, OmitsAFileThatDoesNotFit) {
  const ExecutionResult result =
      Collect(6, {Part("big", "1234"), Part("big", "5678"), Part("big", "9"), Part("small", "abcdef"),
                  Finished(0, 0, {{"big", 9}, {"small", 6}})});
  EXPECT_EQ(result.files(0).omission(), mayfly::v1::OMISSION_TOO_LARGE);
  EXPECT_EQ(result.files(0).content(), "");
  EXPECT_EQ(result.files(0).size(), 9);
  EXPECT_EQ(result.files(1).omission(), mayfly::v1::OMISSION_UNSPECIFIED);
  EXPECT_EQ(result.files(1).content(), "abcdef");
}

TEST(RunCollectorTest, OutputLeavesFilesWhatIsLeft) {
  const ExecutionResult result = Collect(6, {Stdout("12345"), Part("a", "xy"), Part("b", "z"),
                                             Finished(5, 0, {{"a", 2}, {"b", 1}})});
  EXPECT_EQ(result.files(0).omission(), mayfly::v1::OMISSION_TOO_LARGE);
  EXPECT_EQ(result.files(1).content(), "z");
}

TEST(RunCollectorTest, KeepsTheWorkersReasons) {
  const ExecutionResult result =
      Collect(100, {Part("cut", "12"), Finished(0, 0, {{"cut", 9, mayfly::v1::OMISSION_UNREADABLE},
                                                       {"link", 0, mayfly::v1::OMISSION_NOT_REGULAR}})});
  EXPECT_EQ(result.files(0).omission(), mayfly::v1::OMISSION_UNREADABLE);
  EXPECT_EQ(result.files(0).content(), "");
  EXPECT_EQ(result.files(1).omission(), mayfly::v1::OMISSION_NOT_REGULAR);
}

}  // namespace
}  // namespace mayfly::server
