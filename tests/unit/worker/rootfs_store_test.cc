#include "worker/rootfs_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "tests/fakes/fake_containerd.h"
#include "tests/unit/worker/temp_dir.h"
#include "tests/unit/worker/test_templates.h"
#include "worker/containerd/grpc_containerd.h"

namespace mayfly::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::Duration kPeriod = absl::Milliseconds(5);

// With a snapshotter whose views the runner cannot be laid over.
class BlockDeviceContainerd : public GrpcContainerd {
 public:
  using GrpcContainerd::GrpcContainerd;
  absl::StatusOr<std::vector<RootfsMount>> ViewSnapshot(absl::string_view snapshotter, absl::string_view key,
                                                        absl::string_view parent,
                                                        const std::map<std::string, std::string>& labels) override {
    const auto mounts = GrpcContainerd::ViewSnapshot(snapshotter, key, parent, labels);
    if (!mounts.ok()) return mounts.status();
    return std::vector<RootfsMount>{{"ext4", "/dev/mapper/snapshot-7", {"ro"}}};
  }
};

class RootfsStoreTest : public ::testing::Test {
 protected:
  RootfsStoreTest() { Connect<GrpcContainerd>(); }

  template <typename Client>
  void Connect() {
    GrpcContainerd::Options options;
    options.address = fake_.address();
    options.namespace_name = std::string(fakes::FakeContainerd::kNamespace);
    containerd_ = std::make_unique<Client>(std::move(options));
  }

  // `image` for all templates.
  void Open(const std::string& image) {
    templates_ = TestTemplates(image);
    store_ = std::make_unique<RootfsStore>(containerd_.get(), &templates_,
                                           *RunnerLayer::Create(layer_dir_, dir_.Write("runner", "")), "overlayfs",
                                           "test", kPeriod);
  }

  // The store polls by itself, and has nothing to wait on: the tests look as often.
  bool Await(const std::function<bool()>& condition) {
    for (const absl::Time deadline = absl::Now() + absl::Seconds(30); absl::Now() < deadline; absl::SleepFor(kPeriod)) {
      if (condition()) return true;
    }
    return false;
  }
  bool AwaitReadiness(bool ready) {
    return Await([&] { return store_->readiness().ok() == ready; });
  }

  const Template& Python() { return templates_.find("python")->second; }

  TempDir dir_;
  const std::string layer_dir_ = dir_.path() + "/layer";
  fakes::FakeContainerd fake_;
  TemplateMap templates_;
  std::unique_ptr<GrpcContainerd> containerd_;
  std::unique_ptr<RootfsStore> store_;
};

TEST_F(RootfsStoreTest, OneViewServesAllTemplatesOfAnImage) {
  Open(fake_.AddImage({.name = "python"}));
  ASSERT_TRUE(AwaitReadiness(true)) << store_->readiness();
  EXPECT_EQ(fake_.CountAll().views, 1);
  const auto python = store_->Get(Python());
  const auto bash = store_->Get(templates_.find("bash")->second);
  ASSERT_TRUE(python.ok()) << python.status();
  ASSERT_TRUE(bash.ok()) << bash.status();
  EXPECT_EQ(python->snapshot_key, bash->snapshot_key);
  EXPECT_EQ(python->image_name, "fake.test/python:latest");
  ASSERT_EQ(python->mounts.size(), 1u);
  EXPECT_EQ(python->mounts[0].type, "overlay");
  EXPECT_THAT(python->mounts[0].options, ElementsAre(::testing::StartsWith(absl::StrCat("lowerdir=", layer_dir_, ":"))));
}

TEST_F(RootfsStoreTest, LeavesNoView) {
  Open(fake_.AddImage({.name = "python"}));
  ASSERT_TRUE(AwaitReadiness(true)) << store_->readiness();
  store_.reset();
  EXPECT_EQ(fake_.CountAll().views, 0);
}

