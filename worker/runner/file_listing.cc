#include "worker/runner/file_listing.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "worker/runner/frame_codec.h"
#include "worker/unique_fd.h"
#include "policy/utf8.h"
#include "worker/runner/workspace.h"

namespace mayfly::runner {
namespace {

constexpr mode_t kModeMask = 0777;

struct DirectoryCloser {
  void operator()(DIR* directory) const { closedir(directory); }
};
using DirectoryStream = std::unique_ptr<DIR, DirectoryCloser>;

class Walk {
 public:
  Walk(int workspace, const GlobSet& globs) : workspace_(workspace), globs_(globs) {}

  void Visit(const std::string& path, const GlobSet::Positions& positions, int depth);

  std::vector<ListedFile> TakeFiles() { return std::move(files_); }
  int64_t unlisted() const { return too_long_ + (incomplete_ ? 1 : 0); }

 private:
  DirectoryStream Open(const std::string& path);
  void Add(std::string path, const struct stat& info);

  const int workspace_;
  const GlobSet& globs_;
  std::vector<ListedFile> files_;
  int visited_ = 0;
  int64_t too_long_ = 0;
  bool incomplete_ = false;
};

DirectoryStream Walk::Open(const std::string& path) {
  absl::StatusOr<UniqueFd> fd = OpenDirectory(workspace_, path, /*create=*/false);
  if (!fd.ok()) return nullptr;
  DirectoryStream stream(fdopendir(fd->get()));
  if (stream != nullptr) fd->Release();
  return stream;
}

void Walk::Add(std::string path, const struct stat& info) {
  std::string escaped = policy::EscapeToUtf8(path);
  if (escaped.size() > kPathBytesMax) {
    ++too_long_;
    return;
  }
  const bool regular = S_ISREG(info.st_mode);
  files_.push_back(
      {std::move(path), std::move(escaped), regular, regular ? int64_t{info.st_size} : 0, info.st_mode & kModeMask});
}

void Walk::Visit(const std::string& path, const GlobSet::Positions& positions, int depth) {
  // What is below is visited when the stream is closed: one descriptor, whatever the depth.
  std::vector<std::string> below;
  DirectoryStream stream = Open(path);
  if (stream == nullptr) {
    incomplete_ = true;
    return;
  }
  while (const dirent* entry = readdir(stream.get())) {
    const absl::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (++visited_ > kEntriesVisitedMax) {
      incomplete_ = true;
      return;
    }
    const bool matches = globs_.MatchesFile(positions, name);
    const bool leads_on = !globs_.Enter(positions, name).empty();
    if (!matches && !leads_on) continue;
    struct stat info {};
    if (fstatat(dirfd(stream.get()), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
      incomplete_ = true;
    } else if (!S_ISDIR(info.st_mode)) {
      if (matches) Add(path.empty() ? std::string(name) : absl::StrCat(path, "/", name), info);
    } else if (leads_on) {
      below.emplace_back(name);
    }
  }
  stream.reset();
  if (depth == kDepthMax && !below.empty()) {
    incomplete_ = true;
    return;
  }
  for (const std::string& name : below) {
    if (visited_ > kEntriesVisitedMax) return;
    Visit(path.empty() ? name : absl::StrCat(path, "/", name), globs_.Enter(positions, name), depth + 1);
  }
}

}  // namespace

FileListing ListFiles(int workspace, const GlobSet& globs, int files_max) {
  FileListing listing;
  const GlobSet::Positions root = globs.Root();
  if (root.empty()) return listing;
  Walk walk(workspace, globs);
  walk.Visit("", root, 0);
  listing.files = walk.TakeFiles();
  listing.unlisted = walk.unlisted();
  std::sort(listing.files.begin(), listing.files.end(),
            [](const ListedFile& a, const ListedFile& b) { return a.escaped_path < b.escaped_path; });
  const auto kept = std::min(listing.files.size(), static_cast<size_t>(std::max(files_max, 0)));
  listing.unlisted += static_cast<int64_t>(listing.files.size() - kept);
  listing.files.resize(kept);
  return listing;
}

}  // namespace mayfly::runner
