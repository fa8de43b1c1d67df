#include "tests/fakes/fake_containerd_services.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/sync_stream.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "github.com/containerd/containerd/api/services/containers/v1/containers.grpc.pb.h"
#include "github.com/containerd/containerd/api/services/content/v1/content.grpc.pb.h"
#include "github.com/containerd/containerd/api/services/images/v1/images.grpc.pb.h"
#include "github.com/containerd/containerd/api/services/snapshots/v1/snapshots.grpc.pb.h"
#include "github.com/containerd/containerd/api/services/version/v1/version.grpc.pb.h"
#include "tests/fakes/containerd_filter.h"
#include "tests/fakes/fake_handler.h"
#include "tests/fakes/fake_tasks_service.h"

namespace mayfly::fakes {
namespace {

namespace containers = ::containerd::services::containers::v1;
namespace content = ::containerd::services::content::v1;
namespace images = ::containerd::services::images::v1;
namespace snapshots = ::containerd::services::snapshots::v1;
namespace version = ::containerd::services::version::v1;

using google::protobuf::Empty;

constexpr size_t kReadChunkBytes = 32'768;

// What containerd calls an identifier: 1 to 76 of [A-Za-z0-9._-], alphanumeric at both ends.
absl::Status CheckIdentifier(absl::string_view id) {
  constexpr size_t kLengthMax = 76;
  const bool well_formed = !id.empty() && id.size() <= kLengthMax && absl::ascii_isalnum(id.front()) &&
                           absl::ascii_isalnum(id.back()) && std::all_of(id.begin(), id.end(), [](char c) {
                             return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
                           });
  return well_formed ? absl::OkStatus()
                     : absl::InvalidArgumentError(absl::StrCat("identifier \"", id, "\" is invalid"));
}

template <typename Labels>
absl::Status CheckLabels(const Labels& labels) {
  constexpr size_t kBytesMax = 4096;
  for (const auto& [key, value] : labels) {
    if (key.size() + value.size() > kBytesMax) return absl::InvalidArgumentError("label is too long");
  }
  return absl::OkStatus();
}

// Calls `match` for the objects of `from` that one of the filters (any, when there are none) lets through.
template <typename Objects, typename Fields, typename Match>
absl::Status ForEachMatch(const Objects& from, const google::protobuf::RepeatedPtrField<std::string>& filters,
                          const Fields& fields, const Match& match) {
  std::vector<std::vector<FilterTerm>> parsed;
  for (const std::string& filter : filters) {
    absl::StatusOr<std::vector<FilterTerm>> terms = ParseFilter(filter);
    if (!terms.ok()) return terms.status();
    parsed.push_back(*std::move(terms));
  }
  for (const auto& [key, object] : from) {
    const std::map<std::string, std::string> labels(object.labels().begin(), object.labels().end());
    const bool matches =
        parsed.empty() || std::any_of(parsed.begin(), parsed.end(), [&, &object = object](auto& terms) {
          return Matches(terms, labels, fields(object));
        });
    if (matches) match(object);
  }
  return absl::OkStatus();
}

class VersionService final : public version::Version::Service {
 public:
  explicit VersionService(FakeState* state) : handler_(state) {}

  grpc::Status Version(grpc::ServerContext* context, const Empty*, version::VersionResponse* response) override {
    // The real one needs no namespace here; every client sends one anyway.
    return handler_.Handle("version.Version", context, [&](FakeStore&) {
      response->set_version("0.0.0-fake");
      return absl::OkStatus();
    });
  }

 private:
  const FakeHandler handler_;
};

class ImagesService final : public images::Images::Service {
 public:
  explicit ImagesService(FakeState* state) : handler_(state) {}

  grpc::Status List(grpc::ServerContext* context, const images::ListImagesRequest* request,
                    images::ListImagesResponse* response) override {
    return handler_.Handle("images.List", context, [&](FakeStore& store) {
      const auto fields = [](const images::Image& image) {
        return std::map<std::string, std::string>{{"name", image.name()}, {"target.digest", image.target().digest()}};
      };
      return ForEachMatch(store.images, request->filters(), fields,
                          [&](const images::Image& image) { *response->add_images() = image; });
    });
  }

 private:
  const FakeHandler handler_;
};

class ContentService final : public content::Content::Service {
 public:
  explicit ContentService(FakeState* state) : handler_(state) {}

