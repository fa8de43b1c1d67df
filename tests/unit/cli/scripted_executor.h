// ScriptedExecutor: a real gRPC server on a unix socket that does, for each Execute, what the test's script says.
//
//   ScriptedExecutor server([](const v1::ExecuteRequest&, ScriptedExecutor::Call& call) {
//     call.Accepted();
//     call.Started();
//     call.Stdout("hello\n");
//     return call.Exited(0);
//   });
//   RunCli({"run", "x.py", "--addr", server.address()}, ...);
//
// Thread-safe. Its destructor stops the server.
#ifndef MAYFLY_TESTS_UNIT_CLI_SCRIPTED_EXECUTOR_H_
#define MAYFLY_TESTS_UNIT_CLI_SCRIPTED_EXECUTOR_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/synchronization/notification.h"
#include "grpcpp/server.h"
#include "mayfly/v1/execution.grpc.pb.h"

namespace mayfly::cli {

class ScriptedExecutor : public v1::Executor::Service {
 public:
  // Writes well-formed events; Send() writes any.
  class Call {
   public:
    Call(grpc::ServerContext* context, grpc::ServerWriter<v1::ExecuteEvent>* writer)
        : context_(context), writer_(writer) {}

    void Send(v1::ExecuteEvent event);
    void Accepted();
    void Started();
    void Stdout(const std::string& data);
    void Stderr(const std::string& data);
    void File(const std::string& path, const std::string& data);
    // Sends `finished` with the accounting of what was sent, and returns OK.
    grpc::Status Finish(v1::ExecutionResult result);
    grpc::Status Exited(int code);

    // Blocks until the client has cancelled; at most 20 s. Returns whether it has.
    bool AwaitCancellation();

   private:
    void Output(v1::Stream stream, int64_t& offset, const std::string& data);

    grpc::ServerContext* const context_;
    grpc::ServerWriter<v1::ExecuteEvent>* const writer_;
    uint64_t sequence_ = 0;
    int64_t stdout_bytes_ = 0;
    int64_t stderr_bytes_ = 0;
  };

  using Script = std::function<grpc::Status(const v1::ExecuteRequest&, Call&)>;

  explicit ScriptedExecutor(Script script);
  ~ScriptedExecutor() override;

  // "unix:/..."
  const std::string& address() const { return address_; }
  grpc::Server& server() { return *server_; }

  grpc::Status Execute(grpc::ServerContext* context, const v1::ExecuteRequest* request,
                       grpc::ServerWriter<v1::ExecuteEvent>* writer) override;
  grpc::Status ListTemplates(grpc::ServerContext* context, const v1::ListTemplatesRequest* request,
                             v1::ListTemplatesResponse* response) override;

 private:
  const Script script_;
  std::string directory_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace mayfly::cli

#endif  // MAYFLY_TESTS_UNIT_CLI_SCRIPTED_EXECUTOR_H_
