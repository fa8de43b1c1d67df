// Template: what a caller picks by name, resolved from the worker's configuration.
#ifndef MAYFLY_WORKER_TEMPLATE_H_
#define MAYFLY_WORKER_TEMPLATE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "mayfly/config/v1/config.pb.h"
#include "mayfly/v1/execution.pb.h"
#include "policy/language_profile.h"
#include "policy/oci_spec.h"
#include "worker/containerd/containerd.h"

namespace mayfly::worker {

struct Template {
  mayfly::v1::Template info;  // what callers see of it; its limits are complete
  std::string image;          // "name@sha256:..."
  std::string runtime_name;   // in the configuration
  RuntimeOptions runtime;
  const policy::LanguageProfile* language = nullptr;
  std::string interpreter;   // absolute path in the image
  policy::EnvMap env;        // the program's own environment
  policy::SandboxSpec spec;  // all but cgroup_path, which each sandbox has of its own; its cpus are those while booting

  // "sha256:..."
  absl::string_view image_digest() const { return absl::string_view(image).substr(image.find('@') + 1); }
};

// Keyed by name.
using TemplateMap = std::map<std::string, Template, std::less<>>;

// Builds the templates of a configuration that LoadConfigFile accepted. InvalidArgument lists what does not fit
// together, one a line, in LoadConfigFile's form: names used twice, a runtime that is not there, a default above its
// maximum, an environment variable with a bad name.
absl::StatusOr<TemplateMap> BuildTemplates(const mayfly::config::v1::WorkerConfig& config);

}  // namespace mayfly::worker

#endif  // MAYFLY_WORKER_TEMPLATE_H_
