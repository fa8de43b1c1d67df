#include "worker/rootfs_store.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "daemon/json_log.h"

namespace mayfly::worker {

using daemon::Log;
using daemon::Severity;

RootfsStore::RootfsStore(Containerd* containerd, const TemplateMap* templates, RunnerLayer runner_layer,
                         std::string snapshotter, std::string instance, absl::Duration period)
    : containerd_(containerd),
      templates_(templates),
      runner_layer_(std::move(runner_layer)),
      snapshotter_(std::move(snapshotter)),
      instance_(std::move(instance)),
      period_(period),
      readiness_(absl::UnavailableError("the images have not been looked for yet")) {
  thread_ = std::thread([this] { Run(); });
}

RootfsStore::~RootfsStore() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
  absl::MutexLock lock(&mutex_);
  std::set<std::string> removed;
  for (const auto& [image, rootfs] : by_image_) {
    if (!removed.insert(rootfs.snapshot_key).second) continue;
    absl::Status status = containerd_->RemoveSnapshot(snapshotter_, rootfs.snapshot_key);
    if (!status.ok()) Log(Severity::kWarning, "snapshot view left behind", {{"error", status.ToString()}});
  }
}

absl::StatusOr<Rootfs> RootfsStore::Get(const Template& wanted) const {
  absl::MutexLock lock(&mutex_);
  const auto found = by_image_.find(wanted.image);
  if (found != by_image_.end()) return found->second;
  return absl::UnavailableError(absl::StrCat("image ", wanted.image, " is not ready: ", readiness_.message()));
}

absl::Status RootfsStore::readiness() const {
  absl::MutexLock lock(&mutex_);
  return readiness_;
}

void RootfsStore::Run() {
  absl::Status before = absl::OkStatus();
  while (true) {
    absl::Status now = Refresh();
    if (now != before) {
      if (now.ok()) {
        Log(Severity::kInfo, "every image is ready");
      } else {
        Log(Severity::kWarning, "not ready", {{"error", now.ToString()}});
      }
      before = now;
    }
    absl::MutexLock lock(&mutex_);
    readiness_ = now;
    if (mutex_.AwaitWithTimeout(absl::Condition(&stopping_), period_)) return;
  }
}

absl::Status RootfsStore::Refresh() {
  absl::Status alive = containerd_->Ping();
  if (!alive.ok()) return absl::UnavailableError(alive.message());
  for (const auto& [name, wanted] : *templates_) {
    {
      absl::MutexLock lock(&mutex_);
      if (by_image_.count(wanted.image) > 0) continue;
    }
    absl::StatusOr<Rootfs> rootfs = Prepare(wanted.image);
    if (!rootfs.ok()) {
      return absl::UnavailableError(absl::StrCat("template ", name, ": ", rootfs.status().message()));
    }
    absl::MutexLock lock(&mutex_);
    by_image_.emplace(wanted.image, *std::move(rootfs));
  }
  return absl::OkStatus();
}

absl::StatusOr<Rootfs> RootfsStore::Prepare(const std::string& image) {
  absl::StatusOr<ImageInfo> info = containerd_->ResolveImage(image, snapshotter_);
  if (!info.ok()) return info.status();
  Rootfs rootfs;
  rootfs.image_name = info->name;
  rootfs.snapshot_key = absl::StrCat(instance_, "-view-", info->digest);
  absl::StatusOr<std::vector<RootfsMount>> mounts = containerd_->ViewSnapshot(
      snapshotter_, rootfs.snapshot_key, info->chain_id, {{std::string(kInstanceLabel), instance_}});
  if (!mounts.ok()) return mounts.status();
  mounts = runner_layer_.Over(*mounts);
  if (!mounts.ok()) {
    (void)containerd_->RemoveSnapshot(snapshotter_, rootfs.snapshot_key);  // nobody would remove it later
    return mounts.status();
  }
  rootfs.mounts = *std::move(mounts);
  return rootfs;
}

}  // namespace mayfly::worker
