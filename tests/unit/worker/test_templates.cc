#include "tests/unit/worker/test_templates.h"

#include <stdlib.h>

#include "absl/strings/str_cat.h"
#include "policy/request_limits.h"

namespace mayfly::worker {
namespace {

using mayfly::config::v1::TemplateConfig;
using policy::kMiB;

void AddTemplate(const std::string& name, const std::string& language, const std::string& image,
                 mayfly::config::v1::WorkerConfig* config) {
  TemplateConfig* added = config->add_templates();
  added->set_name(name);
  added->set_image(image);
  added->set_language(language);
  added->set_runtime("runsc");
  added->set_memory(128 * kMiB);
  added->set_cpus(0.5);
  added->set_processes(64);
  added->set_open_files(1024);
  added->set_workspace(kMiB);
  added->set_tmp(kMiB);
  added->set_shm(kMiB);
  added->mutable_defaults()->mutable_wall_time()->set_seconds(10);
  added->mutable_defaults()->set_output_bytes(8 * kMiB);
  added->mutable_defaults()->set_file_bytes(kMiB);
  added->mutable_maxima()->mutable_wall_time()->set_seconds(60);
  added->mutable_maxima()->set_output_bytes(64 * kMiB);
  added->mutable_maxima()->set_file_bytes(kMiB);
}

}  // namespace

mayfly::config::v1::WorkerConfig TestConfig(const std::string& image) {
  mayfly::config::v1::WorkerConfig config;
  auto* runtime = config.add_runtimes();
  runtime->set_name("runsc");
  runtime->set_containerd_runtime("io.containerd.runc.v2");
  runtime->set_binary("/usr/bin/runsc-wrapper");
  AddTemplate("python", "python", image, &config);
  AddTemplate("bash", "bash", image, &config);
  return config;
}

TemplateMap TestTemplates(const std::string& image) {
  absl::StatusOr<TemplateMap> templates = BuildTemplates(TestConfig(image));
  if (!templates.ok()) abort();
  return *std::move(templates);
}

std::string MissingImage() { return absl::StrCat("fake.test/none@sha256:", std::string(64, '0')); }

}  // namespace mayfly::worker
