// SandboxCgroup on the files of both cgroup versions, as the kernel writes them.
#include "worker/sandbox_cgroup.h"

#include <gtest/gtest.h>

#include "tests/unit/worker/temp_dir.h"

namespace mayfly::worker {
namespace {

class SandboxCgroupTest : public ::testing::Test {
 protected:
  TempDir root_;
  const SandboxCgroup cgroup_{"/mayfly/mf-1", root_.path()};
};

TEST_F(SandboxCgroupTest, ReadsVersion1) {
  root_.Write("memory/mayfly/mf-1/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
  root_.Write("memory/mayfly/mf-1/memory.max_usage_in_bytes", "134217728\n");
  root_.Write("cpuacct/mayfly/mf-1/cpuacct.usage", "1234567890\n");
  EXPECT_EQ(cgroup_.oom_kills(), 2);
  EXPECT_EQ(cgroup_.memory_peak(), 134217728);
  EXPECT_EQ(cgroup_.cpu_time(), absl::Nanoseconds(1234567890));
}

TEST_F(SandboxCgroupTest, ReadsVersion2) {
  root_.Write("mayfly/mf-1/memory.events", "low 0\nhigh 0\nmax 312\noom 4\noom_kill 3\noom_group_kill 1\n");
  root_.Write("mayfly/mf-1/memory.peak", "4096\n");
  root_.Write("mayfly/mf-1/cpu.stat", "usage_usec 1500\nuser_usec 1000\nsystem_usec 500\n");
  EXPECT_EQ(cgroup_.oom_kills(), 3);
  EXPECT_EQ(cgroup_.memory_peak(), 4096);
  EXPECT_EQ(cgroup_.cpu_time(), absl::Microseconds(1500));
}

TEST_F(SandboxCgroupTest, HasNothingToSayOfACgroupThatIsNotThere) {
  EXPECT_EQ(cgroup_.oom_kills(), std::nullopt);
  EXPECT_EQ(cgroup_.memory_peak(), std::nullopt);
  EXPECT_EQ(cgroup_.cpu_time(), std::nullopt);
}

// Linux before 4.13 has no oom_kill line; memory.peak came with 5.19.
TEST_F(SandboxCgroupTest, HasNothingToSayWithoutTheLine) {
  root_.Write("memory/mayfly/mf-1/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\n");
  root_.Write("mayfly/mf-1/memory.peak", "max\n");
  root_.Write("mayfly/mf-1/cpu.stat", "");
  EXPECT_EQ(cgroup_.oom_kills(), std::nullopt);
  EXPECT_EQ(cgroup_.memory_peak(), std::nullopt);
  EXPECT_EQ(cgroup_.cpu_time(), std::nullopt);
}

}  // namespace
}  // namespace mayfly::worker
