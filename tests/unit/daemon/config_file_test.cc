#include "daemon/config_file.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/dynamic_message.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "mayfly/config/v1/config.pb.h"

namespace mayfly::daemon {
namespace {

using mayfly::config::v1::ServerConfig;
using mayfly::config::v1::WorkerConfig;
using testing::HasSubstr;

const std::string kDigest(64, 'a');

// A worker's configuration that is right, with `template_lines` (indented by four) more in its template.
std::string Worker(const std::string& template_lines = "") {
  return "listen: unix:/run/mayfly/worker.sock\n"             // 1
         "containerd:\n"                                      // 2
         "  address: unix:/run/containerd/containerd.sock\n"  // 3
         "runner: /opt/mayfly/runner\n"                       // 4
         "fifo_dir: /run/mayfly/fifo\nlayer_dir: /run/mayfly/layer\n"
         "runtimes:\n"  // 7
         "  - {name: runsc, containerd_runtime: io.containerd.runc.v2}\n"
         "templates:\n"            // 9
         "  - name: python\n"      // 10
         "    language: python\n"  // 11
         "    runtime: runsc\n"    // 12
         "    image: python@sha256:" +
         kDigest + "\n" + template_lines;  // 14
}

std::string ErrorOf(const std::string& yaml, google::protobuf::Message* config) {
  const absl::Status status = ParseConfig(yaml, "c.yaml", config);
  if (status.ok()) return "";
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

std::string WorkerError(const std::string& yaml) {
  WorkerConfig config;
  return ErrorOf(yaml, &config);
}

std::string ServerError(const std::string& lines) {
  ServerConfig config;
  return ErrorOf("listen: unix:/s\nworker: unix:/w\n" + lines, &config);
}

TEST(ConfigFile, ReadsEveryKind) {
  WorkerConfig config;
  ASSERT_EQ(ErrorOf(Worker("    memory: 2GiB\n"
                           "    workspace: 65536\n"
                           "    cpus: 1.5\n"
                           "    processes: 7\n"
                           "    description: 'Python: 3.11'\n"
                           "    defaults: {wall_time: 1m30.5s, output_bytes: 64KiB}\n"
                           "    env: {TZ: UTC, N: 1, EMPTY: ''}\n"),
                    &config),
            "");
  ASSERT_EQ(config.templates_size(), 1);
  const auto& sandbox = config.templates(0);
  EXPECT_EQ(sandbox.memory(), int64_t{2} << 30);
  EXPECT_EQ(sandbox.workspace(), 65536);
  EXPECT_EQ(sandbox.cpus(), 1.5);
  EXPECT_EQ(sandbox.processes(), 7);
  EXPECT_EQ(sandbox.description(), "Python: 3.11");
  EXPECT_EQ(sandbox.defaults().wall_time().seconds(), 90);
  EXPECT_EQ(sandbox.defaults().wall_time().nanos(), 500000000);
  EXPECT_EQ(sandbox.defaults().output_bytes(), 65536);
  EXPECT_EQ(sandbox.env().at("TZ"), "UTC");
  EXPECT_EQ(sandbox.env().at("N"), "1");
  EXPECT_EQ(sandbox.env().at("EMPTY"), "");
}

TEST(ConfigFile, FillsDefaults) {
  WorkerConfig config;
  ASSERT_EQ(ErrorOf(Worker(), &config), "");
  EXPECT_EQ(config.listen_mode(), "0660");
  EXPECT_EQ(config.sandboxes_max(), 8);
  EXPECT_EQ(config.start_timeout().seconds(), 60);
  EXPECT_EQ(config.containerd().namespace_(), "mayfly") << "also in nested messages";
  EXPECT_EQ(config.templates(0).memory(), 128 << 20);
  EXPECT_EQ(config.templates(0).cpus(), 0.5);
  EXPECT_EQ(config.metrics(), "");
  EXPECT_FALSE(config.templates(0).has_defaults()) << "an absent message stays unset";
}

TEST(ConfigFile, KeepsScalarsAsTheyAreWritten) {
  ServerConfig config;
  ASSERT_EQ(ErrorOf("listen: unix:/s\nworker: &w unix:/w\nlisten_mode: 0600\nmetrics: 127.0.0.1:0\n", &config), "");
  EXPECT_EQ(config.listen_mode(), "0600") << "not octal, not 600";
}

TEST(ConfigFile, TakesAliases) {
  WorkerConfig config;
  ASSERT_EQ(ErrorOf(Worker("    defaults: &limits {wall_time: 5s}\n    maxima: *limits\n"), &config), "");
  EXPECT_EQ(config.templates(0).maxima().wall_time().seconds(), 5);
}

struct Case {
  const char* lines;  // after two right ones of a ServerConfig
  const char* error;
};

TEST(ConfigFile, ExplainsWhatIsWrongWithAValue) {
  const Case cases[] = {
      // integers
      {"queue_max: -1", "c.yaml:3: queue_max: \"-1\" is not in the range 0 to 100000"},
      {"queue_max: 100001", "c.yaml:3: queue_max: \"100001\" is not in the range 0 to 100000"},
      {"queue_max: 99999999999999999999",
       "c.yaml:3: queue_max: \"99999999999999999999\" is not in the range 0 to 100000"},
      {"queue_max: many", "c.yaml:3: queue_max: \"many\" is not a whole number"},
      {"queue_max: 1.5", "c.yaml:3: queue_max: \"1.5\" is not a whole number"},
      {"queue_max: ''", "c.yaml:3: queue_max: \"\" is not a whole number"},
      {"queue_max: 0x10", "c.yaml:3: queue_max: \"0x10\" is not a whole number"},
      {"queue_max:", "c.yaml:3: queue_max: has no value"},
      {"queue_max: [1]", "c.yaml:3: queue_max: must be a single value, not a list or mapping"},
      // sizes
      {"run_response_bytes_max: 3MB",
       "c.yaml:3: run_response_bytes_max: \"3MB\" is not a size like 128MiB, 64KiB, 2GiB or 1048576"},
      {"run_response_bytes_max: 1.5MiB",
       "c.yaml:3: run_response_bytes_max: \"1.5MiB\" is not a size like 128MiB, 64KiB, 2GiB or 1048576"},
      {"run_response_bytes_max: 1000", "c.yaml:3: run_response_bytes_max: \"1000\" is not in the range 1KiB to 1GiB"},
      {"run_response_bytes_max: 99999999999TiB",
       "c.yaml:3: run_response_bytes_max: \"99999999999TiB\" is not in the range 1KiB to 1GiB"},
      // durations
      {"queue_timeout: 10", "c.yaml:3: queue_timeout: \"10\" is not a time like 10s, 300ms or 1m30s"},
      {"queue_timeout: inf", "c.yaml:3: queue_timeout: \"inf\" is not a time like 10s, 300ms or 1m30s"},
      {"queue_timeout: 2h", "c.yaml:3: queue_timeout: \"2h\" is not in the range 100ms to 1h"},
      {"drain_timeout: -1s", "c.yaml:3: drain_timeout: \"-1s\" is not in the range 0 to 1h"},
      // patterns, matched whole
      {"listen_mode: '999'", "c.yaml:3: listen_mode: \"999\" is not three octal digits, like 0660"},
      {"listen_mode: '06600'", "c.yaml:3: listen_mode: \"06600\" is not three octal digits, like 0660"},
      {"metrics: \"a\\nb\"", "c.yaml:3: metrics: \"a\\nb\" is not address:port, like 127.0.0.1:9464"},
      // keys
      {"queu_max: 1", "c.yaml:3: queu_max: unknown key; did you mean \"queue_max\"?"},
      {"queue_max: 1\nqueue_max: 2", "c.yaml:4: queue_max: is there twice"},
      {"[a]: 1", "c.yaml:3: has a key that is not a word"},
      {"\"a\\nb\": 1",
       "c.yaml:3: a\\nb: unknown key; the keys here are listen, listen_mode, worker, metrics, in_flight_max, "
       "queue_max, queue_bytes_max, queue_timeout, run_response_bytes_max, drain_timeout"},
  };
  for (const Case& c : cases) EXPECT_EQ(ServerError(c.lines), c.error);
}

TEST(ConfigFile, NamesThePathOfANestedKey) {
  EXPECT_EQ(WorkerError(Worker("    memory: 12MiB\n")),
            "c.yaml:14: templates[0].memory: \"12MiB\" is not in the range 64MiB to 1TiB");
  EXPECT_EQ(WorkerError(Worker("    cpus: 0.01\n")),
            "c.yaml:14: templates[0].cpus: \"0.01\" is not in the range 0.05 to 1024");
  EXPECT_EQ(WorkerError(Worker("    cpus: .nan\n")), "c.yaml:14: templates[0].cpus: \".nan\" is not a number");
  EXPECT_EQ(WorkerError(Worker("    defaults:\n      wall_time: 1ms\n")),
            "c.yaml:15: templates[0].defaults.wall_time: \"1ms\" is not in the range 10ms to 24h");
  EXPECT_EQ(WorkerError(Worker("    defaults: 10s\n")),
            "c.yaml:14: templates[0].defaults: must be a mapping of keys to values");
  EXPECT_EQ(WorkerError(Worker("    env: [a]\n")), "c.yaml:14: templates[0].env: must be a mapping of names to values");
  EXPECT_EQ(WorkerError(Worker("    env: {A: 1, A: 2}\n")), "c.yaml:14: templates[0].env.A: is there twice");
  EXPECT_EQ(WorkerError(Worker("    env: {A: }\n")),
            "c.yaml:14: templates[0].env: must map words to single values; quote an empty one");
}

TEST(ConfigFile, RefusesAnImageByTag) {
  std::string yaml = Worker();
  yaml.replace(yaml.find("python@"), std::string::npos, "python:3.11\n");
  EXPECT_EQ(
      WorkerError(yaml),
      "c.yaml:13: templates[0].image: \"python:3.11\" is not name@sha256:<64 hex digits>; a tag can change under a "
      "running service, so only a digest is taken");
}

TEST(ConfigFile, SaysWhatIsMissing) {
  ServerConfig config;
  EXPECT_EQ(ErrorOf("worker: ''\n", &config),
            "c.yaml:1: worker: is required and empty\n"
            "c.yaml:1: listen: is required and missing: unix:/absolute/path, 127.0.0.1:port or [::1]:port (other "
            "addresses need TLS, which is not there yet)");
  for (const char* empty : {"", "# nothing\n", "---\n", "~"}) {
    EXPECT_THAT(ErrorOf(empty, &config), HasSubstr("c.yaml:1: worker: is required and missing")) << empty;
  }
  EXPECT_THAT(WorkerError("templates: []\nruntimes: {}\n"),
              testing::AllOf(HasSubstr("c.yaml:1: templates: is required and empty"),
                             HasSubstr("c.yaml:2: runtimes: must be a list")));
}

TEST(ConfigFile, ListsEveryErrorUpToABound) {
  EXPECT_EQ(ServerError("queue_max: x\ndrain_timeout: y\n"),
            "c.yaml:3: queue_max: \"x\" is not a whole number\n"
            "c.yaml:4: drain_timeout: \"y\" is not a time like 10s, 300ms or 1m30s");
  std::string lines;
  for (int i = 0; i < 100; ++i) absl::StrAppend(&lines, "unknown", i, ": 1\n");
  const std::string error = ServerError(lines);
  EXPECT_THAT(std::vector<std::string>(absl::StrSplit(error, '\n')), testing::SizeIs(kConfigErrorsMax + 1));
  EXPECT_THAT(error, testing::EndsWith("\nc.yaml: and 36 more errors"));
}

TEST(ConfigFile, RefusesWhatIsNotOneDocumentOfYaml) {
  EXPECT_THAT(ServerError("a: [1\n"), HasSubstr("not YAML: "));
  EXPECT_THAT(ServerError("a: *nowhere\n"), HasSubstr("c.yaml:3: not YAML: "));
  EXPECT_THAT(ServerError("---\nlisten: unix:/x\n"), HasSubstr("the file has more than one document"));
  ServerConfig config;
  EXPECT_EQ(ErrorOf("- a\n", &config), "c.yaml:1: must be a mapping of keys to values");
  EXPECT_EQ(ErrorOf("just words", &config), "c.yaml:1: must be a mapping of keys to values");
}

TEST(ConfigFile, IsNotHurtByBombs) {
  std::string laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 10; ++i) {
    absl::StrAppend(&laughs, "a", i, ": &a", i, " [");
    for (int j = 0; j < 10; ++j) absl::StrAppend(&laughs, j == 0 ? "" : ",", "*a", i - 1);
    absl::StrAppend(&laughs, "]\n");
  }
  EXPECT_THAT(ServerError(laughs), HasSubstr("the file has more than 100000 values (aliases expanded) or 32 levels"));
  EXPECT_THAT(ServerError("a: &a [*a]\n"), HasSubstr("or 32 levels")) << "a cycle";
  EXPECT_THAT(ServerError("a: " + std::string(33, '[') + std::string(33, ']')), HasSubstr("or 32 levels"));
  EXPECT_THAT(ServerError("a: " + std::string(100000, '[')), HasSubstr("not YAML"));
  EXPECT_EQ(ServerError(std::string(kConfigBytesMax, '#')), "c.yaml: is larger than 1048576 bytes");
}

// The schema has no bool yet; the rules of those that come are checked on a schema made here.
TEST(ConfigFile, ReadsBools) {
  google::protobuf::FileDescriptorProto file;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "name: 'b.proto' syntax: 'proto3' message_type { name: 'B' field { name: 'on' number: 1 type: TYPE_BOOL "
      "label: LABEL_OPTIONAL } }",
      &file));
  google::protobuf::DescriptorPool pool;
  const google::protobuf::FileDescriptor* built = pool.BuildFile(file);
  ASSERT_NE(built, nullptr);
  google::protobuf::DynamicMessageFactory factory;
  const std::unique_ptr<google::protobuf::Message> message(factory.GetPrototype(built->message_type(0))->New());
  EXPECT_EQ(ErrorOf("on: true", message.get()), "");
  EXPECT_EQ(message->ShortDebugString(), "on: true");
  EXPECT_EQ(ErrorOf("on: yes", message.get()), "c.yaml:1: on: \"yes\" is neither true nor false");
}

TEST(ConfigFile, LoadsFromDisk) {
  ServerConfig config;
  const std::string path = absl::StrCat(testing::TempDir(), "/config_file_test.", ::getpid(), ".yaml");
  EXPECT_EQ(LoadConfigFile(path, &config).code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(LoadConfigFile(path, &config).ToString(), HasSubstr(path));

  std::ofstream(path) << "listen: 127.0.0.1:0\nworker: unix:/w\n";
  EXPECT_TRUE(LoadConfigFile(path, &config).ok());
  EXPECT_EQ(config.listen(), "127.0.0.1:0");

  std::ofstream(path) << "listen: 0.0.0.0:1\nworker: unix:/w\n";
  EXPECT_THAT(LoadConfigFile(path, &config).ToString(), HasSubstr(path + ":1: listen: \"0.0.0.0:1\" is not "));
  std::remove(path.c_str());

  EXPECT_FALSE(LoadConfigFile(testing::TempDir(), &config).ok()) << "a directory";
}

}  // namespace
}  // namespace mayfly::daemon