  grpc::Status Info(grpc::ServerContext* context, const content::InfoRequest* request,
                    content::InfoResponse* response) override {
    return handler_.Handle("content.Info", context, [&](FakeStore& store) {
      const auto blob = store.blobs.find(request->digest());
      if (blob == store.blobs.end()) return NotFound("content", request->digest());
      response->mutable_info()->set_digest(blob->first);
      response->mutable_info()->set_size(static_cast<int64_t>(blob->second.content.size()));
      response->mutable_info()->mutable_labels()->insert(blob->second.labels.begin(), blob->second.labels.end());
      return absl::OkStatus();
    });
  }

  // Whole blobs only.
  grpc::Status Read(grpc::ServerContext* context, const content::ReadContentRequest* request,
                    grpc::ServerWriter<content::ReadContentResponse>* writer) override {
    std::string data;
    const grpc::Status status = handler_.Handle("content.Read", context, [&](FakeStore& store) {
      const auto blob = store.blobs.find(request->digest());
      if (blob == store.blobs.end()) return NotFound("content", request->digest());
      data = blob->second.content;
      return absl::OkStatus();
    });
    for (size_t at = 0; status.ok() && at < data.size(); at += kReadChunkBytes) {
      content::ReadContentResponse response;
      response.set_offset(static_cast<int64_t>(at));
      response.set_data(data.substr(at, kReadChunkBytes));
      if (!writer->Write(response)) break;
    }
    return status;
  }

 private:
  const FakeHandler handler_;
};

class SnapshotsService final : public snapshots::Snapshots::Service {
 public:
  explicit SnapshotsService(FakeState* state) : handler_(state) {}

  grpc::Status View(grpc::ServerContext* context, const snapshots::ViewSnapshotRequest* request,
                    snapshots::ViewSnapshotResponse* response) override {
    return handler_.Handle("snapshots.View", context, [&](FakeStore& store) {
      const auto parent = store.snapshots.find({request->snapshotter(), request->parent()});
      if (parent == store.snapshots.end()) return NotFound("parent snapshot", request->parent());
      if (parent->second.kind() != snapshots::COMMITTED) {
        return absl::InvalidArgumentError("parent snapshot is not committed");
      }
      if (absl::Status status = CheckLabels(request->labels()); !status.ok()) return status;
      auto [entry, added] = store.snapshots.try_emplace({request->snapshotter(), request->key()});
      if (!added) return AlreadyExists("snapshot", request->key());
      entry->second.set_name(request->key());
      entry->second.set_parent(request->parent());
      entry->second.set_kind(snapshots::VIEW);
      *entry->second.mutable_labels() = request->labels();
      SetMount(request->parent(), response->add_mounts());
      return absl::OkStatus();
    });
  }

  grpc::Status Mounts(grpc::ServerContext* context, const snapshots::MountsRequest* request,
                      snapshots::MountsResponse* response) override {
    return handler_.Handle("snapshots.Mounts", context, [&](FakeStore& store) {
      const auto entry = store.snapshots.find({request->snapshotter(), request->key()});
      if (entry == store.snapshots.end()) return NotFound("snapshot", request->key());
      SetMount(entry->second.parent(), response->add_mounts());
      return absl::OkStatus();
    });
  }

  grpc::Status Stat(grpc::ServerContext* context, const snapshots::StatSnapshotRequest* request,
                    snapshots::StatSnapshotResponse* response) override {
    return handler_.Handle("snapshots.Stat", context, [&](FakeStore& store) {
      const auto entry = store.snapshots.find({request->snapshotter(), request->key()});
      if (entry == store.snapshots.end()) return NotFound("snapshot", request->key());
      *response->mutable_info() = entry->second;
      return absl::OkStatus();
    });
  }

  grpc::Status Remove(grpc::ServerContext* context, const snapshots::RemoveSnapshotRequest* request, Empty*) override {
    return handler_.Handle("snapshots.Remove", context, [&](FakeStore& store) {
      const std::pair<std::string, std::string> key(request->snapshotter(), request->key());
      if (store.snapshots.find(key) == store.snapshots.end()) return NotFound("snapshot", request->key());
      for (const auto& [other, info] : store.snapshots) {
        if (other.first == key.first && info.parent() == key.second) {
          return absl::FailedPreconditionError("cannot remove snapshot with child: failed precondition");
        }
      }
      store.snapshots.erase(key);
      return absl::OkStatus();
    });
  }

