// What is GrpcContainerd's own rather than containerd's: deadlines, lost connections, the observer, cancelled waits,
// and images that are not as they should be. Against the fake containerd.
#include "worker/containerd/grpc_containerd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "tests/fakes/fake_containerd.h"
#include "tests/unit/containerd/task_fifos.h"
#include "worker/containerd/oci_image.h"

namespace mayfly::worker {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kManifestType[] = "application/vnd.oci.image.manifest.v1+json";
constexpr char kIndexType[] = "application/vnd.oci.image.index.v1+json";

class GrpcContainerdTest : public ::testing::Test {
 protected:
  std::unique_ptr<GrpcContainerd> Client(absl::Duration call_timeout = absl::Seconds(20)) {
    GrpcContainerd::Options options;
    options.address = fake_.address();
    options.namespace_name = std::string(fakes::FakeContainerd::kNamespace);
    options.call_timeout = call_timeout;
    options.observer = [this](absl::string_view method, const absl::Status& status, absl::Duration took) {
      absl::MutexLock lock(&mutex_);
      EXPECT_GE(took, absl::ZeroDuration());
      observed_.push_back(absl::StrCat(method, " ", absl::StatusCodeToString(status.code())));
    };
    return std::make_unique<GrpcContainerd>(std::move(options));
  }

  std::vector<std::string> observed() {
    absl::MutexLock lock(&mutex_);
    return observed_;
  }

  // A running task "t" whose guest hangs until killed.
  void StartHangingTask(GrpcContainerd& client) {
    fake_.SetGuest([](fakes::FakeGuest& guest) { guest.Hang(); });
    ContainerSpec spec;
    spec.id = "t";
    spec.runtime.name = "io.containerd.runc.v2";
    spec.oci_spec_json = "{}";
    ASSERT_EQ(client.CreateContainer(spec), absl::OkStatus());
    ASSERT_TRUE(client.CreateTask("t", {}, fifos_.stdio()).ok());
    ASSERT_EQ(client.StartTask("t"), absl::OkStatus());
  }

  // An image whose manifest and configuration are these.
  std::string AddImage(const std::string& media_type, const std::string& document) {
    return fake_.AddImageName("fake.test/odd", media_type, fake_.AddBlob(document));
  }

