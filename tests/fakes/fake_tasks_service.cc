#include "tests/fakes/fake_tasks_service.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "github.com/containerd/containerd/api/services/tasks/v1/tasks.grpc.pb.h"
#include "tests/fakes/fake_handler.h"
#include "tests/fakes/guest_script.h"

namespace mayfly::fakes {
namespace {

namespace containers = ::containerd::services::containers::v1;
namespace tasks = ::containerd::services::tasks::v1;

using google::protobuf::Empty;

// gRPC's synchronous server does not wake a handler whose caller has given up.
constexpr absl::Duration kCancellationPoll = absl::Milliseconds(5);

// Above any pid that Linux gives.
constexpr uint32_t kFirstPid = 1u << 30;

class TasksService final : public tasks::Tasks::Service {
 public:
  explicit TasksService(FakeState* state) : handler_(state) {}

  grpc::Status Create(grpc::ServerContext* context, const tasks::CreateTaskRequest* request,
                      tasks::CreateTaskResponse* response) override {
    return handler_.Handle("tasks.Create", context, [&](FakeStore& store) {
      const auto container = store.containers.find(request->container_id());
      if (container == store.containers.end()) return NotFound("container", request->container_id());
      if (absl::Status status = CheckRuntime(container->second, *request); !status.ok()) return status;
      if (store.tasks.count(request->container_id()) > 0) return AlreadyExists("task", request->container_id());
      absl::StatusOr<std::shared_ptr<FakeTask>> task =
          FakeTask::Create(request->stdin(), request->stdout(), request->stderr(), Guest());
      if (!task.ok()) return task.status();
      store.tasks[request->container_id()] = *std::move(task);
      response->set_container_id(request->container_id());
      response->set_pid(kFirstPid + static_cast<uint32_t>(store.tasks.size()));
      return absl::OkStatus();
    });
  }

  grpc::Status Start(grpc::ServerContext* context, const tasks::StartRequest* request, tasks::StartResponse*) override {
    return handler_.Handle("tasks.Start", context, [&](FakeStore& store) {
      const std::shared_ptr<FakeTask> task = Find(store, request->container_id());
      return task == nullptr ? NotFound("task", request->container_id()) : task->Start();
    });
  }

  grpc::Status Kill(grpc::ServerContext* context, const tasks::KillRequest* request, Empty*) override {
    return handler_.Handle("tasks.Kill", context, [&](FakeStore& store) {
      const std::shared_ptr<FakeTask> task = Find(store, request->container_id());
      return task == nullptr ? NotFound("task", request->container_id()) : task->Kill();
    });
  }

  grpc::Status Delete(grpc::ServerContext* context, const tasks::DeleteTaskRequest* request,
                      tasks::DeleteResponse* response) override {
    // Outlives the lock: its end joins the guest's thread.
    std::shared_ptr<FakeTask> task;
    return handler_.Handle("tasks.Delete", context, [&](FakeStore& store) {
      task = Find(store, request->container_id());
      if (task == nullptr) return NotFound("task", request->container_id());
      if (task->state() == FakeTask::State::kRunning) return absl::UnknownError("cannot delete a running process");
      FakeTask::Exit exit;
      if (task->AwaitExit(absl::ZeroDuration(), &exit)) response->set_exit_status(exit.status);
      store.tasks.erase(request->container_id());
      return absl::OkStatus();
    });
  }

  grpc::Status Get(grpc::ServerContext* context, const tasks::GetRequest* request,
                   tasks::GetResponse* response) override {
    return handler_.Handle("tasks.Get", context, [&](FakeStore& store) {
      const std::shared_ptr<FakeTask> task = Find(store, request->container_id());
      if (task == nullptr) return NotFound("task", request->container_id());
      response->mutable_process()->set_id(request->container_id());
      switch (task->state()) {
        case FakeTask::State::kCreated:
          response->mutable_process()->set_status(::containerd::v1::types::CREATED);
          break;
        case FakeTask::State::kRunning:
          response->mutable_process()->set_status(::containerd::v1::types::RUNNING);
          break;
        case FakeTask::State::kStopped:
          response->mutable_process()->set_status(::containerd::v1::types::STOPPED);
          break;
      }
      return absl::OkStatus();
    });
  }

  grpc::Status Wait(grpc::ServerContext* context, const tasks::WaitRequest* request,
                    tasks::WaitResponse* response) override {
    return handler_.HandleUnlocked("tasks.Wait", context, [&](const std::string& namespace_name) {
      std::shared_ptr<FakeTask> task;
      {
        absl::MutexLock lock(&handler_.state()->mutex);
        task = Find(handler_.state()->stores[namespace_name], request->container_id());
      }
      if (task == nullptr) return NotFound("task", request->container_id());
      FakeTask::Exit exit;
      while (!task->AwaitExit(kCancellationPoll, &exit)) {
        if (context->IsCancelled()) return absl::CancelledError("context canceled");
      }
      response->set_exit_status(exit.status);
      const timespec at = absl::ToTimespec(exit.at);
      response->mutable_exited_at()->set_seconds(at.tv_sec);
      response->mutable_exited_at()->set_nanos(static_cast<int32_t>(at.tv_nsec));
      return absl::OkStatus();
    });
  }

 private:
  // Null when there is no such task, or its container is gone.
  static std::shared_ptr<FakeTask> Find(const FakeStore& store, const std::string& id) {
    const auto task = store.tasks.find(id);
    return task == store.tasks.end() || store.containers.count(id) == 0 ? nullptr : task->second;
  }

  // What containerd 2.x and the shims refuse.
  static absl::Status CheckRuntime(const containers::Container& container, const tasks::CreateTaskRequest& request) {
    if (request.has_options()) return absl::InvalidArgumentError("task options would replace the container's");
    if (container.spec().type_url() != "types.containerd.io/opencontainers/runtime-spec/1/Spec") {
      return absl::InvalidArgumentError(absl::StrCat("type url \"", container.spec().type_url(), "\" is no spec's"));
    }
    if (!nlohmann::json::accept(container.spec().value())) return absl::InvalidArgumentError("the spec is no JSON");
    const std::string& options = container.runtime().options().type_url();
    if (!options.empty() && options != "containerd.runc.v1.Options" && options != "runtimeoptions.v1.Options") {
      return absl::InvalidArgumentError(absl::StrCat("type url \"", options, "\" is no runtime options'"));
    }
    return absl::OkStatus();
  }

  // Within Handle's action.
  GuestFunction Guest() const {
    handler_.state()->mutex.AssertHeld();
    return handler_.state()->guest != nullptr ? handler_.state()->guest : GuestFunction(RunScriptGuest);
  }

  const FakeHandler handler_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeFakeTasksService(FakeState* state) {
  return std::make_unique<TasksService>(state);
}

}  // namespace mayfly::fakes
