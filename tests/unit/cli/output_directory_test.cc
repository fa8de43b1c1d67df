#include "clients/cli/output_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace mayfly::cli {
namespace {

namespace fs = std::filesystem;

std::string ReadAll(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

void WriteFile(const fs::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

class OutputDirectoryTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "mayfly-out-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
    auto opened = OutputDirectory::Open((base_ / "made" / "out").string());
    ASSERT_TRUE(opened.ok()) << opened.status();
    out_ = *std::move(opened);
  }
  void TearDown() override { fs::remove_all(base_); }

  fs::path dir() const { return base_ / "made" / "out"; }

  fs::path base_;
  std::unique_ptr<OutputDirectory> out_;
};

TEST_F(OutputDirectoryTest, PutsPartsTogether) {
  EXPECT_TRUE(out_->Write("a/b/c.bin", 0, std::string("x\0y", 3)).ok());
  EXPECT_TRUE(out_->Write("a/b/c.bin", 3, "\xff").ok());
  EXPECT_TRUE(out_->Write("empty", 0, "").ok());
  EXPECT_TRUE(out_->Finish().ok());
  EXPECT_EQ(ReadAll(dir() / "a/b/c.bin"), std::string("x\0y\xff", 4));
  EXPECT_TRUE(fs::exists(dir() / "empty"));
  EXPECT_EQ(out_->files().at("a/b/c.bin"), 4);
  EXPECT_EQ(out_->files().at("empty"), 0);
}

TEST_F(OutputDirectoryTest, RefusesNamesThatLeadOutside) {
  const std::vector<std::string> names = {"",
                                          "/etc/x",
                                          "..",
                                          "../x",
                                          "a/../../x",
                                          "a//b",
                                          "a/",
                                          "./a",
                                          "a/.",
                                          "a/..",
                                          ".",
                                          std::string("a\0b", 3),
                                          std::string(5000, 'a')};
  for (const std::string& name : names) {
    EXPECT_TRUE(absl::IsInvalidArgument(out_->Write(name, 0, "x"))) << name;
  }
  EXPECT_TRUE(fs::is_empty(dir()));
}

TEST_F(OutputDirectoryTest, TakesNamesThatOnlyLookOdd) {
  for (const char* name : {"...", "..a", "a b", "-rf", "a\\b", "\xc3\xa4"}) {
    EXPECT_TRUE(out_->Write(name, 0, "x").ok()) << name;
  }
}

TEST_F(OutputDirectoryTest, FollowsNoLinkToADirectory) {
  fs::create_directory(base_ / "outside");
  fs::create_directory_symlink(base_ / "outside", dir() / "link");
  EXPECT_FALSE(out_->Write("link/x", 0, "x").ok());
  EXPECT_TRUE(fs::is_empty(base_ / "outside"));
}

TEST_F(OutputDirectoryTest, ReplacesALinkInsteadOfWritingThroughIt) {
  WriteFile(base_ / "precious", "precious");
  fs::create_symlink(base_ / "precious", dir() / "soft");
  fs::create_hard_link(base_ / "precious", dir() / "hard");
  fs::create_symlink(base_ / "not-there", dir() / "dangling");
  for (const char* name : {"soft", "hard", "dangling"}) EXPECT_TRUE(out_->Write(name, 0, "new").ok()) << name;
  EXPECT_TRUE(out_->Finish().ok());
  EXPECT_EQ(ReadAll(base_ / "precious"), "precious");
  EXPECT_FALSE(fs::exists(base_ / "not-there"));
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(dir() / "soft")));
  EXPECT_EQ(ReadAll(dir() / "soft"), "new");
}

TEST_F(OutputDirectoryTest, ReplacesALongerFileWhole) {
  WriteFile(dir() / "f", "something longer");
  EXPECT_TRUE(out_->Write("f", 0, "new").ok());
  EXPECT_TRUE(out_->Finish().ok());
  EXPECT_EQ(ReadAll(dir() / "f"), "new");
}

TEST_F(OutputDirectoryTest, RefusesToReplaceADirectory) {
  fs::create_directory(dir() / "d");
  EXPECT_FALSE(out_->Write("d", 0, "x").ok());
  EXPECT_TRUE(fs::is_directory(dir() / "d"));
}

TEST_F(OutputDirectoryTest, RefusesAFileBelowAFile) {
  EXPECT_TRUE(out_->Write("f", 0, "x").ok());
  EXPECT_FALSE(out_->Write("f/g", 0, "x").ok());
}

TEST_F(OutputDirectoryTest, MakesNothingExecutable) {
  EXPECT_TRUE(out_->Write("tool", 0, "#!/bin/sh\n").ok());
  EXPECT_TRUE(out_->Finish().ok());
  struct stat info;
  ASSERT_EQ(stat((dir() / "tool").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0111, 0u);
}

TEST_F(OutputDirectoryTest, NoticesPartsOutOfOrder) {
  EXPECT_TRUE(out_->Write("f", 0, "ab").ok());
  EXPECT_TRUE(absl::IsDataLoss(out_->Write("f", 3, "d")));
}

TEST_F(OutputDirectoryTest, NoticesAFileThatComesTwice) {
  EXPECT_TRUE(out_->Write("f", 0, "a").ok());
  EXPECT_TRUE(out_->Write("g", 0, "b").ok());
  EXPECT_TRUE(absl::IsDataLoss(out_->Write("f", 0, "c")));
}

TEST_F(OutputDirectoryTest, BoundsTheNumberOfFiles) {
  for (size_t i = 0; i < OutputDirectory::kFilesMax; ++i) {
    ASSERT_TRUE(out_->Write("f" + std::to_string(i), 0, "").ok());
  }
  EXPECT_TRUE(absl::IsDataLoss(out_->Write("one-more", 0, "")));
}

TEST_F(OutputDirectoryTest, RemovesAFileThatIsNotFinished) {
  EXPECT_TRUE(out_->Write("half", 0, "a").ok());
  out_.reset();
  EXPECT_FALSE(fs::exists(dir() / "half"));
}

}  // namespace
}  // namespace mayfly::cli
