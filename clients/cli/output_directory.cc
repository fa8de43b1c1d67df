#include "clients/cli/output_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "clients/cli/failure.h"
#include "clients/cli/output_sink.h"

namespace mayfly::cli {
namespace {

constexpr size_t kPathBytesMax = 4096;

absl::Status PathError(absl::string_view what, absl::string_view path, int error) {
  return absl::ErrnoToStatus(error, absl::StrCat(what, " ", PrintableLine(path)));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> SplitSafePath(absl::string_view path) {
  const auto refused = [path](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("refused to write a file named '", PrintableLine(path.substr(0, 256)), "': ", why));
  };
  if (path.empty()) return refused("the name is empty");
  if (path.size() > kPathBytesMax) return refused("the name is too long");
  if (path.find('\0') != absl::string_view::npos) return refused("the name has a NUL byte");
  if (path[0] == '/') return refused("the name is absolute");
  std::vector<std::string> parts = absl::StrSplit(path, '/');
  for (const std::string& part : parts) {
    if (part.empty() || part == "." || part == "..") return refused("a part of it is empty, '.' or '..'");
  }
  return parts;
}

absl::StatusOr<std::unique_ptr<OutputDirectory>> OutputDirectory::Open(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return PathError("cannot make the directory", path, error.value());
  UniqueFd root(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return PathError("cannot open the directory", path, errno);
  return std::unique_ptr<OutputDirectory>(new OutputDirectory(std::move(root)));
}

OutputDirectory::~OutputDirectory() {
  if (file_.valid()) unlinkat(place_.parent.get(), place_.name.c_str(), 0);
}

absl::StatusOr<OutputDirectory::Place> OutputDirectory::Reach(absl::string_view path) const {
  absl::StatusOr<std::vector<std::string>> parts = SplitSafePath(path);
  if (!parts.ok()) return parts.status();
  UniqueFd parent(openat(root_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent.valid()) return PathError("cannot open the directory of", path, errno);
  for (size_t i = 0; i + 1 < parts->size(); ++i) {
    const char* name = (*parts)[i].c_str();
    if (mkdirat(parent.get(), name, 0755) != 0 && errno != EEXIST) {
      return PathError("cannot make the directory of", path, errno);
    }
    UniqueFd child(openat(parent.get(), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!child.valid()) return PathError("cannot open the directory of", path, errno);
    parent = std::move(child);
  }
  return Place{std::move(parent), std::move(parts->back())};
}

absl::Status OutputDirectory::Begin(absl::string_view path) {
  if (files_.size() >= kFilesMax) return absl::DataLossError("the service sent more files than it may");
  if (files_.count(std::string(path)) > 0) {
    return absl::DataLossError(absl::StrCat("the service sent the file ", PrintableLine(path), " twice"));
  }
  absl::StatusOr<Place> place = Reach(path);
  if (!place.ok()) return place.status();
  // What is there is removed, not opened: it may be a link, or have one elsewhere. O_EXCL then refuses a link that was
  // put there meanwhile.
  const char* name = place->name.c_str();
  if (unlinkat(place->parent.get(), name, 0) != 0 && errno != ENOENT) {
    return PathError("cannot replace", path, errno);
  }
  UniqueFd file(openat(place->parent.get(), name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file.valid()) return PathError("cannot create", path, errno);
  path_ = std::string(path);
  place_ = *std::move(place);
  file_ = std::move(file);
  size_ = 0;
  return absl::OkStatus();
}

absl::Status OutputDirectory::Write(absl::string_view path, int64_t offset, absl::string_view data) {
  if (!file_.valid() || path != path_) {
    absl::Status status = Finish();
    if (status.ok()) status = Begin(path);
    if (!status.ok()) return status;
  }
  if (offset != size_) {
    return absl::DataLossError(absl::StrCat("the file ", PrintableLine(path), " came with a gap: a part at ", offset,
                                            " after ", size_, " bytes"));
  }
  const absl::Status written = WriteAll(file_.get(), data);
  if (!written.ok()) {
    return absl::Status(written.code(), absl::StrCat("writing ", PrintableLine(path), ": ", written.message()));
  }
  size_ += static_cast<int64_t>(data.size());
  return absl::OkStatus();
}

absl::Status OutputDirectory::Finish() {
  if (!file_.valid()) return absl::OkStatus();
  file_.Reset();
  place_.parent.Reset();
  files_.emplace(path_, size_);
  return absl::OkStatus();
}

absl::Status OutputDirectory::Discard(absl::string_view path) {
  if (files_.erase(std::string(path)) == 0) return absl::OkStatus();
  const absl::StatusOr<Place> place = Reach(path);
  if (!place.ok()) return place.status();
  if (unlinkat(place->parent.get(), place->name.c_str(), 0) != 0) return PathError("cannot remove", path, errno);
  return absl::OkStatus();
}

}  // namespace mayfly::cli
