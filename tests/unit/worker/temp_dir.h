// TempDir: a directory of a test's own, gone with it.
#ifndef MAYFLY_TESTS_UNIT_WORKER_TEMP_DIR_H_
#define MAYFLY_TESTS_UNIT_WORKER_TEMP_DIR_H_

#include <string>

#include "absl/strings/string_view.h"

namespace mayfly::worker {

class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }

  // Writes a file below it, parents included; returns its path.
  std::string Write(absl::string_view name, absl::string_view content) const;

  // Number of entries directly in `path`.
  static int Entries(const std::string& path);

 private:
  std::string path_;
};

}  // namespace mayfly::worker

#endif  // MAYFLY_TESTS_UNIT_WORKER_TEMP_DIR_H_
