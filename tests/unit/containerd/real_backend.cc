// A real containerd as the contract suite's backend: its own process, with its own root, state and socket in a
// temporary directory, an image of one program, and plain runc. Needs root. The destructor leaves nothing behind.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "tests/unit/containerd/containerd_backend.h"
#include "worker/containerd/grpc_containerd.h"

namespace mayfly::worker {
namespace {

using Json = nlohmann::json;

constexpr char kNamespace[] = "mayfly-contract";
constexpr absl::Duration kStartTimeout = absl::Seconds(20);

// Runs `command` in a shell and returns its standard output without the last newline.
absl::StatusOr<std::string> Run(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "re");
  if (pipe == nullptr) return absl::ErrnoToStatus(errno, command);
  std::string output;
  char buffer[256];
  while (fgets(buffer, sizeof(buffer), pipe) != nullptr) output += buffer;
  if (pclose(pipe) != 0) return absl::InternalError(absl::StrCat(command, " failed"));
  return std::string(absl::StripSuffix(output, "\n"));
}

class RealBackend final : public ContainerdBackend {
 public:
  RealBackend() : directory_((std::filesystem::temp_directory_path() / "mayfly-ctrd-XXXXXX").string()) {}

  ~RealBackend() override {
    StopContainerd();
    KillWhatIsLeft();
    UnmountAllBelow(directory_);
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
    RemoveCgroups();
  }

  absl::Status Start() {
    if (mkdtemp(directory_.data()) == nullptr) return absl::ErrnoToStatus(errno, "making a directory");
    WriteConfiguration();
    StartContainerd();
    if (absl::Status status = AwaitContainerd(); !status.ok()) return status;
    return ImportImage();
  }

  std::string address() const override { return absl::StrCat("unix:", directory_, "/containerd.sock"); }
  std::string namespace_name() const override { return kNamespace; }
  std::string snapshotter() const override { return "overlayfs"; }
  std::string image_reference() const override { return image_reference_; }

  void Configure(Program program, ContainerSpec* spec) override {
    spec->runtime.name = "io.containerd.runc.v2";
    spec->runtime.binary = MAYFLY_SANDBOX_BIN "/runc";
    spec->runtime.root = absl::StrCat(directory_, "/runc");
    const auto mount = [](const char* to, const char* type) {
      return Json{{"destination", to}, {"type", type}, {"source", type}};
    };
    Json namespaces = Json::array();
    for (const char* type : {"pid", "mount", "ipc", "uts", "network"}) namespaces.push_back({{"type", type}});
    const Json oci = {
        {"ociVersion", "1.0.2"},
        {"process",
         {{"args", {"/init", program == Program::kPause ? "pause" : "7"}},
          {"cwd", "/"},
          {"user", {{"uid", 0}, {"gid", 0}}}}},
        {"root", {{"path", "rootfs"}, {"readonly", true}}},
        {"mounts", {mount("/proc", "proc"), mount("/dev", "tmpfs")}},
        {"linux", {{"cgroupsPath", absl::StrCat(CgroupParent(), "/", spec->id)}, {"namespaces", namespaces}}}};
    spec->oci_spec_json = oci.dump();
  }

 private:
  std::string CgroupParent() const { return absl::StrCat("/", std::filesystem::path(directory_).filename().string()); }

  void WriteConfiguration() const {
    std::ofstream(directory_ + "/config.toml")
        << "version = 2\n"
        << "root = \"" << directory_ << "/root\"\n"
        << "state = \"" << directory_
        << "/state\"\n"
        // `opt` would make a directory in /opt; the others are slow to start or look for what is not there.
        << "disabled_plugins = [\"io.containerd.grpc.v1.cri\", \"io.containerd.internal.v1.opt\","
        << " \"io.containerd.snapshotter.v1.aufs\", \"io.containerd.snapshotter.v1.btrfs\","
        << " \"io.containerd.snapshotter.v1.devmapper\", \"io.containerd.snapshotter.v1.zfs\"]\n"
        << "[grpc]\naddress = \"" << directory_ << "/containerd.sock\"\n"
        << "[ttrpc]\naddress = \"" << directory_ << "/containerd.sock.ttrpc\"\n";
  }

