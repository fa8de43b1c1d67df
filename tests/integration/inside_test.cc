// What a program sees of its sandbox. Field cases 71, 73, and 27.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/integration/service.h"

namespace mayfly::test {
namespace {

using nlohmann::json;

class InsideTest : public StackTest {
 protected:
  void SetUp() override {
    StackTest::SetUp();
    if (HasFatalFailure()) return;
    auto request = ProgramFile("inside_view.py");
    (*request.mutable_env())["GIVEN"] = "by the request";
    const Outcome outcome = Execute(request);
    ASSERT_TRUE(Exited(outcome, 0));
    view_ = json::parse(outcome.out, nullptr, /*allow_exceptions=*/false);
    ASSERT_TRUE(view_.is_object()) << outcome.out;
  }

  std::string Status(const char* key) const {
    return view_["status"].contains(key) ? view_["status"][key].get<std::string>() : "";
  }

  static std::set<std::string> ReservedEnv(const std::string& name) {
    grpc::ClientContext context;
    v1::ListTemplatesResponse response;
    EXPECT_TRUE(v1::Executor::NewStub(TestChannel())->ListTemplates(&context, {}, &response).ok());
    for (const v1::Template& t : response.templates()) {
      if (t.name() == name) return {t.reserved_env().begin(), t.reserved_env().end()};
    }
    ADD_FAILURE() << "no template " << name;
    return {};
  }

  json view_;
};

TEST_F(InsideTest, TheKernelIsGVisors) {
  utsname host = {};
  ASSERT_EQ(uname(&host), 0);
  const std::string uname_line = view_["uname"];
  EXPECT_FALSE(absl::StrContains(uname_line, host.release)) << "the host's kernel: " << uname_line;
  EXPECT_NE(view_["hostname"].get<std::string>(), host.nodename);
  // gVisor's release and build date have been the same for years; its kernel log jokes, but begins with its name.
  const bool known = absl::StrContains(uname_line, "Sun Jan 10 15:06:54 PST 2016") ||
                     absl::StrContains(view_["kernel_log"].get<std::string>(), "gVisor");
  EXPECT_TRUE(known) << uname_line << "\n" << view_["kernel_log"];
}

TEST_F(InsideTest, Case73_NoPrivileges) {
  for (const char* ids : {"uids", "gids"}) {
    for (const int id : view_[ids]) EXPECT_NE(id, 0) << ids;
  }
  for (const int group : view_["groups"]) EXPECT_NE(group, 0);
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd"}) {
    const std::string value(absl::StripAsciiWhitespace(Status(set)));
    EXPECT_FALSE(value.empty()) << set;
    EXPECT_EQ(value.find_first_not_of('0'), std::string::npos) << set << " " << value;
  }
  EXPECT_EQ(view_["no_new_privs"], 1);
  // gVisor's /proc/self/status has had no such line in some releases.
  if (view_["status"].contains("NoNewPrivs")) {
    EXPECT_EQ(Status("NoNewPrivs"), "1");
  }
  EXPECT_TRUE(view_["bounding"].empty()) << view_["bounding"];
}

TEST_F(InsideTest, Case73_TheRootIsReadOnly) {
  for (const auto& [path, outcome] : view_["writes"].items()) {
    EXPECT_NE(outcome, "written") << path;
  }
  // The one directory of the image that anybody may write to by its mode. Elsewhere gVisor says EACCES before EROFS.
  EXPECT_EQ(view_["writes"]["/var/tmp"], "Read-only file system");
  EXPECT_NE(view_["root_flags"].get<int>() & ST_RDONLY, 0);
  for (const auto& [path, outcome] : view_["writable"].items()) {
    EXPECT_EQ(outcome, "written") << path << " is the program's own";
  }
  EXPECT_EQ(view_["cwd"], "/workspace");
}

TEST_F(InsideTest, NoInterfaceButLoopback) {
  for (const std::string name : view_["interfaces"]) EXPECT_EQ(name, "lo");
}

TEST_F(InsideTest, Case71_TheEnvironmentIsAnAllowList) {
  std::set<std::string> allowed = ReservedEnv("python-open");
  ASSERT_FALSE(allowed.empty());
  allowed.insert("GIVEN");
  allowed.insert("LC_CTYPE");  // Python's own, under the C locale
  for (const auto& [name, value] : view_["env"].items()) {
    EXPECT_TRUE(allowed.contains(name)) << name << "=" << value;
  }
  EXPECT_EQ(view_["env"]["GIVEN"], "by the request");
  for (const char* name : {"PATH", "HOME", "LANG"}) EXPECT_TRUE(view_["env"].contains(name)) << name;
}

TEST_F(InsideTest, Case71_TheSameForEveryLanguage) {
  struct Row {
    v1::ExecuteRequest request;
    std::set<std::string> own;  // what the interpreter itself adds
  };
  std::vector<Row> rows = {
      {Program("python-open", "import os, json; print(json.dumps(dict(os.environ)))"), {"LC_CTYPE"}},
      {ProgramFile("environment.js"), {}},
      {Program("bash", "env -0 | tr '\\0' '\\n'"), {"PWD", "OLDPWD", "SHLVL", "_"}}};
  Concurrently(static_cast<int>(rows.size()), [&](int i) {
    SCOPED_TRACE(rows[i].request.template_());
    const Outcome outcome = Execute(rows[i].request);
    ASSERT_TRUE(Exited(outcome, 0));
    std::set<std::string> names;
    if (rows[i].request.template_() == "bash") {
      for (absl::string_view line : absl::StrSplit(outcome.out, '\n', absl::SkipEmpty())) {
        names.insert(std::string(line.substr(0, line.find('='))));
      }
    } else {
      const json env = json::parse(outcome.out, nullptr, false);
      for (const auto& [name, value] : env.items()) names.insert(name);
    }
    std::set<std::string> allowed = ReservedEnv(rows[i].request.template_());
    allowed.insert(rows[i].own.begin(), rows[i].own.end());
    for (const std::string& name : names) EXPECT_TRUE(allowed.contains(name)) << name;
    EXPECT_FALSE(names.empty());
  });
}

TEST_F(InsideTest, FewProcessesAndDescriptors) {
  // The runner, the program; a shell or an interpreter's own between them at most.
  EXPECT_LE(view_["processes"].size(), 3u) << view_["processes"];
  EXPECT_NE(view_["pid"], 1);
  // 0, 1, 2 and the directory that is being listed.
  EXPECT_LE(view_["fds"].size(), 4u) << view_["fds"];
  EXPECT_EQ(view_["path"][0], "/workspace");
}

TEST_F(InsideTest, Case27_CpuCountsAreTheTemplates) {
  const std::vector<v1::ExecuteRequest> requests = {
      Program("bash", "nproc"), Program("python-open", "import os; print(os.cpu_count())"),
      Program("javascript",
              "const os = require('os'); console.log((os.availableParallelism || (() => os.cpus().length))())")};
  Concurrently(static_cast<int>(requests.size()), [&](int i) {
    SCOPED_TRACE(requests[i].code());
    const Outcome outcome = Execute(requests[i]);
    EXPECT_TRUE(Exited(outcome, 0));
    EXPECT_THAT(outcome.out, ::testing::AnyOf("1\n", "2\n")) << "about 1 on a template of half a CPU";
  });
}

}  // namespace
}  // namespace mayfly::test
