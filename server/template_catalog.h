// TemplateCatalog: what the worker offers, asked for every second; also how the server knows that it is there.
#ifndef MAYFLY_SERVER_TEMPLATE_CATALOG_H_
#define MAYFLY_SERVER_TEMPLATE_CATALOG_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "mayfly/v1/execution.pb.h"
#include "mayfly/worker/v1/worker.grpc.pb.h"

namespace mayfly::server {

class TemplateCatalog {
 public:
  using Templates = std::map<std::string, mayfly::v1::Template, std::less<>>;

  // Asks `worker`, which must outlive it, every `period`. `on_change` is called on the catalog's thread when the worker
  // has become ready or ceased to be.
  TemplateCatalog(mayfly::worker::v1::Worker::StubInterface* worker, std::function<void(bool ready)> on_change,
                  absl::Duration period = absl::Seconds(1));
  ~TemplateCatalog();

  // The templates as last heard; null before the worker has answered for the first time. Never blocks.
  std::shared_ptr<const Templates> templates() const;

  // OK when the worker answered last time and takes executions; otherwise Unavailable with the reason.
  absl::Status readiness() const;

 private:
  void Run();
  absl::Status Ask();

  mayfly::worker::v1::Worker::StubInterface* const worker_;
  const std::function<void(bool)> on_change_;
  const absl::Duration period_;

  mutable absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::shared_ptr<const Templates> templates_ ABSL_GUARDED_BY(mutex_);
  absl::Status readiness_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;  // last: it uses the others
};

}  // namespace mayfly::server

#endif  // MAYFLY_SERVER_TEMPLATE_CATALOG_H_
