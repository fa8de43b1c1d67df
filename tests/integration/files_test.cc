// Files in, files out: exact when honest, harmless when not. Field cases 28-34.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/integration/service.h"

namespace mayfly::test {
namespace {

using FilesTest = StackTest;

// No returned byte may come from /etc/passwd or from an environment.
void ExpectNothingFromOutside(const Outcome& outcome) {
  for (const auto& [path, content] : outcome.files) {
    EXPECT_FALSE(absl::StrContains(content, "root:")) << path << ": " << content;
    EXPECT_FALSE(absl::StrContains(content, "PATH=")) << path << ": " << content;
  }
}

TEST_F(FilesTest, InputFilesAreThereAsSent) {
  auto request = Program("python-open",
                         "import os\n"
                         "for path in ('a.txt', 'd/e/f.bin', 'run.sh', 'empty', '\u2615 name'):\n"
                         "    print(oct(os.stat(path).st_mode & 0o7777), open(path, 'rb').read())\n"
                         "open('a.txt', 'a').write('more')\n"
                         "print(os.access('run.sh', os.X_OK))\n");
  AddFile(request, "a.txt", "line\r\n");
  AddFile(request, "d/e/f.bin", absl::string_view("\x00\xff\x01", 3));
  AddFile(request, "run.sh", "#!/bin/sh\n", 0755);
  AddFile(request, "empty", "", 0600);
  AddFile(request, "\xe2\x98\x95 name", "cup");
  const Outcome outcome = Execute(request);
  EXPECT_TRUE(Exited(outcome, 0));
  EXPECT_EQ(outcome.out,
            "0o644 b'line\\r\\n'\n0o644 b'\\x00\\xff\\x01'\n0o755 b'#!/bin/sh\\n'\n0o600 b''\n0o644 b'cup'\nTrue\n");
}

TEST_F(FilesTest, OutputFilesComeBackByGlob) {
  auto request = ProgramFile("output_files.py");
  request.add_output_globs("out/**");
  request.add_output_globs("*.png");
  request.add_output_globs("no-such-*");
  const Outcome outcome = Execute(request);
  ASSERT_TRUE(Exited(outcome, 0));
  std::string bytes;
  for (int i = 0; i < 256000; ++i) bytes.push_back(static_cast<char>(i % 256));
  const std::map<std::string, std::string> expected = {{"out/empty", ""},
                                                       {"out/bytes.bin", bytes},
                                                       {"out/deep/er/text.txt", "deep\n"},
                                                       {"out/chunk", std::string(65536, 'c')},
                                                       {"out/run.sh", "#!/bin/sh\n"},
                                                       {"plot.png", "\x89PNG"}};
  EXPECT_TRUE(outcome.files == expected) << outcome.files.size() << " files";
  ASSERT_NE(outcome.Listed("out/run.sh"), nullptr);
  EXPECT_EQ(outcome.Listed("out/run.sh")->mode(), 0755u);
  EXPECT_EQ(outcome.Listed("other.txt"), nullptr);
}

TEST_F(FilesTest, GlobsMatchAsDocumented) {
  struct Row {
    std::vector<std::string> globs;
    std::vector<std::string> paths;
  };
  const std::vector<Row> rows = {
      {{"*"}, {"a.txt", "b.txt", "c"}},
      {{"*.txt"}, {"a.txt", "b.txt"}},
      {{"?.txt"}, {"a.txt", "b.txt"}},
      {{"[b-z].txt"}, {"b.txt"}},
      {{"d/*"}, {"d/a.txt"}},
      {{"**/a.txt"}, {"a.txt", "d/a.txt", "d/e/a.txt"}},
      {{"d/**"}, {"d/a.txt", "d/e/a.txt"}},
      {{"c", "c", "c*"}, {"c"}},
      {{"d/*/a.txt"}, {"d/e/a.txt"}},
      {{"d/**/a.txt"}, {"d/a.txt", "d/e/a.txt"}},
  };
  Concurrently(static_cast<int>(rows.size()), [&](int i) {
    SCOPED_TRACE(rows[i].globs[0]);
    auto request = Program("bash", "mkdir -p d/e; for f in a.txt b.txt c d/a.txt d/e/a.txt; do echo $f > $f; done");
    for (const std::string& glob : rows[i].globs) request.add_output_globs(glob);
    const Outcome outcome = Execute(request);
    ASSERT_TRUE(Exited(outcome, 0));
    std::vector<std::string> got;
    for (const auto& file : outcome.files) {
      // The main file is the program's, and a fair match of "*".
      if (!absl::StartsWith(file.first, "main.")) got.push_back(file.first);
    }
    EXPECT_EQ(got, rows[i].paths);
  });
}

TEST_F(FilesTest, FileBytesAreLimited) {
  struct Row {
    int64_t limit;
    std::vector<std::string> returned;
  };
  // In path order: a has 1000 bytes, b 2000, c 500.
  const std::vector<Row> rows = {{3500, {"a", "b", "c"}}, {0, {}}, {999, {"c"}}};
  Concurrently(static_cast<int>(rows.size()), [&](int i) {
    SCOPED_TRACE(rows[i].limit);
    auto request = Program("bash", "head -c 1000 /dev/zero > a; head -c 2000 /dev/zero > b; head -c 500 /dev/zero > c");
    for (const char* name : {"a", "b", "c"}) request.add_output_globs(name);
    request.mutable_limits()->set_file_bytes(rows[i].limit);
    const Outcome outcome = Execute(request);
    ASSERT_TRUE(Exited(outcome, 0));
    EXPECT_EQ(outcome.result.files_size(), 3) << "what is not returned is listed";
    std::vector<std::string> got;
    for (const auto& file : outcome.files) got.push_back(file.first);
    EXPECT_EQ(got, rows[i].returned);
    for (const v1::OutputFile& file : outcome.result.files()) {
      if (!outcome.files.contains(file.path())) {
        EXPECT_EQ(file.omission(), v1::OMISSION_TOO_LARGE) << file.path();
      }
    }
  });
}

TEST_F(FilesTest, ManyFilesAreListedUpToTheCap) {
  auto request = ProgramFile("many_files.sh");
  request.add_output_globs("out/*");
  SetWall(request, absl::Seconds(60));
  const Outcome outcome = Execute(request);
  ASSERT_TRUE(Exited(outcome, 0));
  EXPECT_EQ(outcome.result.files_size(), 256);
  EXPECT_EQ(outcome.result.files_unlisted(), 144);
}

TEST_F(FilesTest, Case28_LinksThatMatchAreNotFollowed) {
  const std::vector<std::vector<std::string>> globs = {
      {"**"}, {"*.txt", "d", "d/**", "real/*"}, {"d/etc/passwd", "d/proc/self/environ", "out.txt", "environ.txt"}};
  Concurrently(static_cast<int>(globs.size()), [&](int i) {
    SCOPED_TRACE(globs[i][0]);
    auto request = ProgramFile("plants_links.sh");
    for (const std::string& glob : globs[i]) request.add_output_globs(glob);
    const Outcome outcome = Execute(request);
    EXPECT_TRUE(Exited(outcome, 0));
    ExpectNothingFromOutside(outcome);
    for (const char* path : {"out.txt", "d", "environ.txt", "runner.txt", "real/link.txt", "pipe.txt", "dir.txt"}) {
      EXPECT_FALSE(outcome.files.contains(path)) << path;
      const v1::OutputFile* listed = outcome.Listed(path);
      if (listed != nullptr) {
        EXPECT_EQ(listed->omission(), v1::OMISSION_NOT_REGULAR) << path;
      }
    }
    for (const v1::OutputFile& file : outcome.result.files()) {
      EXPECT_FALSE(absl::StartsWith(file.path(), "d/")) << "the walk left the workspace: " << file.path();
    }
    if (i == 0) {
      EXPECT_EQ(outcome.files.at("real/good.txt"), "inside\n");
      ASSERT_NE(outcome.Listed("out.txt"), nullptr) << "a match that is a link is listed";
      EXPECT_EQ(outcome.Listed("out.txt")->omission(), v1::OMISSION_NOT_REGULAR);
    }
  });
}

TEST_F(FilesTest, Case29_LinksPlantedOverInputsAreNotFollowed) {
  auto request = ProgramFile("links_on_input_paths.py");
  AddFile(request, "data.txt", "input");
  request.add_output_globs("**");
  request.add_output_globs("sub/deep/a.txt");
  const Outcome outcome = Execute(request);
  EXPECT_TRUE(Exited(outcome, 0));
  ExpectNothingFromOutside(outcome);
  EXPECT_FALSE(outcome.files.contains("data.txt"));
  EXPECT_FALSE(outcome.files.contains("sub/deep/a.txt"));
}

// Full: 20 times; the race has a loser now and then only. Short: 4.
TEST_F(FilesTest, Case29_DirectoriesSwappedForLinksWhileFilesAreCollected) {
  Concurrently(Repeat(4, 20), [&](int) {
    auto request = ProgramFile("swaps_directories.py");
    for (const char* glob : {"dir/*", "**/passwd", "**"}) request.add_output_globs(glob);
    const Outcome outcome = Execute(request);
    EXPECT_TRUE(Exited(outcome, 0));
    ExpectNothingFromOutside(outcome);
  });
}

TEST_F(FilesTest, Case30_HostileNamesGiveAWellFormedAnswer) {
  auto request = ProgramFile("odd_names.py");
  request.add_output_globs("**");
  const Outcome outcome = Execute(request);
  ASSERT_TRUE(Exited(outcome, 0));
  const v1::OutputFile* odd = outcome.Listed("\\xC3.txt");
  ASSERT_NE(odd, nullptr) << "listed, its name escaped as \\xNN";
  EXPECT_EQ(odd->omission(), v1::OMISSION_NAME);
  for (const char* path : {"new\nline.txt", "quote\".txt", "-rf.txt", "\xe2\x98\x95.txt", " .txt", "*.txt"}) {
    ASSERT_TRUE(outcome.files.contains(path)) << path;
    EXPECT_EQ(outcome.files.at(path), "x") << path;
  }
  EXPECT_NE(outcome.Listed("back\\x5Cslash.txt"), nullptr) << "a backslash is escaped, too";
  EXPECT_TRUE(outcome.files.contains(std::string(251, 'a') + ".txt"));
}

TEST_F(FilesTest, Case31_ASparseTebibyteIsNotRead) {
  auto request = ProgramFile("sparse_tebibyte.py");
  request.add_output_globs("b");
  const Outcome outcome = Execute(request);
  ASSERT_TRUE(Exited(outcome, 0));
  EXPECT_LT(outcome.RunTime(), absl::Seconds(8));
  ASSERT_NE(outcome.Listed("b"), nullptr);
  if (outcome.out == "made\n") {
    EXPECT_EQ(outcome.Listed("b")->size(), int64_t{1} << 40);
    EXPECT_EQ(outcome.Listed("b")->omission(), v1::OMISSION_TOO_LARGE);
  } else {
    EXPECT_TRUE(absl::StartsWith(outcome.out, "refused")) << outcome.out;
    EXPECT_EQ(outcome.Listed("b")->size(), 0);
  }
}

TEST_F(FilesTest, Case32_PathsThatLeaveAreRefused) {
  struct Row {
    const char* what;
    std::vector<std::string> paths;
  };
  const std::vector<Row> rows = {
      {"parent", {"../x"}},
      {"absolute", {"/etc/x"}},
      {"parent in the middle", {"a/../../b"}},
      {"parent that stays inside", {"a/../b"}},
      {"NUL", {std::string("a\0b", 3)}},
      {"empty", {""}},
      {"dot", {"."}},
      {"dot dot", {".."}},
      {"dot part", {"a/./b"}},
      {"empty part", {"a//b"}},
      {"trailing slash", {"a/"}},
      {"below a file", {"a", "a/b"}},
      {"below a file, the other way", {"a/b", "a"}},
      {"below a file, with a neighbour between", {"a", "a-b", "a/b"}},
      {"duplicate", {"x", "x"}},
      {"too long", {std::string(513, 'a')}},
      {"the main file", {"main.py"}},
      {"below the main file", {"main.py/x"}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    auto request = Program("python", "print(1)");
    for (const std::string& path : row.paths) AddFile(request, path, "x");
    const Outcome outcome = Execute(request);
    EXPECT_EQ(outcome.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << Describe(outcome);
    EXPECT_TRUE(outcome.events.empty()) << "before anything starts";
    bool named = false;
    for (const std::string& field : BadFields(outcome.status)) named = named || absl::StartsWith(field, "files");
    EXPECT_TRUE(named) << Describe(outcome.status);
  }
}

TEST_F(FilesTest, Case32_UnusualButGoodPathsWork) {
  auto request = Program("bash", "cat ./-rf; cat '..x'; cat 'a b/...'; cat \"$1\"");
  AddFile(request, "-rf", "1");
  AddFile(request, "..x", "2");
  AddFile(request, "a b/...", "3");
  const std::string long_path = std::string(255, 'l') + "/" + std::string(255, 'm');
  AddFile(request, long_path, "4");
  request.add_args(long_path);
  const Outcome outcome = Execute(request);
  EXPECT_TRUE(Exited(outcome, 0));
  EXPECT_EQ(outcome.out, "1234");
}

TEST_F(FilesTest, Case34_NothingIsLeftForTheNext) {
  Concurrently(Repeat(3, 10), [&](int i) {
    auto leaves = ProgramFile("leaves_state.py");
    leaves.add_args(absl::StrCat(i));
    const Outcome left = Execute(leaves);
    EXPECT_TRUE(Exited(left, 0));
    EXPECT_NE(left.out, "0\n") << "it could leave nothing: the test tests nothing";
    const Outcome found = Execute(ProgramFile("finds_state.py"));
    EXPECT_TRUE(Exited(found, 0));
    EXPECT_EQ(found.out, "clean\n");
  });
}

}  // namespace
}  // namespace mayfly::test
