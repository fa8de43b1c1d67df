// Which files of the workspace match the job's output globs.
#ifndef MAYFLY_WORKER_RUNNER_FILE_LISTING_H_
#define MAYFLY_WORKER_RUNNER_FILE_LISTING_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "worker/runner/glob.h"

namespace mayfly::runner {

struct ListedFile {
  std::string path;          // relative, as the program named it
  std::string escaped_path;  // the same as UTF-8; see EscapeToUtf8
  bool regular = false;      // else a link, FIFO, socket or device
  int64_t size = 0;          // 0 unless regular
  mode_t mode = 0;           // permission bits
};

struct FileListing {
  std::vector<ListedFile> files;  // by escaped_path, bytewise, each path once
  // Matches beyond those, as far as they were counted; plus one if the walk did not see all: it met a directory that
  // it could not read, one that was too deep, or too many entries.
  int64_t unlisted = 0;
};

// Bounds of one walk, whatever the program has left behind.
inline constexpr int kEntriesVisitedMax = 10'000;
inline constexpr int kDepthMax = 32;  // directories below one another

// Walks the workspace without following links or entering directories in which nothing can match. Directories are not
// listed themselves. At most `files_max` files; at most kEntriesVisitedMax entries and directories kDepthMax deep are
// looked at. A path longer than kPathBytesMax when escaped counts as unlisted.
FileListing ListFiles(int workspace, const GlobSet& globs, int files_max);

}  // namespace mayfly::runner

#endif  // MAYFLY_WORKER_RUNNER_FILE_LISTING_H_
