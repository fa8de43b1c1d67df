// BuildTemplates: what LoadConfigFile cannot see, because it is about two keys at once.
#include "worker/template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "google/protobuf/util/time_util.h"
#include "tests/unit/worker/test_templates.h"

namespace mayfly::worker {
namespace {

using google::protobuf::util::TimeUtil;
using mayfly::config::v1::WorkerConfig;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(TemplateTest, ResolvesWhatTheConfigurationSays) {
  WorkerConfig config = TestConfig("fake.test/python@sha256:abc");
  (*config.mutable_templates(0)->mutable_env())["GREETING"] = "hello";
  (*config.mutable_templates(0)->mutable_env())["LANG"] = "de_DE.UTF-8";
  const auto templates = BuildTemplates(config);
  ASSERT_TRUE(templates.ok()) << templates.status();
  ASSERT_EQ(templates->size(), 2u);
  const Template& python = templates->find("python")->second;
  EXPECT_EQ(python.image_digest(), "sha256:abc");
  EXPECT_EQ(python.runtime_name, "runsc");
  EXPECT_EQ(python.runtime.name, "io.containerd.runc.v2");
  EXPECT_EQ(python.runtime.binary, "/usr/bin/runsc-wrapper");
  EXPECT_EQ(python.interpreter, "/usr/bin/python3");
  EXPECT_EQ(python.info.main_file(), "main.py");
  EXPECT_EQ(python.env.at("GREETING"), "hello");
  EXPECT_EQ(python.env.at("LANG"), "de_DE.UTF-8");
  EXPECT_EQ(python.env.at("HOME"), "/workspace");
  EXPECT_THAT(python.info.reserved_env(), ElementsAre("GREETING", "HOME", "LANG", "PATH", "PYTHONDONTWRITEBYTECODE",
                                                      "PYTHONUNBUFFERED", "TMPDIR"));
  EXPECT_EQ(python.spec.memory_bytes, 128 << 20);
  EXPECT_TRUE(python.spec.cgroup_path.empty());
  EXPECT_GE(python.spec.host_cpus, 1);
}

TEST(TemplateTest, TakesAnotherInterpreter) {
  WorkerConfig config = TestConfig("a@sha256:b");
  config.mutable_templates(0)->set_interpreter("/opt/python/bin/python3.13");
  EXPECT_EQ(BuildTemplates(config)->find("python")->second.interpreter, "/opt/python/bin/python3.13");
}

// The numbers that config.proto promises.
TEST(TemplateTest, FillsInDefaultsAndMaxima) {
  WorkerConfig config = TestConfig("a@sha256:b");
  config.mutable_templates(0)->clear_defaults();
  config.mutable_templates(0)->clear_maxima();
  const mayfly::v1::Template info = BuildTemplates(config)->find("python")->second.info;
  EXPECT_EQ(TimeUtil::DurationToSeconds(info.default_limits().wall_time()), 10);
  EXPECT_EQ(info.default_limits().output_bytes(), 16 << 20);
  EXPECT_EQ(info.default_limits().file_bytes(), 8 << 20);
  EXPECT_EQ(TimeUtil::DurationToSeconds(info.max_limits().wall_time()), 600);
  EXPECT_EQ(info.max_limits().output_bytes(), int64_t{2048} << 20);
  EXPECT_EQ(info.max_limits().file_bytes(), 64 << 20);
}

struct Case {
  const char* name;
  std::function<void(WorkerConfig*)> spoil;
  const char* line;
};

class TemplateErrorTest : public ::testing::TestWithParam<Case> {};

TEST_P(TemplateErrorTest, NamesTheKey) {
  WorkerConfig config = TestConfig("a@sha256:b");
  GetParam().spoil(&config);
  const auto templates = BuildTemplates(config);
  ASSERT_EQ(templates.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(templates.status().message()), GetParam().line);
}

INSTANTIATE_TEST_SUITE_P(
    All, TemplateErrorTest,
    ::testing::Values(
        Case{"TemplateNameTwice", [](WorkerConfig* config) { config->mutable_templates(1)->set_name("python"); },
             "templates[1].name: \"python\" is used twice"},
        Case{"RuntimeNameTwice", [](WorkerConfig* config) { *config->add_runtimes() = config->runtimes(0); },
             "runtimes[1].name: \"runsc\" is used twice"},
        Case{"NoSuchRuntime", [](WorkerConfig* config) { config->mutable_templates(1)->set_runtime("kata"); },
             "templates[1].runtime: there is no runtime \"kata\" in runtimes"},
        Case{"WallTimeAboveMaximum",
             [](WorkerConfig* config) {
               config->mutable_templates(0)->mutable_defaults()->mutable_wall_time()->set_seconds(61);
             },
             "templates[0].defaults.wall_time: 61s is above the maximum of 60s"},
        Case{"OutputAboveMaximum",
             [](WorkerConfig* config) { config->mutable_templates(0)->mutable_maxima()->set_output_bytes(10); },
             "templates[0].defaults.output_bytes: 8388608 is above the maximum of 10"},
        Case{"FilesAboveMaximum",
             [](WorkerConfig* config) { config->mutable_templates(0)->mutable_maxima()->set_file_bytes(0); },
             "templates[0].defaults.file_bytes: 1048576 is above the maximum of 0"},
        Case{"VariableName",
             [](WorkerConfig* config) { (*config->mutable_templates(0)->mutable_env())["A=B"] = "1"; },
             "templates[0].env: \"A=B\" is not a variable's name ([A-Za-z_][A-Za-z0-9_]*)"}),
    [](const auto& info) { return info.param.name; });

TEST(TemplateTest, NamesEveryErrorAtOnce) {
  WorkerConfig config = TestConfig("a@sha256:b");
  config.mutable_templates(0)->set_runtime("kata");
  config.mutable_templates(1)->set_name("python");
  config.mutable_templates(1)->mutable_maxima()->set_output_bytes(1);
  EXPECT_THAT(std::string(BuildTemplates(config).status().message()),
              AllOf(HasSubstr("templates[0].runtime: "), HasSubstr("\ntemplates[1].defaults.output_bytes: "),
                    HasSubstr("\ntemplates[1].name: ")));
}

}  // namespace
}  // namespace mayfly::worker
