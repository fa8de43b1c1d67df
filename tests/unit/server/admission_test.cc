#include "server/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace mayfly::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// What happened to the waiters of a test, in order.
class Log {
 public:
  void Add(const std::string& entry) {
    absl::MutexLock lock(&mutex_);
    entries_.push_back(entry);
  }
  std::vector<std::string> entries() const {
    absl::MutexLock lock(&mutex_);
    return entries_;
  }
  bool AwaitEntries(size_t count) const {
    const auto enough = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return entries_.size() >= count; };
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(absl::Condition(&enough), absl::Seconds(30));
  }

 private:
  mutable absl::Mutex mutex_;
  std::vector<std::string> entries_ ABSL_GUARDED_BY(mutex_);
};

class NamedWaiter : public Admission::Waiter {
 public:
  NamedWaiter(std::string name, Log* log) : name_(std::move(name)), log_(log) {}
  void OnAdmitted() override { log_->Add(name_ + " admitted"); }
  void OnQueueTimeout() override { log_->Add(name_ + " timed out"); }

 private:
  const std::string name_;
  Log* const log_;
};

class AdmissionTest : public ::testing::Test {
 protected:
  AdmissionTest() {
    options_.in_flight_max = 1;
    options_.queue_max = 2;
    options_.observer = [this](int in_flight, int queued) {
      in_flight_ = in_flight;
      queued_ = queued;
    };
  }

  Admission& admission() {
    if (admission_ == nullptr) admission_ = std::make_unique<Admission>(options_);
    return *admission_;
  }

  std::shared_ptr<NamedWaiter> Waiter(const std::string& name) { return std::make_shared<NamedWaiter>(name, &log_); }
  Admission::Entry Enter(const std::string& name) { return admission().Enter(Waiter(name)); }

  Log log_;
  std::atomic<int> in_flight_{0}, queued_{0}, clock_ms_{0};
  Admission::Options options_;
  std::unique_ptr<Admission> admission_;  // last: its thread may call what is above
};

TEST_F(AdmissionTest, FirstComeFirstServed) {
  EXPECT_EQ(Enter("a"), Admission::Entry::kAdmitted);
  EXPECT_EQ(Enter("b"), Admission::Entry::kQueued);
  EXPECT_EQ(Enter("c"), Admission::Entry::kQueued);
  EXPECT_THAT(log_.entries(), IsEmpty());
  EXPECT_EQ(queued_, 2);
  admission().Leave(absl::Seconds(1));
  EXPECT_THAT(log_.entries(), ElementsAre("b admitted"));
  admission().Leave(absl::Seconds(1));
  EXPECT_THAT(log_.entries(), ElementsAre("b admitted", "c admitted"));
  EXPECT_EQ(in_flight_, 1);
  admission().Leave(absl::Seconds(1));
  EXPECT_EQ(in_flight_, 0);
  EXPECT_EQ(queued_, 0);
}

TEST_F(AdmissionTest, FullMeansFull) {
  options_.in_flight_max = 2;
  for (const char* name : {"a", "b"}) EXPECT_EQ(Enter(name), Admission::Entry::kAdmitted);
  for (const char* name : {"c", "d"}) EXPECT_EQ(Enter(name), Admission::Entry::kQueued);
  EXPECT_EQ(Enter("e"), Admission::Entry::kFull);
  admission().Leave(absl::Seconds(1));
  EXPECT_EQ(Enter("f"), Admission::Entry::kQueued);
  EXPECT_EQ(Enter("g"), Admission::Entry::kFull);
}

TEST_F(AdmissionTest, WithoutAQueueNobodyWaits) {
  options_.queue_max = 0;
  EXPECT_EQ(Enter("a"), Admission::Entry::kAdmitted);
  EXPECT_EQ(Enter("b"), Admission::Entry::kFull);
  admission().Leave(absl::Seconds(1));
  EXPECT_EQ(Enter("c"), Admission::Entry::kAdmitted);
}

