#include "worker/containerd/grpc_containerd.h"

#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "github.com/containerd/containerd/api/services/containers/v1/containers.grpc.pb.h"
#include "github.com/containerd/containerd/api/services/content/v1/content.grpc.pb.h"
#include "github.com/containerd/containerd/api/services/images/v1/images.grpc.pb.h"
#include "github.com/containerd/containerd/api/services/snapshots/v1/snapshots.grpc.pb.h"
#include "github.com/containerd/containerd/api/services/tasks/v1/tasks.grpc.pb.h"
#include "github.com/containerd/containerd/api/services/version/v1/version.grpc.pb.h"
#include "github.com/containerd/containerd/pkg/runtimeoptions/v1/api.pb.h"
#include "github.com/containerd/containerd/runtime/v2/runc/options/oci.pb.h"
#include "worker/containerd/image_resolver.h"
#include "worker/containerd/task_wait.h"

namespace mayfly::worker {
namespace {

namespace containers = ::containerd::services::containers::v1;
namespace content = ::containerd::services::content::v1;
namespace images = ::containerd::services::images::v1;
namespace snapshots = ::containerd::services::snapshots::v1;
namespace tasks = ::containerd::services::tasks::v1;
namespace version = ::containerd::services::version::v1;

constexpr uint32_t kSigkill = 9;

// The largest message taken from containerd.
constexpr size_t kMessageBytesMax = size_t{16} << 20;

// containerd's garbage collector keeps what carries this label.
constexpr absl::string_view kGcRootLabel = "containerd.io/gc.root";

// containerd compares type URLs with bare names; PackFrom would put "type.googleapis.com/" in front.
constexpr absl::string_view kSpecTypeUrl = "types.containerd.io/opencontainers/runtime-spec/1/Spec";
constexpr absl::string_view kRuncOptionsTypeUrl = "containerd.runc.v1.Options";
constexpr absl::string_view kRuntimeOptionsTypeUrl = "runtimeoptions.v1.Options";

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address) {
  constexpr int kFirstBackoffMillis = 100;
  constexpr int kConnectionAttemptMillis = 5'000;
  const int backoff_max_millis = static_cast<int>(absl::ToInt64Milliseconds(GrpcContainerd::kReconnectBackoffMax));
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(static_cast<int>(kMessageBytesMax));
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // A pool shared through the process would make two clients of one address share a connection and its backoff.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstBackoffMillis);
  // Despite its name: how long an attempt may take, until containerd has greeted.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectionAttemptMillis);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, backoff_max_millis);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

// containerd's filter language: all of `labels`, as labels."key"=="value",... Strings are quoted as in Go and C.
std::string LabelFilter(const std::map<std::string, std::string>& labels) {
  return absl::StrJoin(labels, ",", [](std::string* out, const std::pair<const std::string, std::string>& label) {
    absl::StrAppend(out, "labels.\"", absl::Utf8SafeCEscape(label.first), "\"==\"", absl::Utf8SafeCEscape(label.second),
                    "\"");
  });
}

template <typename Mounts>
std::vector<RootfsMount> ToRootfsMounts(const Mounts& mounts) {
  std::vector<RootfsMount> rootfs;
  for (const auto& mount : mounts) {
    rootfs.push_back({mount.type(), mount.source(), {mount.options().begin(), mount.options().end()}});
  }
  return rootfs;
}

void SetAny(absl::string_view type_url, std::string value, google::protobuf::Any* any) {
  any->set_type_url(std::string(type_url));
  any->set_value(std::move(value));
}

void SetRuntime(const RuntimeOptions& from, containers::Container::Runtime* runtime) {
  runtime->set_name(from.name);
  if (!from.binary.empty() || !from.root.empty()) {
    ::containerd::runc::v1::Options options;
    options.set_binary_name(from.binary);
    options.set_root(from.root);
    SetAny(kRuncOptionsTypeUrl, options.SerializeAsString(), runtime->mutable_options());
  } else if (!from.options_type_url.empty()) {
    ::runtimeoptions::v1::Options options;
    options.set_type_url(from.options_type_url);
    options.set_config_path(from.options_config_path);
    SetAny(kRuntimeOptionsTypeUrl, options.SerializeAsString(), runtime->mutable_options());
  }
}

absl::Status OkIfNotFound(const absl::Status& status) {
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

}  // namespace

struct GrpcContainerd::Stubs {
  explicit Stubs(std::shared_ptr<grpc::Channel> to)
      : channel(std::move(to)),
        containers(containers::Containers::NewStub(channel)),
        content(content::Content::NewStub(channel)),
        images(images::Images::NewStub(channel)),
        snapshots(snapshots::Snapshots::NewStub(channel)),
        tasks(tasks::Tasks::NewStub(channel)),
        version(version::Version::NewStub(channel)) {}

  const std::shared_ptr<grpc::Channel> channel;
  const std::unique_ptr<containers::Containers::Stub> containers;
  const std::unique_ptr<content::Content::Stub> content;
  const std::unique_ptr<images::Images::Stub> images;
  const std::unique_ptr<snapshots::Snapshots::Stub> snapshots;
  const std::unique_ptr<tasks::Tasks::Stub> tasks;
  const std::unique_ptr<version::Version::Stub> version;
};

GrpcContainerd::GrpcContainerd(Options options)
    : stubs_(std::make_unique<const Stubs>(MakeChannel(options.address))),
      caller_(stubs_->channel, std::move(options.namespace_name), options.call_timeout, std::move(options.observer)) {}

GrpcContainerd::~GrpcContainerd() = default;

absl::Status GrpcContainerd::Ping() {
  version::VersionResponse response;
  return caller_.Call("version.Version", "asking containerd for its version",
                      [&](grpc::ClientContext* context) { return stubs_->version->Version(context, {}, &response); });
}

absl::StatusOr<ImageInfo> GrpcContainerd::ResolveImage(absl::string_view reference, absl::string_view snapshotter) {
  const ImageResolver::Services services{stubs_->images.get(), stubs_->content.get(), stubs_->snapshots.get()};
  return ImageResolver(&caller_, services, reference).Resolve(snapshotter);
}

absl::StatusOr<std::vector<RootfsMount>> GrpcContainerd::ViewSnapshot(
    absl::string_view snapshotter, absl::string_view key, absl::string_view parent,
    const std::map<std::string, std::string>& labels) {
  snapshots::ViewSnapshotRequest request;
  request.set_snapshotter(std::string(snapshotter));
  request.set_key(std::string(key));
  request.set_parent(std::string(parent));
  request.mutable_labels()->insert(labels.begin(), labels.end());
  (*request.mutable_labels())[std::string(kGcRootLabel)] = absl::FormatTime(absl::Now(), absl::UTCTimeZone());
  snapshots::ViewSnapshotResponse response;
  absl::Status status =
      caller_.Call("snapshots.View", absl::StrCat("making snapshot ", key),
                   [&](grpc::ClientContext* context) { return stubs_->snapshots->View(context, request, &response); });
  if (absl::IsAlreadyExists(status)) return MountsOfView(snapshotter, key, parent);
  if (!status.ok()) return status;
  return ToRootfsMounts(response.mounts());
}

absl::StatusOr<std::vector<RootfsMount>> GrpcContainerd::MountsOfView(absl::string_view snapshotter,
                                                                      absl::string_view key,
                                                                      absl::string_view parent) const {
  const std::string doing = absl::StrCat("looking up snapshot ", key);
  snapshots::StatSnapshotRequest stat_request;
  stat_request.set_snapshotter(std::string(snapshotter));
  stat_request.set_key(std::string(key));
  snapshots::StatSnapshotResponse stat;
  absl::Status status = caller_.Call("snapshots.Stat", doing, [&](grpc::ClientContext* context) {
    return stubs_->snapshots->Stat(context, stat_request, &stat);
  });
  if (!status.ok()) return status;
  // A sandbox on another image's files, or on a root that something can write to, would be a weaker one.
  if (stat.info().kind() != snapshots::VIEW || stat.info().parent() != parent) {
    return absl::FailedPreconditionError(absl::StrCat(doing, ": it exists but is no view of ", parent));
  }

  snapshots::MountsRequest request;
  request.set_snapshotter(std::string(snapshotter));
  request.set_key(std::string(key));
  snapshots::MountsResponse response;
  status = caller_.Call("snapshots.Mounts", doing, [&](grpc::ClientContext* context) {
    return stubs_->snapshots->Mounts(context, request, &response);
  });
  if (!status.ok()) return status;
  return ToRootfsMounts(response.mounts());
}

absl::Status GrpcContainerd::RemoveSnapshot(absl::string_view snapshotter, absl::string_view key) {
  snapshots::RemoveSnapshotRequest request;
  request.set_snapshotter(std::string(snapshotter));
  request.set_key(std::string(key));
  google::protobuf::Empty response;
  return OkIfNotFound(caller_.Call(
      "snapshots.Remove", absl::StrCat("removing snapshot ", key),
      [&](grpc::ClientContext* context) { return stubs_->snapshots->Remove(context, request, &response); }));
}

absl::Status GrpcContainerd::CreateContainer(const ContainerSpec& spec) {
  containers::CreateContainerRequest request;
  containers::Container* container = request.mutable_container();
  container->set_id(spec.id);
  container->set_image(spec.image_name);
  container->set_snapshotter(spec.snapshotter);
  container->set_snapshot_key(spec.snapshot_key);
  container->mutable_labels()->insert(spec.labels.begin(), spec.labels.end());
  SetRuntime(spec.runtime, container->mutable_runtime());
  SetAny(kSpecTypeUrl, spec.oci_spec_json, container->mutable_spec());
  containers::CreateContainerResponse response;
  return caller_.Call(
      "containers.Create", absl::StrCat("creating container ", spec.id),
      [&](grpc::ClientContext* context) { return stubs_->containers->Create(context, request, &response); });
}

absl::Status GrpcContainerd::DeleteContainer(absl::string_view id) {
  containers::DeleteContainerRequest request;
  request.set_id(std::string(id));
  google::protobuf::Empty response;
  return OkIfNotFound(caller_.Call(
      "containers.Delete", absl::StrCat("deleting container ", id),
      [&](grpc::ClientContext* context) { return stubs_->containers->Delete(context, request, &response); }));
}

absl::StatusOr<int64_t> GrpcContainerd::CreateTask(absl::string_view id, const std::vector<RootfsMount>& rootfs,
                                                   const TaskStdio& stdio) {
  tasks::CreateTaskRequest request;
  request.set_container_id(std::string(id));
  for (const RootfsMount& from : rootfs) {
    ::containerd::types::Mount* mount = request.add_rootfs();
    mount->set_type(from.type);
    mount->set_source(from.source);
    mount->mutable_options()->Add(from.options.begin(), from.options.end());
  }
  request.set_stdin(stdio.stdin_path);
  request.set_stdout(stdio.stdout_path);
  request.set_stderr(stdio.stderr_path);
  // No `options`: they would replace the container's, and with them the runtime binary.
  tasks::CreateTaskResponse response;
  absl::Status status =
      caller_.Call("tasks.Create", absl::StrCat("creating task ", id),
                   [&](grpc::ClientContext* context) { return stubs_->tasks->Create(context, request, &response); });
  if (!status.ok()) return status;
  return int64_t{response.pid()};
}

std::unique_ptr<Containerd::TaskWait> GrpcContainerd::WaitTask(absl::string_view id,
                                                               std::function<void(absl::StatusOr<TaskExit>)> done) {
  return std::make_unique<GrpcTaskWait>(&caller_, stubs_->tasks.get(), id, std::move(done));
}

absl::Status GrpcContainerd::StartTask(absl::string_view id) {
  tasks::StartRequest request;
  request.set_container_id(std::string(id));
  tasks::StartResponse response;
  return caller_.Call("tasks.Start", absl::StrCat("starting task ", id),
                      [&](grpc::ClientContext* context) { return stubs_->tasks->Start(context, request, &response); });
}

absl::Status GrpcContainerd::KillTask(absl::string_view id) {
  tasks::KillRequest request;
  request.set_container_id(std::string(id));
  request.set_signal(kSigkill);
  request.set_all(true);
  google::protobuf::Empty response;
  return OkIfNotFound(caller_.Call("tasks.Kill", absl::StrCat("killing task ", id), [&](grpc::ClientContext* context) {
    return stubs_->tasks->Kill(context, request, &response);
  }));
}

absl::Status GrpcContainerd::DeleteTask(absl::string_view id) {
  tasks::DeleteTaskRequest request;
  request.set_container_id(std::string(id));
  tasks::DeleteResponse response;
  const auto call = [&] {
    return caller_.Call("tasks.Delete", absl::StrCat("deleting task ", id), [&](grpc::ClientContext* context) {
      return stubs_->tasks->Delete(context, request, &response);
    });
  };
  absl::Status status = call();
  // containerd 1.6 says Unknown for "cannot delete a running process", and for whatever else a runtime may fail with.
  if (status.code() == absl::StatusCode::kUnknown) {
    if (IsRunning(id)) return absl::FailedPreconditionError(status.message());
    status = call();  // it may have ended just after the first call
  }
  return OkIfNotFound(status);
}

bool GrpcContainerd::IsRunning(absl::string_view id) const {
  tasks::GetRequest request;
  request.set_container_id(std::string(id));
  tasks::GetResponse response;
  absl::Status status =
      caller_.Call("tasks.Get", absl::StrCat("looking up task ", id),
                   [&](grpc::ClientContext* context) { return stubs_->tasks->Get(context, request, &response); });
  return status.ok() && response.process().status() == ::containerd::v1::types::RUNNING;
}

absl::StatusOr<std::vector<std::string>> GrpcContainerd::ListContainers(
    const std::map<std::string, std::string>& labels) {
  containers::ListContainersRequest request;
  if (!labels.empty()) request.add_filters(LabelFilter(labels));
  std::vector<std::string> ids;
  // Streamed: with their specs, a few hundred containers would not fit into one message.
  absl::Status status = caller_.Call("containers.List", "listing containers", [&](grpc::ClientContext* context) {
    auto stream = stubs_->containers->ListStream(context, request);
    containers::ListContainerMessage message;
    while (stream->Read(&message)) ids.push_back(message.container().id());
    return stream->Finish();
  });
  if (!status.ok()) return status;
  return ids;
}

absl::StatusOr<std::vector<std::string>> GrpcContainerd::ListSnapshots(
    absl::string_view snapshotter, const std::map<std::string, std::string>& labels) {
  snapshots::ListSnapshotsRequest request;
  request.set_snapshotter(std::string(snapshotter));
  if (!labels.empty()) request.add_filters(LabelFilter(labels));
  std::vector<std::string> keys;
  absl::Status status = caller_.Call("snapshots.List", "listing snapshots", [&](grpc::ClientContext* context) {
    auto stream = stubs_->snapshots->List(context, request);
    snapshots::ListSnapshotsResponse response;
    while (stream->Read(&response)) {
      for (const snapshots::Info& info : response.info()) keys.push_back(info.name());
    }
    return stream->Finish();
  });
  if (!status.ok()) return status;
  return keys;
}

}  // namespace mayfly::worker
