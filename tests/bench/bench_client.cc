// mayfly-bench-client: runs programs through the service and prints one JSON line for each.
//
//   mayfly-bench-client [--addr TARGET] [-t TEMPLATE] [-c CONCURRENCY] [-n COUNT] [--timeout TIME]
//                       [--output-limit SIZE] [--sha256] PROGRAM...
//
// Execution i runs PROGRAM i modulo their number; COUNT defaults to their number. All executions share one connection,
// which is up before the first clock starts, as that of an agent would be. A line is printed when its execution ends:
//
//   {"index": 0, "program": "a.py", "wall_seconds": 0.4, "termination": "EXITED", "exit_code": 0, "error": "",
//    "sandbox_seconds": 0.3, "run_seconds": 0.05, "stdout_bytes": 3, "stdout_sha256": "...", "stderr_tail": ""}
//
// `wall_seconds` is the whole call, from sending the request to the end of the stream. A call without a result has
// termination "" and says why in `error`. The last line is {"executions": N, "wall_seconds": ...}. Exit code 0 when all
// calls were made, whatever became of them; 2 for a bad command line.
#include <getopt.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "clients/cli/command_line.h"
#include "clients/cli/connection.h"
#include "clients/cli/execute_request.h"
#include "clients/cli/execution.h"
#include "clients/cli/quantity.h"
#include "nlohmann/json.hpp"

namespace mayfly::bench {
namespace {

constexpr size_t kStderrTailBytes = 2000;

struct Options {
  std::string address{cli::kDefaultAddress};
  cli::RunOptions run;
  int concurrency = 1;
  int count = 0;  // 0: one for each program
  bool sha256 = false;
  std::vector<std::string> programs;
};

// Counts stdout, hashes it when asked, and keeps the end of stderr. Holds no more than that, so that the client's
// memory does not depend on the output's length.
class MeasuringSink : public cli::OutputSink {
 public:
  explicit MeasuringSink(bool hash) : digest_(hash ? EVP_MD_CTX_new() : nullptr, EVP_MD_CTX_free) {
    if (digest_ != nullptr) EVP_DigestInit_ex(digest_.get(), EVP_sha256(), nullptr);
  }

  absl::Status Write(v1::Stream stream, absl::string_view data) override {
    if (stream == v1::STREAM_STDOUT) {
      stdout_bytes_ += static_cast<int64_t>(data.size());
      if (digest_ != nullptr) EVP_DigestUpdate(digest_.get(), data.data(), data.size());
    } else {
      stderr_tail_.append(data.data(), data.size());
      if (stderr_tail_.size() > kStderrTailBytes) stderr_tail_.erase(0, stderr_tail_.size() - kStderrTailBytes);
    }
    return absl::OkStatus();
  }

  int64_t stdout_bytes() const { return stdout_bytes_; }
  const std::string& stderr_tail() const { return stderr_tail_; }

