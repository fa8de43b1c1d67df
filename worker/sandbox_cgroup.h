// SandboxCgroup reads what the host's kernel counted about a sandbox, evidence that nothing inside can forge, and sets
// its CPU bandwidth.
//
// Works with cgroup v1 and v2. Read it before the task is deleted: the runtime removes the cgroup then. All methods are
// a few small files, thread-safe; those that read answer nullopt when the file is not there.
#ifndef MAYFLY_WORKER_SANDBOX_CGROUP_H_
#define MAYFLY_WORKER_SANDBOX_CGROUP_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace mayfly::worker {

class SandboxCgroup {
 public:
  // `path` as in the OCI spec, e.g. "/mayfly/mf-3f2a". `root` is where cgroups are mounted.
  explicit SandboxCgroup(absl::string_view path, absl::string_view root = "/sys/fs/cgroup");

  // Processes that the kernel killed because the sandbox was out of memory.
  std::optional<int64_t> oom_kills() const;
  // Highest memory use so far, in bytes.
  std::optional<int64_t> memory_peak() const;
  // CPU time used so far, user and system.
  std::optional<absl::Duration> cpu_time() const;

  // Limits the sandbox to `cpus` from now on. An error when that could not be done.
  absl::Status SetCpuBandwidth(double cpus) const;

 private:
  std::string memory_v1_, cpuacct_v1_, cpu_v1_, v2_;  // directories
};

}  // namespace mayfly::worker

#endif  // MAYFLY_WORKER_SANDBOX_CGROUP_H_