TEST_F(AdmissionTest, WhoWithdrawsIsNotCalled) {
  EXPECT_EQ(Enter("a"), Admission::Entry::kAdmitted);
  const auto b = Waiter("b");
  EXPECT_EQ(admission().Enter(b), Admission::Entry::kQueued);
  EXPECT_EQ(Enter("c"), Admission::Entry::kQueued);
  EXPECT_TRUE(admission().Withdraw(b.get()));
  EXPECT_FALSE(admission().Withdraw(b.get()));
  EXPECT_EQ(queued_, 1);
  EXPECT_EQ(Enter("d"), Admission::Entry::kQueued) << "its place in the queue is free";
  admission().Leave(absl::Seconds(1));
  EXPECT_THAT(log_.entries(), ElementsAre("c admitted"));
}

TEST_F(AdmissionTest, WhoWasAdmittedCannotWithdraw) {
  const auto a = Waiter("a");
  const auto b = Waiter("b");
  EXPECT_EQ(admission().Enter(a), Admission::Entry::kAdmitted);
  EXPECT_EQ(admission().Enter(b), Admission::Entry::kQueued);
  EXPECT_FALSE(admission().Withdraw(a.get()));
  admission().Leave(absl::Seconds(1));
  EXPECT_FALSE(admission().Withdraw(b.get()));
}

// The clock stands still until the test moves it; the timer looks at it once per real queue_timeout.
TEST_F(AdmissionTest, NobodyWaitsForEver) {
  options_.clock = [this] { return absl::UnixEpoch() + absl::Milliseconds(clock_ms_.load()); };
  options_.queue_timeout = absl::Milliseconds(20);
  options_.queue_max = 3;
  EXPECT_EQ(Enter("a"), Admission::Entry::kAdmitted);
  EXPECT_EQ(Enter("b"), Admission::Entry::kQueued);
  EXPECT_EQ(Enter("c"), Admission::Entry::kQueued);
  clock_ms_ = 10;
  EXPECT_EQ(Enter("d"), Admission::Entry::kQueued);
  EXPECT_THAT(log_.entries(), IsEmpty());
  clock_ms_ = 20;
  ASSERT_TRUE(log_.AwaitEntries(2));
  EXPECT_THAT(log_.entries(), ElementsAre("b timed out", "c timed out"));
  EXPECT_EQ(queued_, 1);
  EXPECT_EQ(in_flight_, 1) << "who holds a place keeps it";
  admission().Leave(absl::Seconds(1));
  EXPECT_THAT(log_.entries(), ElementsAre("b timed out", "c timed out", "d admitted"));
}

TEST_F(AdmissionTest, DrainLetsWhoWaitsGoOn) {
  EXPECT_EQ(Enter("a"), Admission::Entry::kAdmitted);
  EXPECT_EQ(Enter("b"), Admission::Entry::kQueued);
  admission().Drain();
  EXPECT_EQ(Enter("c"), Admission::Entry::kDraining);
  admission().Leave(absl::Seconds(1));
  EXPECT_THAT(log_.entries(), ElementsAre("b admitted"));
  admission().Leave(absl::Seconds(1));
  EXPECT_EQ(Enter("d"), Admission::Entry::kDraining) << "though there is room";
}

TEST_F(AdmissionTest, CloseLetsNobodyElseIn) {
  EXPECT_EQ(Enter("a"), Admission::Entry::kAdmitted);
  const auto b = Waiter("b");
  EXPECT_EQ(admission().Enter(b), Admission::Entry::kQueued);
  admission().Close();
  EXPECT_EQ(Enter("c"), Admission::Entry::kDraining);
  admission().Leave(absl::Seconds(1));
  EXPECT_THAT(log_.entries(), IsEmpty());
  EXPECT_EQ(in_flight_, 0);
  EXPECT_TRUE(admission().Withdraw(b.get()));
}

