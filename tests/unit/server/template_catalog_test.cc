#include "server/template_catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "tests/unit/server/scripted_worker.h"
#include "tests/unit/server/server_under_test.h"

namespace mayfly::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TemplateCatalogTest : public ::testing::Test {
 protected:
  void Open() {
    stub_ = mayfly::worker::v1::Worker::NewStub(WorkerChannel(worker_.address()));
    catalog_ = std::make_unique<TemplateCatalog>(
        stub_.get(),
        [this](bool ready) {
          absl::MutexLock lock(&mutex_);
          changes_.push_back(ready);
        },
        absl::Milliseconds(5));
  }

  // Waits until so many changes have been reported; all of them so far.
  std::vector<bool> AwaitChanges(size_t count) {
    const auto enough = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return changes_.size() >= count; };
    absl::MutexLock lock(&mutex_);
    EXPECT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&enough), absl::Seconds(30)));
    return changes_;
  }

  ScriptedWorker worker_;
  std::unique_ptr<mayfly::worker::v1::Worker::Stub> stub_;
  absl::Mutex mutex_;
  std::vector<bool> changes_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<TemplateCatalog> catalog_;  // last: its thread uses the others
};

TEST_F(TemplateCatalogTest, KnowsWhatTheWorkerOffers) {
  Open();
  EXPECT_THAT(AwaitChanges(1), ElementsAre(true));
  EXPECT_TRUE(catalog_->readiness().ok());
  const auto templates = catalog_->templates();
  ASSERT_NE(templates, nullptr);
  ASSERT_EQ(templates->count("python"), 1u);
  EXPECT_EQ(templates->find("python")->second.max_limits().wall_time().seconds(), 60);
}

TEST_F(TemplateCatalogTest, KnowsNothingBeforeTheWorkerAnswers) {
  worker_.Stop();
  Open();
  EXPECT_EQ(catalog_->templates(), nullptr);
  EXPECT_TRUE(absl::IsUnavailable(catalog_->readiness()));
  worker_.Start();
  EXPECT_THAT(AwaitChanges(1), ElementsAre(true));
  EXPECT_NE(catalog_->templates(), nullptr);
}

TEST_F(TemplateCatalogTest, SeesTheWorkerGoAndComeBack) {
  Open();
  AwaitChanges(1);
  worker_.Stop();
  EXPECT_THAT(AwaitChanges(2), ElementsAre(true, false));
  EXPECT_TRUE(absl::IsUnavailable(catalog_->readiness()));
  EXPECT_THAT(std::string(catalog_->readiness().message()), HasSubstr("does not answer"));
  EXPECT_NE(catalog_->templates(), nullptr) << "what was offered last is still the best guess";
  worker_.Start();
  EXPECT_THAT(AwaitChanges(3), ElementsAre(true, false, true));
}

TEST_F(TemplateCatalogTest, TakesOverNewTemplates) {
  Open();
  AwaitChanges(1);
  const auto before = catalog_->templates();
  auto description = worker_.description();
  description.mutable_templates(0)->set_name("python-2");
  // Not ready in between, so that the change can be waited for.
  description.set_ready(false);
  description.set_not_ready_reason("image python is missing");
  worker_.SetDescription(description);
  AwaitChanges(2);
  EXPECT_THAT(std::string(catalog_->readiness().message()), HasSubstr("image python is missing"));
  EXPECT_EQ(catalog_->templates()->count("python-2"), 1u);
  EXPECT_EQ(catalog_->templates()->count("python"), 0u);
  EXPECT_EQ(before->count("python"), 1u) << "who holds the old ones may go on reading them";
}

TEST_F(TemplateCatalogTest, ADrainingWorkerIsNotReady) {
  Open();
  AwaitChanges(1);
  auto description = worker_.description();
  description.set_draining(true);
  worker_.SetDescription(description);
  EXPECT_THAT(AwaitChanges(2), ElementsAre(true, false));
  EXPECT_THAT(std::string(catalog_->readiness().message()), HasSubstr("shutting down"));
}

}  // namespace
}  // namespace mayfly::server
