// `mayfly health`: asks grpc.health.v1.Health/Check whether the service takes executions.
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "clients/cli/commands.h"
#include "clients/cli/connection.h"
#include "clients/cli/json_report.h"
#include "google/protobuf/wrappers.pb.h"
#include "grpcpp/generic/generic_stub.h"
#include "mayfly/v1/execution.grpc.pb.h"

namespace mayfly::cli {
namespace {

// gRPC's packages ship no health.proto. Its messages are {string service = 1} and {ServingStatus status = 1}, which on
// the wire are the same as these two.
using HealthCheckRequest = google::protobuf::StringValue;
using HealthCheckResponse = google::protobuf::Int32Value;

constexpr char kCheckMethod[] = "/grpc.health.v1.Health/Check";
constexpr int kServing = 1;

std::string ServingStatusName(int status) {
  switch (status) {
    case 0:
      return "UNKNOWN";
    case kServing:
      return "SERVING";
    case 2:
      return "NOT_SERVING";
    case 3:
      return "SERVICE_UNKNOWN";
    default:
      return absl::StrCat(status);
  }
}

grpc::Status Check(const Connection& connection, Cancellation& cancellation, HealthCheckResponse& response) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kQueryTimeout));
  const Cancellation::Scope scope(cancellation, &context);
  const HealthCheckRequest request;  // no name: the service as a whole
  grpc::TemplatedGenericStub<HealthCheckRequest, HealthCheckResponse> stub(connection.channel());
  grpc::Status result;
  absl::Notification done;
  stub.UnaryCall(&context, kCheckMethod, grpc::StubOptions(), &request, &response, [&](grpc::Status status) {
    result = std::move(status);
    done.Notify();
  });
  done.WaitForNotification();  // at the latest at the deadline
  return result;
}

}  // namespace

int CheckHealth(const CommandLine& command_line, const Streams& streams, Cancellation& cancellation) {
  const Connection connection(command_line.address);
  if (const auto failure = connection.unreachable()) return Report(*failure, command_line.json, streams);
  HealthCheckResponse response;
  const grpc::Status status = Check(connection, cancellation, response);
  if (!status.ok()) return Report(connection.Explain(status), command_line.json, streams);
  const std::string name = ServingStatusName(response.value());
  const int exit_code = response.value() == kServing ? kExitOk : kExitMayflyFailed;
  if (command_line.json) return Answer(HealthJson(name), exit_code, streams);
  if (exit_code == kExitOk) return Answer(absl::StrCat(name, "\n"), exit_code, streams);
  return Report(
      LocalFailure(name, exit_code,
                   absl::StrCat("the service at ", command_line.address, " takes no executions; its log says why")),
      command_line.json, streams);
}

}  // namespace mayfly::cli
