#include "worker/sandbox.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "daemon/json_log.h"
#include "policy/oci_spec.h"

namespace mayfly::worker {
namespace {

// From the runner's last frame to the shim's word that the task has ended.
constexpr absl::Duration kOwnExitTimeout = absl::Milliseconds(500);
// From SIGKILL to the shim's word that the task has ended, on a busy machine.
constexpr absl::Duration kExitTimeout = absl::Seconds(10);
// For what the shim has not copied yet when the task has ended.
constexpr absl::Duration kDrainTimeout = absl::Seconds(2);
// Between two tries of an undo.
constexpr absl::Duration kRetryPauseMin = absl::Milliseconds(50);
constexpr absl::Duration kRetryPauseMax = absl::Seconds(2);

}  // namespace

Sandbox::Sandbox(const SandboxContext& context, absl::string_view id)
    : context_(context),
      id_(id),
      cgroup_path_(absl::StrCat(context.cgroup_parent, "/", id)),
      cgroup_(cgroup_path_, context.cgroup_root) {}

absl::Status Sandbox::Start(const Template& offered, const Rootfs& rootfs, const WakeFd* wake) {
  absl::StatusOr<std::unique_ptr<FifoSet>> fifos = FifoSet::Create(context_.fifo_dir, id_);
  if (!fifos.ok()) return fifos.status();
  fifos_ = *std::move(fifos);
  absl::Status status = CreateContainer(offered, rootfs);
  if (!status.ok()) return status;
  status = CreateTask(rootfs);
  if (!status.ok()) return status;
  BeginWait(wake);
  return context_.containerd->StartTask(id_);
}

// An undo is noted before its step: a call that failed for us may have succeeded for containerd.
absl::Status Sandbox::CreateContainer(const Template& offered, const Rootfs& rootfs) {
  policy::SandboxSpec spec = offered.spec;
  spec.cgroup_path = cgroup_path_;
  ContainerSpec container;
  container.id = id_;
  container.image_name = rootfs.image_name;
  container.snapshotter = context_.snapshotter;
  container.snapshot_key = rootfs.snapshot_key;
  container.runtime = offered.runtime;
  container.oci_spec_json = policy::BuildOciSpec(spec);
  container.labels = {{std::string(kInstanceLabel), context_.instance}};
  undos_.push_back({"deleting the container", [this] { return context_.containerd->DeleteContainer(id_); }});
  return context_.containerd->CreateContainer(container);
}

absl::Status Sandbox::CreateTask(const Rootfs& rootfs) {
  undos_.push_back({"deleting the task", [this] { return DeleteTask(); }});
  return context_.containerd->CreateTask(id_, rootfs.mounts, fifos_->paths()).status();
}

void Sandbox::BeginWait(const WakeFd* wake) {
  wait_ = context_.containerd->WaitTask(id_, [this, wake](absl::StatusOr<TaskExit> exit) {
    {
      absl::MutexLock lock(&mutex_);
      exit_ = std::move(exit);
    }
    wake->Signal();
  });
}

Sandbox::~Sandbox() {
  absl::Status status = Destroy();
  if (!status.ok()) {
    daemon::Log(daemon::Severity::kError, "sandbox left behind", {{"sandbox", id_}, {"error", status.ToString()}});
  }
}

absl::Status Sandbox::LimitCpu(const Template& offered) const {
  if (offered.spec.cpus == offered.info.cpus()) return absl::OkStatus();
  return cgroup_.SetCpuBandwidth(offered.info.cpus());
}

std::optional<TaskExit> Sandbox::exit() const {
  absl::MutexLock lock(&mutex_);
  if (!exit_.has_value() || !exit_->ok()) return std::nullopt;
  return **exit_;
}

bool Sandbox::AwaitExit(absl::Duration timeout) {
  if (wait_ == nullptr) return false;
  absl::MutexLock lock(&mutex_);
  const auto answered = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return exit_.has_value(); };
  return mutex_.AwaitWithTimeout(absl::Condition(&answered), timeout) && exit_->ok();
}

absl::Status Sandbox::Kill() {
  if (exit().has_value()) return absl::OkStatus();
  absl::Status status = context_.containerd->KillTask(id_);
  // A runtime calls it an error when there is nothing left to kill, which the wait then tells.
  if (!status.ok()) return AwaitExit(kOwnExitTimeout) ? absl::OkStatus() : status;
  if (AwaitExit(kExitTimeout)) return absl::OkStatus();
  return absl::DeadlineExceededError(absl::StrCat("task ", id_, " was killed but has not ended"));
}

absl::Status Sandbox::DeleteTask() {
  // A runner that has said its last word ends by itself, which is cheaper than killing it.
  AwaitExit(kOwnExitTimeout);
  // When the wait failed (containerd was restarted) this says DeadlineExceeded, and deleting tells what is true.
  (void)Kill();
  if (wait_ != nullptr) DrainFifos(kDrainTimeout);
  return context_.containerd->DeleteTask(id_);
}

void Sandbox::DrainFifos(absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  pollfd fds[2] = {{fifos_->stdout_fd(), POLLIN, 0}, {fifos_->stderr_fd(), POLLIN, 0}};
  char buffer[65536];
  while (fds[0].fd >= 0 || fds[1].fd >= 0) {
    const int64_t left = absl::ToInt64Milliseconds(deadline - absl::Now());
    if (left <= 0 || poll(fds, 2, static_cast<int>(left)) <= 0) return;
    for (pollfd& fd : fds) {
      if (fd.fd >= 0 && fd.revents != 0 && read(fd.fd, buffer, sizeof(buffer)) == 0) fd.fd = -1;
    }
  }
}

absl::Status Sandbox::Destroy() {
  const absl::Time deadline = absl::Now() + context_.teardown_timeout;
  std::vector<std::string> left;
  while (!undos_.empty()) {
    const Undo undo = std::move(undos_.back());
    undos_.pop_back();
    absl::Status status;
    absl::Duration pause = kRetryPauseMin;
    for (status = undo.run(); !status.ok() && absl::Now() + pause < deadline; status = undo.run()) {
      absl::SleepFor(pause);
      pause = std::min(2 * pause, kRetryPauseMax);
    }
    if (!status.ok()) {
      // The container stays as the handle by which its task can be found again.
      left.push_back(absl::StrCat(undo.what, ": ", status.message()));
      break;
    }
  }
  wait_.reset();
  fifos_.reset();
  if (left.empty()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrJoin(left, "; "));
}

}  // namespace mayfly::worker
