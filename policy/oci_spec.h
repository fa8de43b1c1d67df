// OCI spec: the sandbox as an OCI runtime configuration. This is where "nothing gets out" is written down: what is not
// granted here, the sandbox does not have.
//
// The spec describes the runner's container. It holds nothing of a request, so that a sandbox can be made before the
// request for it arrives. The result is made for runsc; plain runc
// takes it, too, but counts RLIMIT_NPROC for the program's user over all its sandboxes.
#ifndef MAYFLY_POLICY_OCI_SPEC_H_
#define MAYFLY_POLICY_OCI_SPEC_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace mayfly::policy {

// "nobody" of most distributions. The runner becomes it before it executes the program.
inline constexpr uint32_t kProgramUid = 65534;
inline constexpr uint32_t kProgramGid = 65534;
// The program's working directory, the only place besides /tmp and /dev/shm where it can write.
inline constexpr absl::string_view kWorkspacePath = "/workspace";
// Where the root file system holds the runner, which the worker lays over the image.
inline constexpr absl::string_view kRunnerPath = "/.mayfly/runner";

struct SandboxSpec {
  std::string cgroup_path;  // absolute, and fresh: an existing cgroup is joined without applying limits
  std::string hostname;     // what the program sees; nothing of the host's

  int64_t memory_bytes = 0;  // of the whole sandbox, guest kernel and tmpfs included
  double cpus = 0;           // bandwidth
  int processes = 0;         // processes and threads of the program
  int open_files = 0;        // per process
  int64_t workspace_bytes = 0;
  int64_t tmp_bytes = 0;
  int64_t shm_bytes = 0;

  int host_cpus = 1;  // of the machine that runs it; sizes the backstop for gVisor's own threads

  std::map<std::string, std::string> annotations;  // for the runtime, e.g. dev.gvisor.spec.rootfs.type
};

// The spec as JSON (config.json). Requires sane values (paths absolute, numbers positive): they are the operator's, and
// checked when the configuration is read. Thread-safe.
std::string BuildOciSpec(const SandboxSpec& sandbox);

// CPU bandwidth as the kernel takes it: so many microseconds of CPU time in each period.
inline constexpr int64_t kCpuPeriodMicros = 100000;
int64_t CpuQuotaMicros(double cpus);

// The host's pids limit of a sandbox; see the reason in oci_spec.cc.
int64_t HostPidsLimit(int processes, int host_cpus);

}  // namespace mayfly::policy

#endif  // MAYFLY_POLICY_OCI_SPEC_H_
