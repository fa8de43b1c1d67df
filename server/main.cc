// mayfly-server: faces the callers; validates, queues and passes on to a worker. It holds no privilege.

#include <cstdio>
#include <memory>
#include <string>

#include "daemon/allocator.h"
#include "daemon/command_line.h"
#include "daemon/config_file.h"
#include "daemon/grpc_listener.h"
#include "daemon/json_log.h"
#include "daemon/metrics_endpoint.h"
#include "daemon/shutdown_signal.h"
#include "google/protobuf/stubs/logging.h"
#include "grpc/grpc.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/health_check_service_interface.h"
#include "mayfly/config/v1/config.pb.h"
#include "policy/proto_duration.h"
#include "policy/request_limits.h"
#include "server/active_calls.h"
#include "server/admission.h"
#include "server/execution_call.h"
#include "server/executor_service.h"
#include "server/server_metrics.h"
#include "server/template_catalog.h"

namespace mayfly::server {
namespace {

using daemon::Log;
using daemon::Severity;
using policy::FromProto;
using mayfly::config::v1::ServerConfig;

// Between two tries to reach the worker.
constexpr int kReconnectBackoffMaxMs = 1000;

int StartFailed(const absl::Status& status) {
  Log(Severity::kError, "cannot start", {{"error", status.message()}});
  return daemon::kExitStartFailed;
}

std::shared_ptr<grpc::Channel> ConnectToWorker(const std::string& target) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(policy::kRequestWireBytesMax);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectBackoffMaxMs);
  arguments.SetLoadBalancingPolicyName("round_robin");
  return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
}

Admission::Options AdmissionOptions(const ServerConfig& config, ServerMetrics* metrics) {
  Admission::Options options;
  options.in_flight_max = config.in_flight_max();
  options.queue_max = config.queue_max();
  options.queue_bytes_max = config.queue_bytes_max();
  options.queue_timeout = FromProto(config.queue_timeout());
  options.observer = [metrics](int in_flight, int queued) { metrics->SetLoad(in_flight, queued); };
  return options;
}

int Serve(const ServerConfig& config) {
  ServerMetrics metrics;
  std::unique_ptr<daemon::MetricsEndpoint> endpoint;
  if (!config.metrics().empty()) {
    auto started = daemon::MetricsEndpoint::Start(config.metrics(), metrics.registry());
    if (!started.ok()) return StartFailed(started.status());
    endpoint = *std::move(started);
  }
  const auto worker = mayfly::worker::v1::Worker::NewStub(ConnectToWorker(config.worker()));
  Admission admission(AdmissionOptions(config, &metrics));
  ActiveCalls active_calls;
  const ExecutionCall::Context context = {&admission, worker.get(), &metrics};

  // The catalog reports to the listener's health service, which in turn needs the catalog's service.
  absl::Mutex health_mutex;
  grpc::HealthCheckServiceInterface* health = nullptr;
  bool ready = false;
  const auto publish = [&]() {
    if (health == nullptr) return;
    health->SetServingStatus(ready);
    health->SetServingStatus("mayfly.v1.Executor", ready);
  };
  TemplateCatalog catalog(worker.get(), [&](bool now_ready) {
    absl::MutexLock lock(&health_mutex);
    ready = now_ready;
    metrics.SetWorkerReady(ready);
    publish();
  });

  ExecutorService service(&context, &catalog, &active_calls, config.run_response_bytes_max());
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  auto listener = daemon::GrpcListener::Start({config.listen(), config.listen_mode()}, {&service});
  if (!listener.ok()) return StartFailed(listener.status());
  {
    absl::MutexLock lock(&health_mutex);
    health = (*listener)->health();
    publish();
  }
  Log(Severity::kInfo, "server serves", {{"listen", config.listen()}, {"worker", config.worker()}});

  const int signal = daemon::WaitForShutdownSignal();
  Log(Severity::kInfo, "shutting down", {{"signal", signal}, {"drain_timeout", FromProto(config.drain_timeout())}});
  {
    absl::MutexLock lock(&health_mutex);
    ready = false;
    publish();
    health = nullptr;
  }
  admission.Drain();
  active_calls.Shutdown(FromProto(config.drain_timeout()));
  (*listener)->Shutdown(absl::ZeroDuration());
  Log(Severity::kInfo, "stopped");
  return daemon::kExitOk;
}

int Main(int argc, char** argv) {
  daemon::ReturnFreeMemory();
  daemon::BlockShutdownSignals();
  // What callers send is parsed here: what is wrong with it becomes a status, not lines on stderr.
  google::protobuf::SetLogHandler(nullptr);
  grpc_init();  // held to the end: gRPC 1.51 can take 10 s to shut down with its last object
  int exit_code = daemon::kExitOk;
  const auto line = daemon::ParseCommandLine(argc, argv, "mayfly-server", &exit_code);
  if (!line.has_value()) return exit_code;
  ServerConfig config;
  absl::Status status = daemon::LoadConfigFile(line->config_file, &config);
  if (!status.ok()) {
    fprintf(stderr, "%s\n", std::string(status.message()).c_str());
    return daemon::kExitUsage;
  }
  if (line->check_only) return daemon::kExitOk;
  return Serve(config);
}

}  // namespace
}  // namespace mayfly::server

int main(int argc, char** argv) {
  return mayfly::server::Main(argc, argv);
}
