// Config file: reads a daemon's YAML into a protobuf message whose options say what is allowed.
//
// The schema is proto/mayfly/config/v1/config.proto: keys are field names, and the `rule` option of a field gives its
// range, pattern, default and whether it is required. So a new key needs a line in the .proto and none here.
//
//   mayfly::config::v1::WorkerConfig config;
//   if (absl::Status status = mayfly::daemon::LoadConfigFile(path, &config); !status.ok()) {
//     std::cerr << status.message() << "\n";  // worker.yaml:31: templates[2].memory: "12MiB" is not in the range ...
//     return 2;
//   }
//
// What is absent: a field gets its `default_value`, else it is the type's zero; a nested message stays unset unless its
// key is there, and then its own fields get theirs. Rules that span several keys (a template names an existing runtime)
// are not checked here.
#ifndef MAYFLY_DAEMON_CONFIG_FILE_H_
#define MAYFLY_DAEMON_CONFIG_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace mayfly::daemon {

// Bounds that keep a hostile or broken file (aliases that expand to billions of nodes) from hurting.
inline constexpr int kConfigBytesMax = 1 << 20;
inline constexpr int kConfigDepthMax = 32;
inline constexpr int kConfigNodesMax = 100000;  // with every alias expanded
inline constexpr int kConfigErrorsMax = 64;     // further ones are only counted

// Fills `config` from the file at `path`. Blocks on the disk. NotFound when there is no such file, PermissionDenied and
// so on (as errno says) when it cannot be read; InvalidArgument for its content, as ParseConfig says. After an error
// `config` is unspecified.
absl::Status LoadConfigFile(const std::string& path, google::protobuf::Message* config);

// The same from memory; `file_name` only serves the messages. InvalidArgument lists every error found, one a line, in
// the form `FILE:LINE: KEY: what is wrong with which value, and what would be right`. Thread-safe.
absl::Status ParseConfig(absl::string_view yaml, absl::string_view file_name, google::protobuf::Message* config);

}  // namespace mayfly::daemon

#endif  // MAYFLY_DAEMON_CONFIG_FILE_H_