  grpc::Status List(grpc::ServerContext* context, const snapshots::ListSnapshotsRequest* request,
                    grpc::ServerWriter<snapshots::ListSnapshotsResponse>* writer) override {
    snapshots::ListSnapshotsResponse response;
    const grpc::Status status = handler_.Handle("snapshots.List", context, [&](FakeStore& store) {
      std::map<std::string, snapshots::Info> of_snapshotter;
      for (const auto& [key, info] : store.snapshots) {
        if (key.first == request->snapshotter()) of_snapshotter[key.second] = info;
      }
      const auto fields = [](const snapshots::Info& info) {
        return std::map<std::string, std::string>{{"name", info.name()}, {"parent", info.parent()}};
      };
      return ForEachMatch(of_snapshotter, request->filters(), fields,
                          [&](const snapshots::Info& info) { *response.add_info() = info; });
    });
    if (status.ok() && !response.info().empty()) writer->Write(response);
    return status;
  }

 private:
  void SetMount(const std::string& parent, ::containerd::types::Mount* mount) const {
    mount->set_type("bind");
    mount->set_source(absl::StrCat(handler_.state()->directory, "/snapshots/", parent));
    mount->add_options("ro");
    mount->add_options("rbind");
  }

  const FakeHandler handler_;
};

class ContainersService final : public containers::Containers::Service {
 public:
  explicit ContainersService(FakeState* state) : handler_(state) {}

  grpc::Status Create(grpc::ServerContext* context, const containers::CreateContainerRequest* request,
                      containers::CreateContainerResponse* response) override {
    return handler_.Handle("containers.Create", context, [&](FakeStore& store) {
      const containers::Container& container = request->container();
      if (absl::Status status = CheckIdentifier(container.id()); !status.ok()) return status;
      if (absl::Status status = CheckLabels(container.labels()); !status.ok()) return status;
      if (container.runtime().name().empty()) return absl::InvalidArgumentError("container.Runtime.Name must be set");
      if (!container.has_spec()) return absl::InvalidArgumentError("container.Spec must be set");
      if (!container.snapshot_key().empty() && container.snapshotter().empty()) {
        return absl::InvalidArgumentError("container.Snapshotter must be set");
      }
      if (!store.containers.emplace(container.id(), container).second) {
        return AlreadyExists("container", container.id());
      }
      *response->mutable_container() = container;
      return absl::OkStatus();
    });
  }

  // Like the real one it does not look at tasks: one that is left can be reached no more.
  grpc::Status Delete(grpc::ServerContext* context, const containers::DeleteContainerRequest* request,
                      Empty*) override {
    return handler_.Handle("containers.Delete", context, [&](FakeStore& store) {
      return store.containers.erase(request->id()) > 0 ? absl::OkStatus() : NotFound("container", request->id());
    });
  }

  grpc::Status ListStream(grpc::ServerContext* context, const containers::ListContainersRequest* request,
                          grpc::ServerWriter<containers::ListContainerMessage>* writer) override {
    std::vector<containers::Container> found;
    const grpc::Status status = handler_.Handle("containers.List", context, [&](FakeStore& store) {
      const auto fields = [](const containers::Container& container) {
        return std::map<std::string, std::string>{{"id", container.id()}, {"image", container.image()}};
      };
      return ForEachMatch(store.containers, request->filters(), fields,
                          [&](const containers::Container& container) { found.push_back(container); });
    });
    for (containers::Container& container : found) {
      containers::ListContainerMessage message;
      *message.mutable_container() = std::move(container);
      if (!writer->Write(message)) break;
    }
    return status;
  }

 private:
  const FakeHandler handler_;
};

}  // namespace

std::vector<std::unique_ptr<grpc::Service>> MakeFakeServices(FakeState* state) {
  std::vector<std::unique_ptr<grpc::Service>> services;
  services.push_back(std::make_unique<ContainersService>(state));
  services.push_back(std::make_unique<ContentService>(state));
  services.push_back(std::make_unique<ImagesService>(state));
  services.push_back(std::make_unique<SnapshotsService>(state));
  services.push_back(MakeFakeTasksService(state));
  services.push_back(std::make_unique<VersionService>(state));
  return services;
}

}  // namespace mayfly::fakes
