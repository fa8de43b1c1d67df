#include "worker/runner/file_sender.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "policy/utf8.h"
#include "worker/runner/workspace.h"

namespace mayfly::runner {
namespace {

constexpr mode_t kModeMask = 0777;

// Reads until `buffer` holds `wanted` bytes. False when the file ends before or cannot be read.
bool ReadFully(int fd, char* buffer, size_t wanted) {
  size_t have = 0;
  while (have < wanted) {
    const ssize_t count = read(fd, buffer + have, wanted - have);
    if (count == 0 || (count < 0 && errno != EINTR)) return false;
    if (count > 0) have += static_cast<size_t>(count);
  }
  return true;
}

}  // namespace

FileSender::FileSender(int workspace, int64_t bytes_max, WorkerChannel* channel)
    : workspace_(workspace),
      channel_(channel),
      bytes_left_(std::max<int64_t>(bytes_max, 0)),
      buffer_(new char[kDataBytesMax]) {}

absl::Status FileSender::Send(const FileListing& listing) {
  for (const ListedFile& file : listing.files) {
    absl::Status sent = SendFile(file);
    if (!sent.ok()) return sent;
  }
  v1::FromRunner done;
  done.mutable_done()->set_files_unlisted(listing.unlisted);
  return channel_->Write(done);
}

absl::Status FileSender::SendFile(const ListedFile& file) {
  if (!policy::IsUtf8(file.path)) return SendHeader(file, Omission::kName);
  if (!file.regular) return SendHeader(file, Omission::kNotRegular);
  ListedFile announced = file;
  UniqueFd fd;
  const Omission omission = Open(file, &fd, &announced.size);
  if (omission != Omission::kNone) return SendHeader(announced, omission);
  if (announced.size > bytes_left_) return SendHeader(announced, Omission::kTooLarge);

  // The first part is read before the file is announced: by then, one that cannot be read has shown itself.
  int64_t left = announced.size;
  size_t part = static_cast<size_t>(std::min<int64_t>(left, kDataBytesMax));
  if (!ReadFully(fd.get(), buffer_.get(), part)) return SendHeader(announced, Omission::kUnreadable);
  bytes_left_ -= announced.size;
  absl::Status sent = SendHeader(announced, Omission::kNone);
  while (sent.ok() && left > 0) {
    sent = SendData(absl::string_view(buffer_.get(), part));
    left -= static_cast<int64_t>(part);
    part = static_cast<size_t>(std::min<int64_t>(left, kDataBytesMax));
    if (sent.ok() && !ReadFully(fd.get(), buffer_.get(), part)) {
      return absl::DataLossError(absl::StrCat("output file ", announced.escaped_path, " ended early"));
    }
  }
  return sent;
}

Omission FileSender::Open(const ListedFile& file, UniqueFd* fd, int64_t* size) const {
  const SplitPath split = SplitLastName(file.path);
  absl::StatusOr<UniqueFd> directory = OpenDirectory(workspace_, split.directory, /*create=*/false);
  if (!directory.ok()) return Omission::kUnreadable;
  // Non-blocking and not a controlling terminal: harmless should it be no regular file after all.
  *fd = UniqueFd(openat(directory->get(), std::string(split.name).c_str(),
                        O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd->valid()) return Omission::kUnreadable;
  struct stat root {};
  struct stat info {};
  if (fstat(workspace_, &root) != 0 || fstat(fd->get(), &info) != 0) return Omission::kUnreadable;
  if (!S_ISREG(info.st_mode) || info.st_dev != root.st_dev) return Omission::kNotRegular;
  *size = info.st_size;
  return Omission::kNone;
}

absl::Status FileSender::SendHeader(const ListedFile& file, Omission omission) {
  v1::FromRunner frame;
  v1::FileHeader* header = frame.mutable_file_header();
  header->set_path(file.escaped_path);
  header->set_size(file.size);
  header->set_mode(file.mode & kModeMask);
  header->set_omission(static_cast<int32_t>(omission));
  return channel_->Write(frame);
}

absl::Status FileSender::SendData(absl::string_view data) {
  v1::FromRunner frame;
  frame.set_file_data(data.data(), data.size());
  return channel_->Write(frame);
}

}  // namespace mayfly::runner
