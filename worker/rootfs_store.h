// RootfsStore: the templates' root file systems, ready to be mounted.
//
// Every sandbox of an image has the same read-only root, so one snapshot view per image serves them all, and no
// execution pays for a snapshot of its own. A background thread resolves the images (retrying until containerd answers
// and the images are there), and keeps watching whether containerd still answers.
#ifndef MAYFLY_WORKER_ROOTFS_STORE_H_
#define MAYFLY_WORKER_ROOTFS_STORE_H_

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "worker/containerd/containerd.h"
#include "worker/runner_layer.h"
#include "worker/template.h"

namespace mayfly::worker {

struct Rootfs {
  std::string image_name;
  std::string snapshot_key;
  std::vector<RootfsMount> mounts;
};

// Label of every containerd object that a worker makes; its value is the worker's instance name.
inline constexpr absl::string_view kInstanceLabel = "dev.mayfly/instance";

class RootfsStore {
 public:
  // `containerd` and `templates` must outlive the store. The images are looked for every `period`.
  RootfsStore(Containerd* containerd, const TemplateMap* templates, RunnerLayer runner_layer, std::string snapshotter,
              std::string instance, absl::Duration period = absl::Seconds(1));

  // Stops the thread and removes the views; a view that cannot be removed is logged and left.
  ~RootfsStore();

  // The root file system of the template's image. Unavailable, with the reason, when it is not there (yet). Does not
  // block.
  absl::StatusOr<Rootfs> Get(const Template& wanted) const;

  // OK when containerd answers and every template's image is there; otherwise Unavailable with the reason.
  absl::Status readiness() const;

 private:
  void Run();
  // One round over all templates.
  absl::Status Refresh();
  absl::StatusOr<Rootfs> Prepare(const std::string& image);

  Containerd* const containerd_;
  const TemplateMap* const templates_;
  const RunnerLayer runner_layer_;
  const std::string snapshotter_;
  const std::string instance_;
  const absl::Duration period_;

  mutable absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status readiness_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Rootfs> by_image_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;  // last: it uses the others
};

}  // namespace mayfly::worker

#endif  // MAYFLY_WORKER_ROOTFS_STORE_H_
