// Execution: one program's life in a ready sandbox, from its job to its result.
//
// A single thread sits in poll() between the sandbox's FIFOs and the sink: it writes the job, reads the runner's frames
// (only as fast as the sink takes events), watches the clock, the caller and the sandbox, and when the first cause of
// an end is there, ends it, gathers the evidence and states the result.
#ifndef MAYFLY_WORKER_EXECUTION_H_
#define MAYFLY_WORKER_EXECUTION_H_

#include <atomic>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "mayfly/v1/execution.pb.h"
#include "policy/effective_limits.h"
#include "worker/event_sink.h"
#include "worker/job_feed.h"
#include "worker/output_account.h"
#include "worker/runner_stream.h"
#include "worker/sandbox.h"
#include "worker/template.h"
#include "worker/termination.h"

namespace mayfly::worker {

using Clock = std::function<absl::Time()>;

// The bounds of an execution that no template sets.
struct ExecutionTimeouts {
  // Of the whole start: making the sandbox, writing the job, executing the program.
  absl::Duration start = absl::Seconds(60);
  // Of collecting output files, a slow reader included.
  absl::Duration collect = absl::Seconds(30);
  // A silent program shows that it lives this often.
  absl::Duration heartbeat = absl::Seconds(10);
};

class Execution : private RunnerStream::Handler {
 public:
  // Everything borrowed must outlive it. `shutdown` tells, once it is true, that the execution must end now; whoever
  // sets it signals the sink's WakeFd. `began` is when making the sandbox began.
  Execution(const mayfly::v1::ExecuteRequest& request, const Template& offered, Sandbox* sandbox, EventSink* sink,
            const std::atomic<bool>* shutdown, const ExecutionTimeouts& timeouts, Clock clock, absl::Time began);

  // Runs it to its end. When this returns the program is dead, the result is final, and `last_events()` are what the
  // sink has not been given yet. Call once.
  mayfly::v1::ExecutionResult Run();

  // Events that come before the result. Bounded: what was read ahead of the reader.
  std::deque<mayfly::v1::ExecuteEvent> TakeLastEvents() { return std::move(pending_); }

 private:
  enum class Phase { kStarting, kRunning, kCollecting, kDone };

  // RunnerStream::Handler
  void OnReady() override {}
  void OnStarted() override;
  void OnOutput(int fd, std::string&& data) override;
  void OnExited(const mayfly::runner::v1::Exited& exited) override;
  void OnFileHeader(const mayfly::runner::v1::FileHeader& header) override;
  void OnFileData(std::string&& data) override;
  void OnDone(const mayfly::runner::v1::Done& done) override;
  void OnFailed(const std::string& message) override;

  // True while none of the causes of an end is there.
  bool Alive() const { return phase_ != Phase::kDone && evidence_.kill == KillCause::kNone; }
  void Poll();
  void CheckCauses();
  bool SandboxIsSpent(absl::Time now);
  void EndBy(KillCause cause);
  void Append(mayfly::v1::ExecuteEvent event);
  void SendPending();
  void SendHeartbeat();
  void ReadFrames();
  void ReadAhead();
  void ReadDiagnostics();
  void FeedJob();
  // Takes what was still on its way when the program was killed or the sandbox died.
  void DrainRemaining();
  absl::Time NextDeadline() const;
  absl::Time PhaseDeadline() const;
  void GatherEvidence();
  mayfly::v1::ExecutionResult MakeResult();

  const mayfly::v1::ExecuteRequest& request_;
  const Template& template_;
  Sandbox* const sandbox_;
  EventSink* const sink_;
  const std::atomic<bool>* const shutdown_;
  const ExecutionTimeouts timeouts_;
  const Clock clock_;
  const policy::EffectiveLimits limits_;

  JobFeed feed_;
  RunnerStream stream_;
  bool stdout_open_ = true;
  bool stderr_open_ = true;

  Phase phase_ = Phase::kStarting;
  absl::Time began_, started_, exited_, ended_, last_event_;
  absl::Time died_ = absl::InfiniteFuture();  // since when the sandbox is dead and nothing has come
  absl::Duration cpu_at_start_;

  std::deque<mayfly::v1::ExecuteEvent> pending_;
  size_t pending_bytes_ = 0;
  bool draining_ = false;    // pending_ may grow a little beyond one read
  bool drain_full_ = false;  // it has grown enough: the rest of the output is dropped
  OutputAccount stdout_, stderr_;
  Evidence evidence_;
  mayfly::v1::ExecutionResult result_;
  int64_t file_offset_ = 0;
  std::string read_buffer_;
};

}  // namespace mayfly::worker

#endif  // MAYFLY_WORKER_EXECUTION_H_
