// OutputAccount keeps count of one output stream of a program: how much came, what may be sent under the limit, and
// what was dropped.
#ifndef MAYFLY_WORKER_OUTPUT_ACCOUNT_H_
#define MAYFLY_WORKER_OUTPUT_ACCOUNT_H_

#include <algorithm>
#include <cstdint>

#include "mayfly/v1/execution.pb.h"

namespace mayfly::worker {

class OutputAccount {
 public:
  explicit OutputAccount(int64_t limit) : limit_(limit) {}

  // Takes note of `bytes` that the program wrote; returns how many of them may be sent.
  int64_t Admit(int64_t bytes) {
    const int64_t admitted = std::min(bytes, limit_ - sent_);
    total_ += bytes;
    sent_ += admitted;
    return admitted;
  }

  // Takes back bytes that were admitted but could not be sent after all.
  void TakeBack(int64_t bytes) { sent_ -= bytes; }

  // Position of the next admitted byte in the stream.
  int64_t offset() const { return sent_; }
  bool exceeded() const { return total_ > limit_; }

  mayfly::v1::StreamAccount ToProto() const {
    mayfly::v1::StreamAccount account;
    account.set_total(total_);
    account.set_sent(sent_);
    account.set_dropped(total_ - sent_);
    return account;
  }

 private:
  const int64_t limit_;
  int64_t total_ = 0;
  int64_t sent_ = 0;
};

}  // namespace mayfly::worker

#endif  // MAYFLY_WORKER_OUTPUT_ACCOUNT_H_