  void StartContainerd() {
    const std::string binary = MAYFLY_SANDBOX_BIN "/containerd";
    const std::string configuration = directory_ + "/config.toml";
    const std::string log = directory_ + "/containerd.log";
    // containerd finds its shim by PATH. Set before the fork: little may be called between it and the exec.
    const char* path = getenv("PATH");
    setenv("PATH", absl::StrCat(MAYFLY_SANDBOX_BIN, ":", path == nullptr ? "/usr/bin:/bin" : path).c_str(), 1);
    pid_ = fork();
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int fd = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    execl(binary.c_str(), binary.c_str(), "--config", configuration.c_str(), nullptr);
    _exit(127);
  }

  absl::Status AwaitContainerd() const {
    GrpcContainerd containerd({.address = address(), .namespace_name = kNamespace});
    absl::Status status = absl::UnavailableError("not asked");
    for (const absl::Time until = absl::Now() + kStartTimeout; !status.ok() && absl::Now() < until;) {
      absl::SleepFor(absl::Milliseconds(20));
      status = containerd.Ping();
    }
    if (status.ok()) return status;
    std::stringstream log;
    log << std::ifstream(directory_ + "/containerd.log").rdbuf();
    return absl::InternalError(absl::StrCat("containerd does not start: ", status.message(), "\n", log.str()));
  }

  absl::Status ImportImage() {
    const std::string archive = directory_ + "/image.tar";
    absl::StatusOr<std::string> digest = Run(absl::StrCat(MAYFLY_MAKE_IMAGE " " MAYFLY_IMAGE_INIT " ", archive));
    if (!digest.ok()) return digest.status();
    image_reference_ = absl::StrCat("mayfly.test/init@", *digest);
    return Run(absl::StrCat(MAYFLY_SANDBOX_BIN "/ctr --address ", directory_, "/containerd.sock --namespace ",
                            kNamespace, " images import --snapshotter ", snapshotter(), " ", archive, " 2>&1"))
        .status();
  }

  void StopContainerd() const {
    if (pid_ <= 0) return;
    kill(pid_, SIGTERM);
    int status = 0;
    waitpid(pid_, &status, 0);
  }

  // After a test that failed: shims, which name the directory in their arguments, and what runs in our cgroups.
  void KillWhatIsLeft() const {
    std::error_code ignored;
    for (const auto& process : std::filesystem::directory_iterator("/proc", ignored)) {
      const pid_t pid = atoi(process.path().filename().c_str());
      if (pid <= 0 || pid == getpid()) continue;
      std::ifstream file(process.path() / "cmdline");
      std::stringstream arguments;
      arguments << file.rdbuf();
      if (arguments.str().find(directory_ + "/") != std::string::npos) kill(pid, SIGKILL);
    }
    const std::string parent = "/sys/fs/cgroup/pids" + CgroupParent();
    for (const auto& cgroup : std::filesystem::directory_iterator(parent, ignored)) {
      std::ifstream processes(cgroup.path() / "cgroup.procs");
      for (pid_t pid = 0; processes >> pid;) kill(pid, SIGKILL);
    }
  }

  static void UnmountAllBelow(const std::string& directory) {
    std::ifstream mounts("/proc/self/mountinfo");
    std::vector<std::string> targets;
    for (std::string line; std::getline(mounts, line);) {
      const std::vector<std::string> fields = absl::StrSplit(line, ' ');
      if (fields.size() > 4 && fields[4].rfind(directory + "/", 0) == 0) targets.push_back(fields[4]);
    }
    for (auto target = targets.rbegin(); target != targets.rend(); ++target) umount2(target->c_str(), MNT_DETACH);
  }

  // runc removes a container's own cgroups, but not their parent.
  void RemoveCgroups() const {
    std::error_code ignored;
    for (const auto& controller : std::filesystem::directory_iterator("/sys/fs/cgroup", ignored)) {
      rmdir((controller.path().string() + CgroupParent()).c_str());
    }
    rmdir(("/sys/fs/cgroup" + CgroupParent()).c_str());
  }

  std::string directory_;
  std::string image_reference_;
  pid_t pid_ = -1;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ContainerdBackend>> MakeContainerdBackend() {
  if (geteuid() != 0) return absl::UnavailableError("a containerd of its own needs root");
  auto backend = std::make_unique<RealBackend>();
  if (absl::Status status = backend->Start(); !status.ok()) {
    return absl::InternalError(status.message());
  }
  return backend;
}

}  // namespace mayfly::worker
