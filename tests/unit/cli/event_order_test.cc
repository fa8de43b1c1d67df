#include "clients/cli/event_order.h"

#include <gtest/gtest.h>

#include <functional>

namespace mayfly::cli {
namespace {

// Feeds events with right sequence numbers, which a test may spoil.
class EventOrderTest : public testing::Test {
 protected:
  absl::Status Feed(const std::function<void(v1::ExecuteEvent&)>& fill) {
    v1::ExecuteEvent event;
    event.set_sequence(++sequence_);
    fill(event);
    return order_.Check(event);
  }
  absl::Status Accepted() {
    return Feed([](auto& e) { e.mutable_accepted(); });
  }
  absl::Status Started() {
    return Feed([](auto& e) { e.mutable_started(); });
  }
  absl::Status Output(v1::Stream stream, int64_t offset, const std::string& data) {
    return Feed([&](auto& e) {
      e.mutable_output()->set_stream(stream);
      e.mutable_output()->set_offset(offset);
      e.mutable_output()->set_data(data);
    });
  }
  absl::Status Finished(int64_t stdout_sent) {
    return Feed([&](auto& e) {
      e.mutable_finished()->set_termination(v1::TERMINATION_EXITED);
      e.mutable_finished()->mutable_stdout()->set_sent(stdout_sent);
    });
  }

  EventOrder order_;
  uint64_t sequence_ = 0;
};

TEST_F(EventOrderTest, TakesAWholeExecution) {
  EXPECT_TRUE(Accepted().ok());
  EXPECT_TRUE(Feed([](auto& e) { e.mutable_heartbeat(); }).ok());
  EXPECT_TRUE(Started().ok());
  EXPECT_TRUE(Output(v1::STREAM_STDOUT, 0, "ab").ok());
  EXPECT_TRUE(Output(v1::STREAM_STDERR, 0, "").ok());
  EXPECT_TRUE(Output(v1::STREAM_STDOUT, 2, "c").ok());
  EXPECT_TRUE(Finished(3).ok());
}

TEST_F(EventOrderTest, TakesAnEndWithoutAStart) {
  EXPECT_TRUE(Accepted().ok());
  EXPECT_TRUE(Finished(0).ok());
}

TEST_F(EventOrderTest, NoticesAGapInTheSequence) {
  EXPECT_TRUE(Accepted().ok());
  ++sequence_;
  EXPECT_TRUE(absl::IsDataLoss(Started()));
}

TEST_F(EventOrderTest, NoticesWhatIsNotInOrder) {
  EXPECT_TRUE(absl::IsDataLoss(EventOrderTest::Started())) << "before accepted";
  order_ = EventOrder();
  sequence_ = 0;
  EXPECT_TRUE(Accepted().ok());
  EXPECT_TRUE(absl::IsDataLoss(Output(v1::STREAM_STDOUT, 0, "a"))) << "before started";
}

TEST_F(EventOrderTest, NoticesTwoOfAKind) {
  EXPECT_TRUE(Accepted().ok());
  EXPECT_TRUE(Started().ok());
  EXPECT_TRUE(absl::IsDataLoss(Started()));
  EXPECT_TRUE(absl::IsDataLoss(Accepted()));
}

TEST_F(EventOrderTest, NoticesLostOutput) {
  EXPECT_TRUE(Accepted().ok());
  EXPECT_TRUE(Started().ok());
  EXPECT_TRUE(Output(v1::STREAM_STDOUT, 0, "ab").ok());
  EXPECT_TRUE(absl::IsDataLoss(Output(v1::STREAM_STDOUT, 3, "d")));
  EXPECT_TRUE(absl::IsDataLoss(Output(v1::STREAM_UNSPECIFIED, 0, "d")));
  EXPECT_TRUE(absl::IsDataLoss(Finished(3))) << "the accounting says 3 bytes";
}

TEST_F(EventOrderTest, NoticesAnEventAfterTheEnd) {
  EXPECT_TRUE(Accepted().ok());
  EXPECT_TRUE(Finished(0).ok());
  EXPECT_TRUE(absl::IsDataLoss(Finished(0)));
}

TEST_F(EventOrderTest, NoticesAnEndThatSaysNothing) {
  EXPECT_TRUE(Accepted().ok());
  EXPECT_TRUE(absl::IsDataLoss(Feed([](auto& e) { e.mutable_finished(); })));
}

}  // namespace
}  // namespace mayfly::cli
