// The contract of Containerd (worker/containerd/containerd.h): GrpcContainerd with the fake containerd and with a real
// one behind it. That both pass is what makes the fake worth testing with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/unit/containerd/containerd_backend.h"
#include "tests/unit/containerd/task_fifos.h"
#include "worker/containerd/grpc_containerd.h"

namespace mayfly::worker {
namespace {

using Labels = std::map<std::string, std::string>;
using Program = ContainerdBackend::Program;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

constexpr absl::Duration kPatience = absl::Seconds(30);
constexpr uint32_t kKilled = 137;

// The outcome of a wait, for a test to wait for.
class Outcome {
 public:
  std::function<void(absl::StatusOr<TaskExit>)> Callback() {
    return [this](absl::StatusOr<TaskExit> exit) {
      exit_ = std::move(exit);
      there_.Notify();  // dies when called twice, which is a part of the contract
    };
  }

  absl::StatusOr<TaskExit> Await() {
    if (!there_.WaitForNotificationWithTimeout(kPatience)) return absl::DeadlineExceededError("no outcome");
    return exit_;
  }

  bool there() const { return there_.HasBeenNotified(); }

 private:
  absl::StatusOr<TaskExit> exit_;
  absl::Notification there_;
};

class ContainerdContract : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<ContainerdBackend>> backend = MakeContainerdBackend();
    ASSERT_TRUE(backend.ok()) << backend.status();
    backend_ = *std::move(backend);
    GrpcContainerd::Options options;
    options.address = backend_->address();
    options.namespace_name = backend_->namespace_name();
    options.call_timeout = kPatience;
    containerd_ = std::make_unique<GrpcContainerd>(std::move(options));
  }

  void TearDown() override {
    if (containerd_ == nullptr) return;
    absl::StatusOr<std::vector<std::string>> ids = containerd_->ListContainers({});
    EXPECT_TRUE(ids.ok()) << ids.status();
    for (const std::string& id : ids.value_or(std::vector<std::string>())) {
      EXPECT_EQ(containerd_->KillTask(id), absl::OkStatus());
      // The runtime needs a moment to notice that what it killed is dead.
      absl::Status deleted = absl::FailedPreconditionError("not tried");
      const absl::Time until = absl::Now() + kPatience;
      while (absl::IsFailedPrecondition(deleted) && absl::Now() < until) deleted = containerd_->DeleteTask(id);
      EXPECT_EQ(deleted, absl::OkStatus());
      EXPECT_EQ(containerd_->DeleteContainer(id), absl::OkStatus());
    }
  }

  ImageInfo Image() {
    absl::StatusOr<ImageInfo> image = containerd_->ResolveImage(backend_->image_reference(), backend_->snapshotter());
    EXPECT_TRUE(image.ok()) << image.status();
    return image.ok() ? *std::move(image) : ImageInfo{};
  }

  absl::StatusOr<std::vector<RootfsMount>> View(absl::string_view key, absl::string_view parent,
                                                const Labels& labels = {}) {
    return containerd_->ViewSnapshot(backend_->snapshotter(), key, parent, labels);
  }

  ContainerSpec Spec(const std::string& id, Program program = Program::kPause, Labels labels = {}) {
    ContainerSpec spec;
    spec.id = id;
    spec.image_name = "mayfly.test/init:latest";
    spec.labels = std::move(labels);
    backend_->Configure(program, &spec);
    return spec;
  }

  // Everything up to a created task, with `fifos_`.
  absl::Status CreateTask(const std::string& id, Program program) {
    absl::StatusOr<std::vector<RootfsMount>> rootfs = View("rootfs", Image().chain_id);
    if (!rootfs.ok()) return rootfs.status();
    if (absl::Status status = containerd_->CreateContainer(Spec(id, program)); !status.ok()) return status;
    absl::StatusOr<int64_t> pid = containerd_->CreateTask(id, *rootfs, fifos_.stdio());
    if (!pid.ok()) return pid.status();
    EXPECT_GT(*pid, 0);
    return absl::OkStatus();
  }

