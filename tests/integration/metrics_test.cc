// Both daemons' Prometheus pages: they count what happens, with labels from closed sets only. Field cases 69. Needs the
// stack to itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/integration/metrics_page.h"
#include "tests/integration/service.h"

namespace mayfly::test {
namespace {

class MetricsTest : public StackTest {
 protected:
  void SetUp() override {
    StackTest::SetUp();
    if (HasFatalFailure()) return;
    pages_ = {RequiredEnv("MAYFLY_TEST_SERVER_METRICS"), RequiredEnv("MAYFLY_TEST_WORKER_METRICS")};
  }
  std::vector<std::string> pages_;
};

// Executions of a template that ended so, summed over the page's counters by template and termination. The label may
// be written EXITED, exited or TERMINATION_EXITED.
double Executions(const MetricsPage& page, absl::string_view template_name, absl::string_view termination) {
  double sum = 0;
  for (const Sample& sample : page.samples) {
    const auto of = sample.labels.find("template");
    const auto how = sample.labels.find("termination");
    if (!absl::StrContains(sample.name, "executions") || !absl::EndsWith(sample.name, "_total")) continue;
    if (of == sample.labels.end() || how == sample.labels.end() || of->second != template_name) continue;
    std::string value = absl::AsciiStrToUpper(how->second);
    if (absl::StartsWith(value, "TERMINATION_")) value = value.substr(12);
    if (value == termination) sum += sample.value;
  }
  return sum;
}

TEST_F(MetricsTest, PagesAreWellFormedAndNamedAsAgreed) {
  for (const std::string& address : pages_) {
    SCOPED_TRACE(address);
    const MetricsPage page = FetchMetrics(address);
    EXPECT_THAT(page.malformed, ::testing::IsEmpty());
    EXPECT_FALSE(page.samples.empty());
    for (const auto& [name, type] : page.types) {
      if (!absl::StartsWith(name, "mayfly_")) continue;
      EXPECT_EQ(absl::EndsWith(name, "_total"), type == "counter") << name << " is a " << type;
      EXPECT_EQ(name, absl::AsciiStrToLower(name));
    }
    const std::set<std::string> open = {"id",           "execution_id", "task_id",    "model_id",
                                        "agent_id",     "caller",       "request_id", "task",
                                        "container_id", "path",         "peer",       "message"};
    for (const Sample& sample : page.samples) {
      if (!absl::StartsWith(sample.name, "mayfly_")) continue;
      for (const auto& [label, value] : sample.labels) {
        EXPECT_FALSE(open.contains(label)) << sample.name << " has the label " << label << "=" << value;
      }
    }
    EXPECT_GT(page.Sum("build_info"), 0) << "build info";
  }
}

TEST_F(MetricsTest, ExecutionsAreCountedByTemplateAndTermination) {
  struct Row {
    const char* language;
    const char* code;
    const char* termination;
    int times;
  };
  const std::vector<Row> rows = {{"python", "print(1)", "EXITED", 2},
                                 {"bash", "exit 3", "EXITED", 1},
                                 {"bash", "kill -TERM $$; sleep 5", "SIGNALED", 1},
                                 {"bash", "sleep 60", "TIMED_OUT", 1},
                                 {"bash", "yes", "OUTPUT_LIMIT", 1}};
  std::vector<MetricsPage> before;
  for (const std::string& address : pages_) before.push_back(FetchMetrics(address));
  for (const Row& row : rows) {
    for (int i = 0; i < row.times; ++i) {
      auto request = Program(row.language, row.code);
      SetWall(request, absl::Seconds(2));
      request.mutable_limits()->set_output_bytes(100000);
      EXPECT_TRUE(Execute(request).finished);
    }
  }
  for (size_t page = 0; page < pages_.size(); ++page) {
    // A counter may move just after the answer: it is waited for, two seconds at most.
    for (const Row& row : rows) {
      SCOPED_TRACE(absl::StrCat(pages_[page], " ", row.language, " ", row.termination));
      const double due = Executions(before[page], row.language, row.termination) + row.times;
      double now = 0;
      for (int tries = 0; tries < 20 && now != due; ++tries) {
        if (tries > 0) absl::SleepFor(absl::Milliseconds(100));
        now = Executions(FetchMetrics(pages_[page]), row.language, row.termination);
      }
      EXPECT_EQ(now, due);
    }
  }
}

TEST_F(MetricsTest, InFlightRisesAndFalls) {
  double during[2] = {0, 0};
  ExecuteOptions options;
  options.on_event = [&](const v1::ExecuteEvent& event) {
    if (!event.has_started()) return;
    for (int i = 0; i < 2; ++i) during[i] = FetchMetrics(pages_[i]).Sum("in_flight");
  };
  EXPECT_TRUE(Exited(Execute(Program("bash", "sleep 2"), options), 0));
  for (int i = 0; i < 2; ++i) {
    SCOPED_TRACE(pages_[i]);
    EXPECT_GE(during[i], 1);
    double after = 1;
    for (int tries = 0; tries < 30 && after != 0; ++tries) {
      after = FetchMetrics(pages_[i]).Sum("in_flight");
      if (after != 0) absl::SleepFor(absl::Milliseconds(100));
    }
    EXPECT_EQ(after, 0);
  }
}

TEST_F(MetricsTest, BytesAreCountedByStream) {
  const double before = FetchMetrics(pages_[0]).Sum("bytes_total", {{"stream", "stdout"}});
  EXPECT_TRUE(Exited(Execute(Program("python", "import sys\nsys.stdout.write('o' * 100000)")), 0));
  double after = before;
  for (int tries = 0; tries < 20 && after < before + 100000; ++tries) {
    after = FetchMetrics(pages_[0]).Sum("bytes_total", {{"stream", "stdout"}});
    if (after < before + 100000) absl::SleepFor(absl::Milliseconds(100));
  }
  EXPECT_GE(after, before + 100000);
}

// Full: 10,000. Short: 50.
TEST_F(MetricsTest, Case69_RandomNamesMakeNoSeries) {
  std::mt19937_64 random(std::random_device{}());
  const auto ask = [&](std::string name, std::string caller) {
    auto request = Program(name, "print(1)");
    request.mutable_caller()->set_model_id(caller);
    request.mutable_caller()->set_agent_id(caller);
    request.mutable_caller()->set_task_id(caller);
    EXPECT_EQ(Execute(request).status.error_code(), grpc::StatusCode::NOT_FOUND);
  };
  ask("warm-up", "warm-up");
  EXPECT_TRUE(Exited(Execute(Program("bash", ":")), 0));
  std::vector<std::set<std::string>> before;
  for (const std::string& address : pages_) before.push_back(FetchMetrics(address).Series());
  const int count = Repeat(50, 10000);
  for (int i = 0; i < count; ++i) ask(absl::StrCat("t", absl::Hex(random())), absl::StrCat("c", absl::Hex(random())));
  auto request = Program("bash", ":");
  request.mutable_caller()->set_model_id(absl::StrCat("m", absl::Hex(random())));
  EXPECT_TRUE(Exited(Execute(request), 0));
  for (size_t i = 0; i < pages_.size(); ++i) {
    SCOPED_TRACE(pages_[i]);
    for (const std::string& series : FetchMetrics(pages_[i]).Series()) {
      EXPECT_TRUE(before[i].contains(series)) << "new: " << series;
    }
  }
}

}  // namespace
}  // namespace mayfly::test
