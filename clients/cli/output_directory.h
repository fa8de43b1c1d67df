// OutputDirectory: where files that come out of a sandbox are put, and the only place they can be put.
//
// The names come from hostile code through a service that is only half trusted. So a name is walked one component at a
// time from a descriptor of the directory, with O_NOFOLLOW: no absolute path, no "..", and no link that was put in the
// way, before or meanwhile, leads outside. A file that is there already is replaced, never written through; it is
// created with mode 0644 less the umask, whatever mode it had in the sandbox. A file whose parts stop coming is
// removed.
//
//   auto dir = OutputDirectory::Open("out");
//   (*dir)->Write("a/b.txt", 0, "hel");  (*dir)->Write("a/b.txt", 3, "lo");  (*dir)->Finish();
//
// Not thread-safe. All methods block on the disk.
#ifndef MAYFLY_CLIENTS_CLI_OUTPUT_DIRECTORY_H_
#define MAYFLY_CLIENTS_CLI_OUTPUT_DIRECTORY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/cli/unique_fd.h"

namespace mayfly::cli {

class OutputDirectory {
 public:
  // A service lists at most 256 files.
  static constexpr size_t kFilesMax = 256;

  // Opens `path`, made with its parents when missing. The path is the user's own, so links in it are followed.
  static absl::StatusOr<std::unique_ptr<OutputDirectory>> Open(const std::string& path);

  // Removes the file that is not finished.
  ~OutputDirectory();
  OutputDirectory(const OutputDirectory&) = delete;
  OutputDirectory& operator=(const OutputDirectory&) = delete;

  // Writes the next part of a file; another path, with offset 0, finishes the file before. InvalidArgument for a path
  // that is refused, DataLoss for parts out of order or a file that comes twice, else the error of the file system.
  absl::Status Write(absl::string_view path, int64_t offset, absl::string_view data);

  // Finishes the last file.
  absl::Status Finish();

  // Removes a finished file: the service could send only a part of it. OK when there is no such file.
  absl::Status Discard(absl::string_view path);

  // The finished files and their sizes, by path as given.
  const std::map<std::string, int64_t>& files() const { return files_; }

 private:
  explicit OutputDirectory(UniqueFd root) : root_(std::move(root)) {}

  // A directory below the root, and a name in it.
  struct Place {
    UniqueFd parent;
    std::string name;
  };

  // Walks to where `path` is or shall be; makes directories that are missing.
  absl::StatusOr<Place> Reach(absl::string_view path) const;
  absl::Status Begin(absl::string_view path);

  const UniqueFd root_;
  std::map<std::string, int64_t> files_;

  // The file being written; `file_` is invalid when there is none.
  std::string path_;
  Place place_;
  UniqueFd file_;
  int64_t size_ = 0;
};

// The components of a path relative to the directory, or InvalidArgument: it must be 1 to 4,096 bytes without NUL, not
// absolute, and no component may be empty, "." or "..".
absl::StatusOr<std::vector<std::string>> SplitSafePath(absl::string_view path);

}  // namespace mayfly::cli

#endif  // MAYFLY_CLIENTS_CLI_OUTPUT_DIRECTORY_H_