  std::unique_ptr<ContainerdBackend> backend_;
  std::unique_ptr<GrpcContainerd> containerd_;
  TaskFifos fifos_;
};

TEST_F(ContainerdContract, PingAnswers) {
  EXPECT_EQ(containerd_->Ping(), absl::OkStatus());
}

TEST_F(ContainerdContract, ImageIsFoundByItsDigestWhateverItsName) {
  const std::string digest = backend_->image_reference().substr(backend_->image_reference().find('@') + 1);
  for (const std::string& reference : {backend_->image_reference(), absl::StrCat("other.test/name@", digest)}) {
    absl::StatusOr<ImageInfo> image = containerd_->ResolveImage(reference, backend_->snapshotter());
    ASSERT_TRUE(image.ok()) << image.status();
    EXPECT_EQ(image->digest, digest);
    EXPECT_THAT(image->name, HasSubstr("init"));
    EXPECT_THAT(image->chain_id, HasSubstr("sha256:"));
    EXPECT_THAT(image->env, ElementsAre("PATH=/bin", "A=b=c"));
  }
}

TEST_F(ContainerdContract, ImageErrors) {
  const std::string absent = absl::StrCat("mayfly.test/init@sha256:", std::string(64, '0'));
  EXPECT_TRUE(
      absl::IsInvalidArgument(containerd_->ResolveImage("mayfly.test/init:latest", backend_->snapshotter()).status()));
  EXPECT_TRUE(absl::IsNotFound(containerd_->ResolveImage(absent, backend_->snapshotter()).status()));
  const absl::Status not_unpacked = containerd_->ResolveImage(backend_->image_reference(), "other").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(not_unpacked)) << not_unpacked;
  EXPECT_THAT(not_unpacked.message(), HasSubstr("not unpacked"));
}

TEST_F(ContainerdContract, ViewIsMadeOnceAndThenFound) {
  const std::string parent = Image().chain_id;
  absl::StatusOr<std::vector<RootfsMount>> made = View("view", parent);
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_THAT(*made, Not(IsEmpty()));
  absl::StatusOr<std::vector<RootfsMount>> found = View("view", parent);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->front().source, made->front().source);
  EXPECT_EQ(found->front().options, made->front().options);

  EXPECT_EQ(containerd_->RemoveSnapshot(backend_->snapshotter(), "view"), absl::OkStatus());
  EXPECT_EQ(containerd_->RemoveSnapshot(backend_->snapshotter(), "view"), absl::OkStatus());
}

TEST_F(ContainerdContract, ViewErrors) {
  const std::string parent = Image().chain_id;
  EXPECT_TRUE(absl::IsNotFound(View("view", "no-such-parent").status()));
  // A key that is there as something else than a view of that parent.
  EXPECT_TRUE(absl::IsFailedPrecondition(View(parent, parent).status()));
  ASSERT_TRUE(View("view", parent).ok());
  const absl::Status in_use = containerd_->RemoveSnapshot(backend_->snapshotter(), parent);
  EXPECT_TRUE(absl::IsFailedPrecondition(in_use)) << in_use;
}

TEST_F(ContainerdContract, SnapshotsAreListedByTheirLabels) {
  const std::string parent = Image().chain_id;
  ASSERT_TRUE(View("a", parent, {{"mayfly.test/x", "1"}, {"mayfly.test/y", "2"}}).ok());
  ASSERT_TRUE(View("b", parent, {{"mayfly.test/x", "1"}}).ok());
  const auto list = [&](const Labels& labels) {
    return containerd_->ListSnapshots(backend_->snapshotter(), labels).value_or(std::vector<std::string>{"error"});
  };
  EXPECT_THAT(list({{"mayfly.test/x", "1"}}), UnorderedElementsAre("a", "b"));
  EXPECT_THAT(list({{"mayfly.test/x", "1"}, {"mayfly.test/y", "2"}}), ElementsAre("a"));
  EXPECT_THAT(list({{"mayfly.test/x", "2"}}), IsEmpty());
  EXPECT_THAT(list({}), UnorderedElementsAre("a", "b", parent));
}

