#include "worker/termination.h"

#include <signal.h>
#include <string.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace mayfly::worker {
namespace {

using mayfly::v1::ExecutionResult;

std::string FormatBytes(int64_t bytes) {
  constexpr int64_t kMiB = 1024 * 1024;
  if (bytes >= kMiB && bytes % kMiB == 0) return absl::StrCat(bytes / kMiB, " MiB");
  return absl::StrCat(bytes, " bytes");
}

std::string SignalName(int signal) {
  const char* abbreviation = sigabbrev_np(signal);
  return abbreviation == nullptr ? absl::StrCat(signal) : absl::StrCat(signal, " (SIG", abbreviation, ")");
}

void SetOutOfMemory(const Evidence& evidence, ExecutionResult* result) {
  result->set_termination(mayfly::v1::TERMINATION_OUT_OF_MEMORY);
  result->set_message(absl::StrCat("The program used more than the ", FormatBytes(evidence.memory_bytes),
                                   " of memory that its sandbox has and was ended."));
}

void SetSandboxFailed(absl::string_view why, ExecutionResult* result) {
  result->set_termination(mayfly::v1::TERMINATION_SANDBOX_FAILED);
  result->set_message(absl::StrCat("The sandbox failed, not the program; running it again is safe: ", why));
  result->set_retry_safe(true);
}

void SetOutputLimit(const Evidence& evidence, absl::string_view stream, ExecutionResult* result) {
  const std::string limit = FormatBytes(evidence.limits.output_bytes);
  result->set_termination(mayfly::v1::TERMINATION_OUTPUT_LIMIT);
  result->set_message(absl::StrCat("The program wrote more than its limit of ", limit, " to ", stream,
                                   " and was ended; the first ", limit, " were kept."));
}

void SetKilled(const Evidence& evidence, ExecutionResult* result) {
  switch (evidence.kill) {
    case KillCause::kWallLimit:
      result->set_termination(mayfly::v1::TERMINATION_TIMED_OUT);
      result->set_message(absl::StrCat("The program was still running after its limit of ",
                                       absl::FormatDuration(evidence.limits.wall_time), " and was ended."));
      return;
    case KillCause::kStdoutLimit:
      return SetOutputLimit(evidence, "stdout", result);
    case KillCause::kStderrLimit:
      return SetOutputLimit(evidence, "stderr", result);
    case KillCause::kCancelled:
      result->set_termination(mayfly::v1::TERMINATION_CANCELLED);
      result->set_message("The caller cancelled the execution, or its deadline passed, and the program was ended.");
      return;
    case KillCause::kShutdown:
      result->set_termination(mayfly::v1::TERMINATION_CANCELLED);
      result->set_message("The service is shutting down and ended the program.");
      return;
    case KillCause::kStartTimeout:
      return SetSandboxFailed("it was not ready in time", result);
    case KillCause::kJobFailed:
    case KillCause::kProtocol:
    case KillCause::kNone:
      return SetSandboxFailed(evidence.failure.message(), result);
  }
}

void SetProgramExit(const Evidence& evidence, ExecutionResult* result) {
  const ProgramExit& exit = *evidence.program_exit;
  if (exit.code.has_value()) {
    result->set_termination(mayfly::v1::TERMINATION_EXITED);
    result->set_exit_code(*exit.code);
    result->set_message(absl::StrCat("The program exited with code ", *exit.code, "."));
    return;
  }
  // Without gVisor the kernel kills single processes: the program itself, if it was the one.
  if (*exit.signal == SIGKILL && evidence.oom_kills > 0) return SetOutOfMemory(evidence, result);
  result->set_termination(mayfly::v1::TERMINATION_SIGNALED);
  result->set_signal(*exit.signal);
  result->set_message(absl::StrCat("The program was ended by signal ", SignalName(*exit.signal), "."));
}

// The sandbox is gone and its runner never said how the program ended.
void SetSandboxDied(const Evidence& evidence, ExecutionResult* result) {
  // A memory cgroup that is full takes gVisor's kernel with it, whatever exit code the shim then reports.
  if (evidence.oom_kills > 0) return SetOutOfMemory(evidence, result);
  SetSandboxFailed(evidence.failure.ok() ? "it ended without a word" : evidence.failure.message(), result);
}

absl::string_view KillName(KillCause cause) {
  switch (cause) {
    case KillCause::kNone:
      break;
    case KillCause::kWallLimit:
      return "wall limit";
    case KillCause::kStdoutLimit:
      return "stdout limit";
    case KillCause::kStderrLimit:
      return "stderr limit";
    case KillCause::kCancelled:
      return "call cancelled";
    case KillCause::kShutdown:
      return "shutdown";
    case KillCause::kStartTimeout:
      return "start timeout";
    case KillCause::kJobFailed:
      return "the job could not be written";
    case KillCause::kProtocol:
      return "protocol violation";
  }
  return "";
}

void AddEvidence(const Evidence& evidence, ExecutionResult* result) {
  if (evidence.kill != KillCause::kNone) {
    result->add_evidence(absl::StrCat("killed by Mayfly: ", KillName(evidence.kill)));
  }
  if (evidence.program_exit.has_value()) {
    result->add_evidence(evidence.program_exit->code.has_value()
                             ? absl::StrCat("exit frame: code ", *evidence.program_exit->code)
                             : absl::StrCat("exit frame: signal ", *evidence.program_exit->signal));
  }
  if (evidence.task_exit.has_value()) {
    result->add_evidence(absl::StrCat("task exit status ", evidence.task_exit->status));
  }
  if (evidence.oom_kills > 0) result->add_evidence(absl::StrCat("cgroup oom_kill ", evidence.oom_kills));
  if (!evidence.failure.ok()) result->add_evidence(absl::StrCat("failure: ", evidence.failure.ToString()));
  if (!evidence.diagnostics.empty()) {
    result->add_evidence(absl::StrCat("sandbox stderr: ", absl::CHexEscape(evidence.diagnostics)));
  }
}

}  // namespace

void DecideTermination(const Evidence& evidence, ExecutionResult* result) {
  if (evidence.kill != KillCause::kNone) {
    SetKilled(evidence, result);
    if (evidence.kill_failed) result->mutable_message()->append(" (Ending it takes longer than usual.)");
  } else if (evidence.program_exit.has_value()) {
    SetProgramExit(evidence, result);
  } else {
    SetSandboxDied(evidence, result);
  }
  AddEvidence(evidence, result);
}

}  // namespace mayfly::worker
