// A worker's configuration for tests: one runtime and the templates `python` and `bash`.
#ifndef MAYFLY_TESTS_UNIT_WORKER_TEST_TEMPLATES_H_
#define MAYFLY_TESTS_UNIT_WORKER_TEST_TEMPLATES_H_

#include <string>

#include "mayfly/config/v1/config.pb.h"
#include "worker/template.h"

namespace mayfly::worker {

// As LoadConfigFile would give it. Both templates have `image`, the wall limit 10 s (at most 60 s), an output limit of
// 8 MiB (at most 64 MiB) and a file limit of 1 MiB.
mayfly::config::v1::WorkerConfig TestConfig(const std::string& image);

// Its templates.
TemplateMap TestTemplates(const std::string& image);

// An image that no store has.
std::string MissingImage();

}  // namespace mayfly::worker

#endif  // MAYFLY_TESTS_UNIT_WORKER_TEST_TEMPLATES_H_
