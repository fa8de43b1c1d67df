// The contract of Execute's event stream, checked event by event.
//
//   StreamCheck check(request);
//   for each event: check.OnEvent(event);
//   check.OnEnd(status);
//   for (const std::string& breach : check.breaches()) ...
//
// Not thread-safe.
#ifndef MAYFLY_TESTS_INTEGRATION_STREAM_CHECK_H_
#define MAYFLY_TESTS_INTEGRATION_STREAM_CHECK_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "mayfly/v1/execution.pb.h"

namespace mayfly::test {

class StreamCheck {
 public:
  explicit StreamCheck(const v1::ExecuteRequest& request) : request_(request) {}

  void OnEvent(const v1::ExecuteEvent& event);
  void OnEnd(const grpc::Status& status);

  // One sentence each; at most 20.
  const std::vector<std::string>& breaches() const { return breaches_; }

 private:
  void Breach(std::string what);
  void OnOutput(const v1::Output& output);
  void OnFile(const v1::FileChunk& chunk);
  void OnFinished(const v1::ExecutionResult& result);
  void CheckFiles(const v1::ExecutionResult& result);

  const v1::ExecuteRequest& request_;
  uint64_t events_ = 0;
  bool accepted_ = false;
  bool started_ = false;
  bool finished_ = false;
  std::string execution_id_;
  int64_t sent_[3] = {0, 0, 0};  // by Stream
  std::vector<std::string> file_order_;
  std::map<std::string, int64_t> file_bytes_;
  std::vector<std::string> breaches_;
};

// What holds for every ExecutionResult, from Execute or Run. Appends to `breaches`.
void CheckResult(const v1::ExecuteRequest& request, const v1::ExecutionResult& result,
                 std::vector<std::string>& breaches);

}  // namespace mayfly::test

#endif  // MAYFLY_TESTS_INTEGRATION_STREAM_CHECK_H_
