// GrpcCaller: what all calls to containerd share. The connection, the namespace they are made in, their deadline, the
// observer, and the answer as an absl::Status.
#ifndef MAYFLY_WORKER_CONTAINERD_GRPC_CALLER_H_
#define MAYFLY_WORKER_CONTAINERD_GRPC_CALLER_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace mayfly::worker {

// Called after each call with containerd's own answer, on the calling thread; for tasks.Wait on a gRPC thread, with
// the time from its begin to the task's end, and not at all when the wait was cancelled. `method` is one of a closed
// set, e.g. "tasks.Create". Must be thread-safe and must not block.
using CallObserver = std::function<void(absl::string_view method, const absl::Status& status, absl::Duration took)>;

// Longest message kept of an error. Runtimes quote their whole log in it.
inline constexpr size_t kErrorMessageBytesMax = 4096;

// How long a call waits for a connection that is not there yet, or no longer.
inline constexpr absl::Duration kConnectTimeout = absl::Seconds(1);

// The same code, and "DOING: MESSAGE".
absl::Status ToStatus(const grpc::Status& status, absl::string_view doing);

// Safe from any thread.
class GrpcCaller {
 public:
  // `observer` may be empty.
  GrpcCaller(std::shared_ptr<grpc::Channel> channel, std::string namespace_name, absl::Duration timeout,
             CallObserver observer);

  // Runs `rpc`, which blocks for the answer, with a context made ready for it. Without a connection it first waits for
  // one, for at most kConnectTimeout.
  //
  //   absl::Status status = caller.Call("tasks.Start", "starting task 3f2a", [&](grpc::ClientContext* context) {
  //     return stub->Start(context, request, &response);
  //   });
  absl::Status Call(absl::string_view method, absl::string_view doing,
                    absl::FunctionRef<grpc::Status(grpc::ClientContext*)> rpc) const;

  // For calls that are made otherwise.
  void SetNamespace(grpc::ClientContext* context) const;
  void Observe(absl::string_view method, const absl::Status& status, absl::Duration took) const;

  const std::string& namespace_name() const { return namespace_name_; }

 private:
  const std::shared_ptr<grpc::Channel> channel_;
  const std::string namespace_name_;
  const absl::Duration timeout_;
  const CallObserver observer_;
};

}  // namespace mayfly::worker

#endif  // MAYFLY_WORKER_CONTAINERD_GRPC_CALLER_H_
