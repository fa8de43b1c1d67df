// The service under test, as a client sees it.
//
//   Outcome outcome = Execute(Program("python", "print(1)"));
//   EXPECT_EQ(outcome.out, "1\n");
//   EXPECT_TRUE(Exited(outcome, 0));
//
// Every Execute checks the contract of the event stream (mayfly/v1/execution.proto) on its way, and fails the test for
// each breach: sequence 1..n without gaps, `accepted` first, exactly one `finished`, last, offsets without gaps, the
// accounts' sums, files as listed. A test only says what is special about its own program.
//
// All functions may be called from any number of threads and block until the call is over.
//
// These tests never start a service. ctest's fixture brings up a stack of its own and exports:
//   MAYFLY_TEST_ADDR            gRPC target of the server, e.g. "unix:/run/mayfly-test/server.sock"
//   MAYFLY_TEST_BIN             directory of the built binaries (`mayfly`)
//   MAYFLY_TEST_SERVER_METRICS  host:port of the server's metrics
//   MAYFLY_TEST_WORKER_METRICS  host:port of the worker's metrics
//   MAYFLY_TEST_CTR             the `ctr` that speaks to the stack's containerd
//   MAYFLY_TEST_CONTAINERD      its socket, a path (a leading "unix:" or "unix://" is allowed)
//   MAYFLY_TEST_NAMESPACE       containerd namespace; default "mayfly"
//   MAYFLY_TEST_SNAPSHOTTER     default "overlayfs"
//   MAYFLY_TEST_RUN_DIR         the stack's directory for sockets, FIFOs and bundles
//   MAYFLY_TEST_STATE_DIR       containerd's root directory; default: as MAYFLY_TEST_RUN_DIR
//   MAYFLY_TEST_CGROUP          the sandboxes' parent cgroup, as in the worker's configuration, e.g. "/mayfly-test"
//   MAYFLY_TEST_REPEAT          "full": the full repetition counts, not the short ones. Run the
//                               test program itself then (bin/leak_test): ctest's timeouts are for the short runs
// A test that needs one and does not have it fails; it is never skipped. Tests that count things on the machine
// (leak_test, stop_test, metrics_test) need the stack to themselves: run ctest without -j.
#ifndef MAYFLY_TESTS_INTEGRATION_SERVICE_H_
#define MAYFLY_TESTS_INTEGRATION_SERVICE_H_

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "mayfly/v1/execution.grpc.pb.h"
#include "mayfly/v1/execution.pb.h"

namespace mayfly::test {

// Value of an environment variable of the list above; fails the test and returns "" when it is not set.
std::string RequiredEnv(const char* name);

// `full` with MAYFLY_TEST_REPEAT=full, else `short_run`.
int Repeat(int short_run, int full);

// Base of every test: fails at once, with a clear message, when there is no service to test.
class StackTest : public ::testing::Test {
 protected:
  void SetUp() override;
};

// The channel to the service, one per process. Null without MAYFLY_TEST_ADDR.
std::shared_ptr<grpc::Channel> TestChannel();

// A request for `code`.
v1::ExecuteRequest Program(absl::string_view template_name, absl::string_view code);

// A request for tests/programs/`name`. *.py runs as python-open (the import policy only reports there), *.js as
// javascript, *.sh as bash.
v1::ExecuteRequest ProgramFile(absl::string_view name);

void SetWall(v1::ExecuteRequest& request, absl::Duration wall);
void AddFile(v1::ExecuteRequest& request, absl::string_view path, absl::string_view content, uint32_t mode = 0);

struct ExecuteOptions {
  // Deadline of the call, from its start. Default: one that no sound test meets.
  absl::Duration deadline = absl::Minutes(3);
  // Cancel the call so long after `started` came.
  std::optional<absl::Duration> cancel_after;
  // Cancel the call so long after it was made.
  std::optional<absl::Duration> cancel_after_call;
  // Called for each event before the next one is read: sleeping in it makes a slow reader.
  std::function<void(const v1::ExecuteEvent&)> on_event;
};

// One event, as it came.
struct EventNote {
  v1::ExecuteEvent::EventCase kind;
  absl::Duration at;  // since the call was made
  v1::Stream stream = v1::STREAM_UNSPECIFIED;
  std::string data;  // of `output`; empty for others
};

struct Outcome {
  grpc::Status status;
  std::vector<EventNote> events;
  std::string execution_id;
  // Everything that came on the two streams.
  std::string out;
  std::string err;
  // Contents of returned files, by path.
  std::map<std::string, std::string> files;
  bool finished = false;
  v1::ExecutionResult result;
  // Since the call was made; InfiniteDuration() for what did not happen.
  absl::Duration started_at = absl::InfiniteDuration();
  absl::Duration finished_at = absl::InfiniteDuration();
  absl::Duration ended_at = absl::InfiniteDuration();

  // From `started` to `finished`, as the client saw it: queueing and sandbox start are not in it.
  absl::Duration RunTime() const { return finished_at - started_at; }
  // The listing of `path`, or null.
  const v1::OutputFile* Listed(absl::string_view path) const;
};

Outcome Execute(const v1::ExecuteRequest& request, const ExecuteOptions& options = {});

struct RunOutcome {
  grpc::Status status;
  v1::ExecutionResult result;
};

// Checks what can be checked of the answer alone: sums, set fields, `sent` == size of the data.
RunOutcome RunOnce(const v1::ExecuteRequest& request, absl::Duration deadline = absl::Minutes(3));

// EXPECT_TRUE(Exited(outcome, 0)): says status, termination, message, evidence and output when it is not so.
::testing::AssertionResult Exited(const Outcome& outcome, int code);
::testing::AssertionResult Signaled(const Outcome& outcome, int signal);
::testing::AssertionResult Ended(const Outcome& outcome, v1::Termination termination);
std::string Describe(const Outcome& outcome);
std::string Describe(const grpc::Status& status);

// Field names of the status's BadRequest, without indices: "files[0].path" is "files.path". Empty without details.
std::vector<std::string> BadFields(const grpc::Status& status);
// True when the status has an ErrorInfo of domain "mayfly.dev" with a reason.
::testing::AssertionResult HasErrorInfo(const grpc::Status& status);
// True when the status has a RetryInfo.
bool HasRetryInfo(const grpc::Status& status);

// Calls work(0) .. work(count - 1), at most `at_once` at the same time, and waits for all. The default keeps below the
// server's default of 8 in flight.
void Concurrently(int count, const std::function<void(int)>& work, int at_once = 6);

}  // namespace mayfly::test

#endif  // MAYFLY_TESTS_INTEGRATION_SERVICE_H_
