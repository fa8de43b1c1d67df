#include "daemon/grpc_listener.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "grpcpp/health_check_service_interface.h"

namespace mayfly::daemon {
namespace {

// Calls of one client at once.
constexpr int kStreamsPerConnectionMax = 1000;

// True when a process accepts connections on the socket file.
bool IsListenedOn(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  const bool connected = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  const bool backlog_full = !connected && errno == EAGAIN;
  close(fd);
  return connected || backlog_full;
}

absl::Status CheckSocketPath(const std::string& path) {
  // sun_path's size, its terminating NUL included.
  if (path.size() >= sizeof(sockaddr_un{}.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat("listen: \"", path, "\" is ", path.size(),
                                                   " bytes long; a socket's path may have at most ",
                                                   sizeof(sockaddr_un{}.sun_path) - 1));
  }
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) return absl::OkStatus();
  if (!S_ISSOCK(info.st_mode)) {
    return absl::AlreadyExistsError(absl::StrCat("listen: ", path, " exists and is not a socket"));
  }
  if (IsListenedOn(path)) {
    return absl::AlreadyExistsError(absl::StrCat("listen: another process listens on ", path));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<GrpcListener>> GrpcListener::Start(const ListenOptions& options,
                                                                  const std::vector<grpc::Service*>& services) {
  std::unique_ptr<GrpcListener> listener(new GrpcListener());
  absl::string_view path = options.address;
  const bool is_unix = absl::ConsumePrefix(&path, "unix:");
  if (is_unix) {
    absl::Status usable = CheckSocketPath(std::string(path));
    if (!usable.ok()) return usable;
  }
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(options.address, grpc::InsecureServerCredentials(), &listener->port_);
  builder.SetMaxReceiveMessageSize(static_cast<int>(options.message_bytes_max));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsPerConnectionMax);
  // Two servers on one port would silently share its connections.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  for (grpc::Service* service : services) builder.RegisterService(service);
  // Nobody else may connect between bind() and chmod().
  const mode_t old_mask = umask(0177);
  listener->server_ = builder.BuildAndStart();
  umask(old_mask);
  if (listener->server_ == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("listen: cannot listen on ", options.address, " (in use, no such directory, or no permission)"));
  }
  if (is_unix) {
    listener->socket_path_ = std::string(path);
    listener->port_ = 0;
    const auto mode = static_cast<mode_t>(strtoul(options.mode.c_str(), nullptr, 8));
    if (chmod(listener->socket_path_.c_str(), mode) != 0) {
      return absl::InternalError(absl::StrCat("listen: chmod ", path, ": ", strerror(errno)));
    }
  }
  return listener;
}

GrpcListener::~GrpcListener() {
  if (server_ == nullptr) return;
  Shutdown(absl::ZeroDuration());
  if (!socket_path_.empty()) unlink(socket_path_.c_str());
}

void GrpcListener::Shutdown(absl::Duration grace) {
  server_->Shutdown(absl::ToChronoTime(absl::Now() + grace));
  server_->Wait();
}

}  // namespace mayfly::daemon
