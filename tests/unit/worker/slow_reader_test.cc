// A reader that is slower than the program: the program waits, our memory does not grow, the deadline holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/fakes/fake_guest.h"
#include "tests/unit/worker/runner_frames.h"
#include "tests/unit/worker/worker_under_test.h"

namespace mayfly::worker {
namespace {

using fakes::FakeGuest;
using mayfly::v1::ExecutionResult;

constexpr size_t kChunk = 32768;
constexpr int64_t kReadBytes = 64 * 1024;
constexpr int64_t kKeptBytesMax = 1024 * 1024;
// What the kernel holds for us at most (the FIFO's capacity is asked for and may be less).
constexpr int64_t kFifoBytes = 256 * 1024;

class SlowReaderTest : public ::testing::Test {
 protected:
  // Writes chunks until it is killed or has written `bytes`, and counts those that went into the FIFO.
  void WriteMuch(int64_t bytes) {
    worker_.fake().SetGuest([this, bytes](FakeGuest& guest) {
      if (!guest.Ready() || !guest.ReadJob() || !guest.Started()) return;
      for (int64_t left = bytes; left > 0; left -= kChunk) {
        if (!guest.Output(1, std::string(kChunk, 'x'))) return;
        written_ += kChunk;
      }
      guest.Exit(0);
    });
  }

  static WorkerUnderTest::Options OptionsWith(ManualClock* clock) {
    WorkerUnderTest::Options options;
    options.clock = [clock] { return clock->Now(); };
    return options;
  }

  static ExecutionResult ResultOf(const RecordingSink& sink) {
    const auto result = sink.result();
    ExpectWellFormed(sink.events());
    return result.value_or(ExecutionResult());
  }

  static int64_t BytesIn(const std::vector<mayfly::v1::ExecuteEvent>& events) {
    int64_t bytes = 0;
    for (const auto& event : events) bytes += static_cast<int64_t>(event.output().data().size());
    return bytes;
  }

