#include "tests/unit/worker/worker_under_test.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "tests/unit/worker/test_templates.h"

namespace mayfly::worker {
namespace {

constexpr absl::Duration kReadyTimeout = absl::Seconds(30);
constexpr absl::Duration kRefreshPeriod = absl::Milliseconds(10);

}  // namespace

WorkerUnderTest::WorkerUnderTest(Options options)
    : options_(std::move(options)),
      templates_(TestTemplates(options_.image_missing ? MissingImage() : fake_.AddImage({.name = "python"}))) {
  std::filesystem::create_directory(dir_.path() + "/fifos");
  GrpcContainerd::Options client;
  client.address = fake_.address();
  client.namespace_name = std::string(fakes::FakeContainerd::kNamespace);
  client.call_timeout = options_.call_timeout;
  client.observer = [this](absl::string_view method, const absl::Status& status, absl::Duration took) {
    metrics_.RecordContainerdCall(method, status, took);
  };
  containerd_ = std::make_unique<GrpcContainerd>(std::move(client));
  absl::StatusOr<RunnerLayer> layer =
      RunnerLayer::Create(dir_.path() + "/layer", dir_.Write("runner", "stands for the runner"));
  rootfs_ = std::make_unique<RootfsStore>(containerd_.get(), &templates_, *std::move(layer), "overlayfs", "test",
                                          kRefreshPeriod);
  SandboxContext context;
  context.containerd = containerd_.get();
  context.snapshotter = "overlayfs";
  context.fifo_dir = dir_.path() + "/fifos";
  context.cgroup_parent = "/mayfly";
  context.cgroup_root = dir_.path() + "/cgroup";
  context.instance = "test";
  context.teardown_timeout = options_.teardown_timeout;
  Executor::Options executor;
  executor.sandboxes_max = options_.sandboxes_max;
  executor.line_max = options_.line_max;
  executor.timeouts = options_.timeouts;
  executor.delivery_timeout = options_.delivery_timeout;
  executor.clock = options_.clock;
  executor_ = std::make_unique<Executor>(executor, context, rootfs_.get(), &metrics_);
  // The store has no way to be waited for: the daemon has no need of it.
  const absl::Time deadline = absl::Now() + kReadyTimeout;
  while (!options_.image_missing && !rootfs_->readiness().ok() && absl::Now() < deadline) {
    absl::SleepFor(kRefreshPeriod);
  }
}

WorkerUnderTest::~WorkerUnderTest() {
  fake_.failpoints().Clear();
  executor_.reset();
  rootfs_.reset();
}

mayfly::v1::ExecuteRequest WorkerUnderTest::MakeRequest(const std::string& code) {
  mayfly::v1::ExecuteRequest request;
  request.set_template_("python");
  request.set_code(code);
  return request;
}

std::shared_ptr<RecordingSink> WorkerUnderTest::Run(mayfly::v1::ExecuteRequest request,
                                                    std::shared_ptr<RecordingSink> sink) {
  const grpc::Status taken = Submit(std::move(request), sink);
  EXPECT_TRUE(taken.ok()) << taken.error_message();
  return sink;
}

grpc::Status WorkerUnderTest::Submit(mayfly::v1::ExecuteRequest request, std::shared_ptr<EventSink> sink) {
  Ticket ticket;
  {
    absl::MutexLock lock(&mutex_);
    requests_.push_back(std::move(request));
    ticket.request = &requests_.back();
    ticket.execution_id = absl::StrFormat("%032x", requests_.size());
  }
  ticket.offered = &templates_.find(ticket.request->template_())->second;
  ticket.sink = std::move(sink);
  return executor_->Submit(std::move(ticket));
}

bool WorkerUnderTest::StopAndFindNothingLeft() {
  executor_->Shutdown(absl::Seconds(30));
  rootfs_.reset();
  const fakes::FakeContainerd::Counts left = fake_.CountAll();
  const std::string fifo_dir = dir_.path() + "/fifos";
  const int fifos = std::filesystem::exists(fifo_dir) ? TempDir::Entries(fifo_dir) : 0;
  EXPECT_EQ(left.containers, 0);
  EXPECT_EQ(left.tasks, 0);
  EXPECT_EQ(left.views, 0);
  EXPECT_EQ(fifos, 0);
  return left == fakes::FakeContainerd::Counts() && fifos == 0;
}

void WorkerUnderTest::WriteCgroupFiles(absl::string_view name, absl::string_view content) {
  for (const auto& container : fake_.Containers()) {
    dir_.Write(absl::StrCat("cgroup/mayfly/", container.id, "/", name), content);
  }
}

double WorkerUnderTest::Metric(absl::string_view name, absl::string_view label) {
  double sum = 0;
  for (const auto& family : metrics_.registry()->Collect()) {
    if (family.name != name) continue;
    for (const auto& metric : family.metric) {
      bool counts = label.empty();
      for (const auto& [key, value] : metric.label) counts = counts || value == label;
      if (!counts) continue;
      sum += metric.counter.value + metric.gauge.value + static_cast<double>(metric.histogram.sample_count);
    }
  }
  return sum;
}

void WorkerUnderTest::BreakFifoDir() { std::filesystem::remove_all(dir_.path() + "/fifos"); }

}  // namespace mayfly::worker
