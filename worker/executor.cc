#include "worker/executor.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "daemon/grpc_status.h"
#include "daemon/json_log.h"
#include "daemon/metric_labels.h"
#include "daemon/random_id.h"
#include "policy/proto_duration.h"

namespace mayfly::worker {
namespace {

using daemon::Log;
using daemon::Severity;
using policy::FromProto;

// When a full worker may be worth another try: about what a sandbox takes.
constexpr absl::Duration kRetryAfter = absl::Seconds(1);

}  // namespace

Executor::Executor(Options options, SandboxContext context, const RootfsStore* rootfs, WorkerMetrics* metrics)
    : options_(std::move(options)), context_(std::move(context)), rootfs_(rootfs), metrics_(metrics) {
  for (int i = 0; i < options_.sandboxes_max; ++i) threads_.emplace_back([this] { Run(); });
}

Executor::~Executor() {
  Shutdown(absl::ZeroDuration());
}

grpc::Status Executor::Submit(Ticket ticket) {
  absl::MutexLock lock(&mutex_);
  if (draining_) {
    return daemon::StatusWithReason(grpc::StatusCode::UNAVAILABLE, daemon::kReasonDraining,
                                    "the worker is shutting down", kRetryAfter);
  }
  const size_t taken = running_.size() + line_.size();
  if (taken >= static_cast<size_t>(options_.sandboxes_max) + static_cast<size_t>(options_.line_max)) {
    return daemon::StatusWithReason(
        grpc::StatusCode::RESOURCE_EXHAUSTED, daemon::kReasonQueueFull,
        absl::StrCat("all ", options_.sandboxes_max, " sandboxes are taken and ", line_.size(), " executions wait"),
        kRetryAfter);
  }
  ticket.submitted = options_.clock();
  line_.push_back(std::move(ticket));
  metrics_->SetLineDepth(static_cast<int>(line_.size()));
  return grpc::Status::OK;
}

bool Executor::draining() const {
  absl::MutexLock lock(&mutex_);
  return draining_;
}

void Executor::Shutdown(absl::Duration drain) {
  {
    absl::MutexLock lock(&mutex_);
    draining_ = true;
    const auto idle = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return line_.empty() && running_.empty(); };
    if (!mutex_.AwaitWithTimeout(absl::Condition(&idle), drain)) {
      ending_ = true;
      for (EventSink* sink : running_) sink->wake()->Signal();
    }
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Executor::Run() {
  while (true) {
    Ticket ticket;
    {
      absl::MutexLock lock(&mutex_);
      const auto has_work = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return draining_ || !line_.empty(); };
      mutex_.Await(absl::Condition(&has_work));
      if (line_.empty()) return;
      ticket = std::move(line_.front());
      line_.pop_front();
      running_.insert(ticket.sink.get());
      metrics_->SetLineDepth(static_cast<int>(line_.size()));
      metrics_->SetInFlight(static_cast<int>(running_.size()));
    }
    Execute(ticket);
    ticket.sink->AwaitDelivered(options_.delivery_timeout, ending_);
    absl::MutexLock lock(&mutex_);
    running_.erase(ticket.sink.get());
    metrics_->SetInFlight(static_cast<int>(running_.size()));
  }
}

void Executor::Execute(const Ticket& ticket) {
  if (ticket.sink->cancelled()) return Refuse(ticket, grpc::Status::CANCELLED);
  if (ending_) {
    return Refuse(ticket, daemon::StatusWithReason(grpc::StatusCode::UNAVAILABLE, daemon::kReasonDraining,
                                                   "the worker is shutting down", kRetryAfter));
  }
  const absl::StatusOr<Rootfs> rootfs = rootfs_->Get(*ticket.offered);
  if (!rootfs.ok()) {
    return Refuse(ticket, daemon::StatusWithReason(grpc::StatusCode::UNAVAILABLE, daemon::kReasonUnavailable,
                                                   rootfs.status().message(), kRetryAfter));
  }
  const absl::Time began = options_.clock();
  Sandbox sandbox(context_, absl::StrCat("mf-", daemon::RandomId()));
  absl::Status started = sandbox.Start(*ticket.offered, *rootfs, ticket.sink->wake());
  if (started.ok()) started = sandbox.LimitCpu(*ticket.offered);
  if (started.ok()) {
    ExecuteIn(&sandbox, ticket, began);
  } else {
    FailToStart(ticket, started, began);
  }

  // The caller has its answer, whatever this takes.
  const absl::Time teardown_began = options_.clock();
  absl::Status destroyed = sandbox.Destroy();
  metrics_->RecordTeardown(options_.clock() - teardown_began, destroyed.ok());
  if (!destroyed.ok()) {
    Log(Severity::kError, "sandbox left behind",
        {{"execution_id", ticket.execution_id}, {"sandbox", sandbox.id()}, {"error", destroyed.ToString()}});
  }
}

void Executor::ExecuteIn(Sandbox* sandbox, const Ticket& ticket, absl::Time began) {
  Execution execution(*ticket.request, *ticket.offered, sandbox, ticket.sink.get(), &ending_, options_.timeouts,
                      options_.clock, began);
  mayfly::v1::ExecutionResult result = execution.Run();
  Conclude(ticket, began, std::move(result), execution.TakeLastEvents());
}

void Executor::FailToStart(const Ticket& ticket, const absl::Status& why, absl::Time began) {
  // Nothing ran: when containerd does not answer, the caller may as well ask another worker.
  if (absl::IsUnavailable(why)) {
    return Refuse(ticket, daemon::StatusWithReason(grpc::StatusCode::UNAVAILABLE, daemon::kReasonUnavailable,
                                                   why.message(), kRetryAfter));
  }
  mayfly::v1::ExecutionResult result;
  result.set_template_(ticket.offered->info.name());
  result.mutable_stdout();
  result.mutable_stderr();
  *result.mutable_timings()->mutable_sandbox() = policy::ToProto(options_.clock() - began);
  // What containerd and the runtime say names paths of the host: that is for the operator.
  Log(Severity::kError, "sandbox could not be made", {{"execution_id", ticket.execution_id}, {"error", why.ToString()}});
  Evidence evidence;
  evidence.failure = absl::Status(why.code(), "it could not be made; the worker's log has the reason");
  DecideTermination(evidence, &result);
  Conclude(ticket, began, std::move(result), {});
}

void Executor::Conclude(const Ticket& ticket, absl::Time began, mayfly::v1::ExecutionResult result,
                        std::deque<mayfly::v1::ExecuteEvent> last_events) {
  result.set_execution_id(ticket.execution_id);
  *result.mutable_timings()->mutable_queue() = policy::ToProto(began - ticket.submitted);
  metrics_->RecordResult(result);
  const bool failed = result.termination() == mayfly::v1::TERMINATION_SANDBOX_FAILED;
  Log(failed ? Severity::kError : Severity::kInfo, "execution finished",
      {{"execution_id", ticket.execution_id},
       {"sandbox", result.isolation().task_id()},
       {"template", result.template_()},
       {"termination", daemon::TerminationLabel(result.termination())},
       {"summary", result.message()},
       {"sandbox_seconds", FromProto(result.timings().sandbox())},
       {"run_seconds", FromProto(result.timings().run())}});
  last_events.emplace_back();
  *last_events.back().mutable_finished() = std::move(result);
  ticket.sink->Finish(std::move(last_events));
}

void Executor::Refuse(const Ticket& ticket, const grpc::Status& status) {
  metrics_->RecordRefusal(status);
  Log(Severity::kInfo, "execution refused", {{"execution_id", ticket.execution_id}, {"error", status.error_message()}});
  ticket.sink->Fail(status);
}

}  // namespace mayfly::worker
