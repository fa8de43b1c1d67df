#include "clients/cli/execution.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cli/event_order.h"
#include "grpcpp/client_context.h"
#include "mayfly/v1/execution.grpc.pb.h"

namespace mayfly::cli {
namespace {

// What the loop over the events works with.
struct Receiver {
  OutputSink& sink;
  OutputDirectory* directory;
  ExecutionEnd& end;
  EventOrder order;

  std::optional<Failure> Take(v1::ExecuteEvent& event) {
    const absl::Status ordered = order.Check(event);
    if (!ordered.ok()) return LocalFailure("DATA_LOSS", kExitMayflyFailed, ordered.message());
    switch (event.event_case()) {
      case v1::ExecuteEvent::kAccepted:
        end.execution_id = event.accepted().execution_id();
        return std::nullopt;
      case v1::ExecuteEvent::kOutput:
        return TakeOutput(event.output());
      case v1::ExecuteEvent::kFile:
        return TakeFile(event.file());
      case v1::ExecuteEvent::kFinished:
        end.result = std::move(*event.mutable_finished());
        return FinishFiles();
      default:
        return std::nullopt;
    }
  }

  std::optional<Failure> TakeOutput(const v1::Output& output) {
    const absl::Status written = sink.Write(output.stream(), output.data());
    if (written.ok()) return std::nullopt;
    if (absl::IsAborted(written))
      return LocalFailure("STDOUT_CLOSED", kExitStdoutClosed, "stdout or stderr was closed");
    return LocalFailure("LOCAL_OUTPUT", kExitMayflyFailed,
                        absl::StrCat("cannot pass the program's output on: ", written.message()));
  }

  std::optional<Failure> TakeFile(const v1::FileChunk& chunk) {
    if (directory == nullptr) return LocalFailure("DATA_LOSS", kExitMayflyFailed, "the service sent a file unasked");
    const absl::Status written = directory->Write(chunk.path(), chunk.offset(), chunk.data());
    if (written.ok()) return std::nullopt;
    return LocalFailure("LOCAL_OUTPUT", kExitMayflyFailed, written.message());
  }

  // Every file that the result lists as returned must have come whole; of the others nothing is kept.
  std::optional<Failure> FinishFiles() {
    if (directory == nullptr) return std::nullopt;
    absl::Status status = directory->Finish();
    for (const v1::OutputFile& file : end.result->files()) {
      if (file.omission() != v1::OMISSION_UNSPECIFIED) {
        status.Update(directory->Discard(file.path()));
        continue;
      }
      const auto found = directory->files().find(file.path());
      if (found == directory->files().end() || found->second != file.size()) {
        return LocalFailure("DATA_LOSS", kExitMayflyFailed,
                            absl::StrCat("the file ", file.path(), " did not come, or not whole"));
      }
    }
    if (!status.ok()) return LocalFailure("LOCAL_OUTPUT", kExitMayflyFailed, status.message());
    return std::nullopt;
  }
};

// Why a call without a result ended.
Failure FailureOfCall(const Connection& connection, const grpc::Status& status, bool cancelled) {
  if (cancelled) return LocalFailure("CANCELLED", kExitCancelled, "cancelled by a signal");
  if (!status.ok()) return connection.Explain(status);
  return LocalFailure("DATA_LOSS", kExitMayflyFailed,
                      "the service ended the stream without saying how the program ended");
}

}  // namespace

int ExecutionEnd::exit_code() const {
  if (failure.has_value()) return failure->exit_code;
  return result.has_value() ? ExitCodeFor(*result) : kExitMayflyFailed;
}

ExecutionEnd Execute(const Connection& connection, const v1::ExecuteRequest& request, OutputSink& sink,
                     OutputDirectory* directory, Cancellation& cancellation) {
  ExecutionEnd end;
  end.failure = connection.unreachable();
  if (end.failure.has_value()) return end;
  Receiver receiver{sink, directory, end, {}};
  const std::unique_ptr<v1::Executor::Stub> stub = v1::Executor::NewStub(connection.channel());
  // No deadline of ours: the queue may be long, and the worker's clock limits the program.
  grpc::ClientContext context;
  const Cancellation::Scope scope(cancellation, &context);
  const std::unique_ptr<grpc::ClientReader<v1::ExecuteEvent>> reader = stub->Execute(&context, request);
  v1::ExecuteEvent event;
  while (!end.failure.has_value() && reader->Read(&event)) end.failure = receiver.Take(event);
  if (end.failure.has_value()) context.TryCancel();
  const grpc::Status status = reader->Finish();
  if (!end.result.has_value() && !end.failure.has_value()) {
    end.failure = FailureOfCall(connection, status, cancellation.cancelled());
  }
  return end;
}

}  // namespace mayfly::cli
