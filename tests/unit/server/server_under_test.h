// ServerUnderTest: all of a server but its main(), between a real client and a ScriptedWorker.
//
//   ServerUnderTest server;
//   server.worker().SetScript(...);
//   const Answer answer = server.Execute("print(1)");
#ifndef MAYFLY_TESTS_UNIT_SERVER_SERVER_UNDER_TEST_H_
#define MAYFLY_TESTS_UNIT_SERVER_SERVER_UNDER_TEST_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "daemon/grpc_listener.h"
#include "mayfly/v1/execution.grpc.pb.h"
#include "server/active_calls.h"
#include "server/admission.h"
#include "server/execution_call.h"
#include "server/executor_service.h"
#include "server/server_metrics.h"
#include "server/template_catalog.h"
#include "tests/unit/server/scripted_worker.h"
#include "tests/unit/worker/temp_dir.h"

namespace mayfly::server {

// All that a caller gets of one Execute.
struct Answer {
  std::vector<mayfly::v1::ExecuteEvent> events;
  grpc::Status status;

  // The last event's result; an empty one when there is none.
  mayfly::v1::ExecutionResult result() const;
};

class ServerUnderTest {
 public:
  struct Options {
    int in_flight_max = 2;
    int queue_max = 2;
    absl::Duration queue_timeout = absl::Seconds(60);
    absl::Duration stall_timeout = absl::Seconds(60);
    int64_t run_response_bytes_max = 3 << 20;
    bool worker_there = true;  // when the server starts
  };

  ServerUnderTest() : ServerUnderTest(Options()) {}
  explicit ServerUnderTest(Options options);
  ~ServerUnderTest();

  ScriptedWorker& worker() { return worker_; }
  mayfly::v1::Executor::Stub& stub() { return *stub_; }
  const std::string& address() const { return address_; }

  static mayfly::v1::ExecuteRequest MakeRequest(const std::string& code = "print(1)");

  // Reads the stream to its end, which must come within a minute.
  Answer Execute(const mayfly::v1::ExecuteRequest& request = MakeRequest());
  grpc::Status Run(const mayfly::v1::ExecuteRequest& request, mayfly::v1::ExecutionResult* result);

  // As main() does it at SIGTERM.
  void Drain() { admission_.Drain(); }
  void Shutdown(absl::Duration drain);

  // The value of a metric, summed over the label sets that contain `label`; 0 when there is none.
  double Metric(absl::string_view name, absl::string_view label = "");
  size_t SeriesCount();
  // Blocks until it has that value; false when that takes too long.
  bool AwaitMetric(absl::string_view name, double value, absl::string_view label = "");

 private:
  mayfly::worker::TempDir dir_;
  const std::string address_;
  ScriptedWorker worker_;
  ServerMetrics metrics_;
  const std::unique_ptr<mayfly::worker::v1::Worker::Stub> worker_stub_;
  Admission admission_;
  ActiveCalls active_calls_;
  const ExecutionCall::Context context_;
  TemplateCatalog catalog_;
  ExecutorService service_;
  std::unique_ptr<daemon::GrpcListener> listener_;
  std::unique_ptr<mayfly::v1::Executor::Stub> stub_;
};

// What the channel of main() to the worker is like.
std::shared_ptr<grpc::Channel> WorkerChannel(const std::string& address);

}  // namespace mayfly::server

#endif  // MAYFLY_TESTS_UNIT_SERVER_SERVER_UNDER_TEST_H_
