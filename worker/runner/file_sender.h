// Sends the files that the program is to hand back.
#ifndef MAYFLY_WORKER_RUNNER_FILE_SENDER_H_
#define MAYFLY_WORKER_RUNNER_FILE_SENDER_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "mayfly/runner/v1/runner.pb.h"
#include "worker/runner/file_listing.h"
#include "worker/unique_fd.h"
#include "worker/runner/worker_channel.h"

namespace mayfly::runner {

// The values of mayfly.v1.Omission, whose proto the runner does not link.
enum class Omission : int32_t {
  kNone = 0,
  kTooLarge = 1,
  kNotRegular = 2,
  kUnreadable = 3,
  kName = 4,
};

// Announces each listed file with a header and sends the content of those that are regular, readable, well-named and
// fit into what is left of `bytes_max`, in the order of the listing. A file that does not fit is not read at all.
//
// Requires that no process of the program is left: files stay as they are. To be called as the program's user: what
// that may not read (a file of mode 0, say) is unreadable.
class FileSender {
 public:
  // `workspace` and `channel` must outlive the sender.
  FileSender(int workspace, int64_t bytes_max, WorkerChannel* channel);

  // Blocks until the worker has taken everything. Unavailable when the worker went away; DataLoss when a file turned
  // out shorter than announced, after which the stream can't go on.
  absl::Status Send(const FileListing& listing);

 private:
  absl::Status SendFile(const ListedFile& file);
  absl::Status SendHeader(const ListedFile& file, Omission omission);
  absl::Status SendData(absl::string_view data);

  // Opens a listed regular file, and looks again: kNone when `*fd` is a regular file of the workspace's file system.
  Omission Open(const ListedFile& file, UniqueFd* fd, int64_t* size) const;

  const int workspace_;
  WorkerChannel* const channel_;
  int64_t bytes_left_;
  std::unique_ptr<char[]> buffer_;
};

}  // namespace mayfly::runner

#endif  // MAYFLY_WORKER_RUNNER_FILE_SENDER_H_
