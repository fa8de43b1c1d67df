#include "worker/template.h"

#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/util/time_util.h"
#include "policy/proto_duration.h"
#include "policy/quoted.h"
#include "policy/request_check.h"
#include "policy/request_limits.h"

namespace mayfly::worker {
namespace {

using google::protobuf::util::TimeUtil;
using mayfly::config::v1::LimitsConfig;
using mayfly::config::v1::RuntimeConfig;
using mayfly::config::v1::TemplateConfig;
using policy::kMiB;
using policy::Quoted;

// What a template's `defaults` and `maxima` are when the configuration does not say. config.proto states them.
constexpr int64_t kWallSecondsDefault = 10, kWallSecondsMax = 600;
constexpr int64_t kOutputBytesDefault = 16 * kMiB, kOutputBytesMax = 2048 * kMiB;
constexpr int64_t kFileBytesDefault = 8 * kMiB, kFileBytesMax = 64 * kMiB;

// Collects what is wrong, "KEY: what" a line.
class Problems {
 public:
  template <typename... Parts>
  void Add(const Parts&... parts) {
    lines_.push_back(absl::StrCat(parts...));
  }
  absl::Status status() const {
    return lines_.empty() ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrJoin(lines_, "\n"));
  }

 private:
  std::vector<std::string> lines_;
};

mayfly::v1::Limits ResolveLimits(const LimitsConfig& config, int64_t wall_seconds, int64_t output_bytes,
                                 int64_t file_bytes) {
  mayfly::v1::Limits limits;
  *limits.mutable_wall_time() = config.has_wall_time() ? config.wall_time() : TimeUtil::SecondsToDuration(wall_seconds);
  limits.set_output_bytes(config.has_output_bytes() ? config.output_bytes() : output_bytes);
  limits.set_file_bytes(config.has_file_bytes() ? config.file_bytes() : file_bytes);
  return limits;
}

void CheckLimits(absl::string_view key, const mayfly::v1::Template& info, Problems* problems) {
  const auto& defaults = info.default_limits();
  const auto& maxima = info.max_limits();
  if (policy::FromProto(defaults.wall_time()) > policy::FromProto(maxima.wall_time())) {
    problems->Add(key, ".defaults.wall_time: ", TimeUtil::ToString(defaults.wall_time()), " is above the maximum of ",
                  TimeUtil::ToString(maxima.wall_time()));
  }
  if (defaults.output_bytes() > maxima.output_bytes()) {
    problems->Add(key, ".defaults.output_bytes: ", defaults.output_bytes(), " is above the maximum of ",
                  maxima.output_bytes());
  }
  if (defaults.file_bytes() > maxima.file_bytes()) {
    problems->Add(key, ".defaults.file_bytes: ", defaults.file_bytes(), " is above the maximum of ",
                  maxima.file_bytes());
  }
}

RuntimeOptions MakeRuntimeOptions(const RuntimeConfig& config) {
  return {config.containerd_runtime(), config.binary(), config.root(), config.options_type_url(),
          config.options_config_path()};
}

policy::SandboxSpec MakeSandboxSpec(const TemplateConfig& config) {
  policy::SandboxSpec spec;
  spec.hostname = "mayfly";
  spec.memory_bytes = config.memory();
  spec.cpus = config.boot_cpus() > 0 ? config.boot_cpus() : config.cpus();
  spec.processes = config.processes();
  spec.open_files = config.open_files();
  spec.workspace_bytes = config.workspace();
  spec.tmp_bytes = config.tmp();
  spec.shm_bytes = config.shm();
  spec.host_cpus = static_cast<int>(std::thread::hardware_concurrency());
  return spec;
}

Template MakeTemplate(const TemplateConfig& config) {
  Template result;
  result.image = config.image();
  result.runtime_name = config.runtime();
  result.language = policy::FindLanguageProfile(config.language());
  result.interpreter =
      config.interpreter().empty() ? std::string(result.language->default_interpreter) : config.interpreter();
  result.env = policy::TemplateEnv(*result.language, {config.env().begin(), config.env().end()});
  result.spec = MakeSandboxSpec(config);

  mayfly::v1::Template& info = result.info;
  info.set_name(config.name());
  info.set_description(config.description());
  info.set_language(config.language());
  info.set_main_file(std::string(result.language->main_file));
  *info.mutable_default_limits() =
      ResolveLimits(config.defaults(), kWallSecondsDefault, kOutputBytesDefault, kFileBytesDefault);
  *info.mutable_max_limits() = ResolveLimits(config.maxima(), kWallSecondsMax, kOutputBytesMax, kFileBytesMax);
  info.set_memory_bytes(config.memory());
  info.set_cpus(config.cpus());
  info.set_processes(config.processes());
  info.set_workspace_bytes(config.workspace());
  info.set_tmp_bytes(config.tmp());
  for (const auto& [name, value] : result.env) info.add_reserved_env(name);
  return result;
}

}  // namespace

absl::StatusOr<TemplateMap> BuildTemplates(const mayfly::config::v1::WorkerConfig& config) {
  Problems problems;
  std::map<std::string, RuntimeOptions> runtimes;
  for (int i = 0; i < config.runtimes_size(); ++i) {
    const RuntimeConfig& runtime = config.runtimes(i);
    if (!runtimes.emplace(runtime.name(), MakeRuntimeOptions(runtime)).second) {
      problems.Add("runtimes[", i, "].name: ", Quoted(runtime.name()), " is used twice");
    }
  }
  TemplateMap templates;
  for (int i = 0; i < config.templates_size(); ++i) {
    const TemplateConfig& template_config = config.templates(i);
    const std::string key = absl::StrCat("templates[", i, "]");
    int64_t env_bytes = 0;
    for (const auto& [name, value] : template_config.env()) {
      if (!policy::IsEnvName(name)) {
        problems.Add(key, ".env: ", Quoted(name), " is not a variable's name ([A-Za-z_][A-Za-z0-9_]*)");
      }
      if (absl::StrContains(value, '\0')) problems.Add(key, ".env.", name, ": a value cannot hold a NUL byte");
      env_bytes += static_cast<int64_t>(name.size() + value.size());
    }
    if (env_bytes > policy::kEnvBytesMax) {
      problems.Add(key, ".env: ", env_bytes, " bytes together are more than the limit of ", policy::kEnvBytesMax);
    }
    Template made = MakeTemplate(template_config);
    CheckLimits(key, made.info, &problems);
    const auto runtime = runtimes.find(template_config.runtime());
    if (runtime == runtimes.end()) {
      problems.Add(key, ".runtime: there is no runtime ", Quoted(template_config.runtime()), " in runtimes");
    } else {
      made.runtime = runtime->second;
    }
    if (!templates.emplace(template_config.name(), std::move(made)).second) {
      problems.Add(key, ".name: ", Quoted(template_config.name()), " is used twice");
    }
  }
  absl::Status status = problems.status();
  if (!status.ok()) return status;
  return templates;
}

}  // namespace mayfly::worker
