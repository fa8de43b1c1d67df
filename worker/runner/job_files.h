// The job's input files, written into the workspace before the program starts.
//
// The worker has checked the paths already; here each is checked again and made name by name without following links,
// so that not even a wrong worker makes the runner write elsewhere. The caller has taken on the program's identity, to
// whom the files then belong, and has cleared the umask.
#ifndef MAYFLY_WORKER_RUNNER_JOB_FILES_H_
#define MAYFLY_WORKER_RUNNER_JOB_FILES_H_

#include <string>

#include "absl/status/status.h"
#include "mayfly/runner/v1/runner.pb.h"
#include "worker/unique_fd.h"

namespace mayfly::runner {

class JobFiles {
 public:
  // `workspace` is its directory and must outlive this object.
  explicit JobFiles(int workspace) : workspace_(workspace) {}

  // Writes one part of a file. The first part creates it, parents included; mode 0 means 0644. InvalidArgument for a
  // path that leads elsewhere and for parts out of order, AlreadyExists for a file (or link, or anything) that is
  // there, else the error of the system call, each naming the path.
  absl::Status Write(const v1::InputData& part);

 private:
  absl::Status Create(const v1::InputData& part);

  const int workspace_;
  std::string path_;  // of the file under way
  UniqueFd file_;
};

}  // namespace mayfly::runner

#endif  // MAYFLY_WORKER_RUNNER_JOB_FILES_H_