TEST_F(RootfsStoreTest, TakesOverTheViewOfItsPredecessor) {
  const std::string image = fake_.AddImage({.name = "python"});
  Open(image);
  ASSERT_TRUE(AwaitReadiness(true)) << store_->readiness();
  // The predecessor is killed: its view stays.
  fake_.failpoints().Set("snapshots.Remove", {.error = absl::UnavailableError("gone")});
  store_.reset();
  fake_.failpoints().Clear();
  ASSERT_EQ(fake_.CountAll().views, 1);
  Open(image);
  ASSERT_TRUE(AwaitReadiness(true)) << store_->readiness();
  EXPECT_EQ(fake_.CountAll().views, 1);
  store_.reset();
  EXPECT_EQ(fake_.CountAll().views, 0);
}

TEST_F(RootfsStoreTest, AnImageThatIsNotUnpackedIsNotReady) {
  const std::string reference = fake_.AddImage({.name = "python", .unpacked = false});
  Open(reference);
  ASSERT_TRUE(Await([&] { return fake_.failpoints().Calls("images.List") >= 2; }));
  EXPECT_TRUE(absl::IsUnavailable(store_->readiness()));
  EXPECT_THAT(std::string(store_->readiness().message()), HasSubstr("template "));
  const auto rootfs = store_->Get(Python());
  EXPECT_TRUE(absl::IsUnavailable(rootfs.status()));
  EXPECT_THAT(std::string(rootfs.status().message()), HasSubstr(reference));
}

TEST_F(RootfsStoreTest, FindsAnImageThatAppears) {
  // The reference that the fake will give to the first image.
  const std::string reference = absl::StrFormat("fake.test/python@sha256:%064x", 4);
  Open(reference);
  ASSERT_TRUE(Await([&] { return fake_.failpoints().Calls("images.List") >= 2; }));
  EXPECT_TRUE(absl::IsUnavailable(store_->Get(Python()).status()));
  ASSERT_EQ(fake_.AddImage({.name = "python"}), reference);
  EXPECT_TRUE(AwaitReadiness(true)) << store_->readiness();
  EXPECT_TRUE(store_->Get(Python()).ok());
}

TEST_F(RootfsStoreTest, SeesContainerdGoAndComeBack) {
  Open(fake_.AddImage({.name = "python"}));
  ASSERT_TRUE(AwaitReadiness(true)) << store_->readiness();
  fake_.Stop();
  ASSERT_TRUE(AwaitReadiness(false));
  EXPECT_TRUE(absl::IsUnavailable(store_->readiness()));
  // The images' files are still known: what they are does not change.
  EXPECT_TRUE(store_->Get(Python()).ok());
  fake_.Start();
  EXPECT_TRUE(AwaitReadiness(true)) << store_->readiness();
}

TEST_F(RootfsStoreTest, StartsBeforeContainerd) {
  const std::string image = fake_.AddImage({.name = "python"});
  fake_.Stop();
  Open(image);
  EXPECT_TRUE(absl::IsUnavailable(store_->readiness()));
  fake_.Start();
  EXPECT_TRUE(AwaitReadiness(true)) << store_->readiness();
  EXPECT_EQ(fake_.CountAll().views, 1);
}

// Fail closed: no sandbox without the runner's layer. And no view that nobody would remove.
TEST_F(RootfsStoreTest, RefusesAViewThatCannotCarryTheRunner) {
  Connect<BlockDeviceContainerd>();
  Open(fake_.AddImage({.name = "python"}));
  ASSERT_TRUE(Await([&] { return fake_.failpoints().Calls("snapshots.View") >= 2; }));
  EXPECT_THAT(std::string(store_->readiness().message()), HasSubstr("first ext4"));
  EXPECT_TRUE(absl::IsUnavailable(store_->Get(Python()).status()));
  store_.reset();
  EXPECT_EQ(fake_.CountAll().views, 0);
}

// A view that was made although containerd said it was not.
TEST_F(RootfsStoreTest, FindsItsOwnViewAgain) {
  fake_.failpoints().Set("snapshots.View", {.error = absl::UnavailableError("x"), .act = true, .times = 1});
  Open(fake_.AddImage({.name = "python"}));
  ASSERT_TRUE(AwaitReadiness(true)) << store_->readiness();
  store_.reset();
  EXPECT_EQ(fake_.CountAll().views, 0);
}

}  // namespace
}  // namespace mayfly::worker
