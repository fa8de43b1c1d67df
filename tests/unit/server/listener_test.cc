// GrpcListener: whose address it takes, and whose not.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "daemon/grpc_listener.h"
#include "grpcpp/health_check_service_interface.h"
#include "mayfly/v1/execution.grpc.pb.h"
#include "tests/unit/worker/temp_dir.h"

namespace mayfly::daemon {
namespace {

using ::testing::HasSubstr;

class Service : public mayfly::v1::Executor::Service {
 public:
  grpc::Status ListTemplates(grpc::ServerContext* /*context*/, const mayfly::v1::ListTemplatesRequest* /*request*/,
                             mayfly::v1::ListTemplatesResponse* response) override {
    response->add_templates()->set_name("it is me");
    return grpc::Status::OK;
  }
};

class ListenerTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<GrpcListener>> Start(const std::string& address, const std::string& mode = "0660") {
    return GrpcListener::Start({.address = address, .mode = mode}, {&service_});
  }

  static bool Answers(const std::string& address) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto stub = mayfly::v1::Executor::NewStub(
        grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(30)));
    mayfly::v1::ListTemplatesResponse response;
    return stub->ListTemplates(&context, {}, &response).ok() && response.templates(0).name() == "it is me";
  }

  // A socket bound to the path; listening when `live`.
  static int Bind(const std::string& path, bool live) {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    if (live) {
      EXPECT_EQ(listen(fd, 4), 0);
    }
    return fd;
  }

  mayfly::worker::TempDir dir_;
  const std::string path_ = dir_.path() + "/x.sock";
  const std::string address_ = "unix:" + path_;
  Service service_;
};

TEST_F(ListenerTest, ServesOnASocketOfItsMode) {
  for (const auto& [mode, bits] : {std::pair("0660", 0660u), std::pair("600", 0600u), std::pair("0666", 0666u)}) {
    const auto listener = Start(address_, mode);
    ASSERT_TRUE(listener.ok()) << listener.status();
    struct stat info;
    ASSERT_EQ(stat(path_.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, bits);
    EXPECT_TRUE(Answers(address_));
    EXPECT_EQ((*listener)->port(), 0);
  }
}

TEST_F(ListenerTest, LeavesTheUmaskAlone) {
  const mode_t before = umask(0027);
  const auto listener = Start(address_);
  EXPECT_EQ(umask(before), 0027u);
}

TEST_F(ListenerTest, RemovesItsSocketFile) {
  { ASSERT_TRUE(Start(address_).ok()); }
  EXPECT_NE(access(path_.c_str(), F_OK), 0);
}

TEST_F(ListenerTest, ReplacesASocketFileThatIsLeftOver) {
  close(Bind(path_, true));
  ASSERT_EQ(access(path_.c_str(), F_OK), 0);
  const auto listener = Start(address_);
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_TRUE(Answers(address_));
}

TEST_F(ListenerTest, NeverStealsALiveSocket) {
  const auto first = Start(address_);
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = Start(address_);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists) << second.status();
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(path_));
  EXPECT_TRUE(Answers(address_)) << "the first one is unharmed";
}

TEST_F(ListenerTest, NeitherAnotherPrograms) {
  const int fd = Bind(path_, true);
  EXPECT_EQ(Start(address_).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(access(path_.c_str(), F_OK), 0);
  close(fd);
}

TEST_F(ListenerTest, NeverReplacesAFile) {
  dir_.Write("x.sock", "precious");
  const auto listener = Start(address_);
  EXPECT_EQ(listener.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(listener.status().message()), HasSubstr("is not a socket"));
  struct stat info;
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_size, 8);
}

TEST_F(ListenerTest, NorFollowsALink) {
  const int fd = Bind(dir_.path() + "/other.sock", false);
  ASSERT_EQ(symlink((dir_.path() + "/other.sock").c_str(), path_.c_str()), 0);
  EXPECT_EQ(Start(address_).status().code(), absl::StatusCode::kAlreadyExists);
  close(fd);
}

TEST_F(ListenerTest, SaysThatAPathIsTooLong) {
  const std::string path = absl::StrCat(dir_.path(), "/", std::string(108, 'x'));
  const auto listener = Start("unix:" + path);
  EXPECT_EQ(listener.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(listener.status().message()), HasSubstr("at most 107"));
}

TEST_F(ListenerTest, TakesTheLongestPath) {
  const std::string path =
      absl::StrCat(dir_.path(), "/", std::string(sizeof(sockaddr_un{}.sun_path) - 2 - dir_.path().size(), 'x'));
  ASSERT_EQ(path.size(), sizeof(sockaddr_un{}.sun_path) - 1);
  const auto listener = Start("unix:" + path);
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_TRUE(Answers("unix:" + path));
}

TEST_F(ListenerTest, SaysThatTheDirectoryIsMissing) {
  const auto listener = Start("unix:" + dir_.path() + "/none/x.sock");
  EXPECT_EQ(listener.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(listener.status().message()), HasSubstr("/none/x.sock"));
}

TEST_F(ListenerTest, PicksAPort) {
  const auto listener = Start("127.0.0.1:0");
  ASSERT_TRUE(listener.ok()) << listener.status();
  ASSERT_GT((*listener)->port(), 0);
  EXPECT_TRUE(Answers(absl::StrCat("127.0.0.1:", (*listener)->port())));
}

TEST_F(ListenerTest, NeverSharesAPort) {
  const auto first = Start("127.0.0.1:0");
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = Start(absl::StrCat("127.0.0.1:", (*first)->port()));
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable) << second.status();
}

TEST_F(ListenerTest, HasAHealthService) {
  const auto listener = Start(address_);
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_NE((*listener)->health(), nullptr);
}

TEST_F(ListenerTest, StopsTwice) {
  const auto listener = Start(address_);
  ASSERT_TRUE(listener.ok()) << listener.status();
  (*listener)->Shutdown(absl::ZeroDuration());
  (*listener)->Shutdown(absl::ZeroDuration());
}

}  // namespace
}  // namespace mayfly::daemon
