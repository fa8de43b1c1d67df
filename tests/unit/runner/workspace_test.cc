// What the runner reads and writes in the workspace, against a directory full of traps. Needs neither root nor sandbox.
#include "worker/runner/workspace.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "worker/runner/file_listing.h"
#include "worker/runner/job_files.h"

namespace mayfly::runner {
namespace {

namespace fs = std::filesystem;

class WorkspaceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "mayfly-workspace-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
    root_ = base_ / "workspace";
    fs::create_directory(root_);
    absl::StatusOr<UniqueFd> fd = OpenWorkspace(root_.string());
    ASSERT_TRUE(fd.ok()) << fd.status();
    fd_ = *std::move(fd);
  }
  void TearDown() override { fs::remove_all(base_); }

  void Touch(const std::string& path, const std::string& content = "x") {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << content;
  }

  FileListing List(const std::vector<std::string>& globs, int files_max = 256) {
    absl::StatusOr<GlobSet> set = GlobSet::Parse(globs);
    EXPECT_TRUE(set.ok());
    return ListFiles(fd_.get(), *set, files_max);
  }

  static std::vector<std::string> Paths(const FileListing& listing) {
    std::vector<std::string> paths;
    for (const ListedFile& file : listing.files) paths.push_back(file.escaped_path);
    return paths;
  }

  absl::Status Write(const std::string& path, const std::string& data, bool first = true, uint32_t mode = 0) {
    v1::InputData part;
    part.set_path(path);
    part.set_data(data);
    part.set_first(first);
    part.set_mode(mode);
    return files_ == nullptr ? (files_ = std::make_unique<JobFiles>(fd_.get()))->Write(part) : files_->Write(part);
  }

