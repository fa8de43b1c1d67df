#include "clients/cli/execute_request.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cli/quantity.h"
#include "clients/cli/unique_fd.h"

namespace mayfly::cli {
namespace {

struct LocalFile {
  std::string content;
  uint32_t mode = 0;  // permission bits
};

absl::StatusOr<LocalFile> ReadDescriptor(int fd, absl::string_view name) {
  struct stat info;
  if (fstat(fd, &info) != 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", name));
  if (S_ISDIR(info.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat("cannot read ", name, ": it is a directory"));
  }
  LocalFile file;
  file.mode = info.st_mode & 0777;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t got = read(fd, buffer, sizeof(buffer));
    if (got == 0) return file;
    if (got < 0) {
      if (errno == EINTR) continue;
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", name));
    }
    file.content.append(buffer, static_cast<size_t>(got));
    if (file.content.size() > static_cast<size_t>(kLocalFileBytesMax)) {
      return absl::OutOfRangeError(absl::StrCat("cannot send ", name, ": it is larger than ",
                                                FormatByteSize(kLocalFileBytesMax),
                                                ", the most that a request may carry"));
    }
  }
}

absl::StatusOr<LocalFile> ReadFile(const std::string& path, int stdin_fd) {
  if (path == "-") return ReadDescriptor(stdin_fd, "standard input");
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  return ReadDescriptor(fd.get(), path);
}

void SetLimits(const RunOptions& options, v1::ExecuteRequest& request) {
  if (options.timeout.has_value()) {
    google::protobuf::Duration& wall_time = *request.mutable_limits()->mutable_wall_time();
    absl::Duration rest;
    wall_time.set_seconds(absl::IDivDuration(*options.timeout, absl::Seconds(1), &rest));
    wall_time.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(rest)));
  }
  if (options.output_limit_bytes.has_value()) {
    request.mutable_limits()->set_output_bytes(*options.output_limit_bytes);
  }
  if (options.file_limit_bytes.has_value()) request.mutable_limits()->set_file_bytes(*options.file_limit_bytes);
}

}  // namespace

absl::StatusOr<v1::ExecuteRequest> BuildRequest(const RunOptions& options, int stdin_fd) {
  v1::ExecuteRequest request;
  request.set_template_(options.template_name);
  absl::StatusOr<LocalFile> program = ReadFile(options.program, stdin_fd);
  if (!program.ok()) return program.status();
  request.set_code(std::move(program->content));
  if (!options.stdin_path.empty()) {
    absl::StatusOr<LocalFile> input = ReadFile(options.stdin_path, stdin_fd);
    if (!input.ok()) return input.status();
    request.set_stdin(std::move(input->content));
  }
  for (const FileArgument& argument : options.files) {
    absl::StatusOr<LocalFile> local = ReadFile(argument.local, stdin_fd);
    if (!local.ok()) return local.status();
    v1::InputFile& file = *request.add_files();
    file.set_path(argument.remote);
    file.set_content(std::move(local->content));
    file.set_mode(local->mode);
  }
  for (const std::string& arg : options.args) request.add_args(arg);
  for (const std::string& glob : options.globs) request.add_output_globs(glob);
  for (const auto& [name, value] : options.env) (*request.mutable_env())[name] = value;
  SetLimits(options, request);
  if (!options.model_id.empty()) request.mutable_caller()->set_model_id(options.model_id);
  if (!options.agent_id.empty()) request.mutable_caller()->set_agent_id(options.agent_id);
  if (!options.task_id.empty()) request.mutable_caller()->set_task_id(options.task_id);
  return request;
}

}  // namespace mayfly::cli
