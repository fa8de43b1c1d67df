// Who the runner is to the kernel: root with CAP_SETUID, CAP_SETGID, CAP_SETPCAP and CAP_KILL, or the program's user.
//
// The runner never touches the workspace as root. It writes input files and reads output files as the user that the
// program has, so whatever paths or files it is led to, it can do no more there than the program itself could. It also
// needs no CAP_CHOWN and no CAP_DAC_OVERRIDE this way.
#ifndef MAYFLY_WORKER_RUNNER_PROGRAM_IDENTITY_H_
#define MAYFLY_WORKER_RUNNER_PROGRAM_IDENTITY_H_

#include <sys/types.h>

#include "absl/status/status.h"

namespace mayfly::runner {

struct ProgramIdentity {
  uid_t uid = 0;
  gid_t gid = 0;
};

// Takes on the program's user for a while: effective ids only, so that the program's signals and ptrace still find
// root's real and saved ids. No program may run yet. After an error the runner is good for nothing but saying so.
absl::Status AssumeIdentity(ProgramIdentity identity);

// Undoes AssumeIdentity.
absl::Status ResumeRoot();

// Becomes the program's user for good: all ids, no supplementary groups, no capability in any set, no_new_privs.
absl::Status BecomeForGood(ProgramIdentity identity);

}  // namespace mayfly::runner

#endif  // MAYFLY_WORKER_RUNNER_PROGRAM_IDENTITY_H_
