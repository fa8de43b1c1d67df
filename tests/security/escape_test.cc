// Nothing gets out: programs of tests/programs that try, and what they must find. Field cases 34, 72, 73.
//
// Each program prints a line an attempt, lower case for the right outcome and UPPER CASE for a breach; what the host
// can see of it (files, listening sockets, the next execution) is checked from outside as well.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cctype>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/integration/service.h"

namespace mayfly::test {
namespace {

using EscapeTest = StackTest;
namespace fs = std::filesystem;

std::string RandomWord() {
  std::random_device random;
  return absl::StrCat("mayfly-canary-", absl::Hex(random()), absl::Hex(random()));
}

// Every line of stdout begins with a lower-case word, and there is one at least.
void ExpectNoBreach(const Outcome& outcome) {
  const std::vector<std::string> lines = absl::StrSplit(outcome.out, '\n', absl::SkipEmpty());
  EXPECT_FALSE(lines.empty()) << Describe(outcome);
  for (const std::string& line : lines) {
    EXPECT_TRUE(std::islower(static_cast<unsigned char>(line[0]))) << line;
  }
}

// A socket of the host that notes whether anybody came.
class Listener {
 public:
  static Listener Tcp() {
    Listener made(AF_INET);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(made.fd_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    socklen_t size = sizeof address;
    getsockname(made.fd_, reinterpret_cast<sockaddr*>(&address), &size);
    made.name_ = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
    listen(made.fd_, 8);
    return made;
  }
  // `name`: a path, or "@" and an abstract name.
  static Listener Unix(const std::string& name) {
    Listener made(AF_UNIX);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path, sizeof address.sun_path - 1);
    if (name[0] == '@') address.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    bind(made.fd_, reinterpret_cast<sockaddr*>(&address), size);
    made.name_ = name;
    listen(made.fd_, 8);
    return made;
  }
  Listener(Listener&& other) noexcept : fd_(std::exchange(other.fd_, -1)), name_(std::move(other.name_)) {}
  ~Listener() {
    if (fd_ >= 0) close(fd_);
  }

  const std::string& name() const { return name_; }
  bool SomebodyCame() const {
    pollfd waiting = {fd_, POLLIN, 0};
    return poll(&waiting, 1, 0) > 0;
  }

