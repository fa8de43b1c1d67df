#include "tests/integration/stack.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "tests/integration/command.h"
#include "tests/integration/metrics_page.h"
#include "tests/integration/service.h"

namespace mayfly::test {
namespace {

namespace fs = std::filesystem;

std::string EnvOr(const char* name, std::string fallback) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : fallback;
}

std::string Slurp(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string ContainerdSocket() {
  std::string socket = RequiredEnv("MAYFLY_TEST_CONTAINERD");
  if (absl::StartsWith(socket, "unix:")) socket = socket.substr(5);
  while (absl::StartsWith(socket, "//")) socket = socket.substr(1);
  return socket;
}

// First word of each line that `ctr ARGS...` prints.
std::set<std::string> Ctr(const std::vector<std::string>& args) {
  std::vector<std::string> argv = {RequiredEnv("MAYFLY_TEST_CTR"), "--address", ContainerdSocket(), "--namespace",
                                   EnvOr("MAYFLY_TEST_NAMESPACE", "mayfly")};
  argv.insert(argv.end(), args.begin(), args.end());
  const CommandResult result = RunCommand(argv);
  EXPECT_EQ(result.exit_code, 0) << "ctr " << args[0] << ": " << result.err;
  std::set<std::string> names;
  for (absl::string_view line : absl::StrSplit(result.out, '\n', absl::SkipWhitespace())) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    if (!words.empty()) names.emplace(words[0]);
  }
  return names;
}

std::set<std::string> WithoutHeader(std::set<std::string> names, const char* header) {
  names.erase(header);
  return names;
}

std::set<std::string> Fifos(const std::string& below) {
  std::set<std::string> found;
  std::error_code error;
  auto it = fs::recursive_directory_iterator(below, fs::directory_options::skip_permission_denied, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    if (it->is_fifo(ignored)) found.insert(it->path());
  }
  return found;
}

std::set<std::string> Mounts(const std::vector<std::string>& below) {
  std::set<std::string> found;
  for (absl::string_view line : absl::StrSplit(Slurp("/proc/self/mountinfo"), '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    if (words.size() < 5) continue;
    for (const std::string& dir : below) {
      // The id keeps two mounts on one place apart.
      if (absl::StartsWith(words[4], dir)) found.insert(absl::StrCat(words[4], " ", words[0]));
    }
  }
  return found;
}

// Directories below the sandboxes' parent, in every v1 hierarchy or in the unified one. The parent itself may stay.
std::set<std::string> Cgroups(const std::string& parent) {
  std::set<std::string> found;
  std::vector<fs::path> roots = {"/sys/fs/cgroup"};
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/sys/fs/cgroup", error)) {
    if (entry.is_directory() && !entry.is_symlink()) roots.push_back(entry.path());
  }
  for (const fs::path& root : roots) {
    const fs::path top = root.string() + parent;
    std::error_code none;
    auto it = fs::recursive_directory_iterator(top, none);
    for (; !none && it != fs::recursive_directory_iterator(); it.increment(none)) {
      std::error_code ignored;
      if (it->is_directory(ignored) && !it->is_symlink(ignored)) found.insert(it->path());
    }
  }
  return found;
}

// runsc's and the shims' processes whose command line names this stack's directories or socket.
std::set<std::string> Processes(const std::vector<std::string>& marks) {
  std::set<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string pid = entry.path().filename();
    if (!std::all_of(pid.begin(), pid.end(), [](unsigned char c) { return std::isdigit(c); })) continue;
    std::string line = Slurp(entry.path() / "cmdline");
    std::replace(line.begin(), line.end(), '\0', ' ');
    const bool ours = absl::StrContains(line, "runsc") || absl::StrContains(line, "containerd-shim") ||
                      absl::StrContains(line, "mayfly-runner");
    const bool here =
        std::any_of(marks.begin(), marks.end(), [&](const std::string& mark) { return absl::StrContains(line, mark); });
    if (ours && here) found.insert(absl::StrCat(pid, " ", line.substr(0, 160)));
  }
  return found;
}

}  // namespace

StackCounts CountStack() {
  const std::string run_dir = RequiredEnv("MAYFLY_TEST_RUN_DIR");
  const std::string state_dir = EnvOr("MAYFLY_TEST_STATE_DIR", run_dir);
  const std::string cgroup = RequiredEnv("MAYFLY_TEST_CGROUP");
  const std::string snapshotter = EnvOr("MAYFLY_TEST_SNAPSHOTTER", "overlayfs");
  StackCounts counts;
  if (run_dir.empty() || cgroup.empty()) return counts;
  counts["containers"] = Ctr({"containers", "list", "--quiet"});
  counts["tasks"] = Ctr({"tasks", "list", "--quiet"});
  counts["snapshots"] = WithoutHeader(Ctr({"snapshots", "--snapshotter", snapshotter, "list"}), "KEY");
  counts["leases"] = Ctr({"leases", "list", "--quiet"});
  counts["fifos"] = Fifos(run_dir);
  counts["mounts"] = Mounts({run_dir, state_dir});
  counts["cgroups"] = Cgroups(cgroup);
  counts["processes"] = Processes({run_dir, state_dir, ContainerdSocket()});
  return counts;
}

