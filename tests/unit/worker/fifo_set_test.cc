#include "worker/fifo_set.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "tests/unit/worker/temp_dir.h"

namespace mayfly::worker {
namespace {

TEST(FifoSetTest, MakesThreeFifosThatOnlyWeMayOpen) {
  const TempDir dir;
  auto fifos = FifoSet::Create(dir.path(), "mf-1");
  ASSERT_TRUE(fifos.ok()) << fifos.status();
  struct stat info;
  ASSERT_EQ(stat((dir.path() + "/mf-1").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  const TaskStdio paths = (*fifos)->paths();
  for (const std::string& path : {paths.stdin_path, paths.stdout_path, paths.stderr_path}) {
    ASSERT_EQ(stat(path.c_str(), &info), 0) << path;
    EXPECT_TRUE(S_ISFIFO(info.st_mode)) << path;
    EXPECT_EQ(info.st_mode & 07777, 0600u) << path;
  }
}

TEST(FifoSetTest, CarriesBytesBothWaysWithoutBlocking) {
  const TempDir dir;
  auto fifos = FifoSet::Create(dir.path(), "mf-1");
  ASSERT_TRUE(fifos.ok()) << fifos.status();
  const TaskStdio paths = (*fifos)->paths();
  char buffer[16];
  // Nobody has the other end yet: not an end of file that poll() would tell of, and no SIGPIPE.
  pollfd waiting = {(*fifos)->stdout_fd(), POLLIN, 0};
  EXPECT_EQ(poll(&waiting, 1, 0), 0);
  EXPECT_EQ(write((*fifos)->stdin_fd(), "job", 3), 3);

  const int out = open(paths.stdout_path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(out, 0) << "we must be reading already";
  EXPECT_EQ(read((*fifos)->stdout_fd(), buffer, sizeof(buffer)), -1);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_EQ(write(out, "frame", 5), 5);
  EXPECT_EQ(read((*fifos)->stdout_fd(), buffer, sizeof(buffer)), 5);
  close(out);
  EXPECT_EQ(read((*fifos)->stdout_fd(), buffer, sizeof(buffer)), 0);

  const int in = open(paths.stdin_path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(in, 0);
  EXPECT_EQ(read(in, buffer, sizeof(buffer)), 3);
  close(in);
}

TEST(FifoSetTest, DescriptorsAreNotInherited) {
  const TempDir dir;
  auto fifos = FifoSet::Create(dir.path(), "mf-1");
  ASSERT_TRUE(fifos.ok()) << fifos.status();
  for (const int fd : {(*fifos)->stdin_fd(), (*fifos)->stdout_fd(), (*fifos)->stderr_fd()}) {
    EXPECT_NE(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
  }
}

TEST(FifoSetTest, LeavesNothing) {
  const TempDir dir;
  {
    auto fifos = FifoSet::Create(dir.path(), "mf-1");
    ASSERT_TRUE(fifos.ok()) << fifos.status();
  }
  EXPECT_EQ(TempDir::Entries(dir.path()), 0);
}

TEST(FifoSetTest, NeverSharesADirectory) {
  const TempDir dir;
  auto first = FifoSet::Create(dir.path(), "mf-1");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(absl::IsAlreadyExists(FifoSet::Create(dir.path(), "mf-1").status()));
  // The refused one has not taken the first one's away.
  EXPECT_TRUE(std::filesystem::exists((*first)->paths().stdin_path));
}

TEST(FifoSetTest, SaysWhichDirectoryIsMissing) {
  const TempDir dir;
  const absl::Status status = FifoSet::Create(dir.path() + "/none", "mf-1").status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_NE(status.message().find(dir.path() + "/none/mf-1"), std::string::npos) << status;
}

}  // namespace
}  // namespace mayfly::worker