TEST_F(ContainerdContract, ContainersAreListedByTheirLabels) {
  const std::string odd = "quote \" backslash \\ comma , é";
  ASSERT_EQ(containerd_->CreateContainer(Spec("a", Program::kPause, {{"x", "1"}, {"y", odd}})), absl::OkStatus());
  ASSERT_EQ(containerd_->CreateContainer(Spec("b", Program::kPause, {{"x", "1"}})), absl::OkStatus());
  const auto list = [&](const Labels& labels) {
    return containerd_->ListContainers(labels).value_or(std::vector<std::string>{"error"});
  };
  EXPECT_THAT(list({{"x", "1"}}), UnorderedElementsAre("a", "b"));
  EXPECT_THAT(list({{"x", "1"}, {"y", odd}}), ElementsAre("a"));
  EXPECT_THAT(list({{"z", "1"}}), IsEmpty());
  EXPECT_THAT(list({}), UnorderedElementsAre("a", "b"));
}

TEST_F(ContainerdContract, ContainerErrors) {
  ASSERT_EQ(containerd_->CreateContainer(Spec("a")), absl::OkStatus());
  const absl::Status twice = containerd_->CreateContainer(Spec("a"));
  EXPECT_TRUE(absl::IsAlreadyExists(twice)) << twice;
  EXPECT_THAT(twice.message(), HasSubstr("creating container a: "));
  EXPECT_TRUE(absl::IsInvalidArgument(containerd_->CreateContainer(Spec("no/id"))));
  EXPECT_EQ(containerd_->DeleteContainer("a"), absl::OkStatus());
  EXPECT_EQ(containerd_->DeleteContainer("a"), absl::OkStatus());
}

TEST_F(ContainerdContract, TaskThatEndsByItself) {
  const absl::Time begin = absl::Now();
  ASSERT_EQ(CreateTask("t", Program::kExit7), absl::OkStatus());
  Outcome outcome;
  std::unique_ptr<Containerd::TaskWait> wait = containerd_->WaitTask("t", outcome.Callback());
  ASSERT_EQ(containerd_->StartTask("t"), absl::OkStatus());
  const absl::StatusOr<TaskExit> exit = outcome.Await();
  ASSERT_TRUE(exit.ok()) << exit.status();
  EXPECT_EQ(exit->status, 7u);
  EXPECT_GE(exit->at, begin);
  EXPECT_LE(exit->at, absl::Now());
  EXPECT_EQ(fifos_.ReadAll(), "");

  // Its end can still be asked for until it is deleted.
  Outcome later;
  std::unique_ptr<Containerd::TaskWait> second = containerd_->WaitTask("t", later.Callback());
  EXPECT_EQ(later.Await().value_or(TaskExit{}).status, 7u);
  EXPECT_EQ(containerd_->KillTask("t"), absl::OkStatus());
  EXPECT_EQ(containerd_->DeleteTask("t"), absl::OkStatus());
  EXPECT_EQ(containerd_->DeleteTask("t"), absl::OkStatus());
  EXPECT_TRUE(absl::IsNotFound(containerd_->StartTask("t")));
}

