// ScriptedWorker: a real mayfly.worker.v1.Worker on a unix socket that does, for each Execute, what the test's script
// says.
//
//   ScriptedWorker worker;
//   worker.SetScript([](ScriptedWorker::Call& call) {
//     call.Started();
//     call.Stdout("hello\n");
//     return call.Exited(0);
//   });
//
// Thread-safe. Its destructor stops it.
#ifndef MAYFLY_TESTS_UNIT_SERVER_SCRIPTED_WORKER_H_
#define MAYFLY_TESTS_UNIT_SERVER_SCRIPTED_WORKER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "grpcpp/server.h"
#include "mayfly/worker/v1/worker.grpc.pb.h"
#include "tests/unit/worker/temp_dir.h"

namespace mayfly::server {

class ScriptedWorker : public mayfly::worker::v1::Worker::Service {
 public:
  // One Execute. Sending returns false when the server is gone.
  class Call {
   public:
    Call(grpc::ServerContext* context, const mayfly::worker::v1::ExecuteRequest* request,
         grpc::ServerWriter<mayfly::v1::ExecuteEvent>* writer)
        : context_(context), request_(request), writer_(writer) {}

    const mayfly::worker::v1::ExecuteRequest& request() const { return *request_; }
    // When the server wants it done; InfiniteFuture when it does not say.
    absl::Time deadline() const;

    bool Send(const mayfly::v1::ExecuteEvent& event) { return writer_->Write(event); }
    bool Started();
    bool Stdout(const std::string& data);
    bool Stderr(const std::string& data);
    bool File(const std::string& path, const std::string& data);
    // Sends `finished` with the accounts of what was sent, and returns OK.
    grpc::Status Finish(mayfly::v1::ExecutionResult result);
    grpc::Status Exited(int code);

    // Blocks until the server has cancelled; false when it has not for long.
    bool AwaitCancelled();
    bool cancelled() const { return context_->IsCancelled(); }

   private:
    bool Output(mayfly::v1::Stream stream, int64_t* offset, const std::string& data);

    grpc::ServerContext* const context_;
    const mayfly::worker::v1::ExecuteRequest* const request_;
    grpc::ServerWriter<mayfly::v1::ExecuteEvent>* const writer_;
    int64_t stdout_bytes_ = 0;
    int64_t stderr_bytes_ = 0;
  };

  using Script = std::function<grpc::Status(Call&)>;

  // Offers the template `python`, is ready, and without a script exits 0. Not `running`: until Start().
  explicit ScriptedWorker(bool running = true);
  ~ScriptedWorker() override;

  // "unix:/..."
  const std::string& address() const { return address_; }

  void SetScript(Script script);
  void SetDescription(mayfly::worker::v1::DescribeResponse description);
  mayfly::worker::v1::DescribeResponse description() const;

  // A worker that dies, and one that starts again.
  void Stop();
  void Start();

  // Block until so many calls have begun, or ended; false when that takes too long.
  bool AwaitBegun(int calls) const;
  bool AwaitEnded(int calls) const;
  int begun() const;

  grpc::Status Execute(grpc::ServerContext* context, const mayfly::worker::v1::ExecuteRequest* request,
                       grpc::ServerWriter<mayfly::v1::ExecuteEvent>* writer) override;
  grpc::Status Describe(grpc::ServerContext* context, const mayfly::worker::v1::DescribeRequest* request,
                        mayfly::worker::v1::DescribeResponse* response) override;

 private:
  mayfly::worker::TempDir dir_;
  const std::string address_;
  std::unique_ptr<grpc::Server> server_;

  mutable absl::Mutex mutex_;
  Script script_ ABSL_GUARDED_BY(mutex_);
  mayfly::worker::v1::DescribeResponse description_ ABSL_GUARDED_BY(mutex_);
  int begun_ ABSL_GUARDED_BY(mutex_) = 0;
  int ended_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace mayfly::server

#endif  // MAYFLY_TESTS_UNIT_SERVER_SCRIPTED_WORKER_H_
