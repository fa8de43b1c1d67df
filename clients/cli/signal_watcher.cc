#include "clients/cli/signal_watcher.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "clients/cli/exit_code.h"

namespace mayfly::cli {

SignalWatcher::SignalWatcher(Cancellation& cancellation) : cancellation_(cancellation) {
  signal(SIGPIPE, SIG_IGN);
  stop_ = UniqueFd(eventfd(0, EFD_CLOEXEC));
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  signals_ = UniqueFd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  // Out of descriptors: then the signals keep their default, which ends the process and thereby the call.
  if (!stop_.valid() || !signals_.valid()) return;
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::thread([this] { Watch(); });
}

SignalWatcher::~SignalWatcher() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  while (write(stop_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
  }
  thread_.join();
}

void SignalWatcher::Watch() {
  for (;;) {
    pollfd fds[2] = {{signals_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    if (poll(fds, 2, -1) < 0) continue;  // EINTR
    if (fds[1].revents != 0) return;
    signalfd_siginfo info;
    if (read(signals_.get(), &info, sizeof(info)) != sizeof(info)) continue;
    const bool second = cancellation_.cancelled();
    const bool call_will_end = cancellation_.Cancel();
    if (second || !call_will_end) _exit(kExitCancelled);
  }
}

}  // namespace mayfly::cli
