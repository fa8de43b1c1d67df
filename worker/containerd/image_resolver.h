// ImageResolver: from a pinned image reference to the snapshot its files were unpacked to, through containerd's image,
// content and snapshot services.
#ifndef MAYFLY_WORKER_CONTAINERD_IMAGE_RESOLVER_H_
#define MAYFLY_WORKER_CONTAINERD_IMAGE_RESOLVER_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "github.com/containerd/containerd/api/services/content/v1/content.grpc.pb.h"
#include "github.com/containerd/containerd/api/services/images/v1/images.grpc.pb.h"
#include "github.com/containerd/containerd/api/services/snapshots/v1/snapshots.grpc.pb.h"
#include "worker/containerd/containerd.h"
#include "worker/containerd/grpc_caller.h"
#include "worker/containerd/oci_image.h"

namespace mayfly::worker {

// For one resolution: cheap to make, keeps nothing.
class ImageResolver {
 public:
  struct Services {
    ::containerd::services::images::v1::Images::Stub* images;
    ::containerd::services::content::v1::Content::Stub* content;
    ::containerd::services::snapshots::v1::Snapshots::Stub* snapshots;
  };

  // What it is given must outlive it.
  ImageResolver(const GrpcCaller* caller, Services services, absl::string_view reference);

  // See Containerd::ResolveImage.
  absl::StatusOr<ImageInfo> Resolve(absl::string_view snapshotter) const;

 private:
  absl::StatusOr<::containerd::services::images::v1::Image> FindImage(const PinnedReference& pinned) const;

  // Follows indexes, if any, to the manifest of this machine's platform, and that to its configuration.
  absl::StatusOr<Descriptor> FindConfig(Descriptor target) const;

  // The key of the snapshot that the image was unpacked to, from the label on its configuration which keeps that
  // snapshot from being collected.
  absl::StatusOr<std::string> FindChainId(const std::string& config_digest, absl::string_view snapshotter) const;

  // The whole document, at most kImageDocumentBytesMax.
  absl::StatusOr<std::string> ReadDocument(const std::string& digest) const;

  // `status` with what is being done in front of its message.
  absl::Status Annotate(const absl::Status& status) const;

  const GrpcCaller* const caller_;
  const Services services_;
  const std::string reference_;
  const std::string doing_;
};

}  // namespace mayfly::worker

#endif  // MAYFLY_WORKER_CONTAINERD_IMAGE_RESOLVER_H_