  fakes::FakeContainerd fake_;
  TaskFifos fifos_;
  absl::Mutex mutex_;
  std::vector<std::string> observed_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(GrpcContainerdTest, CallThatTakesTooLongIsDeadlineExceeded) {
  fake_.failpoints().Set("version.Version", {.hang = true});
  const absl::Time begin = absl::Now();
  const absl::Status status = Client(absl::Milliseconds(100))->Ping();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_GE(absl::Now() - begin, absl::Milliseconds(100));
  EXPECT_THAT(status.message(), HasSubstr("asking containerd for its version: "));
}

TEST_F(GrpcContainerdTest, DeadSocketIsUnavailable) {
  std::unique_ptr<GrpcContainerd> client = Client();
  ASSERT_EQ(client->Ping(), absl::OkStatus());
  fake_.Stop();
  EXPECT_TRUE(absl::IsUnavailable(client->Ping()));
  EXPECT_TRUE(absl::IsUnavailable(client->KillTask("t")));
}

TEST_F(GrpcContainerdTest, FindsContainerdAgainSoonAfterARestart) {
  std::unique_ptr<GrpcContainerd> client = Client();
  fake_.Stop();
  // Long enough for an unbounded backoff to have grown beyond the bound.
  for (const absl::Time until = absl::Now() + absl::Seconds(2); absl::Now() < until;) {
    EXPECT_TRUE(absl::IsUnavailable(client->Ping()));
    absl::SleepFor(absl::Milliseconds(10));
  }
  fake_.Start();
  const absl::Time restarted = absl::Now();
  while (!client->Ping().ok() && absl::Now() - restarted < absl::Seconds(10)) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_EQ(client->Ping(), absl::OkStatus());
  // The backoff is jittered by a fifth; the rest is patience with a busy machine.
  EXPECT_LT(absl::Now() - restarted, 2 * GrpcContainerd::kReconnectBackoffMax);
}

TEST_F(GrpcContainerdTest, RestartEndsWaitsAndLeavesTasks) {
  std::unique_ptr<GrpcContainerd> client = Client();
  StartHangingTask(*client);
  absl::Notification ended;
  absl::Status status;
  std::unique_ptr<Containerd::TaskWait> wait = client->WaitTask("t", [&](absl::StatusOr<TaskExit> exit) {
    status = exit.status();
    ended.Notify();
  });
  ASSERT_TRUE(fake_.failpoints().AwaitCalls("tasks.Wait", 1));
  fake_.Stop();
  ASSERT_TRUE(ended.WaitForNotificationWithTimeout(absl::Seconds(10)));
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(fake_.CountAll().running_tasks, 1);
}

TEST_F(GrpcContainerdTest, DestroyedWaitReturnsAtOnceAlsoWhenContainerdHangs) {
  std::unique_ptr<GrpcContainerd> client = Client();
  fake_.failpoints().Set("tasks.Wait", {.hang = true});
  int called = 0;
  std::unique_ptr<Containerd::TaskWait> wait = client->WaitTask("t", [&](absl::StatusOr<TaskExit> exit) {
    ++called;
    EXPECT_TRUE(absl::IsCancelled(exit.status()));
  });
  ASSERT_TRUE(fake_.failpoints().AwaitCalls("tasks.Wait", 1));
  wait.reset();
  EXPECT_EQ(called, 1);
  EXPECT_THAT(observed(), IsEmpty());
}

TEST_F(GrpcContainerdTest, WaitsOutliveTheCallTimeout) {
  std::unique_ptr<GrpcContainerd> client = Client(absl::Milliseconds(200));
  StartHangingTask(*client);
  absl::Notification ended;
  std::unique_ptr<Containerd::TaskWait> wait = client->WaitTask("t", [&](absl::StatusOr<TaskExit> exit) {
    EXPECT_TRUE(exit.ok()) << exit.status();
    ended.Notify();
  });
  EXPECT_FALSE(ended.WaitForNotificationWithTimeout(absl::Milliseconds(400)));
  EXPECT_EQ(client->KillTask("t"), absl::OkStatus());
  EXPECT_TRUE(ended.WaitForNotificationWithTimeout(absl::Seconds(10)));
}

TEST_F(GrpcContainerdTest, ObserverSeesContainerdsOwnAnswers) {
  std::unique_ptr<GrpcContainerd> client = Client();
  StartHangingTask(*client);
  EXPECT_TRUE(absl::IsFailedPrecondition(client->DeleteTask("t")));
  EXPECT_EQ(client->DeleteTask("none"), absl::OkStatus());
  EXPECT_THAT(observed(), ElementsAre("containers.Create OK", "tasks.Create OK", "tasks.Start OK",
                                      "tasks.Delete UNKNOWN", "tasks.Get OK", "tasks.Delete NOT_FOUND"));
}

TEST_F(GrpcContainerdTest, UnknownErrorOfDeleteStaysUnknownWhenTheTaskIsNotRunning) {
  std::unique_ptr<GrpcContainerd> client = Client();
  StartHangingTask(*client);
  ASSERT_EQ(client->KillTask("t"), absl::OkStatus());
  fake_.failpoints().Set("tasks.Delete", {.error = absl::UnknownError("runtime says no")});
  EXPECT_EQ(client->DeleteTask("t").code(), absl::StatusCode::kUnknown);
}

TEST_F(GrpcContainerdTest, LongErrorsAreCut) {
  fake_.failpoints().Set("tasks.Start", {.error = absl::InternalError(std::string(6000, 'e'))});
  const absl::Status status = Client()->StartTask("t");
  EXPECT_LE(status.message().size(), kErrorMessageBytesMax + 100);
}

TEST_F(GrpcContainerdTest, RuntimeOptions) {
  std::unique_ptr<GrpcContainerd> client = Client();
  std::vector<RuntimeOptions> all(3);
  all[0].name = "io.containerd.runc.v2";
  all[0].binary = "/bin/runsc";
  all[0].root = "/run/x";
  all[1].name = "io.containerd.kata.v2";
  all[1].options_type_url = "t";
  all[1].options_config_path = "/c";
  all[2].name = "io.containerd.runc.v2";
  for (size_t i = 0; i < all.size(); ++i) {
    ContainerSpec spec;
    spec.id = absl::StrCat("t", i);
    spec.runtime = all[i];
    spec.oci_spec_json = "{\"ociVersion\": \"1.0.2\"}";
    ASSERT_EQ(client->CreateContainer(spec), absl::OkStatus());
    // The fake refuses type URLs that containerd would not know.
    EXPECT_EQ(client->CreateTask(spec.id, {}, fifos_.stdio()).status(), absl::OkStatus());
    EXPECT_EQ(client->DeleteTask(spec.id), absl::OkStatus());
  }
  EXPECT_EQ(fake_.Containers().front().spec_json, "{\"ociVersion\": \"1.0.2\"}");
}

TEST_F(GrpcContainerdTest, ImageWithoutAnIndex) {
  const std::string reference = fake_.AddImage({.name = "flat", .env = {"A=1"}, .indexed = false});
  absl::StatusOr<ImageInfo> image = Client()->ResolveImage(reference, "overlayfs");
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_EQ(image->name, "fake.test/flat:latest");
  EXPECT_THAT(image->env, ElementsAre("A=1"));
}

TEST_F(GrpcContainerdTest, ImageThatIsNotOrNoLongerUnpacked) {
  const std::string packed = fake_.AddImage({.name = "packed", .unpacked = false});
  EXPECT_TRUE(absl::IsFailedPrecondition(Client()->ResolveImage(packed, "overlayfs").status()));

  const std::string dropped = fake_.AddImage({.name = "dropped"});
  absl::StatusOr<ImageInfo> image = Client()->ResolveImage(dropped, "overlayfs");
  ASSERT_TRUE(image.ok()) << image.status();
  fake_.DropSnapshot("overlayfs", image->chain_id);
  EXPECT_TRUE(absl::IsFailedPrecondition(Client()->ResolveImage(dropped, "overlayfs").status()));
}

TEST_F(GrpcContainerdTest, MalformedImagesAreRefused) {
  const auto with_config = [&](const std::string& config) {
    return absl::StrCat(R"({"config": {"mediaType": "c", "digest": ")", fake_.AddBlob(config), "\"}}");
  };
  const std::vector<std::pair<const char*, std::string>> images = {
      {kManifestType, ""},
      {kManifestType, "[]"},
      {kManifestType, "{\"config\": 1}"},
      {kManifestType, with_config("")},
      {kManifestType, with_config("{\"os\": \"plan9\"}")},
      {kIndexType, "{\"manifests\": [1]}"},
      {"text/html", "<html>"},
      {kManifestType, std::string((8 << 20) + 1, ' ')},
  };
  for (const auto& [media_type, document] : images) {
    const absl::Status status = Client()->ResolveImage(AddImage(media_type, document), "overlayfs").status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status << " for " << document.substr(0, 100);
    EXPECT_THAT(status.message(), HasSubstr("resolving image fake.test/odd@sha256:"));
  }
}

TEST_F(GrpcContainerdTest, IndexesDoNotNestForEver) {
  std::string digest = absl::StrCat("sha256:", std::string(64, '0'));
  std::string document;
  for (int depth = 0; depth < 5; ++depth) {
    document = absl::StrFormat(R"({"manifests": [{"mediaType": "%s", "digest": "%s"}]})", kIndexType, digest);
    digest = fake_.AddBlob(document);
  }
  const absl::Status status = Client()->ResolveImage(AddImage(kIndexType, document), "overlayfs").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("nest"));
}

TEST_F(GrpcContainerdTest, ContentThatIsMissingIsNotFound) {
  const std::string nowhere = absl::StrCat("sha256:", std::string(64, '0'));
  const std::string reference = fake_.AddImageName("fake.test/odd", kManifestType, nowhere);
  EXPECT_TRUE(absl::IsNotFound(Client()->ResolveImage(reference, "overlayfs").status()));
}

}  // namespace
}  // namespace mayfly::worker
