// `mayfly run`: reads the local files, runs the program, shows how it ended.
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "clients/cli/commands.h"
#include "clients/cli/connection.h"
#include "clients/cli/execute_request.h"
#include "clients/cli/execution.h"
#include "clients/cli/json_report.h"
#include "clients/cli/output_directory.h"
#include "clients/cli/output_sink.h"

namespace mayfly::cli {
namespace {

std::string OmissionText(const v1::OutputFile& file) {
  switch (file.omission()) {
    case v1::OMISSION_TOO_LARGE:
      return absl::StrCat("its ", file.size(), " bytes are more than the limit for returned files leaves");
    case v1::OMISSION_NOT_REGULAR:
      return "it is not a regular file";
    case v1::OMISSION_UNREADABLE:
      return "it could not be read";
    case v1::OMISSION_NAME:
      return "its name is not UTF-8";
    default:
      return absl::StrCat("reason ", static_cast<int>(file.omission()));
  }
}

// The lines on stderr below the program's own; none for a program that exited and returned all its files.
std::string EndText(const ExecutionEnd& end) {
  std::string text;
  if (end.result.has_value()) {
    for (const v1::OutputFile& file : end.result->files()) {
      if (file.omission() == v1::OMISSION_UNSPECIFIED) continue;
      absl::StrAppend(&text, "mayfly: not returned: ", PrintableLine(file.path()), ": ", OmissionText(file), "\n");
    }
    if (end.result->files_unlisted() > 0) {
      absl::StrAppend(&text, "mayfly: not returned: ", end.result->files_unlisted(), " more files\n");
    }
    if (end.result->termination() != v1::TERMINATION_EXITED) {
      absl::StrAppend(&text, "mayfly: ", TerminationPhrase(*end.result), ": ", PrintableLine(end.result->message()),
                      "\n");
    }
  }
  if (end.failure.has_value()) absl::StrAppend(&text, FailureText(*end.failure));
  return text;
}

}  // namespace

int RunProgram(const CommandLine& command_line, const Streams& streams, Cancellation& cancellation) {
  const RunOptions& options = command_line.run;
  const absl::StatusOr<v1::ExecuteRequest> request = BuildRequest(options, streams.in);
  if (!request.ok()) return Report(FileFailure(request.status()), command_line.json, streams);
  std::unique_ptr<OutputDirectory> directory;
  if (!options.out_dir.empty()) {
    absl::StatusOr<std::unique_ptr<OutputDirectory>> opened = OutputDirectory::Open(options.out_dir);
    if (!opened.ok()) return Report(FileFailure(opened.status()), command_line.json, streams);
    directory = *std::move(opened);
  }

  const Connection connection(command_line.address);
  if (command_line.json) {
    CapturingSink sink;
    const ExecutionEnd end = Execute(connection, *request, sink, directory.get(), cancellation);
    return Answer(ExecutionJson(end, sink.stdout_data(), sink.stderr_data()), end.exit_code(), streams);
  }
  DescriptorSink sink(streams.out, streams.err);
  const ExecutionEnd end = Execute(connection, *request, sink, directory.get(), cancellation);
  WriteAll(streams.err, EndText(end)).IgnoreError();  // the exit code says it, too
  return end.exit_code();
}

}  // namespace mayfly::cli
