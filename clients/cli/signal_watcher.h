// SignalWatcher: turns SIGINT and SIGTERM into a Cancellation.
//
// The first signal cancels the call that is under way, and the CLI goes on to say how it ended. The second one, or the
// first when no call is under way, ends the process at once with exit code 130. SIGPIPE is ignored, so that a closed
// stdout is an error of write(2) that can be handled.
//
// Make it before any other thread: the signals are blocked in this thread and all that it starts, and a thread of the
// watcher's own takes them. Its destructor joins that thread; the signals stay blocked.
#ifndef MAYFLY_CLIENTS_CLI_SIGNAL_WATCHER_H_
#define MAYFLY_CLIENTS_CLI_SIGNAL_WATCHER_H_

#include <thread>

#include "clients/cli/cancellation.h"
#include "clients/cli/unique_fd.h"

namespace mayfly::cli {

class SignalWatcher {
 public:
  // Borrows `cancellation`, which must outlive it.
  explicit SignalWatcher(Cancellation& cancellation);
  ~SignalWatcher();
  SignalWatcher(const SignalWatcher&) = delete;
  SignalWatcher& operator=(const SignalWatcher&) = delete;

 private:
  void Watch();

  Cancellation& cancellation_;
  UniqueFd signals_;  // signalfd
  UniqueFd stop_;     // eventfd; readable when Watch() shall return
  std::thread thread_;
};

}  // namespace mayfly::cli

#endif  // MAYFLY_CLIENTS_CLI_SIGNAL_WATCHER_H_
