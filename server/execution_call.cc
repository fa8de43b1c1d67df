#include "server/execution_call.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "daemon/grpc_status.h"
#include "daemon/random_id.h"
#include "daemon/steady_clock.h"
#include "policy/proto_duration.h"

namespace mayfly::server {
namespace {

using mayfly::v1::ExecuteEvent;
using policy::ToProto;

// After a worker could not be reached.
constexpr absl::Duration kRetryAfterUnavailable = absl::Seconds(1);

// The worker has counted its own line.
void AddToQueueTime(absl::Duration queued, mayfly::v1::ExecutionResult* result) {
  google::protobuf::Duration* queue = result->mutable_timings()->mutable_queue();
  *queue = ToProto(policy::FromProto(*queue) + queued);
}

grpc::Status Draining() {
  return daemon::StatusWithReason(grpc::StatusCode::UNAVAILABLE, daemon::kReasonDraining, "the server is shutting down",
                                  kRetryAfterUnavailable);
}

}  // namespace

ExecutionCall::ExecutionCall(const Context* context, const mayfly::v1::ExecuteRequest* request, absl::Time deadline,
                             EventConsumer* consumer)
    : context_(context),
      request_(request),
      deadline_(deadline),
      consumer_(consumer),
      execution_id_(daemon::RandomId()),
      arrived_(daemon::SteadyNow()) {}

void ExecutionCall::Start() {
  {
    absl::MutexLock lock(&mutex_);
    ExecuteEvent accepted;
    accepted.mutable_accepted()->set_execution_id(execution_id_);
    Push(std::move(accepted));
  }
  const Admission::Entry entry = context_->admission->Enter(shared_from_this(), static_cast<int64_t>(request_->ByteSizeLong()));
  if (entry == Admission::Entry::kAdmitted) OnAdmitted();
  {
    absl::MutexLock lock(&mutex_);
    held_back_ = false;
    if (entry == Admission::Entry::kDraining) {
      outbox_.clear();
      end_ = Draining();
    } else if (entry == Admission::Entry::kFull) {
      outbox_.clear();
      end_ = daemon::StatusWithReason(grpc::StatusCode::RESOURCE_EXHAUSTED, daemon::kReasonQueueFull,
                                      "the queue is full", context_->admission->RetryAfter());
    }
  }
  Pump();
}

void ExecutionCall::OnAdmitted() {
  bool dispatched;
  {
    absl::MutexLock lock(&mutex_);
    admitted_ = daemon::SteadyNow();
    context_->metrics->RecordQueued(admitted_ - arrived_);
    dispatched = dispatched_ = ending_ == Ending::kNone;
    if (dispatched) {
      self_ = shared_from_this();
    } else {
      EndWithoutFinished(grpc::Status::CANCELLED);
    }
  }
  if (dispatched) return StartWorkerCall();
  context_->admission->Leave(absl::ZeroDuration());
  Pump();
}

void ExecutionCall::StartWorkerCall() {
  mayfly::worker::v1::ExecuteRequest request;
  request.set_execution_id(execution_id_);
  *request.mutable_request() = *request_;
  if (deadline_ != absl::InfiniteFuture()) worker_context_.set_deadline(absl::ToChronoTime(deadline_));
  context_->worker->async()->Execute(&worker_context_, &request, this);
  // Reads are started from outside gRPC's callbacks, too: hold the call until the last one.
  AddHold();
  StartCall();
  {
    absl::MutexLock lock(&mutex_);
    call_started_ = true;
  }
  Pump();
}

void ExecutionCall::OnQueueTimeout() {
  {
    absl::MutexLock lock(&mutex_);
    end_ = daemon::StatusWithReason(
        grpc::StatusCode::DEADLINE_EXCEEDED, daemon::kReasonQueueTimeout,
        absl::StrCat("no place became free within ", absl::FormatDuration(daemon::SteadyNow() - arrived_)),
        context_->admission->RetryAfter());
  }
  Pump();
}

void ExecutionCall::Next() {
  {
    absl::MutexLock lock(&mutex_);
    busy_ = false;
  }
  Pump();
}

void ExecutionCall::Pump() {
  std::optional<ExecuteEvent> event;
  std::optional<grpc::Status> end;
  {
    absl::MutexLock lock(&mutex_);
    if (busy_ || ended_ || held_back_) return;
    if (!outbox_.empty()) {
      event = std::move(outbox_.front());
      outbox_.pop_front();
      busy_ = true;
      busy_since_ = daemon::SteadyNow();
    } else if (end_.has_value()) {
      end = end_;
      ended_ = true;
    } else {
      ReadIfIdle();
      return;
    }
  }
  if (event.has_value()) return consumer_->OnEvent(*std::move(event));
  if (!end->ok()) context_->metrics->RecordRefusal(*end);
  consumer_->OnEnd(*end);
}

void ExecutionCall::ReadIfIdle() {
  if (!call_started_ || reading_ || read_all_) return;
  reading_ = true;
  StartRead(&read_event_);
}

void ExecutionCall::OnReadDone(bool ok) {
  bool over = false;
  {
    absl::MutexLock lock(&mutex_);
    reading_ = false;
    if (ok && !finished_) {
      Note(&read_event_);
      Push(std::move(read_event_));
    } else if (!ok) {
      read_all_ = true;
      over = true;
    }
  }
  if (over) RemoveHold();
  Pump();
}

void ExecutionCall::OnDone(const grpc::Status& status) {
  std::shared_ptr<ExecutionCall> self;
  absl::Duration held;
  {
    absl::MutexLock lock(&mutex_);
    held = daemon::SteadyNow() - admitted_;
  }
  // First: once the end is there, the consumer may be told, and whoever waits for the last call may go on.
  context_->admission->Leave(held);
  {
    absl::MutexLock lock(&mutex_);
    self = std::move(self_);
    const absl::Time now = absl::Now();
    // The call to the worker has the caller's deadline. When that passes, the worker was not lost.
    if (ending_ == Ending::kNone && (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED || now >= deadline_)) {
      ending_ = Ending::kCancelled;
    }
    if (finished_) {
      end_ = grpc::Status::OK;
    } else {
      EndWithoutFinished(status);
    }
  }
  Pump();
}

void ExecutionCall::Cancel() {
  EndBy(Ending::kCancelled);
}

void ExecutionCall::ShutDown() {
  // Or the first call that ends would give its place to one that is still to be ended.
  context_->admission->Close();
  EndBy(Ending::kShutdown);
}

void ExecutionCall::CancelIfStalled(absl::Time limit) {
  {
    absl::MutexLock lock(&mutex_);
    if (!busy_ || busy_since_ > limit) return;
    // Until it calls Next, which takes the lock, it lives; and until then nothing is read from the worker, so that the
    // call to it cannot end either.
    consumer_->OnStalled();
  }
  Cancel();
}

void ExecutionCall::EndBy(Ending ending) {
  bool dispatched;
  {
    absl::MutexLock lock(&mutex_);
    if (ending_ != Ending::kNone || ended_) return;
    ending_ = ending;
    dispatched = dispatched_;
  }
  if (dispatched) {
    worker_context_.TryCancel();  // OnDone follows
    Pump();                       // which needs the stream to be read to its end
    return;
  }
  if (!context_->admission->Withdraw(this)) return;  // it has just been admitted, or refused
  {
    absl::MutexLock lock(&mutex_);
    EndWithoutFinished(grpc::Status::CANCELLED);
  }
  Pump();
}

void ExecutionCall::Push(ExecuteEvent event) {
  event.set_sequence(++sequence_);
  outbox_.push_back(std::move(event));
}

void ExecutionCall::Note(ExecuteEvent* event) {
  switch (event->event_case()) {
    case ExecuteEvent::kStarted:
      started_ = true;
      break;
    case ExecuteEvent::kOutput: {
      const auto bytes = static_cast<int64_t>(event->output().data().size());
      (event->output().stream() == mayfly::v1::STREAM_STDERR ? stderr_bytes_ : stdout_bytes_) += bytes;
      break;
    }
    case ExecuteEvent::kFinished:
      finished_ = true;
      AddToQueueTime(admitted_ - arrived_, event->mutable_finished());
      context_->metrics->RecordResult(event->finished(), daemon::SteadyNow() - arrived_);
      break;
    default:
      break;
  }
}

void ExecutionCall::EndWithoutFinished(const grpc::Status& status) {
  end_ = grpc::Status::OK;
  if (ending_ == Ending::kCancelled) {
    outbox_.clear();
    end_ = grpc::Status(grpc::StatusCode::CANCELLED,
                        "the caller cancelled the execution, its deadline passed, or it does not read its events");
  } else if (ending_ == Ending::kShutdown) {
    if (!started_) {
      end_ = Draining();
      return;
    }
    PushFinished(mayfly::v1::TERMINATION_CANCELLED, "The service is shutting down and ended the program.",
                 "killed by Mayfly: shutdown");
  } else if (started_) {
    PushFinished(mayfly::v1::TERMINATION_SANDBOX_FAILED,
                 "The worker was lost while the program ran; running it again is safe.",
                 absl::StrCat("worker: ", status.error_message()));
  } else if (status.error_details().empty() && (status.error_code() == grpc::StatusCode::UNAVAILABLE ||
                                                status.error_code() == grpc::StatusCode::CANCELLED)) {
    end_ = daemon::StatusWithReason(grpc::StatusCode::UNAVAILABLE, daemon::kReasonUnavailable,
                                    absl::StrCat("the worker does not answer: ", status.error_message()),
                                    kRetryAfterUnavailable);
  } else if (status.ok()) {
    end_ = grpc::Status(grpc::StatusCode::INTERNAL, "the worker ended the execution without a result");
  } else {
    end_ = status;
  }
}

void ExecutionCall::PushFinished(mayfly::v1::Termination termination, absl::string_view message,
                                 absl::string_view evidence) {
  ExecuteEvent event;
  mayfly::v1::ExecutionResult* result = event.mutable_finished();
  result->set_execution_id(execution_id_);
  result->set_template_(request_->template_());
  result->set_termination(termination);
  result->set_message(std::string(message));
  result->add_evidence(std::string(evidence));
  result->mutable_stdout()->set_total(stdout_bytes_);
  result->mutable_stdout()->set_sent(stdout_bytes_);
  result->mutable_stderr()->set_total(stderr_bytes_);
  result->mutable_stderr()->set_sent(stderr_bytes_);
  result->set_retry_safe(termination == mayfly::v1::TERMINATION_SANDBOX_FAILED);
  Note(&event);
  Push(std::move(event));
}

}  // namespace mayfly::server
