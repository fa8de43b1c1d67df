#include "worker/runner_layer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "policy/language_profile.h"
#include "policy/oci_spec.h"
#include "tests/unit/worker/temp_dir.h"

namespace mayfly::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

mode_t Mode(const std::string& path) {
  struct stat info = {};
  stat(path.c_str(), &info);
  return info.st_mode & 07777;
}

class RunnerLayerTest : public ::testing::Test {
 protected:
  RunnerLayer Layer() { return *RunnerLayer::Create(layer_dir_, runner_); }

  TempDir dir_;
  const std::string layer_dir_ = dir_.path() + "/layer";
  const std::string runner_ = dir_.Write("runner", "the runner");
};

TEST_F(RunnerLayerTest, HoldsACopyThatEveryUserCanExecuteAndNobodyWrite) {
  const mode_t umask_before = umask(0077);
  const auto layer = RunnerLayer::Create(layer_dir_, runner_);
  umask(umask_before);
  ASSERT_TRUE(layer.ok()) << layer.status();
  const std::string copy = absl::StrCat(layer_dir_, policy::kRunnerPath);
  EXPECT_EQ(Content(copy), "the runner");
  EXPECT_EQ(Mode(copy), 0555u);
  EXPECT_EQ(Mode(layer_dir_), 0755u);
  EXPECT_EQ(Mode(std::filesystem::path(copy).parent_path()), 0755u);
  for (const policy::SupportFile& file : policy::SupportFiles()) {
    EXPECT_EQ(Content(absl::StrCat(layer_dir_, file.path)), file.content);
    EXPECT_EQ(Mode(absl::StrCat(layer_dir_, file.path)), 0444u);
  }
  // And nothing else.
  EXPECT_EQ(TempDir::Entries(std::filesystem::path(copy).parent_path()),
            static_cast<int>(policy::SupportFiles().size()) + 1);
  EXPECT_EQ(TempDir::Entries(layer_dir_), 1);
}

TEST_F(RunnerLayerTest, IsRenewed) {
  ASSERT_TRUE(RunnerLayer::Create(layer_dir_, runner_).ok());
  dir_.Write("runner", "a newer runner");
  ASSERT_TRUE(RunnerLayer::Create(layer_dir_, runner_).ok());
  EXPECT_EQ(Content(absl::StrCat(layer_dir_, policy::kRunnerPath)), "a newer runner");
}

TEST_F(RunnerLayerTest, SaysWhatIsMissing) {
  EXPECT_THAT(std::string(RunnerLayer::Create(layer_dir_, dir_.path() + "/none").status().message()),
              HasSubstr(dir_.path() + "/none"));
  dir_.Write("file", "");
  EXPECT_THAT(std::string(RunnerLayer::Create(dir_.path() + "/file/layer", runner_).status().message()),
              HasSubstr("/file/layer"));
}

TEST_F(RunnerLayerTest, LiesOverOneDirectory) {
  const auto mounts = Layer().Over({{"bind", "/snapshots/1/fs", {"ro", "rbind"}}});
  ASSERT_TRUE(mounts.ok()) << mounts.status();
  ASSERT_EQ(mounts->size(), 1u);
  EXPECT_EQ((*mounts)[0].type, "overlay");
  EXPECT_EQ((*mounts)[0].source, "overlay");
  EXPECT_THAT((*mounts)[0].options, ElementsAre(absl::StrCat("lowerdir=", layer_dir_, ":/snapshots/1/fs")));
}

TEST_F(RunnerLayerTest, IsTheTopmostOfAnOverlay) {
  const auto mounts = Layer().Over({{"overlay", "overlay", {"index=off", "lowerdir=/s/2/fs:/s/1/fs"}}});
  ASSERT_TRUE(mounts.ok()) << mounts.status();
  ASSERT_EQ(mounts->size(), 1u);
  EXPECT_THAT((*mounts)[0].options, ElementsAre("index=off", absl::StrCat("lowerdir=", layer_dir_, ":/s/2/fs:/s/1/fs")));
}

struct Rejected {
  const char* name;
  std::vector<RootfsMount> view;
  absl::StatusCode code;
  const char* message;
};

class RunnerLayerRejectTest : public RunnerLayerTest, public ::testing::WithParamInterface<Rejected> {};

// A sandbox without its runner, or on a root that can be written to, is none.
TEST_P(RunnerLayerRejectTest, Rejects) {
  const auto mounts = Layer().Over(GetParam().view);
  EXPECT_EQ(mounts.status().code(), GetParam().code) << mounts.status();
  EXPECT_THAT(std::string(mounts.status().message()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, RunnerLayerRejectTest,
    ::testing::Values(
        Rejected{"NoMount", {}, absl::StatusCode::kUnimplemented, "0 mounts"},
        Rejected{"TwoMounts", {{"bind", "/a", {}}, {"bind", "/b", {}}}, absl::StatusCode::kUnimplemented, "2 mounts"},
        Rejected{"BlockDevice", {{"ext4", "/dev/dm-3", {"ro"}}}, absl::StatusCode::kUnimplemented, "first ext4"},
        Rejected{"Writable",
                 {{"overlay", "overlay", {"workdir=/s/9/work", "upperdir=/s/9/fs", "lowerdir=/s/1/fs"}}},
                 absl::StatusCode::kFailedPrecondition,
                 "writable"},
        Rejected{"TooManyLayers",
                 {{"overlay", "overlay", {"lowerdir=/" + std::string(4096, 'x')}}},
                 absl::StatusCode::kUnimplemented,
                 "too many layers"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace mayfly::worker
