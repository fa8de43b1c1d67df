#include "tests/unit/worker/temp_dir.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace mayfly::worker {

namespace fs = std::filesystem;

TempDir::TempDir() : path_((fs::temp_directory_path() / "mayfly-test-XXXXXX").string()) {
  if (mkdtemp(path_.data()) == nullptr) abort();
}

TempDir::~TempDir() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string TempDir::Write(absl::string_view name, absl::string_view content) const {
  const fs::path path = fs::path(path_) / std::string(name);
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
  return path.string();
}

int TempDir::Entries(const std::string& path) {
  return static_cast<int>(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
}

}  // namespace mayfly::worker