  // Of stdout, in hexadecimal; empty when it was not asked for. Call once, at the end.
  std::string Sha256() {
    if (digest_ == nullptr) return "";
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    EVP_DigestFinal_ex(digest_.get(), hash, &size);
    return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(hash), size));
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> digest_;
  int64_t stdout_bytes_ = 0;
  std::string stderr_tail_;
};

double Seconds(const google::protobuf::Duration& duration) {
  return static_cast<double>(duration.seconds()) + duration.nanos() / 1e9;
}

nlohmann::ordered_json RunOne(const cli::Connection& connection, const v1::ExecuteRequest& request, bool hash) {
  MeasuringSink sink(hash);
  cli::Cancellation never;
  const absl::Time begin = absl::Now();
  const cli::ExecutionEnd end = cli::Execute(connection, request, sink, nullptr, never);
  nlohmann::ordered_json line = {{"wall_seconds", absl::ToDoubleSeconds(absl::Now() - begin)}};
  line["termination"] = end.result.has_value() ? cli::TerminationName(end.result->termination()) : "";
  if (end.result.has_value()) {
    if (end.result->has_exit_code()) line["exit_code"] = end.result->exit_code();
    line["message"] = end.result->message();
    line["sandbox_seconds"] = Seconds(end.result->timings().sandbox());
    line["run_seconds"] = Seconds(end.result->timings().run());
  }
  line["error"] = end.failure.has_value() ? cli::FailureText(*end.failure) : "";
  line["stdout_bytes"] = sink.stdout_bytes();
  line["stdout_sha256"] = sink.Sha256();
  line["stderr_tail"] = sink.stderr_tail();
  return line;
}

void Print(const nlohmann::ordered_json& line) {
  const std::string text = line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  fwrite(text.data(), 1, text.size(), stdout);
  fflush(stdout);
}

void RunAll(const Options& options, const std::vector<v1::ExecuteRequest>& requests) {
  const cli::Connection connection(options.address);
  const int count = options.count > 0 ? options.count : static_cast<int>(requests.size());
  std::atomic<int> next{0};
  std::mutex printing;
  const absl::Time begin = absl::Now();
  std::vector<std::thread> threads;
  for (int i = 0; i < std::min(options.concurrency, count); ++i) {
    threads.emplace_back([&] {
      for (int index = next++; index < count; index = next++) {
        const size_t program = static_cast<size_t>(index) % requests.size();
        nlohmann::ordered_json line = {{"index", index}, {"program", options.programs[program]}};
        line.update(RunOne(connection, requests[program], options.sha256));
        const std::lock_guard<std::mutex> lock(printing);
        Print(line);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Print({{"executions", count}, {"wall_seconds", absl::ToDoubleSeconds(absl::Now() - begin)}});
}

[[noreturn]] void Usage(absl::string_view problem) {
  absl::FPrintF(stderr, "mayfly-bench-client: %s\n", problem);
  absl::FPrintF(
      stderr,
      "usage: mayfly-bench-client [--addr TARGET] [-t TEMPLATE] [-c CONCURRENCY] [-n COUNT] [--timeout TIME]\n"
      "                           [--output-limit SIZE] [--sha256] PROGRAM...\n");
  exit(2);
}

int Positive(absl::string_view text) {
  int number = 0;
  if (!absl::SimpleAtoi(text, &number) || number < 1 || number > 1000000) {
    Usage(absl::StrCat("'", text, "' is not a number from 1 to 1000000"));
  }
  return number;
}

template <typename T>
T OrUsage(absl::StatusOr<T> value) {
  if (!value.ok()) Usage(value.status().message());
  return *std::move(value);
}

Options ParseOptions(int argc, char** argv) {
  enum { kAddr = 256, kTimeout, kOutputLimit, kSha256 };
  const option long_options[] = {{"addr", required_argument, nullptr, kAddr},
                                 {"timeout", required_argument, nullptr, kTimeout},
                                 {"output-limit", required_argument, nullptr, kOutputLimit},
                                 {"sha256", no_argument, nullptr, kSha256},
                                 {nullptr, 0, nullptr, 0}};
  Options options;
  if (const char* address = getenv("MAYFLY_ADDR"); address != nullptr && *address != '\0') options.address = address;
  options.run.template_name = "python";
  for (int c; (c = getopt_long(argc, argv, "t:c:n:", long_options, nullptr)) != -1;) {
    switch (c) {
      case 't':
        options.run.template_name = optarg;
        break;
      case 'c':
        options.concurrency = Positive(optarg);
        break;
      case 'n':
        options.count = Positive(optarg);
        break;
      case kAddr:
        options.address = optarg;
        break;
      case kTimeout:
        options.run.timeout = OrUsage(cli::ParseTimeout(optarg));
        break;
      case kOutputLimit:
        options.run.output_limit_bytes = OrUsage(cli::ParseByteSize(optarg));
        break;
      case kSha256:
        options.sha256 = true;
        break;
      default:
        Usage("bad option");
    }
  }
  options.programs.assign(argv + optind, argv + argc);
  if (options.programs.empty()) Usage("no PROGRAM");
  return options;
}

}  // namespace
}  // namespace mayfly::bench

int main(int argc, char** argv) {
  mayfly::bench::Options options = mayfly::bench::ParseOptions(argc, argv);
  std::vector<mayfly::v1::ExecuteRequest> requests;
  for (const std::string& program : options.programs) {
    options.run.program = program;
    requests.push_back(mayfly::bench::OrUsage(mayfly::cli::BuildRequest(options.run, STDIN_FILENO)));
  }
  mayfly::bench::RunAll(options, requests);
  return 0;
}
