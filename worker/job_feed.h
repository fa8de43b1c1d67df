// JobFeed writes one job to a sandbox's runner: its files, the start, and the program's standard input, as fast as the
// runner takes them and never faster.
//
// Frames are made one at a time, so that a job costs no memory beside the request itself.
#ifndef MAYFLY_WORKER_JOB_FEED_H_
#define MAYFLY_WORKER_JOB_FEED_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "mayfly/runner/v1/runner.pb.h"
#include "mayfly/v1/execution.pb.h"
#include "policy/effective_limits.h"
#include "worker/template.h"

namespace mayfly::worker {

class JobFeed {
 public:
  // `request`, which CheckRequest must have passed, and `offered` must outlive the feed.
  JobFeed(const mayfly::v1::ExecuteRequest& request, const Template& offered, const policy::EffectiveLimits& limits);

  // Writes to the non-blocking `fd` until everything is written or `fd` takes no more. An error is final: nobody reads
  // (the sandbox is gone).
  absl::Status WriteTo(int fd);

  // Everything is written.
  bool done() const { return step_ == Step::kDone && buffer_.empty(); }

 private:
  enum class Step { kJob, kMainFile, kFiles, kStart, kStdin, kStdinEnd, kDone };

  // Appends the next frame to the buffer. Requires step_ != kDone.
  absl::Status MakeNextFrame();
  mayfly::runner::v1::Job MakeJob() const;
  // Fills in the next part of a file and advances; returns true when it was the last one.
  bool MakeFilePart(absl::string_view path, absl::string_view content, uint32_t mode,
                    mayfly::runner::v1::InputData* part);

  const mayfly::v1::ExecuteRequest& request_;
  const Template& template_;
  const policy::EffectiveLimits limits_;

  Step step_ = Step::kJob;
  int file_ = 0;       // next of request_.files
  size_t offset_ = 0;  // in the current file or in stdin
  bool file_open_ = false;
  std::string buffer_;      // frames not yet written
  size_t buffer_sent_ = 0;  // of buffer_
};

}  // namespace mayfly::worker

#endif  // MAYFLY_WORKER_JOB_FEED_H_
