// RunnerLayer puts the runner, and the few files that interpreters are started with, into any image: a directory that
// holds nothing else, laid over the image's read-only layers as one more read-only layer.
//
// The image stays as it is, and the sandbox needs no bind mount from the host. (A bind mount would need a mount point,
// which a read-only root cannot be given.)
#ifndef MAYFLY_WORKER_RUNNER_LAYER_H_
#define MAYFLY_WORKER_RUNNER_LAYER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/containerd/containerd.h"

namespace mayfly::worker {

class RunnerLayer {
 public:
  // Makes (or renews) the layer in `dir`, which containerd's shims must see at the same path, with a copy of the binary
  // `runner` at policy::kRunnerPath, and policy::SupportFiles(). Requires that no sandbox uses the layer.
  static absl::StatusOr<RunnerLayer> Create(const std::string& dir, const std::string& runner);

  // The mounts of a read-only view of an image, with this layer on top. Unimplemented when the snapshotter gives
  // something that is neither a directory nor an overlay.
  absl::StatusOr<std::vector<RootfsMount>> Over(const std::vector<RootfsMount>& view) const;

 private:
  explicit RunnerLayer(std::string dir) : dir_(std::move(dir)) {}

  std::string dir_;
};

}  // namespace mayfly::worker

#endif  // MAYFLY_WORKER_RUNNER_LAYER_H_
