#include "clients/cli/json_report.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "nlohmann/json.hpp"
#include "policy/utf8.h"

namespace mayfly::cli {
namespace {

using Json = nlohmann::ordered_json;

// Strings in protos are UTF-8 already; what is not (a local file's name) is replaced, so that this never throws.
std::string Line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

double Seconds(const google::protobuf::Duration& duration) {
  return static_cast<double>(duration.seconds()) + duration.nanos() / 1e9;
}

void AddStream(const std::string& key, absl::string_view data, Json& json) {
  if (policy::IsUtf8(data)) {
    json[key] = std::string(data);
  } else {
    json[key + "_base64"] = absl::Base64Escape(data);
  }
}

Json Account(const v1::StreamAccount& account) {
  return {{"total", account.total()}, {"sent", account.sent()}, {"dropped", account.dropped()}};
}

Json UsageOf(const v1::Usage& usage) {
  Json json = {{"wall_seconds", Seconds(usage.wall_time())}};
  if (usage.has_cpu_time()) json["cpu_seconds"] = Seconds(usage.cpu_time());
  json["memory_peak_bytes"] = usage.memory_peak_bytes();
  return json;
}

Json FilesOf(const v1::ExecutionResult& result) {
  Json files = Json::array();
  for (const v1::OutputFile& file : result.files()) {
    Json entry = {{"path", file.path()}, {"size", file.size()}, {"mode", absl::StrFormat("%04o", file.mode())}};
    if (file.omission() != v1::OMISSION_UNSPECIFIED) {
      entry["omitted"] = std::string(absl::StripPrefix(v1::Omission_Name(file.omission()), "OMISSION_"));
    }
    files.push_back(std::move(entry));
  }
  return files;
}

Json LimitsOf(const v1::Limits& limits) {
  return {{"wall_seconds", Seconds(limits.wall_time())},
          {"output_bytes", limits.output_bytes()},
          {"file_bytes", limits.file_bytes()}};
}

void AddResult(const v1::ExecutionResult& result, Json& json) {
  json["execution_id"] = result.execution_id();
  json["template"] = result.template_();
  json["termination"] = TerminationName(result.termination());
  if (result.has_exit_code()) json["exit_code"] = result.exit_code();
  if (result.has_signal()) json["signal"] = result.signal();
  json["message"] = result.message();
  json["evidence"] = std::vector<std::string>(result.evidence().begin(), result.evidence().end());
  json["retry_safe"] = result.retry_safe();
}

void AddRecord(const v1::ExecutionResult& result, Json& json) {
  json["stdout_account"] = Account(result.stdout());
  json["stderr_account"] = Account(result.stderr());
  json["usage"] = UsageOf(result.usage());
  json["files"] = FilesOf(result);
  json["files_unlisted"] = result.files_unlisted();
  json["timings"] = {{"queue_seconds", Seconds(result.timings().queue())},
                     {"sandbox_seconds", Seconds(result.timings().sandbox())},
                     {"run_seconds", Seconds(result.timings().run())},
                     {"collect_seconds", Seconds(result.timings().collect())}};
  json["isolation"] = {{"runtime", result.isolation().runtime()},
                       {"containerd_runtime", result.isolation().containerd_runtime()},
                       {"image_digest", result.isolation().image_digest()},
                       {"task_id", result.isolation().task_id()}};
}

Json ErrorOf(const Failure& failure) {
  Json json = {{"code", failure.code}};
  if (!failure.reason.empty()) json["reason"] = failure.reason;
  json["message"] = failure.message;
  json["exit_code"] = failure.exit_code;
  for (const Violation& violation : failure.violations) {
    json["violations"].push_back({{"field", violation.field}, {"description", violation.description}});
  }
  if (failure.retry_after.has_value()) json["retry_after_seconds"] = absl::ToDoubleSeconds(*failure.retry_after);
  return json;
}

}  // namespace

std::string ExecutionJson(const ExecutionEnd& end, absl::string_view stdout_data, absl::string_view stderr_data) {
  Json json = Json::object();
  if (end.failure.has_value()) json["error"] = ErrorOf(*end.failure);
  if (end.result.has_value()) {
    AddResult(*end.result, json);
  } else if (!end.execution_id.empty()) {
    json["execution_id"] = end.execution_id;
  }
  if (end.result.has_value() || !end.execution_id.empty()) {
    AddStream("stdout", stdout_data, json);
    AddStream("stderr", stderr_data, json);
  }
  if (end.result.has_value()) AddRecord(*end.result, json);
  return Line(json);
}

std::string FailureJson(const Failure& failure) {
  return Line({{"error", ErrorOf(failure)}});
}

std::string TemplatesJson(const v1::ListTemplatesResponse& response) {
  Json templates = Json::array();
  for (const v1::Template& item : response.templates()) {
    templates.push_back(
        {{"name", item.name()},
         {"description", item.description()},
         {"language", item.language()},
         {"main_file", item.main_file()},
         {"default_limits", LimitsOf(item.default_limits())},
         {"max_limits", LimitsOf(item.max_limits())},
         {"memory_bytes", item.memory_bytes()},
         {"cpus", item.cpus()},
         {"processes", item.processes()},
         {"workspace_bytes", item.workspace_bytes()},
         {"tmp_bytes", item.tmp_bytes()},
         {"reserved_env", std::vector<std::string>(item.reserved_env().begin(), item.reserved_env().end())}});
  }
  return Line({{"templates", std::move(templates)}});
}

std::string HealthJson(absl::string_view status) {
  return Line({{"status", std::string(status)}});
}

}  // namespace mayfly::cli
