// GrpcListener: a gRPC server on one address, a unix socket of a given file mode or a loopback port.
//
// A socket file that no process listens on any more is replaced; one that answers is an error, so that two daemons
// never steal each other's address.
#ifndef MAYFLY_DAEMON_GRPC_LISTENER_H_
#define MAYFLY_DAEMON_GRPC_LISTENER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "policy/request_limits.h"

namespace mayfly::daemon {

struct ListenOptions {
  std::string address;               // "unix:/path" or "host:port"
  std::string mode = "0660";         // octal file mode of the unix socket
  int64_t message_bytes_max = policy::kRequestWireBytesMax;  // of one incoming message
};

class GrpcListener {
 public:
  // Starts serving `services`, which must outlive the listener.
  static absl::StatusOr<std::unique_ptr<GrpcListener>> Start(const ListenOptions& options,
                                                             const std::vector<grpc::Service*>& services);

  // Stops at once (calls that still run are cancelled) and removes the socket file.
  ~GrpcListener();

  // Stops accepting; cancels what still runs after `grace`; returns when nothing runs any more.
  void Shutdown(absl::Duration grace);

  // Of the standard health service, which every listener has. Not owned. Null never.
  grpc::HealthCheckServiceInterface* health() { return server_->GetHealthCheckService(); }

  // The port, when listening on TCP; 0 otherwise.
  int port() const { return port_; }

 private:
  GrpcListener() = default;

  std::unique_ptr<grpc::Server> server_;
  std::string socket_path_;  // empty when not on a unix socket
  int port_ = 0;
};

}  // namespace mayfly::daemon

#endif  // MAYFLY_DAEMON_GRPC_LISTENER_H_
