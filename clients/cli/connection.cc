#include "clients/cli/connection.h"

#include "absl/strings/str_cat.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"

namespace mayfly::cli {
namespace {

// Events carry 64 KiB; a result with the longest lists stays far below this.
constexpr int kMessageBytesMax = 16 << 20;

}  // namespace

Connection::Connection(std::string address) : address_(std::move(address)) {
  grpc::ChannelArguments arguments;
  arguments.SetUserAgentPrefix("mayfly-cli");
  arguments.SetMaxReceiveMessageSize(kMessageBytesMax);
  // The environment's HTTP proxy is for the web; the service is on this machine or near.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  channel_ = grpc::CreateCustomChannel(address_, grpc::InsecureChannelCredentials(), arguments);

  const auto deadline = absl::ToChronoTime(absl::Now() + kConnectTimeout);
  grpc_connectivity_state state = channel_->GetState(/*try_to_connect=*/true);
  while (!timed_out_ && (state == GRPC_CHANNEL_IDLE || state == GRPC_CHANNEL_CONNECTING)) {
    timed_out_ = !channel_->WaitForStateChange(state, deadline);
    state = channel_->GetState(/*try_to_connect=*/true);
  }
  connected_ = state == GRPC_CHANNEL_READY;
}

std::optional<Failure> Connection::unreachable() const {
  if (connected_ || !timed_out_) return std::nullopt;
  return NotReachable(absl::StrCat("no answer within ", absl::FormatDuration(kConnectTimeout)));
}

Failure Connection::Explain(const grpc::Status& status) const {
  if (!connected_ && status.error_code() == grpc::UNAVAILABLE) return NotReachable(status.error_message());
  return FailureFromCall(status);
}

Failure Connection::NotReachable(absl::string_view why) const {
  Failure failure;
  failure.code = "UNAVAILABLE";
  failure.reason = "NOT_REACHABLE";
  failure.message =
      absl::StrCat("cannot reach the service at ", address_, " (", why, "); is the dev stack up? ./deploy/dev up");
  return failure;
}

}  // namespace mayfly::cli
