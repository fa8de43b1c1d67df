// `mayfly templates`: what the service offers, as a table.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/cli/commands.h"
#include "clients/cli/connection.h"
#include "clients/cli/json_report.h"
#include "clients/cli/quantity.h"
#include "mayfly/v1/execution.grpc.pb.h"

namespace mayfly::cli {
namespace {

using Row = std::vector<std::string>;

std::string Time(const v1::Limits& limits) {
  return absl::FormatDuration(absl::Seconds(limits.wall_time().seconds()) +
                              absl::Nanoseconds(limits.wall_time().nanos()));
}

Row RowOf(const v1::Template& item) {
  return {PrintableLine(item.name()),
          PrintableLine(item.language()),
          absl::StrCat(item.cpus()),
          FormatByteSize(item.memory_bytes()),
          absl::StrCat(item.processes()),
          absl::StrCat(Time(item.default_limits()), " (", Time(item.max_limits()), ")"),
          absl::StrCat(FormatByteSize(item.default_limits().output_bytes()), " (",
                       FormatByteSize(item.max_limits().output_bytes()), ")"),
          PrintableLine(item.description())};
}

// Columns as wide as their widest cell, two blanks between.
std::string Table(const std::vector<Row>& rows) {
  std::vector<size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      const bool last = i + 1 == row.size();
      absl::StrAppend(&text, row[i], last ? "\n" : std::string(widths[i] - row[i].size() + 2, ' '));
    }
  }
  return text;
}

}  // namespace

int ListTemplates(const CommandLine& command_line, const Streams& streams, Cancellation& cancellation) {
  const Connection connection(command_line.address);
  if (const auto failure = connection.unreachable()) return Report(*failure, command_line.json, streams);
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kQueryTimeout));
  const Cancellation::Scope scope(cancellation, &context);
  v1::ListTemplatesResponse response;
  const grpc::Status status =
      v1::Executor::NewStub(connection.channel())->ListTemplates(&context, v1::ListTemplatesRequest(), &response);
  if (!status.ok()) return Report(connection.Explain(status), command_line.json, streams);
  if (command_line.json) return Answer(TemplatesJson(response), kExitOk, streams);

  std::vector<Row> rows = {{"NAME", "LANGUAGE", "CPUS", "MEMORY", "PROCESSES", "TIME (MAX)", "OUTPUT (MAX)", "WHAT"}};
  for (const v1::Template& item : response.templates()) rows.push_back(RowOf(item));
  return Answer(Table(rows), kExitOk, streams);
}

}  // namespace mayfly::cli