  std::string Content(const fs::path& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  fs::path base_;
  fs::path root_;
  UniqueFd fd_;
  std::unique_ptr<JobFiles> files_;
};

using Strings = std::vector<std::string>;

TEST_F(WorkspaceTest, WritesFilesInParts) {
  const mode_t before = umask(0);
  EXPECT_TRUE(Write("a/b/c.txt", "one ", true, 0750).ok());
  EXPECT_TRUE(Write("a/b/c.txt", "two", false).ok());
  EXPECT_TRUE(Write("empty", "").ok());
  umask(before);
  EXPECT_EQ(Content(root_ / "a/b/c.txt"), "one two");
  struct stat info {};
  ASSERT_EQ(stat((root_ / "a/b/c.txt").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0750u);
  ASSERT_EQ(stat((root_ / "empty").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0644u);
  ASSERT_EQ(stat((root_ / "a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0755u);
}

TEST_F(WorkspaceTest, RefusesPathsThatLeadElsewhere) {
  const Strings bad = {"",
                       ".",
                       "..",
                       "../x",
                       "/etc/x",
                       "a/../../b",
                       "a//b",
                       "a/",
                       "./a",
                       std::string("a\0b", 3),
                       std::string(1025, 'a')};
  for (const std::string& path : bad) EXPECT_FALSE(Write(path, "x").ok()) << path;
  EXPECT_EQ(std::distance(fs::directory_iterator(base_), fs::directory_iterator()), 1);
}

TEST_F(WorkspaceTest, RefusesWhatIsThereAndPartsOutOfOrder) {
  EXPECT_TRUE(Write("a", "1").ok());
  EXPECT_FALSE(Write("a", "2").ok());
  EXPECT_FALSE(Write("a/b", "2").ok());
  EXPECT_FALSE(Write("never", "2", false).ok());
  EXPECT_EQ(Content(root_ / "a"), "1");
}

TEST_F(WorkspaceTest, WritesThroughNoLink) {
  fs::create_directory(base_ / "outside");
  fs::create_directory_symlink(base_ / "outside", root_ / "dir");
  fs::create_symlink(base_ / "outside" / "target", root_ / "file");
  EXPECT_FALSE(Write("dir/x", "x").ok());
  EXPECT_FALSE(Write("file", "x").ok());
  EXPECT_TRUE(fs::is_empty(base_ / "outside"));
}

TEST_F(WorkspaceTest, ListsMatchesInPathOrder) {
  for (const char* path : {"b.txt", "a.txt", "out/z.txt", "out/a/b.txt", "out-1.txt", ".hidden.txt", "c.png"})
    Touch(path);
  EXPECT_EQ(Paths(List({"*.txt"})), (Strings{"a.txt", "b.txt", "out-1.txt"}));
  EXPECT_EQ(Paths(List({"**/*.txt", "a.txt"})), (Strings{"a.txt", "b.txt", "out-1.txt", "out/a/b.txt", "out/z.txt"}));
  EXPECT_EQ(Paths(List({"out"})), Strings{});
  EXPECT_EQ(Paths(List({})), Strings{});
}

TEST_F(WorkspaceTest, SaysWhatIsNotRegularAndFollowsNothing) {
  fs::create_directory(base_ / "outside");
  std::ofstream(base_ / "outside" / "secret") << "secret";
  fs::create_directory_symlink(base_ / "outside", root_ / "dir");
  fs::create_symlink("/etc/passwd", root_ / "link");
  fs::create_symlink("loop", root_ / "loop");
  ASSERT_EQ(mkfifo((root_ / "fifo").c_str(), 0600), 0);
  Touch("plain", "12345");
  const FileListing listing = List({"**"});
  ASSERT_EQ(Paths(listing), (Strings{"dir", "fifo", "link", "loop", "plain"}));
  for (size_t i = 0; i < 4; ++i) EXPECT_FALSE(listing.files[i].regular) << listing.files[i].path;
  EXPECT_TRUE(listing.files[4].regular);
  EXPECT_EQ(listing.files[4].size, 5);
}

TEST_F(WorkspaceTest, EscapesNames) {
  Touch("\xc3.txt");
  Touch("a\\b.txt");
  EXPECT_EQ(Paths(List({"*"})), (Strings{"\\xC3.txt", "a\\x5Cb.txt"}));
}

TEST_F(WorkspaceTest, CountsWhatItDoesNotList) {
  for (int i = 0; i < 10; ++i) Touch("f" + std::to_string(i));
  const FileListing listing = List({"*"}, 3);
  EXPECT_EQ(Paths(listing), (Strings{"f0", "f1", "f2"}));
  EXPECT_EQ(listing.unlisted, 7);
  EXPECT_EQ(List({"*"}, 0).unlisted, 10);
}

TEST_F(WorkspaceTest, StopsAtItsBounds) {
  for (int i = 0; i < kEntriesVisitedMax + 10; ++i) {
    ASSERT_GE(UniqueFd(open((root_ / std::to_string(i)).c_str(), O_CREAT | O_WRONLY, 0600)).get(), 0);
  }
  const FileListing listing = List({"**"}, 5);
  EXPECT_EQ(listing.files.size(), 5u);
  EXPECT_EQ(listing.unlisted, kEntriesVisitedMax - 5 + 1);
}

TEST_F(WorkspaceTest, StopsAtItsDepth) {
  std::string path;
  for (int i = 0; i < kDepthMax; ++i) path += "d/";
  Touch(path + "at-the-limit");
  EXPECT_EQ(Paths(List({"**"})), Strings{path + "at-the-limit"});
  EXPECT_EQ(List({"**"}).unlisted, 0);
  Touch(path + "d/beyond");
  EXPECT_EQ(List({"**"}).files.size(), 1u);
  EXPECT_EQ(List({"**"}).unlisted, 1);
}

TEST_F(WorkspaceTest, CountsPathsThatAreTooLong) {
  const std::string name(200, 'n');
  Touch(name + "/" + name + "/" + name + "/" + name + "/" + name + "/" + name);
  EXPECT_EQ(Paths(List({"**"})), Strings{});
  EXPECT_EQ(List({"**"}).unlisted, 1);
}

}  // namespace
}  // namespace mayfly::runner
