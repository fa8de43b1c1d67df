// What must hold of every sandbox's OCI spec, whatever else changes in it.
#include "policy/oci_spec.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace mayfly::policy {
namespace {

using nlohmann::json;
using testing::IsSupersetOf;
using testing::UnorderedElementsAre;

SandboxSpec Sandbox() {
  SandboxSpec sandbox;
  sandbox.cgroup_path = "/mayfly/mf-3f2a";
  sandbox.hostname = "sandbox";
  sandbox.memory_bytes = 128 << 20;
  sandbox.cpus = 0.5;
  sandbox.processes = 64;
  sandbox.open_files = 1024;
  sandbox.workspace_bytes = 1 << 20;
  sandbox.tmp_bytes = 2 << 20;
  sandbox.shm_bytes = 3 << 20;
  sandbox.host_cpus = 2;
  return sandbox;
}

json Build(const SandboxSpec& sandbox = Sandbox()) {
  return json::parse(BuildOciSpec(sandbox));
}

std::vector<std::string> OptionsOf(const json& spec, const std::string& destination) {
  for (const json& mount : spec["mounts"]) {
    if (mount["destination"] == destination) return mount["options"].get<std::vector<std::string>>();
  }
  ADD_FAILURE() << "no mount at " << destination;
  return {};
}

TEST(OciSpec, RunnerIsTheProcess) {
  const json spec = Build();
  const json& process = spec["process"];
  EXPECT_EQ(process["args"], json({"/.mayfly/runner"}));
  EXPECT_EQ(process["env"], json({"PATH=/usr/local/bin:/usr/bin:/bin"}));
  EXPECT_EQ(process["cwd"], "/");
  EXPECT_EQ(process["terminal"], false);
}

TEST(OciSpec, NoNewPrivilegesAndFewCapabilities) {
  const json spec = Build();
  const json& process = spec["process"];
  EXPECT_EQ(process["noNewPrivileges"], true);
  const json& capabilities = process["capabilities"];
  for (const char* set : {"bounding", "effective", "permitted"}) {
    EXPECT_THAT(capabilities[set].get<std::vector<std::string>>(),
                UnorderedElementsAre("CAP_KILL", "CAP_SETGID", "CAP_SETPCAP", "CAP_SETUID"))
        << set;
  }
  for (const char* set : {"inheritable", "ambient"}) {  // what would survive the runner's setuid and exec
    EXPECT_TRUE(capabilities[set].is_array() && capabilities[set].empty()) << set;
  }
}

TEST(OciSpec, EveryNamespaceIsNew) {
  std::vector<std::string> types;
  const json spec = Build();
  for (const json& ns : spec["linux"]["namespaces"]) {
    types.push_back(ns["type"]);
    EXPECT_FALSE(ns.contains("path")) << "joins " << ns;
  }
  EXPECT_THAT(types, UnorderedElementsAre("pid", "mount", "ipc", "uts", "network", "cgroup"));
}

TEST(OciSpec, RootIsReadOnly) {
  const json spec = Build();
  EXPECT_EQ(spec["root"]["path"], "rootfs");
  EXPECT_EQ(spec["root"]["readonly"], true);
  EXPECT_EQ(spec["hostname"], "sandbox");
}

TEST(OciSpec, NothingOfTheHostsIsMounted) {
  const json spec = Build();
  for (const json& mount : spec["mounts"]) {
    const std::string type = mount["type"];
    EXPECT_TRUE(type == "proc" || type == "tmpfs" || type == "devpts") << mount;
  }
}

TEST(OciSpec, EveryMountIsNosuidAndWritableOnesAreSized) {
  const json spec = Build();
  for (const json& mount : spec["mounts"]) {
    EXPECT_NE(mount["destination"], "/sys");
    const auto options = mount["options"].get<std::vector<std::string>>();
    EXPECT_THAT(options, testing::Contains("nosuid")) << mount;
    if (mount["type"] == "tmpfs") {
      EXPECT_THAT(options, testing::Contains(testing::StartsWith("size="))) << mount;
    }
  }
  EXPECT_THAT(OptionsOf(spec, "/workspace"),
              IsSupersetOf({"size=1048576", "uid=65534", "gid=65534", "mode=0755", "nodev"}));
  EXPECT_THAT(OptionsOf(spec, "/tmp"), IsSupersetOf({"size=2097152", "mode=1777", "nodev"}));
  EXPECT_THAT(OptionsOf(spec, "/dev/shm"), IsSupersetOf({"size=3145728", "mode=1777", "nodev", "noexec"}));
  EXPECT_THAT(OptionsOf(spec, "/proc"), IsSupersetOf({"nosuid", "noexec", "nodev"}));
}

TEST(OciSpec, RlimitsOfTheProgram) {
  const json spec = Build();
  std::map<std::string, int64_t> limits;
  for (const json& rlimit : spec["process"]["rlimits"]) {
    EXPECT_EQ(rlimit["soft"], rlimit["hard"]) << rlimit;
    limits[rlimit["type"]] = rlimit["hard"];
  }
  EXPECT_THAT(limits, UnorderedElementsAre(testing::Pair("RLIMIT_NOFILE", 1024), testing::Pair("RLIMIT_NPROC", 64),
                                           testing::Pair("RLIMIT_CORE", 0)));
}

TEST(OciSpec, CgroupLimits) {
  const json spec = Build();
  EXPECT_EQ(spec["linux"]["cgroupsPath"], "/mayfly/mf-3f2a");
  const json& resources = spec["linux"]["resources"];
  EXPECT_EQ(resources["memory"]["limit"], 128 << 20);
  EXPECT_EQ(resources["memory"]["swap"], 128 << 20) << "memory and swap together: no swap";
  EXPECT_EQ(resources["cpu"]["period"], 100000);
  EXPECT_EQ(resources["cpu"]["quota"], 50000);
  EXPECT_EQ(resources["cpu"]["shares"], 512);
  EXPECT_EQ(resources["pids"]["limit"], 40 + 64 * 3);
}

TEST(OciSpec, CpuValuesStayInTheKernelsRange) {
  SandboxSpec sandbox = Sandbox();
  sandbox.cpus = 0.0001;
  EXPECT_EQ(Build(sandbox)["linux"]["resources"]["cpu"]["quota"], 1000);
  EXPECT_EQ(Build(sandbox)["linux"]["resources"]["cpu"]["shares"], 2);
  sandbox.cpus = 1024;
  EXPECT_EQ(Build(sandbox)["linux"]["resources"]["cpu"]["quota"], 102400000);
  EXPECT_EQ(Build(sandbox)["linux"]["resources"]["cpu"]["shares"], 262144);
}

TEST(OciSpec, PidsBackstopDoesNotOverflow) {
  EXPECT_EQ(HostPidsLimit(1, 1), 42);
  EXPECT_EQ(HostPidsLimit(2000000000, 1024), 40 + int64_t{2000000000} * 1025);
}

TEST(OciSpec, DevicesAreDeniedFirst) {
  const json spec = Build();
  const json& devices = spec["linux"]["resources"]["devices"];
  EXPECT_EQ(devices[0], json({{"allow", false}, {"access", "rwm"}}));
  const std::set<int> majors = {1, 5, 136};  // memory devices without mem and kmem, ttys, ptys
  for (size_t i = 1; i < devices.size(); ++i) {
    EXPECT_EQ(devices[i]["type"], "c") << devices[i];
    EXPECT_EQ(majors.count(devices[i]["major"]), 1u) << devices[i];
    if (devices[i]["major"] == 1) {
      EXPECT_GE(devices[i]["minor"], 3) << devices[i];
    }
  }
}

TEST(OciSpec, SensitiveProcFilesAreMasked) {
  const json spec = Build();
  EXPECT_THAT(spec["linux"]["maskedPaths"].get<std::vector<std::string>>(),
              IsSupersetOf({"/proc/kcore", "/proc/keys", "/proc/timer_list", "/sys/firmware"}));
  EXPECT_THAT(spec["linux"]["readonlyPaths"].get<std::vector<std::string>>(),
              IsSupersetOf({"/proc/sys", "/proc/sysrq-trigger"}));
}

TEST(OciSpec, AnnotationsReachTheRuntime) {
  EXPECT_FALSE(Build().contains("annotations"));
  SandboxSpec sandbox = Sandbox();
  sandbox.annotations["dev.gvisor.spec.rootfs.type"] = "erofs";
  EXPECT_EQ(Build(sandbox)["annotations"], json({{"dev.gvisor.spec.rootfs.type", "erofs"}}));
}

}  // namespace
}  // namespace mayfly::policy
