// ContainerdBackend: what the contract suite of Containerd runs against. Each test program links one of them.
#ifndef MAYFLY_TESTS_UNIT_CONTAINERD_CONTAINERD_BACKEND_H_
#define MAYFLY_TESTS_UNIT_CONTAINERD_CONTAINERD_BACKEND_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "worker/containerd/containerd.h"

namespace mayfly::worker {

class ContainerdBackend {
 public:
  enum class Program {
    kPause,  // until killed
    kExit7,  // at once
  };

  virtual ~ContainerdBackend() = default;

  // The address of a containerd, and an image in it, unpacked for snapshotter().
  virtual std::string address() const = 0;
  virtual std::string namespace_name() const = 0;
  virtual std::string snapshotter() const = 0;
  virtual std::string image_reference() const = 0;

  // Runtime and OCI spec of a container that runs `program`. For the next task that is created.
  virtual void Configure(Program program, ContainerSpec* spec) = 0;
};

// Unavailable, with the reason, when the machine cannot have one: the test is skipped.
absl::StatusOr<std::unique_ptr<ContainerdBackend>> MakeContainerdBackend();

}  // namespace mayfly::worker

#endif  // MAYFLY_TESTS_UNIT_CONTAINERD_CONTAINERD_BACKEND_H_
