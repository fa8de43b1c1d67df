#include "policy/oci_spec.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace mayfly::policy {
namespace {

using nlohmann::json;

constexpr int64_t kCpuQuotaMicrosMin = 1000;  // the kernel refuses less
constexpr int64_t kCpuSharesPerCpu = 1024;
constexpr int64_t kCpuSharesMin = 2;
constexpr int64_t kCpuSharesMax = 262144;

// The runner's own processes: itself and, for the moment between fork and setuid, its child. RLIMIT_NPROC counts per
// uid, so this is no allowance to the program; it only keeps `processes: 1` from stopping the runner's fork.
constexpr int kRunnerProcesses = 2;

json Mount(absl::string_view destination, absl::string_view type, absl::string_view source,
           std::vector<std::string> options) {
  return {{"destination", std::string(destination)},
          {"type", std::string(type)},
          {"source", std::string(source)},
          {"options", std::move(options)}};
}

json Rlimit(absl::string_view type, int64_t value) {
  // Hard equals soft: the program can't raise it, and neither can the runner (it lacks CAP_SYS_RESOURCE).
  return {{"type", std::string(type)}, {"soft", value}, {"hard", value}};
}

json Capabilities() {
  // What PID 1 needs, and no more: to become the program's user (also while it writes the program's files), to
  // take every capability out of the program's bounding set, and to kill it. Execution of the
  // program drops them all: it has another uid, and no_new_privs. Inheritable and ambient sets, which would survive
  // that, stay empty.
  const std::vector<std::string> needed = {"CAP_KILL", "CAP_SETGID", "CAP_SETPCAP", "CAP_SETUID"};
  return {{"bounding", needed},
          {"effective", needed},
          {"permitted", needed},
          {"inheritable", json::array()},
          {"ambient", json::array()}};
}

json Process(const SandboxSpec& sandbox) {
  return {
      {"terminal", false},  // a terminal would rewrite bytes (\n to \r\n, ^D)
      {"user", {{"uid", 0}, {"gid", 0}, {"additionalGids", json::array()}}},
      {"args", {std::string(kRunnerPath)}},
      {"env", {"PATH=/usr/local/bin:/usr/bin:/bin"}},  // the runner's; the program gets its own from the job
      {"cwd", "/"},
      {"noNewPrivileges", true},  // set-uid binaries of the image are ordinary binaries
      {"capabilities", Capabilities()},
      // Inherited by the program. No RLIMIT_FSIZE: the sizes of the tmpfs bound what is written, and a program that
      // fills one should see ENOSPC, not be killed by SIGXFSZ. No RLIMIT_AS: sparse reservations (V8, Go, ASan) are
      // far larger than what they use, and the cgroup bounds that.
      {"rlimits",
       {Rlimit("RLIMIT_NOFILE", sandbox.open_files),
        Rlimit("RLIMIT_NPROC", std::max(sandbox.processes, kRunnerProcesses)),
        // A core would fill the workspace with memory nobody asked for.
        Rlimit("RLIMIT_CORE", 0)}},
      // When the *host* runs out of memory, a sandbox goes before anything else does.
      {"oomScoreAdj", 1000},
  };
}

json Mounts(const SandboxSpec& sandbox) {
  // No /sys: under runc it would tell about the host. (gVisor makes one of its own, which only knows the sandbox.)
  return {
      Mount("/proc", "proc", "proc", {"nosuid", "noexec", "nodev"}),
      // The runtime puts null, zero, full, random, urandom, tty and ptmx in it. Only root could write there.
      Mount("/dev", "tmpfs", "tmpfs", {"nosuid", "noexec", "strictatime", "mode=755", "size=64k"}),
      Mount("/dev/pts", "devpts", "devpts", {"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}),
      Mount("/dev/shm", "tmpfs", "shm",
            {"nosuid", "noexec", "nodev", "mode=1777", absl::StrCat("size=", sandbox.shm_bytes)}),
      // Executable, both: programs compile things and run them.
      Mount("/tmp", "tmpfs", "tmpfs", {"nosuid", "nodev", "mode=1777", absl::StrCat("size=", sandbox.tmp_bytes)}),
      // 0755 and not 0700: the runner's root has no CAP_DAC_OVERRIDE, and there is no third user to hide it from.
      Mount(kWorkspacePath, "tmpfs", "tmpfs",
            {"nosuid", "nodev", "mode=0755", absl::StrCat("uid=", kProgramUid), absl::StrCat("gid=", kProgramGid),
             absl::StrCat("size=", sandbox.workspace_bytes)}),
  };
}

json Device(absl::string_view type, int major, int minor) {
  return {{"allow", true}, {"type", std::string(type)}, {"major", major}, {"minor", minor}, {"access", "rwm"}};
}

json Devices() {
  // First nothing, then what every container has: no disk, no /dev/kvm, no /dev/fuse, no /dev/net/tun.
  return {
      {{"allow", false}, {"access", "rwm"}},
      Device("c", 1, 3),                                                    // null
      Device("c", 1, 5),                                                    // zero
      Device("c", 1, 7),                                                    // full
      Device("c", 1, 8),                                                    // random
      Device("c", 1, 9),                                                    // urandom
      Device("c", 5, 0),                                                    // tty
      Device("c", 5, 2),                                                    // ptmx
      {{"allow", true}, {"type", "c"}, {"major", 136}, {"access", "rwm"}},  // pts/*, of the sandbox's own devpts
  };
}

json Resources(const SandboxSpec& sandbox) {
  const auto shares = static_cast<int64_t>(std::llround(sandbox.cpus * static_cast<double>(kCpuSharesPerCpu)));
  return {
      {"devices", Devices()},
      // `swap` is memory and swap together: no swap. A sandbox over its limit dies, rather than slow everyone down.
      {"memory", {{"limit", sandbox.memory_bytes}, {"swap", sandbox.memory_bytes}}},
      {"cpu",
       {{"period", kCpuPeriodMicros},
        {"quota", CpuQuotaMicros(sandbox.cpus)},
        // When the host is contended, sandboxes share it in proportion to what they were promised.
        {"shares", std::clamp(shares, kCpuSharesMin, kCpuSharesMax)}}},
      {"pids", {{"limit", HostPidsLimit(sandbox.processes, sandbox.host_cpus)}}},
  };
}

json Linux(const SandboxSpec& sandbox) {
  json namespaces = json::array();
  // A new network namespace is empty: no way out, whatever the runtime does with it.
  for (const char* type : {"pid", "mount", "ipc", "uts", "network", "cgroup"}) namespaces.push_back({{"type", type}});
  return {
      {"cgroupsPath", sandbox.cgroup_path},
      {"resources", Resources(sandbox)},
      {"namespaces", namespaces},
      // Docker's lists. They matter under plain runc, where /proc is the host kernel's; gVisor's has little of it.
      {"maskedPaths",
       {"/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
        "/proc/sched_debug", "/proc/scsi", "/proc/timer_list", "/proc/timer_stats", "/sys/devices/virtual/powercap",
        "/sys/firmware"}},
      {"readonlyPaths", {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}},
  };
}

}  // namespace

// kCpuPeriodMicros is the kernel's default. A longer one would make 0.5 CPU a stutter.
int64_t CpuQuotaMicros(double cpus) {
  const auto quota = static_cast<int64_t>(std::llround(cpus * static_cast<double>(kCpuPeriodMicros)));
  return std::max(quota, kCpuQuotaMicrosMin);
}

int64_t HostPidsLimit(int processes, int host_cpus) {
  // Under gVisor the host's pids cgroup counts the sentry's threads and its stubs, not the program's processes, and
  // hitting it panics the sentry. So it is a backstop that only a broken sentry meets, some threads and stubs per guest
  // process and CPU above what RLIMIT_NPROC lets the program have.
  constexpr int64_t kSentryThreads = 40;
  return kSentryThreads + static_cast<int64_t>(processes) * (static_cast<int64_t>(host_cpus) + 1);
}

std::string BuildOciSpec(const SandboxSpec& sandbox) {
  json spec = {
      {"ociVersion", "1.0.2"},
      {"process", Process(sandbox)},
      // Relative to the bundle: containerd mounts the snapshot there. Read-only, so that nothing a program does to the
      // image's files is possible, and gVisor needs no overlay.
      {"root", {{"path", "rootfs"}, {"readonly", true}}},
      {"hostname", sandbox.hostname},
      {"mounts", Mounts(sandbox)},
      {"linux", Linux(sandbox)},
  };
  if (!sandbox.annotations.empty()) spec["annotations"] = sandbox.annotations;
  // Never throws on bytes that are not UTF-8; those are the operator's, and the runtime then refuses the path.
  return spec.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace mayfly::policy
