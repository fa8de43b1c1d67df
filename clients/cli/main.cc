// mayfly: the command line client. `mayfly --help` tells how to use it; commands.h is where it begins.
#include <cstdlib>
#include <string>
#include <vector>

#include "clients/cli/cancellation.h"
#include "clients/cli/commands.h"
#include "clients/cli/signal_watcher.h"
#include "grpc/grpc.h"

int main(int argc, char** argv) {
  grpc_init();  // held to the end: gRPC 1.51 can take 10 s to shut down with its last object
  mayfly::cli::Cancellation cancellation;
  const mayfly::cli::SignalWatcher signals(cancellation);  // before gRPC starts threads
  const char* address = std::getenv("MAYFLY_ADDR");
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  return mayfly::cli::RunCli(args, address == nullptr ? "" : address, mayfly::cli::Streams(), cancellation);
}