TEST_F(ContainerdContract, TaskThatIsKilled) {
  ASSERT_EQ(CreateTask("t", Program::kPause), absl::OkStatus());
  Outcome outcome;
  std::unique_ptr<Containerd::TaskWait> wait = containerd_->WaitTask("t", outcome.Callback());
  ASSERT_EQ(containerd_->StartTask("t"), absl::OkStatus());

  const absl::Status running = containerd_->DeleteTask("t");
  EXPECT_TRUE(absl::IsFailedPrecondition(running)) << running;
  EXPECT_FALSE(outcome.there());

  EXPECT_EQ(containerd_->KillTask("t"), absl::OkStatus());
  const absl::StatusOr<TaskExit> exit = outcome.Await();
  ASSERT_TRUE(exit.ok()) << exit.status();
  EXPECT_EQ(exit->status, kKilled);
  EXPECT_EQ(containerd_->DeleteTask("t"), absl::OkStatus());
  EXPECT_EQ(containerd_->DeleteContainer("t"), absl::OkStatus());
}

TEST_F(ContainerdContract, TaskThatIsKilledBeforeItsStart) {
  ASSERT_EQ(CreateTask("t", Program::kPause), absl::OkStatus());
  Outcome outcome;
  std::unique_ptr<Containerd::TaskWait> wait = containerd_->WaitTask("t", outcome.Callback());
  EXPECT_EQ(containerd_->KillTask("t"), absl::OkStatus());
  EXPECT_EQ(outcome.Await().value_or(TaskExit{}).status, kKilled);
  EXPECT_EQ(containerd_->DeleteTask("t"), absl::OkStatus());
}

TEST_F(ContainerdContract, TaskThatIsDeletedBeforeItsStart) {
  ASSERT_EQ(CreateTask("t", Program::kPause), absl::OkStatus());
  EXPECT_EQ(containerd_->DeleteTask("t"), absl::OkStatus());
  EXPECT_TRUE(absl::IsNotFound(containerd_->StartTask("t")));
}

TEST_F(ContainerdContract, TaskErrors) {
  EXPECT_TRUE(absl::IsNotFound(containerd_->CreateTask("none", {}, fifos_.stdio()).status()));
  EXPECT_TRUE(absl::IsNotFound(containerd_->StartTask("none")));
  EXPECT_EQ(containerd_->KillTask("none"), absl::OkStatus());
  EXPECT_EQ(containerd_->DeleteTask("none"), absl::OkStatus());
  Outcome outcome;
  std::unique_ptr<Containerd::TaskWait> wait = containerd_->WaitTask("none", outcome.Callback());
  EXPECT_TRUE(absl::IsNotFound(outcome.Await().status())) << outcome.Await().status();

  ASSERT_EQ(CreateTask("t", Program::kPause), absl::OkStatus());
  const absl::Status twice = containerd_->CreateTask("t", {}, fifos_.stdio()).status();
  EXPECT_TRUE(absl::IsAlreadyExists(twice)) << twice;
}

TEST_F(ContainerdContract, DestroyingAWaitEndsItAtOnce) {
  ASSERT_EQ(CreateTask("t", Program::kPause), absl::OkStatus());
  ASSERT_EQ(containerd_->StartTask("t"), absl::OkStatus());
  Outcome outcome;
  containerd_->WaitTask("t", outcome.Callback()).reset();
  ASSERT_TRUE(outcome.there());
  EXPECT_TRUE(absl::IsCancelled(outcome.Await().status()));
}

// Why tasks are deleted before their container: afterwards nothing reaches them any more.
TEST_F(ContainerdContract, TaskWithoutItsContainerIsOutOfReach) {
  ASSERT_EQ(CreateTask("t", Program::kPause), absl::OkStatus());
  ASSERT_EQ(containerd_->StartTask("t"), absl::OkStatus());
  ASSERT_EQ(containerd_->DeleteContainer("t"), absl::OkStatus());
  EXPECT_EQ(containerd_->KillTask("t"), absl::OkStatus());
  EXPECT_TRUE(absl::IsNotFound(containerd_->StartTask("t")));

  // A container of the same id finds it again.
  ASSERT_EQ(containerd_->CreateContainer(Spec("t")), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(containerd_->DeleteTask("t")));
}

}  // namespace
}  // namespace mayfly::worker
