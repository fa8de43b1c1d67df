// FakeContainerd: a containerd for tests. A real gRPC server on a unix socket in a directory of its own, with the part
// of the API that Mayfly uses, everything in memory, and the real one's rules and errors.
//
//   FakeContainerd fake;
//   const std::string image = fake.AddImage({.name = "python"});
//   GrpcContainerd client({.address = fake.address(), .namespace_name = std::string(FakeContainerd::kNamespace)});
//   ...
//   EXPECT_TRUE(fake.AwaitIdle(absl::Seconds(5)));  // no container, no task is left
//
// Inside a task a guest plays the runner: the script of guest_script.h, unless SetGuest() gives another. Calls go wrong
// by failpoints(). It is stricter than containerd 1.6 where later versions are: type URLs, the spec's JSON.
//
// Safe from any thread. Destroying it kills all tasks.
#ifndef MAYFLY_TESTS_FAKES_FAKE_CONTAINERD_H_
#define MAYFLY_TESTS_FAKES_FAKE_CONTAINERD_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tests/fakes/failpoints.h"
#include "tests/fakes/fake_guest.h"

namespace mayfly::fakes {

struct FakeState;

class FakeContainerd {
 public:
  // The namespace of all methods below. Calls over gRPC may use others.
  static constexpr absl::string_view kNamespace = "mayfly";

  struct Image {
    std::string name;                   // "python": the image's name is fake.test/python:latest
    std::vector<std::string> env = {};  // its configuration's
    bool indexed = true;                // the name points to an index, which points to the manifest
    bool unpacked = true;               // there is a snapshot of it
    std::string snapshotter = "overlayfs";
  };

  struct Container {
    std::string id;
    std::string image;
    std::string snapshot_key;
    std::string runtime;
    std::string spec_json;
    std::map<std::string, std::string> labels;
  };

  struct Counts {
    int containers = 0;
    int tasks = 0;          // whatever their state, also those whose container is gone
    int running_tasks = 0;  // of these
    int views = 0;          // snapshots that are no image's

    bool operator==(const Counts&) const = default;
  };

  FakeContainerd();
  ~FakeContainerd();
  FakeContainerd(const FakeContainerd&) = delete;
  FakeContainerd& operator=(const FakeContainerd&) = delete;

  // A gRPC target, "unix:/tmp/.../containerd.sock".
  std::string address() const;

  // A containerd that dies and one that starts again. Calls under way fail; containers, snapshots and tasks remain, as
  // the shims do, with their guests running.
  void Stop();
  void Start();

  Failpoints& failpoints();

  // The guest of the tasks that are created from now on; nullptr is RunScriptGuest.
  void SetGuest(GuestFunction guest);

  // Adds an image as containerd would have it after a pull; returns its reference "fake.test/python@sha256:...".
  std::string AddImage(const Image& image);

  // For malformed images: any content, and a name that points to it. Digests are made up, not hashes.
  std::string AddBlob(std::string content, const std::map<std::string, std::string>& labels = {});
  std::string AddImageName(const std::string& name, const std::string& media_type, const std::string& digest);

  // Removes a snapshot, also an image's, from under everybody.
  void DropSnapshot(const std::string& snapshotter, const std::string& key);

  std::vector<Container> Containers() const;
  Counts CountAll() const;

  // Blocks until there is no container and no task; false when that takes longer than `timeout`.
  bool AwaitIdle(absl::Duration timeout) const;

 private:
  struct Server;

  std::string directory_;
  std::unique_ptr<FakeState> state_;
  std::unique_ptr<Server> server_;  // null while stopped
};

}  // namespace mayfly::fakes

#endif  // MAYFLY_TESTS_FAKES_FAKE_CONTAINERD_H_
