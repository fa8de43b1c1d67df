// mayfly-worker: owns containerd; makes the sandboxes and runs what the server sends.

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "daemon/allocator.h"
#include "daemon/command_line.h"
#include "daemon/config_file.h"
#include "daemon/grpc_listener.h"
#include "daemon/json_log.h"
#include "daemon/metrics_endpoint.h"
#include "daemon/shutdown_signal.h"
#include "google/protobuf/stubs/logging.h"
#include "grpc/grpc.h"
#include "mayfly/config/v1/config.pb.h"
#include "policy/proto_duration.h"
#include "worker/containerd/grpc_containerd.h"
#include "worker/executor.h"
#include "worker/rootfs_store.h"
#include "worker/template.h"
#include "worker/worker_metrics.h"
#include "worker/worker_service.h"

namespace mayfly::worker {
namespace {

using daemon::Log;
using daemon::Severity;
using policy::FromProto;
using mayfly::config::v1::WorkerConfig;

int StartFailed(const absl::Status& status) {
  Log(Severity::kError, "cannot start", {{"error", status.message()}});
  return daemon::kExitStartFailed;
}

absl::Status CheckFiles(const WorkerConfig& config) {
  if (access(config.runner().c_str(), X_OK) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("runner: ", config.runner()));
  }
  if (mkdir(config.fifo_dir().c_str(), 0700) != 0 && errno != EEXIST) {
    return absl::ErrnoToStatus(errno, absl::StrCat("fifo_dir: making ", config.fifo_dir()));
  }
  return absl::OkStatus();
}

std::unique_ptr<Containerd> MakeContainerd(const WorkerConfig& config, WorkerMetrics* metrics) {
  GrpcContainerd::Options options;
  options.address = config.containerd().address();
  options.namespace_name = config.containerd().namespace_();
  options.call_timeout = FromProto(config.containerd().call_timeout());
  options.observer = [metrics](absl::string_view method, const absl::Status& status, absl::Duration took) {
    metrics->RecordContainerdCall(method, status, took);
  };
  return std::make_unique<GrpcContainerd>(std::move(options));
}

int Serve(const WorkerConfig& config, const TemplateMap& templates) {
  absl::Status files = CheckFiles(config);
  if (!files.ok()) return StartFailed(files);
  WorkerMetrics metrics;
  std::unique_ptr<daemon::MetricsEndpoint> endpoint;
  if (!config.metrics().empty()) {
    auto started = daemon::MetricsEndpoint::Start(config.metrics(), metrics.registry());
    if (!started.ok()) return StartFailed(started.status());
    endpoint = *std::move(started);
  }
  const std::unique_ptr<Containerd> containerd = MakeContainerd(config, &metrics);
  absl::StatusOr<RunnerLayer> layer = RunnerLayer::Create(config.layer_dir(), config.runner());
  if (!layer.ok()) return StartFailed(layer.status());
  RootfsStore rootfs(containerd.get(), &templates, *std::move(layer), config.containerd().snapshotter(),
                     config.instance());

  Executor::Options options;
  options.sandboxes_max = config.sandboxes_max();
  options.line_max = config.line_max();
  options.timeouts.start = FromProto(config.start_timeout());
  SandboxContext context;
  context.containerd = containerd.get();
  context.snapshotter = config.containerd().snapshotter();
  context.fifo_dir = config.fifo_dir();
  context.cgroup_parent = config.cgroup_parent();
  context.instance = config.instance();
  Executor executor(std::move(options), std::move(context), &rootfs, &metrics);

  WorkerService service(&templates, config.sandboxes_max(), &rootfs, &executor, &metrics);
  auto listener = daemon::GrpcListener::Start({config.listen(), config.listen_mode()}, {&service});
  if (!listener.ok()) return StartFailed(listener.status());
  Log(Severity::kInfo, "worker serves",
      {{"listen", config.listen()}, {"templates", templates.size()}, {"sandboxes_max", config.sandboxes_max()}});

  const int signal = daemon::WaitForShutdownSignal();
  Log(Severity::kInfo, "shutting down", {{"signal", signal}, {"drain_timeout", FromProto(config.drain_timeout())}});
  (*listener)->health()->SetServingStatus(false);
  executor.Shutdown(FromProto(config.drain_timeout()));
  (*listener)->Shutdown(absl::ZeroDuration());
  Log(Severity::kInfo, "stopped");
  return daemon::kExitOk;
}

int Main(int argc, char** argv) {
  daemon::ReturnFreeMemory();
  daemon::BlockShutdownSignals();
  grpc_init();  // held to the end: gRPC 1.51 can take 10 s to shut down with its last object
  // Bytes from sandboxes are parsed here: what is wrong with them becomes evidence, not lines on stderr.
  google::protobuf::SetLogHandler(nullptr);
  int exit_code = daemon::kExitOk;
  const auto line = daemon::ParseCommandLine(argc, argv, "mayfly-worker", &exit_code);
  if (!line.has_value()) return exit_code;
  WorkerConfig config;
  absl::Status status = daemon::LoadConfigFile(line->config_file, &config);
  absl::StatusOr<TemplateMap> templates = status.ok() ? BuildTemplates(config) : status;
  if (!templates.ok()) {
    fprintf(stderr, "%s\n", std::string(templates.status().message()).c_str());
    return daemon::kExitUsage;
  }
  if (line->check_only) return daemon::kExitOk;
  return Serve(config, *templates);
}

}  // namespace
}  // namespace mayfly::worker

int main(int argc, char** argv) {
  return mayfly::worker::Main(argc, argv);
}
