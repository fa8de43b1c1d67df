// FakeState: what a FakeContainerd's gRPC services have in common. Private to tests/fakes.
#ifndef MAYFLY_TESTS_FAKES_FAKE_STATE_H_
#define MAYFLY_TESTS_FAKES_FAKE_STATE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "github.com/containerd/containerd/api/services/containers/v1/containers.pb.h"
#include "github.com/containerd/containerd/api/services/images/v1/images.pb.h"
#include "github.com/containerd/containerd/api/services/snapshots/v1/snapshots.pb.h"
#include "tests/fakes/failpoints.h"
#include "tests/fakes/fake_guest.h"
#include "tests/fakes/fake_task.h"

namespace mayfly::fakes {

struct FakeBlob {
  std::string content;
  std::map<std::string, std::string> labels;
};

// One namespace's objects.
struct FakeStore {
  std::map<std::string, containerd::services::images::v1::Image> images;  // by name
  std::map<std::string, FakeBlob> blobs;                                  // by digest
  std::map<std::pair<std::string, std::string>,
           containerd::services::snapshots::v1::Info>
      snapshots;                                                                      // by snapshotter and key
  std::map<std::string, containerd::services::containers::v1::Container> containers;  // by id
  std::map<std::string, std::shared_ptr<FakeTask>> tasks;                             // by the container's id
};

struct FakeState {
  // Where snapshots would be mounted from.
  std::string directory;

  Failpoints failpoints;

  mutable absl::Mutex mutex;
  std::map<std::string, FakeStore> stores ABSL_GUARDED_BY(mutex);  // by namespace
  GuestFunction guest ABSL_GUARDED_BY(mutex);
  uint64_t digests ABSL_GUARDED_BY(mutex) = 0;  // given so far
};

}  // namespace mayfly::fakes

#endif  // MAYFLY_TESTS_FAKES_FAKE_STATE_H_