  ManualClock clock_;
  std::atomic<int64_t> written_{0};
  WorkerUnderTest worker_{OptionsWith(&clock_)};
};

TEST_F(SlowReaderTest, TheDeadlineHoldsAndLittleIsKept) {
  WriteMuch(8 << 20);
  const auto sink = std::make_shared<RecordingSink>(/*takes=*/2);  // `started` and one output
  worker_.Run(worker_.MakeRequest(""), sink);
  ASSERT_TRUE(sink->AwaitStdout(1));
  clock_.Advance(absl::Seconds(10));
  sink->wake()->Signal();
  const ExecutionResult result = ResultOf(*sink);
  EXPECT_EQ(result.termination(), mayfly::v1::TERMINATION_TIMED_OUT);
  // The program was held up long before it had written everything: nothing piled up here.
  EXPECT_LE(written_, kKeptBytesMax + kFifoBytes + 4 * kReadBytes);
  EXPECT_LE(BytesIn(sink->last_events()), kKeptBytesMax);
  EXPECT_TRUE(worker_.StopAndFindNothingLeft());
}

// The program has ended in time; nobody had read that far yet when the limit passed.
TEST_F(SlowReaderTest, AnEndBehindUnreadOutputCounts) {
  WriteMuch(6 * kChunk);
  const auto sink = std::make_shared<RecordingSink>(/*takes=*/1);
  worker_.Run(worker_.MakeRequest(""), sink);
  ASSERT_TRUE(sink->AwaitStarted());
  while (worker_.fake().CountAll().running_tasks > 0) std::this_thread::yield();
  clock_.Advance(absl::Seconds(10));
  sink->wake()->Signal();
  const ExecutionResult result = ResultOf(*sink);
  EXPECT_EQ(result.termination(), mayfly::v1::TERMINATION_EXITED);
  EXPECT_EQ(result.stdout().sent(), static_cast<int64_t>(6 * kChunk));
  EXPECT_TRUE(worker_.StopAndFindNothingLeft());
}

// A sandbox that goes on writing, since it could not be killed at once: the drain is bounded, and what is dropped is
// counted.
TEST_F(SlowReaderTest, AfterTheKillAtMostOneMebibyteIsKept) {
  WriteMuch(int64_t{1} << 40);
  worker_.fake().failpoints().Set("tasks.Kill", {.error = absl::InternalError("busy"), .times = 1});
  mayfly::v1::ExecuteRequest request = worker_.MakeRequest("");
  request.mutable_limits()->set_output_bytes(64 << 20);
  const auto sink = std::make_shared<RecordingSink>(/*takes=*/1);
  worker_.Run(request, sink);
  ASSERT_TRUE(sink->AwaitStarted());
  clock_.Advance(absl::Seconds(10));
  sink->wake()->Signal();
  // The drain's own second must pass, too, once more than enough has been read.
  while (written_ < 8 * kKeptBytesMax) std::this_thread::yield();
  clock_.Advance(absl::Seconds(2));
  const ExecutionResult result = ResultOf(*sink);
  EXPECT_EQ(result.termination(), mayfly::v1::TERMINATION_TIMED_OUT);
  EXPECT_LE(BytesIn(sink->last_events()), kKeptBytesMax);
  EXPECT_GT(BytesIn(sink->last_events()), kKeptBytesMax - kReadBytes);
  EXPECT_GT(result.stdout().dropped(), kKeptBytesMax);
  EXPECT_TRUE(worker_.StopAndFindNothingLeft());
}

TEST_F(SlowReaderTest, GetsEverythingInTheEnd) {
  constexpr int64_t kBytes = 4 << 20;
  WriteMuch(kBytes);
  const auto sink = std::make_shared<RecordingSink>(/*takes=*/3);
  worker_.Run(worker_.MakeRequest(""), sink);
  ASSERT_TRUE(sink->AwaitStdout(2));
  EXPECT_LT(written_, kBytes);
  sink->Take(RecordingSink::kAll);
  const ExecutionResult result = ResultOf(*sink);
  EXPECT_EQ(result.termination(), mayfly::v1::TERMINATION_EXITED);
  EXPECT_EQ(result.stdout().sent(), kBytes);
  EXPECT_EQ(result.stdout().dropped(), 0);
  EXPECT_TRUE(worker_.StopAndFindNothingLeft());
}

TEST_F(SlowReaderTest, ThatGoesAwayEndsTheProgram) {
  WriteMuch(8 << 20);
  const auto sink = std::make_shared<RecordingSink>(/*takes=*/1);
  worker_.Run(worker_.MakeRequest(""), sink);
  ASSERT_TRUE(sink->AwaitStarted());
  sink->Cancel();
  EXPECT_EQ(ResultOf(*sink).termination(), mayfly::v1::TERMINATION_CANCELLED);
  EXPECT_TRUE(worker_.StopAndFindNothingLeft());
}

// Small writes without end, to a reader that takes nothing: what is kept is one read, however many frames that was.
TEST_F(SlowReaderTest, SmallWritesDoNotPileUpEither) {
  worker_.fake().SetGuest([](FakeGuest& guest) {
    if (!guest.Ready() || !guest.ReadJob() || !guest.Started()) return;
    while (guest.Output(1, "1") && guest.Output(2, "2")) {
    }
  });
  const auto sink = std::make_shared<RecordingSink>(/*takes=*/2);
  worker_.Run(worker_.MakeRequest(""), sink);
  ASSERT_TRUE(sink->AwaitStdout(1));
  clock_.Advance(absl::Seconds(10));
  sink->wake()->Signal();
  EXPECT_EQ(ResultOf(*sink).termination(), mayfly::v1::TERMINATION_TIMED_OUT);
  EXPECT_TRUE(worker_.StopAndFindNothingLeft());
}

}  // namespace
}  // namespace mayfly::worker