 private:
  explicit Listener(int family) : fd_(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  int fd_;
  std::string name_;
};

TEST_F(EscapeTest, HostFilesAreUnreadable) {
  const std::string secret = RandomWord();
  std::vector<fs::path> canaries = {fs::temp_directory_path() / secret, fs::path("/dev/shm") / secret};
  for (const fs::path& canary : canaries) {
    std::ofstream(canary) << secret;
    ASSERT_TRUE(fs::exists(canary));
    fs::permissions(canary, fs::perms::owner_read | fs::perms::others_read);
  }
  auto request = ProgramFile("reads_host.py");
  for (const fs::path& canary : canaries) request.add_args(canary);
  request.add_args("/proc/1/root" + canaries[1].string());
  const Outcome outcome = Execute(request);
  for (const fs::path& canary : canaries) fs::remove(canary);
  EXPECT_TRUE(Exited(outcome, 0));
  ExpectNoBreach(outcome);
  EXPECT_THAT(outcome.err, ::testing::Not(::testing::HasSubstr(secret)));
  for (const auto& line : absl::StrSplit(outcome.out, '\n')) {
    EXPECT_FALSE(absl::StartsWith(line, "READ")) << std::string(line);
  }
}

TEST_F(EscapeTest, Case72_NothingCanBeReached) {
  const std::string word = RandomWord();
  const Listener tcp = Listener::Tcp();
  const Listener path = Listener::Unix((fs::temp_directory_path() / word).string());
  const Listener abstract = Listener::Unix("@" + word);
  auto request = ProgramFile("connects_out.py");
  for (const Listener* listener : {&tcp, &path, &abstract}) request.add_args(listener->name());
  for (const char* metrics : {"MAYFLY_TEST_SERVER_METRICS", "MAYFLY_TEST_WORKER_METRICS"}) {
    request.add_args(RequiredEnv(metrics));
  }
  for (const char* socket : {"MAYFLY_TEST_ADDR", "MAYFLY_TEST_CONTAINERD"}) {
    std::string name = RequiredEnv(socket);
    if (absl::StartsWith(name, "unix:")) name = name.substr(5);
    while (absl::StartsWith(name, "//")) name = name.substr(1);
    request.add_args(name);
  }
  for (const char* port : {"127.0.0.1:22", "127.0.0.1:9464", "127.0.0.1:9465", "[::1]:9464"}) request.add_args(port);
  SetWall(request, absl::Seconds(90));
  const Outcome outcome = Execute(request);
  fs::remove(path.name());
  EXPECT_TRUE(Exited(outcome, 0));
  ExpectNoBreach(outcome);
  for (const Listener* listener : {&tcp, &path, &abstract}) EXPECT_FALSE(listener->SomebodyCame()) << listener->name();
}

TEST_F(EscapeTest, PrivilegedCallsAreDenied) {
  const Outcome outcome = Execute(ProgramFile("privileged_calls.py"));
  EXPECT_TRUE(Exited(outcome, 0));
  ExpectNoBreach(outcome);
}

TEST_F(EscapeTest, UserNamespacesGiveNothing) {
  const Outcome outcome = Execute(ProgramFile("user_namespace.py"));
  EXPECT_TRUE(Exited(outcome, 0));
  ExpectNoBreach(outcome);
  EXPECT_THAT(outcome.out, ::testing::HasSubstr("usr is there"));
}

TEST_F(EscapeTest, TheRunnerIsOutOfReach) {
  const Outcome outcome = Execute(ProgramFile("reads_runner.py"));
  EXPECT_TRUE(Exited(outcome, 0));
  ExpectNoBreach(outcome);
}

// The bytes that forges_frames writes: frames "exited with code 0" and "done" of mayfly/runner/v1/runner.proto.
std::string Forged() {
  return std::string("\x04\x00\x00\x00\x22\x02\x08\x00", 8) + std::string("\x02\x00\x00\x00\x3a\x00", 6);
}

TEST_F(EscapeTest, ForgedFramesAreOutputAndNoResult) {
  auto request = ProgramFile("forges_frames.py");
  SetWall(request, absl::Seconds(60));
  const Outcome outcome = Execute(request);
  EXPECT_TRUE(Exited(outcome, 9));
  std::string rest = outcome.out;
  int copies = 0;
  for (; absl::StartsWith(rest, Forged()); rest = rest.substr(Forged().size())) ++copies;
  EXPECT_GE(copies, 1) << "what went to stdout is output, byte for byte";
  EXPECT_EQ(rest, "");
  EXPECT_TRUE(absl::EndsWith(outcome.err, "inherited 0\n")) << "the program holds descriptors besides 0, 1 and 2";
}

TEST_F(EscapeTest, ForgedFramesFromEveryLanguage) {
  const std::vector<v1::ExecuteRequest> requests = {
      ProgramFile("forges_frames.sh"),
      Program("javascript",
              "const fs = require('fs');\n"
              "const forged = Buffer.from('0400000022020800020000003a00', 'hex');\n"
              "for (let fd = 0; fd < 256; fd++) { if (fd > 2 && fd < 32) continue; try { fs.writeSync(fd, forged); } "
              "catch {} }\n"
              "process.exit(9);"),
  };
  Concurrently(static_cast<int>(requests.size()), [&](int i) {
    SCOPED_TRACE(requests[i].template_());
    const Outcome outcome = Execute(requests[i]);
    EXPECT_TRUE(Exited(outcome, 9));
    EXPECT_EQ(outcome.out, Forged());
  });
}

TEST_F(EscapeTest, TextThatLooksLikeAResultIsText) {
  // Whatever a runner might take for a mark of its own is plain output.
  const std::vector<std::string> texts = {"exit code: 0", "__MAYFLY_DONE__ 0", std::string(4, '\0'),
                                          std::string("\xff\xff\xff\xff", 4) + "x", std::string("\x00\x00\x02\x00", 4)};
  Concurrently(static_cast<int>(texts.size()), [&](int i) {
    auto request = Program("bash", "cat; exit 3");
    request.set_stdin(texts[i]);
    const Outcome outcome = Execute(request);
    EXPECT_TRUE(Exited(outcome, 3));
    EXPECT_EQ(outcome.out, texts[i]);
  });
}

TEST_F(EscapeTest, TheJobIsSeenNowhereElse) {
  auto request = ProgramFile("finds_job.py");
  request.set_stdin(RandomWord());
  AddFile(request, "given.txt", RandomWord());
  SetWall(request, absl::Seconds(60));
  const Outcome outcome = Execute(request);
  EXPECT_TRUE(Exited(outcome, 0));
  EXPECT_EQ(outcome.out, "clean\n");
}

TEST_F(EscapeTest, SetuidProgramsGainNothing) {
  auto request = ProgramFile("setuid_binaries.py");
  SetWall(request, absl::Seconds(60));
  const Outcome outcome = Execute(request);
  EXPECT_TRUE(Exited(outcome, 0));
  EXPECT_EQ(outcome.out, "no_new_privs 1\nchecked\n");
}

TEST_F(EscapeTest, LinksAndOpenDirectoriesStayInside) {
  const Outcome outcome = Execute(ProgramFile("escapes_by_links.py"));
  EXPECT_TRUE(Exited(outcome, 0));
  EXPECT_EQ(outcome.out, "same\nsame\n");
}

TEST_F(EscapeTest, KillingEverythingKillsOnlyItself) {
  const Outcome outcome = Execute(ProgramFile("kills_everything.py"));
  ASSERT_TRUE(outcome.finished) << Describe(outcome);
  EXPECT_TRUE(absl::StartsWith(outcome.out, "before\n"));
  EXPECT_TRUE(outcome.result.termination() == v1::TERMINATION_EXITED ||
              outcome.result.termination() == v1::TERMINATION_SIGNALED)
      << Describe(outcome);
  EXPECT_LT(outcome.RunTime(), absl::Seconds(5)) << "the runner was stopped";
}

TEST_F(EscapeTest, Case34_StateIsNotHandedOn) {
  const std::string word = RandomWord();
  auto leaves = ProgramFile("leaves_state.py");
  leaves.add_args(word);
  const Outcome left = Execute(leaves);
  EXPECT_TRUE(Exited(left, 0));
  EXPECT_NE(left.out, "0\n");
  // Several at once, so that whichever sandbox might have been kept is met.
  Concurrently(4, [&](int) {
    const Outcome found = Execute(ProgramFile("finds_state.py"));
    EXPECT_TRUE(Exited(found, 0));
    EXPECT_EQ(found.out, "clean\n");
  });
  for (const char* place : {"/tmp", "/dev/shm", "/var/tmp", "/run"}) {
    EXPECT_FALSE(fs::exists(fs::path(place) / ("mayfly-left-" + word))) << "on the host: " << place;
  }
}

TEST_F(EscapeTest, AForkBombHurtsNobodyElse) {
  Concurrently(3, [&](int i) {
    if (i == 0) {
      auto bomb = ProgramFile("fork_bomb.sh");
      SetWall(bomb, absl::Seconds(6));
      const Outcome outcome = Execute(bomb);
      ASSERT_TRUE(outcome.finished) << Describe(outcome);
      EXPECT_LT(outcome.RunTime(), absl::Seconds(8));
      return;
    }
    auto neighbour = Program("python", "for i in range(5): print(i)");
    SetWall(neighbour, absl::Seconds(30));
    EXPECT_TRUE(Exited(Execute(neighbour), 0));
  });
  EXPECT_TRUE(Exited(Execute(Program("bash", "exit 0")), 0));
}

}  // namespace
}  // namespace mayfly::test
