#include "worker/runner/program_identity.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mayfly::runner {
namespace {

// Above every capability there is or may come to be.
constexpr int kCapabilitiesEnd = 64;

constexpr uid_t kKeep = static_cast<uid_t>(-1);

// While the effective set still has CAP_SETPCAP.
absl::Status DropBoundingSet() {
  for (int capability = 0; capability < kCapabilitiesEnd; ++capability) {
    if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0) continue;
    if (errno == EINVAL) return absl::OkStatus();  // beyond the last one
    return absl::ErrnoToStatus(errno, "dropping the bounding set of capabilities");
  }
  return absl::OkStatus();
}

absl::Status DropCapabilities() {
  // Old kernels have no ambient set: nothing to clear then.
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 && errno != EINVAL) {
    return absl::ErrnoToStatus(errno, "clearing the ambient capabilities");
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  if (syscall(SYS_capset, &header, none) != 0) return absl::ErrnoToStatus(errno, "dropping the capabilities");
  return absl::OkStatus();
}

}  // namespace

absl::Status AssumeIdentity(ProgramIdentity identity) {
  // The group first: without the user's effective 0 there is no CAP_SETGID.
  if (setresgid(kKeep, identity.gid, kKeep) != 0) return absl::ErrnoToStatus(errno, "taking on the program's group");
  if (setresuid(kKeep, identity.uid, kKeep) != 0) return absl::ErrnoToStatus(errno, "taking on the program's user");
  return absl::OkStatus();
}

absl::Status ResumeRoot() {
  if (setresuid(kKeep, 0, kKeep) != 0) return absl::ErrnoToStatus(errno, "becoming root again");
  if (setresgid(kKeep, 0, kKeep) != 0) return absl::ErrnoToStatus(errno, "becoming group root again");
  return absl::OkStatus();
}

absl::Status BecomeForGood(ProgramIdentity identity) {
  absl::Status dropped = DropBoundingSet();
  if (!dropped.ok()) return dropped;
  if (setgroups(0, nullptr) != 0) return absl::ErrnoToStatus(errno, "leaving the supplementary groups");
  if (setresgid(identity.gid, identity.gid, identity.gid) != 0) {
    return absl::ErrnoToStatus(errno, "becoming the program's group");
  }
  if (setresuid(identity.uid, identity.uid, identity.uid) != 0) {
    return absl::ErrnoToStatus(errno, "becoming the program's user");
  }
  dropped = DropCapabilities();
  if (!dropped.ok()) return dropped;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return absl::ErrnoToStatus(errno, "setting no_new_privs");
  return absl::OkStatus();
}

}  // namespace mayfly::runner
