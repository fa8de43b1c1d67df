// Reads the documents of an OCI image, which lead from what an image's name points to down to its configuration:
//
//   index  --(this machine's platform)-->  manifest  -->  config
//
// Pure: no I/O, no state; safe from any thread. containerd has checked each document against its digest, but whoever
// built the image wrote it: everything is checked for its type, and what is wrong is FailedPrecondition.
#ifndef MAYFLY_WORKER_CONTAINERD_OCI_IMAGE_H_
#define MAYFLY_WORKER_CONTAINERD_OCI_IMAGE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mayfly::worker {

// An image reference that names its content: "mayfly.local/python@sha256:...".
struct PinnedReference {
  std::string name;    // "mayfly.local/python"; may be empty
  std::string digest;  // "sha256:" and 64 lower-case hexadecimal digits
};

// InvalidArgument when there is no digest (a tag can change what it points to) or a malformed one.
absl::StatusOr<PinnedReference> ParsePinnedReference(absl::string_view reference);

// A pointer from one document to another.
struct Descriptor {
  std::string media_type;
  std::string digest;
};

// Whether the document is an index (of OCI, or Docker's manifest list) rather than a manifest.
bool IsIndex(absl::string_view media_type);

// Whether the document is a manifest of OCI or Docker.
bool IsManifest(absl::string_view media_type);

// The architecture of this machine in OCI's terms: "amd64", "arm64".
absl::string_view HostArchitecture();

// The entry of `index` for linux on `architecture`. An entry that says nothing of a platform is second choice.
absl::StatusOr<Descriptor> ChooseManifest(absl::string_view index, absl::string_view architecture);

// The configuration that `manifest` points to.
absl::StatusOr<Descriptor> ConfigOfManifest(absl::string_view manifest);

// The environment, NAME=value, that the image's `config` asks for. An entry without a name or with a NUL byte is an
// error. Also an error: a configuration for another platform than linux on `architecture`.
absl::StatusOr<std::vector<std::string>> EnvironmentOfConfig(absl::string_view config, absl::string_view architecture);

}  // namespace mayfly::worker

#endif  // MAYFLY_WORKER_CONTAINERD_OCI_IMAGE_H_
