#include "server/template_catalog.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "daemon/json_log.h"

namespace mayfly::server {
namespace {

constexpr absl::Duration kAskTimeout = absl::Seconds(2);

}  // namespace

TemplateCatalog::TemplateCatalog(mayfly::worker::v1::Worker::StubInterface* worker,
                                 std::function<void(bool ready)> on_change, absl::Duration period)
    : worker_(worker),
      on_change_(std::move(on_change)),
      period_(period),
      readiness_(absl::UnavailableError("the worker has not answered yet")) {
  thread_ = std::thread([this] { Run(); });
}

TemplateCatalog::~TemplateCatalog() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

std::shared_ptr<const TemplateCatalog::Templates> TemplateCatalog::templates() const {
  absl::MutexLock lock(&mutex_);
  return templates_;
}

absl::Status TemplateCatalog::readiness() const {
  absl::MutexLock lock(&mutex_);
  return readiness_;
}

absl::Status TemplateCatalog::Ask() {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kAskTimeout));
  mayfly::worker::v1::DescribeResponse response;
  const grpc::Status status = worker_->Describe(&context, {}, &response);
  if (!status.ok()) return absl::UnavailableError(absl::StrCat("the worker does not answer: ", status.error_message()));
  auto templates = std::make_shared<Templates>();
  for (mayfly::v1::Template& offered : *response.mutable_templates()) {
    std::string name = offered.name();
    templates->emplace(std::move(name), std::move(offered));
  }
  {
    absl::MutexLock lock(&mutex_);
    templates_ = std::move(templates);
  }
  if (response.draining()) return absl::UnavailableError("the worker is shutting down");
  if (!response.ready()) {
    return absl::UnavailableError(absl::StrCat("the worker is not ready: ", response.not_ready_reason()));
  }
  return absl::OkStatus();
}

void TemplateCatalog::Run() {
  bool was_ready = false;
  absl::Status before;
  while (true) {
    absl::Status now = Ask();
    {
      absl::MutexLock lock(&mutex_);
      readiness_ = now;
    }
    if (now.ok() != was_ready) {
      was_ready = now.ok();
      on_change_(was_ready);
    }
    if (now != before) {
      if (now.ok()) {
        daemon::Log(daemon::Severity::kInfo, "the worker is ready");
      } else {
        daemon::Log(daemon::Severity::kWarning, "not serving", {{"error", now.message()}});
      }
      before = now;
    }
    absl::MutexLock lock(&mutex_);
    if (mutex_.AwaitWithTimeout(absl::Condition(&stopping_), period_)) return;
  }
}

}  // namespace mayfly::server
