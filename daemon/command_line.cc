#include "daemon/command_line.h"

#include <getopt.h>

#include <cstdio>

namespace mayfly::daemon {
namespace {

void PrintUsage(FILE* out, absl::string_view daemon) {
  fprintf(out,
          "usage: %.*s --config FILE [--check]\n"
          "  --config FILE  its configuration, YAML (see deploy/config/)\n"
          "  --check        only read the configuration: exit code 0 when it is right, 2 when not\n"
          "  --version      print the version\n"
          "SIGTERM stops it: what runs may go on for drain_timeout.\n"
          "Exit codes: 0 stopped, 1 could not start, 2 wrong command line or configuration.\n",
          static_cast<int>(daemon.size()), daemon.data());
}

}  // namespace

std::optional<CommandLine> ParseCommandLine(int argc, char** argv, absl::string_view daemon, int* exit_code) {
  enum { kConfig = 1, kCheck, kVersion, kHelp };
  static constexpr option kOptions[] = {{"config", required_argument, nullptr, kConfig},
                                        {"check", no_argument, nullptr, kCheck},
                                        {"version", no_argument, nullptr, kVersion},
                                        {"help", no_argument, nullptr, kHelp},
                                        {nullptr, 0, nullptr, 0}};
  CommandLine line;
  for (int choice; (choice = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    switch (choice) {
      case kConfig:
        line.config_file = optarg;
        break;
      case kCheck:
        line.check_only = true;
        break;
      case kVersion:
        printf("%.*s %s\n", static_cast<int>(daemon.size()), daemon.data(), MAYFLY_VERSION);
        *exit_code = kExitOk;
        return std::nullopt;
      case kHelp:
        PrintUsage(stdout, daemon);
        *exit_code = kExitOk;
        return std::nullopt;
      default:
        PrintUsage(stderr, daemon);
        *exit_code = kExitUsage;
        return std::nullopt;
    }
  }
  if (line.config_file.empty() || optind != argc) {
    PrintUsage(stderr, daemon);
    *exit_code = kExitUsage;
    return std::nullopt;
  }
  return line;
}

}  // namespace mayfly::daemon
