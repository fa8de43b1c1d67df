// Connection: a gRPC channel to the service that knows quickly, and says clearly, when nobody is there.
#ifndef MAYFLY_CLIENTS_CLI_CONNECTION_H_
#define MAYFLY_CLIENTS_CLI_CONNECTION_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "clients/cli/failure.h"
#include "grpcpp/channel.h"

namespace mayfly::cli {

// How long connecting may take.
inline constexpr absl::Duration kConnectTimeout = absl::Seconds(2);
// How long a call that only asks something may take.
inline constexpr absl::Duration kQueryTimeout = absl::Seconds(10);

// Thread-safe once made.
class Connection {
 public:
  // Starts to connect and waits for the outcome, at most kConnectTimeout.
  explicit Connection(std::string address);

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

  // Set when neither a connection nor an error came in time. Make no call then: it would wait much longer. (When there
  // was an error, make the call: it fails at once, and tells which.)
  std::optional<Failure> unreachable() const;

  // The failure of a call. When the service could not be reached, the message names the address and what to do.
  Failure Explain(const grpc::Status& status) const;

 private:
  Failure NotReachable(absl::string_view why) const;

  const std::string address_;
  std::shared_ptr<grpc::Channel> channel_;
  bool connected_ = false;
  bool timed_out_ = false;
};

}  // namespace mayfly::cli

#endif  // MAYFLY_CLIENTS_CLI_CONNECTION_H_
