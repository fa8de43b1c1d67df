// WorkerUnderTest: all of a worker but its main(), on a fake containerd. No root needed.
//
//   WorkerUnderTest worker;
//   auto sink = worker.Run("print hello");      // see tests/fakes/guest_script.h
//   EXPECT_EQ(sink->result()->exit_code(), 0);
//   EXPECT_TRUE(worker.StopAndFindNothingLeft());
#ifndef MAYFLY_TESTS_UNIT_WORKER_WORKER_UNDER_TEST_H_
#define MAYFLY_TESTS_UNIT_WORKER_WORKER_UNDER_TEST_H_

#include <deque>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "mayfly/v1/execution.pb.h"
#include "tests/fakes/fake_containerd.h"
#include "tests/unit/worker/recording_sink.h"
#include "tests/unit/worker/temp_dir.h"
#include "worker/containerd/grpc_containerd.h"
#include "worker/executor.h"
#include "worker/rootfs_store.h"
#include "worker/template.h"
#include "worker/worker_metrics.h"

namespace mayfly::worker {

// A clock that stands still until it is told. Thread-safe.
class ManualClock {
 public:
  absl::Time Now() const {
    absl::MutexLock lock(&mutex_);
    return now_;
  }
  void Advance(absl::Duration by) {
    absl::MutexLock lock(&mutex_);
    now_ += by;
  }

 private:
  mutable absl::Mutex mutex_;
  absl::Time now_ ABSL_GUARDED_BY(mutex_) = absl::UnixEpoch();
};

class WorkerUnderTest {
 public:
  struct Options {
    int sandboxes_max = 2;
    int line_max = 4;
    ExecutionTimeouts timeouts;
    absl::Duration delivery_timeout = absl::Seconds(30);
    absl::Duration call_timeout = absl::Seconds(20);
    absl::Duration teardown_timeout = absl::Seconds(20);
    Clock clock = absl::Now;
    bool image_missing = false;
  };

  WorkerUnderTest() : WorkerUnderTest(Options()) {}
  explicit WorkerUnderTest(Options options);
  ~WorkerUnderTest();

  // Runs `code` with the template `python`. The ticket must be taken.
  std::shared_ptr<RecordingSink> Run(const std::string& code) { return Run(MakeRequest(code)); }
  std::shared_ptr<RecordingSink> Run(mayfly::v1::ExecuteRequest request,
                                     std::shared_ptr<RecordingSink> sink = std::make_shared<RecordingSink>());

  // The same, but returns what Submit said.
  grpc::Status Submit(mayfly::v1::ExecuteRequest request, std::shared_ptr<EventSink> sink);

  static mayfly::v1::ExecuteRequest MakeRequest(const std::string& code);

  // Shuts down; true when no container, task, snapshot view or FIFO is left. Otherwise GoogleTest is told what.
  bool StopAndFindNothingLeft();

  fakes::FakeContainerd& fake() { return fake_; }
  Executor& executor() { return *executor_; }
  RootfsStore& rootfs() { return *rootfs_; }
  WorkerMetrics& metrics() { return metrics_; }
  const TemplateMap& templates() const { return templates_; }
  const Options& options() const { return options_; }

  // What the kernel would say of the sandboxes there are now.
  void WriteCgroupFiles(absl::string_view name, absl::string_view content);

  // The value of a metric, summed over the label sets that contain `label`; 0 when there is none.
  double Metric(absl::string_view name, absl::string_view label = "");

  // Removes the directory in which FIFOs are made.
  void BreakFifoDir();

 private:
  const Options options_;
  TempDir dir_;
  fakes::FakeContainerd fake_;
  const TemplateMap templates_;
  WorkerMetrics metrics_;
  std::unique_ptr<GrpcContainerd> containerd_;
  std::unique_ptr<RootfsStore> rootfs_;
  std::unique_ptr<Executor> executor_;

  absl::Mutex mutex_;
  std::deque<mayfly::v1::ExecuteRequest> requests_ ABSL_GUARDED_BY(mutex_);  // live as long as the worker
};

}  // namespace mayfly::worker

#endif  // MAYFLY_TESTS_UNIT_WORKER_WORKER_UNDER_TEST_H_
