// Very many callers at once: most are refused, quickly, and no thread is made for any of them.
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "tests/unit/server/server_under_test.h"
#include "tests/unit/worker/rpc_details.h"

namespace mayfly::server {
namespace {

using mayfly::v1::ExecutionResult;
using Call = ScriptedWorker::Call;

// Of this process.
int Threads() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("Threads:", 0) == 0) return std::stoi(line.substr(8));
  }
  return -1;
}

TEST(LoadTest, ThreeHundredCallersNeedNoThreads) {
  constexpr int kCallers = 300, kPlaces = 4, kQueue = 50;
  // What gRPC, client and server and the scripted worker's own server, may have beside one thread per place.
  constexpr int kFurtherThreadsMax = 32;
  ServerUnderTest server({.in_flight_max = kPlaces, .queue_max = kQueue});
  absl::Notification release;
  server.worker().SetScript([&](Call& call) {
    call.Started();
    release.WaitForNotificationWithTimeout(absl::Seconds(60));
    return call.Exited(0);
  });
  const int before = Threads();

  struct Caller {
    grpc::ClientContext context;
    mayfly::v1::ExecuteRequest request = ServerUnderTest::MakeRequest();
    ExecutionResult result;
    grpc::Status status;
  };
  std::vector<Caller> callers(kCallers);
  absl::Mutex mutex;
  int answered = 0;
  for (Caller& caller : callers) {
    server.stub().async()->Run(&caller.context, &caller.request, &caller.result, [&](grpc::Status status) {
      absl::MutexLock lock(&mutex);
      caller.status = std::move(status);
      ++answered;
    });
  }
  const auto await_answers = [&](int wanted) {
    absl::MutexLock lock(&mutex);
    const auto enough = [&] { return answered >= wanted; };
    return mutex.AwaitWithTimeout(absl::Condition(&enough), absl::Seconds(60));
  };
  // Those for whom there is no place are told at once, while all the others still wait.
  EXPECT_TRUE(await_answers(kCallers - kPlaces - kQueue));
  EXPECT_EQ(server.Metric("mayfly_server_in_flight"), kPlaces);
  EXPECT_EQ(server.Metric("mayfly_server_queue_depth"), kQueue);
  EXPECT_LE(Threads() - before, kPlaces + kFurtherThreadsMax);
  release.Notify();
  ASSERT_TRUE(await_answers(kCallers));

  int ran = 0, refused = 0;
  for (const Caller& caller : callers) {
    if (caller.status.ok()) {
      ++ran;
      EXPECT_EQ(caller.result.exit_code(), 0);
    } else {
      ++refused;
      EXPECT_EQ(caller.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
      EXPECT_GT(RetryDelay(caller.status), absl::ZeroDuration());
    }
  }
  EXPECT_EQ(ran, kPlaces + kQueue);
  EXPECT_EQ(refused, kCallers - kPlaces - kQueue);
  EXPECT_EQ(server.worker().begun(), kPlaces + kQueue);
}

}  // namespace
}  // namespace mayfly::server
