#include "worker/containerd/image_resolver.h"

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace mayfly::worker {
namespace {

namespace content = ::containerd::services::content::v1;
namespace images = ::containerd::services::images::v1;
namespace snapshots = ::containerd::services::snapshots::v1;

// The largest index, manifest or configuration that is read.
constexpr size_t kImageDocumentBytesMax = size_t{8} << 20;

// An index may point to another one; nobody nests deeper in earnest.
constexpr int kIndexDepthMax = 3;

// containerd's garbage collector follows this label of an image's configuration to its snapshot.
constexpr absl::string_view kGcSnapshotLabelPrefix = "containerd.io/gc.ref.snapshot.";

}  // namespace

ImageResolver::ImageResolver(const GrpcCaller* caller, Services services, absl::string_view reference)
    : caller_(caller),
      services_(services),
      reference_(reference),
      doing_(absl::StrCat("resolving image ", reference)) {}

absl::StatusOr<ImageInfo> ImageResolver::Resolve(absl::string_view snapshotter) const {
  absl::StatusOr<PinnedReference> pinned = ParsePinnedReference(reference_);
  if (!pinned.ok()) return pinned.status();
  absl::StatusOr<images::Image> image = FindImage(*pinned);
  if (!image.ok()) return image.status();
  absl::StatusOr<Descriptor> config = FindConfig({image->target().media_type(), image->target().digest()});
  if (!config.ok()) return config.status();
  absl::StatusOr<std::string> document = ReadDocument(config->digest);
  if (!document.ok()) return document.status();
  absl::StatusOr<std::vector<std::string>> env = EnvironmentOfConfig(*document, HostArchitecture());
  if (!env.ok()) return Annotate(env.status());
  absl::StatusOr<std::string> chain_id = FindChainId(config->digest, snapshotter);
  if (!chain_id.ok()) return chain_id.status();
  return ImageInfo{image->name(), pinned->digest, *std::move(chain_id), *std::move(env)};
}

absl::StatusOr<images::Image> ImageResolver::FindImage(const PinnedReference& pinned) const {
  images::ListImagesRequest request;
  request.add_filters(absl::StrCat("target.digest==\"", pinned.digest, "\""));
  images::ListImagesResponse response;
  absl::Status status = caller_->Call("images.List", doing_, [&](grpc::ClientContext* context) {
    return services_.images->List(context, request, &response);
  });
  if (!status.ok()) return status;

  const images::Image* found = nullptr;
  for (const images::Image& image : response.images()) {
    if (image.target().digest() != pinned.digest) continue;
    if (found == nullptr || image.name() == reference_ || image.name() == pinned.name) found = &image;
  }
  if (found == nullptr) {
    return absl::NotFoundError(
        absl::StrCat(doing_, ": containerd has no image of that digest in namespace ", caller_->namespace_name()));
  }
  return *found;
}

absl::StatusOr<Descriptor> ImageResolver::FindConfig(Descriptor target) const {
  for (int depth = 0; IsIndex(target.media_type); ++depth) {
    if (depth == kIndexDepthMax) return Annotate(absl::FailedPreconditionError("its indexes nest too deep"));
    absl::StatusOr<std::string> index = ReadDocument(target.digest);
    if (!index.ok()) return index.status();
    absl::StatusOr<Descriptor> manifest = ChooseManifest(*index, HostArchitecture());
    if (!manifest.ok()) return Annotate(manifest.status());
    target = *std::move(manifest);
  }
  if (!IsManifest(target.media_type)) {
    return Annotate(absl::FailedPreconditionError(
        absl::StrCat("\"", target.media_type.substr(0, kErrorMessageBytesMax), "\" is no type of an image manifest")));
  }
  absl::StatusOr<std::string> manifest = ReadDocument(target.digest);
  if (!manifest.ok()) return manifest.status();
  absl::StatusOr<Descriptor> config = ConfigOfManifest(*manifest);
  if (!config.ok()) return Annotate(config.status());
  return config;
}

absl::StatusOr<std::string> ImageResolver::FindChainId(const std::string& config_digest,
                                                       absl::string_view snapshotter) const {
  content::InfoRequest info_request;
  info_request.set_digest(config_digest);
  content::InfoResponse info;
  absl::Status status = caller_->Call("content.Info", doing_, [&](grpc::ClientContext* context) {
    return services_.content->Info(context, info_request, &info);
  });
  if (!status.ok()) return status;

  const absl::Status not_unpacked = Annotate(
      absl::FailedPreconditionError(absl::StrCat("the image is there but not unpacked for snapshotter ", snapshotter)));
  const auto label = info.info().labels().find(absl::StrCat(kGcSnapshotLabelPrefix, snapshotter));
  if (label == info.info().labels().end() || label->second.empty()) return not_unpacked;

  // The label is set when unpacking ends, but a snapshot may have been removed by hand since.
  snapshots::StatSnapshotRequest stat_request;
  stat_request.set_snapshotter(std::string(snapshotter));
  stat_request.set_key(label->second);
  snapshots::StatSnapshotResponse stat;
  status = caller_->Call("snapshots.Stat", doing_, [&](grpc::ClientContext* context) {
    return services_.snapshots->Stat(context, stat_request, &stat);
  });
  if (absl::IsNotFound(status)) return not_unpacked;
  if (!status.ok()) return status;
  return label->second;
}

absl::StatusOr<std::string> ImageResolver::ReadDocument(const std::string& digest) const {
  content::ReadContentRequest request;
  request.set_digest(digest);
  std::string document;
  // No size in the request: containerd refuses one that is past the document's end. The bound is kept here.
  absl::Status status = caller_->Call("content.Read", doing_, [&](grpc::ClientContext* context) {
    auto stream = services_.content->Read(context, request);
    content::ReadContentResponse response;
    while (stream->Read(&response)) {
      if (response.data().size() > kImageDocumentBytesMax - document.size()) {
        context->TryCancel();
        static_cast<void>(stream->Finish());
        return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION,
                            absl::StrCat(digest, " is longer than ", kImageDocumentBytesMax, " bytes"));
      }
      document.append(response.data());
    }
    return stream->Finish();
  });
  if (!status.ok()) return status;
  return document;
}

absl::Status ImageResolver::Annotate(const absl::Status& status) const {
  return absl::Status(status.code(), absl::StrCat(doing_, ": ", status.message()));
}

}  // namespace mayfly::worker
