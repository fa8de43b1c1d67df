// The program: the one untrusted process that the runner starts, with three pipes and nothing else of the runner's.
#ifndef MAYFLY_WORKER_RUNNER_PROGRAM_H_
#define MAYFLY_WORKER_RUNNER_PROGRAM_H_

#include <sys/types.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "mayfly/runner/v1/runner.pb.h"
#include "worker/runner/program_identity.h"
#include "worker/unique_fd.h"

namespace mayfly::runner {

struct Program {
  pid_t pid = -1;
  // Our ends of its pipes; non-blocking.
  UniqueFd stdin_writer;
  UniqueFd stdout_reader;
  UniqueFd stderr_reader;
};

// InvalidArgument unless `job` has an absolute argv[0], a uid and a gid that are not 0, and strings without NULs.
absl::Status CheckJob(const v1::Job& job);

// Starts the program of a checked job and returns once it has been executed. It begins in a session of its own, in the
// directory `workspace`, with umask 022, every signal at its default and none blocked, the job's user and group, no
// supplementary groups, no capabilities, no_new_privs, descriptors 0, 1 and 2 being pipes, and no other descriptor,
// provided that all of the caller's from 3 on are close-on-exec. Resource limits are inherited.
//
// When it cannot be executed the error says what failed ("executing /usr/bin/python3: No such file or directory") and
// there is no process. Blocks for as long as execve takes.
absl::StatusOr<Program> StartProgram(const v1::Job& job, int workspace);

}  // namespace mayfly::runner

#endif  // MAYFLY_WORKER_RUNNER_PROGRAM_H_
