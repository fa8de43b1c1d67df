// The stack under test, as the machine sees it: what it holds of containerd, mounts, cgroups, FIFOs and processes.
//
//   const StackCounts before = CountIdleStack();
//   ... executions ...
//   EXPECT_TRUE(SettlesTo(before, absl::Seconds(10)));
//
// Needs root and the MAYFLY_TEST_* variables of service.h; a missing one fails the test. Thread-safe.
#ifndef MAYFLY_TESTS_INTEGRATION_STACK_H_
#define MAYFLY_TESTS_INTEGRATION_STACK_H_

#include <gtest/gtest.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "absl/time/time.h"

namespace mayfly::test {

// Names of what there is, by kind ("containers", "tasks", "snapshots", "leases", "fifos", "mounts", "cgroups",
// "processes").
using StackCounts = std::map<std::string, std::set<std::string>>;

StackCounts CountStack();

// The same once no execution holds a sandbox, not even one that is being torn down: what a test starts from. Fails the
// test when that takes more than 30 s.
StackCounts CountIdleStack();

// True once every kind has as many members as in `before`; false, with the surplus named, when that takes longer.
// Counts are compared, not names: a warm pool may have replaced its sandboxes.
::testing::AssertionResult SettlesTo(const StackCounts& before, absl::Duration at_most);

// Tasks that containerd calls running.
std::set<std::string> RunningTasks();
// True once the number of running tasks is at most `count`.
::testing::AssertionResult RunningTasksFallTo(size_t count, absl::Duration at_most);

// The process that listens on "127.0.0.1:port", or -1.
pid_t ListenerOf(const std::string& address);
// Resident memory of a process, in bytes.
int64_t ResidentBytes(pid_t pid);
// Open descriptors of a process.
int64_t OpenDescriptors(pid_t pid);

}  // namespace mayfly::test

#endif  // MAYFLY_TESTS_INTEGRATION_STACK_H_
