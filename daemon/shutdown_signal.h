// Waiting for SIGTERM or SIGINT without signal handlers.
#ifndef MAYFLY_DAEMON_SHUTDOWN_SIGNAL_H_
#define MAYFLY_DAEMON_SHUTDOWN_SIGNAL_H_

namespace mayfly::daemon {

// Blocks SIGTERM and SIGINT in this thread and all threads it starts from now on, and ignores SIGPIPE. Call it first
// thing in main().
void BlockShutdownSignals();

// Returns the signal that asks the daemon to stop. Requires BlockShutdownSignals().
int WaitForShutdownSignal();

}  // namespace mayfly::daemon

#endif  // MAYFLY_DAEMON_SHUTDOWN_SIGNAL_H_
