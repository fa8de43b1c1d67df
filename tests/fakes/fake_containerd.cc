#include "tests/fakes/fake_containerd.h"

#include <grpc/grpc.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/fakes/fake_containerd_services.h"
#include "tests/fakes/fake_state.h"
#include "tests/fakes/guest_script.h"

namespace mayfly::fakes {
namespace {

namespace snapshots = ::containerd::services::snapshots::v1;

using Json = nlohmann::json;

constexpr char kIndexType[] = "application/vnd.oci.image.index.v1+json";
constexpr char kManifestType[] = "application/vnd.oci.image.manifest.v1+json";
constexpr char kConfigType[] = "application/vnd.oci.image.config.v1+json";

#if defined(__aarch64__)
constexpr char kArchitecture[] = "arm64";
#else
constexpr char kArchitecture[] = "amd64";
#endif

Json Descriptor(const char* media_type, const std::string& digest) {
  return {{"mediaType", media_type}, {"digest", digest}, {"size", 1}};
}

std::string MakeDirectory() {
  std::string path = (std::filesystem::temp_directory_path() / "mayfly-fake-XXXXXX").string();
  return mkdtemp(path.data()) == nullptr ? "" : path;
}

}  // namespace

// A server and its services, which must be there for as long as it.
struct FakeContainerd::Server {
  std::vector<std::unique_ptr<grpc::Service>> services;
  std::unique_ptr<grpc::Server> server;

  ~Server() {
    if (server == nullptr) return;
    server->Shutdown(std::chrono::system_clock::now());
    server->Wait();
  }
};

FakeContainerd::FakeContainerd() : directory_(MakeDirectory()), state_(std::make_unique<FakeState>()) {
  // Without a reference that is never given back, the last gRPC object of a test takes the library down with it, and
  // gRPC 1.51 then now and then waits 10 s for a thread of its own.
  static const bool kept = (grpc_init(), true);
  static_cast<void>(kept);
  state_->directory = directory_;
  Start();
}

FakeContainerd::~FakeContainerd() {
  Stop();
  state_.reset();
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

std::string FakeContainerd::address() const {
  return absl::StrCat("unix:", directory_, "/containerd.sock");
}

void FakeContainerd::Stop() {
  // A hanging handler would keep the server from ending.
  state_->failpoints.Clear();
  server_.reset();
}

void FakeContainerd::Start() {
  if (server_ != nullptr) return;
  server_ = std::make_unique<Server>();
  server_->services = MakeFakeServices(state_.get());
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address(), grpc::InsecureServerCredentials());
  for (const auto& service : server_->services) builder.RegisterService(service.get());
  server_->server = builder.BuildAndStart();
}

Failpoints& FakeContainerd::failpoints() {
  return state_->failpoints;
}

void FakeContainerd::SetGuest(GuestFunction guest) {
  absl::MutexLock lock(&state_->mutex);
  state_->guest = std::move(guest);
}

std::string FakeContainerd::AddImage(const Image& image) {
  const std::string chain_id = AddBlob("");
  std::map<std::string, std::string> labels;
  if (image.unpacked) labels[absl::StrCat("containerd.io/gc.ref.snapshot.", image.snapshotter)] = chain_id;
  const Json config = {{"os", "linux"}, {"architecture", kArchitecture}, {"config", {{"Env", image.env}}}};
  const Json manifest = {{"schemaVersion", 2}, {"config", Descriptor(kConfigType, AddBlob(config.dump(), labels))}};
  std::string target = AddBlob(manifest.dump());
  if (image.indexed) {
    // The other entry, for a machine that is not this one, points nowhere.
    Json other = Descriptor(kManifestType, absl::StrCat("sha256:", std::string(64, 'f')));
    other["platform"] = {{"os", "linux"}, {"architecture", "s390x"}};
    Json ours = Descriptor(kManifestType, target);
    ours["platform"] = {{"os", "linux"}, {"architecture", kArchitecture}};
    target = AddBlob(Json{{"schemaVersion", 2}, {"manifests", {other, ours}}}.dump());
  }
  if (image.unpacked) {
    absl::MutexLock lock(&state_->mutex);
    snapshots::Info& info = state_->stores[std::string(kNamespace)].snapshots[{image.snapshotter, chain_id}];
    info.set_name(chain_id);
    info.set_kind(snapshots::COMMITTED);
  }
  const std::string name = absl::StrCat("fake.test/", image.name);
  AddImageName(absl::StrCat(name, ":latest"), image.indexed ? kIndexType : kManifestType, target);
  return absl::StrCat(name, "@", target);
}

std::string FakeContainerd::AddBlob(std::string content, const std::map<std::string, std::string>& labels) {
  absl::MutexLock lock(&state_->mutex);
  std::string digest = absl::StrFormat("sha256:%064x", ++state_->digests);
  state_->stores[std::string(kNamespace)].blobs[digest] = {std::move(content), labels};
  return digest;
}

std::string FakeContainerd::AddImageName(const std::string& name, const std::string& media_type,
                                         const std::string& digest) {
  absl::MutexLock lock(&state_->mutex);
  ::containerd::services::images::v1::Image& image = state_->stores[std::string(kNamespace)].images[name];
  image.set_name(name);
  image.mutable_target()->set_media_type(media_type);
  image.mutable_target()->set_digest(digest);
  return absl::StrCat(name, "@", digest);
}

void FakeContainerd::DropSnapshot(const std::string& snapshotter, const std::string& key) {
  absl::MutexLock lock(&state_->mutex);
  state_->stores[std::string(kNamespace)].snapshots.erase({snapshotter, key});
}

std::vector<FakeContainerd::Container> FakeContainerd::Containers() const {
  absl::MutexLock lock(&state_->mutex);
  std::vector<Container> containers;
  for (const auto& [id, from] : state_->stores[std::string(kNamespace)].containers) {
    containers.push_back({id,
                          from.image(),
                          from.snapshot_key(),
                          from.runtime().name(),
                          from.spec().value(),
                          {from.labels().begin(), from.labels().end()}});
  }
  return containers;
}

FakeContainerd::Counts FakeContainerd::CountAll() const {
  absl::MutexLock lock(&state_->mutex);
  const FakeStore& store = state_->stores[std::string(kNamespace)];
  Counts counts;
  counts.containers = static_cast<int>(store.containers.size());
  counts.tasks = static_cast<int>(store.tasks.size());
  for (const auto& [id, task] : store.tasks) counts.running_tasks += task->state() == FakeTask::State::kRunning;
  for (const auto& [key, info] : store.snapshots) counts.views += info.kind() != snapshots::COMMITTED;
  return counts;
}

bool FakeContainerd::AwaitIdle(absl::Duration timeout) const {
  FakeState* const state = state_.get();
  const auto idle = [state]() ABSL_SHARED_LOCKS_REQUIRED(state->mutex) {
    const auto store = state->stores.find(std::string(kNamespace));
    return store == state->stores.end() || (store->second.containers.empty() && store->second.tasks.empty());
  };
  absl::MutexLock lock(&state->mutex);
  return state->mutex.AwaitWithTimeout(absl::Condition(&idle), timeout);
}

}  // namespace mayfly::fakes
