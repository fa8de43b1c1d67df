// The fake containerd as the contract suite's backend.
#include <utility>

#include "tests/fakes/fake_containerd.h"
#include "tests/unit/containerd/containerd_backend.h"

namespace mayfly::worker {
namespace {

class FakeBackend final : public ContainerdBackend {
 public:
  FakeBackend() : image_reference_(fake_.AddImage({.name = "init", .env = {"PATH=/bin", "A=b=c"}})) {}

  std::string address() const override { return fake_.address(); }
  std::string namespace_name() const override { return std::string(fakes::FakeContainerd::kNamespace); }
  std::string snapshotter() const override { return "overlayfs"; }
  std::string image_reference() const override { return image_reference_; }

  void Configure(Program program, ContainerSpec* spec) override {
    spec->runtime.name = "io.containerd.runc.v2";
    spec->oci_spec_json = "{}";
    fake_.SetGuest([program](fakes::FakeGuest& guest) {
      if (program == Program::kPause) {
        guest.Hang();
      } else {
        guest.Die(7);
      }
    });
  }

 private:
  fakes::FakeContainerd fake_;
  const std::string image_reference_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ContainerdBackend>> MakeContainerdBackend() {
  return std::make_unique<FakeBackend>();
}

}  // namespace mayfly::worker
