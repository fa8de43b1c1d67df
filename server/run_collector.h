// RunCollector turns the events of an execution into the one answer of Run, bounded.
#ifndef MAYFLY_SERVER_RUN_COLLECTOR_H_
#define MAYFLY_SERVER_RUN_COLLECTOR_H_

#include <cstdint>
#include <map>
#include <string>

#include "mayfly/v1/execution.pb.h"

namespace mayfly::server {

// Not thread-safe.
class RunCollector {
 public:
  // The answer's stdout, stderr and file contents have at most `bytes_max` together.
  explicit RunCollector(int64_t bytes_max) : left_(bytes_max) {}

  void Add(mayfly::v1::ExecuteEvent event);

  // True once the `finished` event was added.
  bool finished() const { return finished_; }

  // The answer. Requires finished(). What did not fit is counted as dropped, or its file listed as too large.
  mayfly::v1::ExecutionResult TakeResult();

 private:
  struct File {
    std::string content;
    bool cut = false;  // it did not fit
  };

  void AddOutput(const std::string& data, std::string* to);
  void AddFile(const mayfly::v1::FileChunk& chunk);

  int64_t left_;
  bool finished_ = false;
  std::string stdout_, stderr_;
  std::map<std::string, File> files_;
  mayfly::v1::ExecutionResult result_;
};

}  // namespace mayfly::server

#endif  // MAYFLY_SERVER_RUN_COLLECTOR_H_