TEST_F(AdmissionTest, RetryAfterGrowsWithTheQueueAndWithWhatExecutionsTake) {
  options_.queue_max = 100;
  EXPECT_EQ(Enter("a"), Admission::Entry::kAdmitted);
  const absl::Duration empty = admission().RetryAfter();
  EXPECT_GT(empty, absl::ZeroDuration());
  for (int i = 0; i < 9; ++i) Enter("b");
  EXPECT_EQ(admission().RetryAfter(), 10 * empty);
  for (int i = 0; i < 9; ++i) admission().Leave(absl::Seconds(20));
  EXPECT_GT(admission().RetryAfter(), empty);
}

TEST_F(AdmissionTest, RetryAfterIsBounded) {
  options_.queue_max = 100;
  for (int i = 0; i < 101; ++i) Enter("a");
  for (int i = 0; i < 50; ++i) admission().Leave(absl::Hours(1));
  EXPECT_EQ(admission().RetryAfter(), absl::Minutes(1));
  for (int i = 0; i < 51; ++i) admission().Leave(absl::ZeroDuration());
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(Enter("b"), Admission::Entry::kAdmitted);
    admission().Leave(absl::ZeroDuration());
  }
  EXPECT_EQ(admission().RetryAfter(), absl::Milliseconds(100));
}

// Many threads enter, leave and withdraw: there are never more than the places, and none is lost.
TEST_F(AdmissionTest, PlacesAreNeitherLostNorMultiplied) {
  struct Holder : Admission::Waiter {
    explicit Holder(std::atomic<int>* holders) : holders(holders) {}
    void OnAdmitted() override {
      ++*holders;
      absl::MutexLock lock(&mutex);
      admitted = true;
    }
    void OnQueueTimeout() override {}
    std::atomic<int>* const holders;
    absl::Mutex mutex;
    bool admitted ABSL_GUARDED_BY(mutex) = false;
  };
  constexpr int kPlaces = 3;
  options_.in_flight_max = kPlaces;
  options_.queue_max = 1000;
  std::atomic<int> holders{0}, most{0}, ran{0};
  Admission& shared = admission();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const auto holder = std::make_shared<Holder>(&holders);
        const Admission::Entry entry = shared.Enter(holder);
        if (entry == Admission::Entry::kAdmitted) {
          holder->OnAdmitted();
        } else if (i % 3 == t % 3 && shared.Withdraw(holder.get())) {
          continue;
        } else {
          absl::MutexLock lock(&holder->mutex);
          holder->mutex.Await(absl::Condition(&holder->admitted));
        }
        for (int seen = most, now = holders; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        ++ran;
        --holders;
        shared.Leave(absl::Milliseconds(1));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, kPlaces);
  EXPECT_GT(ran, 0);
  EXPECT_EQ(in_flight_, 0);
  EXPECT_EQ(queued_, 0);
}

TEST(AdmissionBytes, AQueueIsFullByBytesToo) {
  class Nobody : public Admission::Waiter {
    void OnAdmitted() override {}
    void OnQueueTimeout() override {}
  };
  Admission::Options options;
  options.queue_max = 10;
  options.queue_bytes_max = 100;
  Admission admission(options);
  const auto large = std::make_shared<Nobody>();
  EXPECT_EQ(admission.Enter(std::make_shared<Nobody>(), 1000), Admission::Entry::kAdmitted) << "it does not wait";
  EXPECT_EQ(admission.Enter(large, 60), Admission::Entry::kQueued);
  EXPECT_EQ(admission.Enter(std::make_shared<Nobody>(), 41), Admission::Entry::kFull);
  EXPECT_EQ(admission.Enter(std::make_shared<Nobody>(), 40), Admission::Entry::kQueued);
  EXPECT_TRUE(admission.Withdraw(large.get()));
  EXPECT_EQ(admission.Enter(std::make_shared<Nobody>(), 60), Admission::Entry::kQueued);
  for (int i = 0; i < 3; ++i) admission.Leave(absl::ZeroDuration());
  EXPECT_EQ(admission.Enter(std::make_shared<Nobody>(), 0), Admission::Entry::kAdmitted);
  admission.Leave(absl::ZeroDuration());
}

}  // namespace
}  // namespace mayfly::server