StackCounts CountIdleStack() {
  const std::string worker = RequiredEnv("MAYFLY_TEST_WORKER_METRICS");
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (!worker.empty() && FetchMetrics(worker).Sum("mayfly_worker_in_flight") > 0) {
    if (absl::Now() > deadline) {
      ADD_FAILURE() << "the worker is still busy after 30 s";
      break;
    }
    absl::SleepFor(absl::Milliseconds(50));
  }
  return CountStack();
}

::testing::AssertionResult SettlesTo(const StackCounts& before, absl::Duration at_most) {
  const absl::Time deadline = absl::Now() + at_most;
  while (true) {
    const StackCounts now = CountStack();
    std::string surplus;
    for (const auto& [kind, names] : now) {
      const auto it = before.find(kind);
      const std::set<std::string> old = it == before.end() ? std::set<std::string>() : it->second;
      if (names.size() == old.size()) continue;
      absl::StrAppend(&surplus, kind, ": ", old.size(), " before, ", names.size(), " now\n");
      int shown = 0;
      for (const std::string& name : names) {
        if (!old.contains(name) && ++shown <= 5) absl::StrAppend(&surplus, "  new: ", name, "\n");
      }
    }
    if (surplus.empty()) return ::testing::AssertionSuccess();
    if (absl::Now() >= deadline) {
      return ::testing::AssertionFailure() << "after " << absl::FormatDuration(at_most) << ":\n" << surplus;
    }
    absl::SleepFor(absl::Milliseconds(200));
  }
}

std::set<std::string> RunningTasks() {
  const CommandResult result = RunCommand({RequiredEnv("MAYFLY_TEST_CTR"), "--address", ContainerdSocket(),
                                           "--namespace", EnvOr("MAYFLY_TEST_NAMESPACE", "mayfly"), "tasks", "list"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::set<std::string> running;
  for (absl::string_view line : absl::StrSplit(result.out, '\n', absl::SkipWhitespace())) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    if (words.size() == 3 && words[2] == "RUNNING") running.emplace(words[0]);
  }
  return running;
}

::testing::AssertionResult RunningTasksFallTo(size_t count, absl::Duration at_most) {
  const absl::Time deadline = absl::Now() + at_most;
  while (true) {
    // The moment is taken before the look: a slow `ctr` is not the service's fault.
    const bool last = absl::Now() >= deadline;
    const size_t running = RunningTasks().size();
    if (running <= count) return ::testing::AssertionSuccess();
    if (last) {
      return ::testing::AssertionFailure()
             << running << " tasks are running after " << absl::FormatDuration(at_most) << ", more than " << count;
    }
    absl::SleepFor(absl::Milliseconds(100));
  }
}

pid_t ListenerOf(const std::string& address) {
  const std::vector<std::string> parts = absl::StrSplit(address, ':');
  int port = 0;
  if (!absl::SimpleAtoi(parts.back(), &port)) return -1;
  const std::string local = absl::StrFormat(":%04X", port);
  std::string inode;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    for (absl::string_view line : absl::StrSplit(Slurp(table), '\n')) {
      const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
      // 0A is LISTEN.
      if (words.size() > 9 && absl::EndsWith(words[1], local) && words[3] == "0A") inode = std::string(words[9]);
    }
  }
  if (inode.empty()) return -1;
  const std::string link = absl::StrCat("socket:[", inode, "]");
  std::error_code error;
  for (const auto& process : fs::directory_iterator("/proc", error)) {
    int pid = 0;
    if (!absl::SimpleAtoi(process.path().filename().string(), &pid)) continue;
    std::error_code gone;
    auto it = fs::directory_iterator(process.path() / "fd", gone);
    for (; !gone && it != fs::directory_iterator(); it.increment(gone)) {
      std::error_code ignored;
      if (fs::read_symlink(it->path(), ignored) == link) return pid;
    }
  }
  return -1;
}

int64_t ResidentBytes(pid_t pid) {
  for (absl::string_view line : absl::StrSplit(Slurp(absl::StrCat("/proc/", pid, "/status")), '\n')) {
    if (!absl::ConsumePrefix(&line, "VmRSS:")) continue;
    int64_t kib = 0;
    line = absl::StripSuffix(absl::StripAsciiWhitespace(line), " kB");
    if (absl::SimpleAtoi(line, &kib)) return kib * 1024;
  }
  return -1;
}

int64_t OpenDescriptors(pid_t pid) {
  std::error_code error;
  int64_t count = 0;
  auto it = fs::directory_iterator(absl::StrCat("/proc/", pid, "/fd"), error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) ++count;
  return error ? -1 : count;
}

}  // namespace mayfly::test
