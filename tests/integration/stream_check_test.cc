// The checks themselves can fail: each breach of the stream's contract is found. Needs no service.
#include "tests/integration/stream_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/integration/metrics_page.h"

namespace mayfly::test {
namespace {

using Events = std::vector<v1::ExecuteEvent>;

v1::ExecuteEvent OutputEvent(v1::Stream stream, int64_t offset, const std::string& data) {
  v1::ExecuteEvent event;
  event.mutable_output()->set_stream(stream);
  event.mutable_output()->set_offset(offset);
  event.mutable_output()->set_data(data);
  return event;
}

v1::ExecuteEvent FileEvent(const std::string& path, int64_t offset, const std::string& data) {
  v1::ExecuteEvent event;
  event.mutable_file()->set_path(path);
  event.mutable_file()->set_offset(offset);
  event.mutable_file()->set_data(data);
  return event;
}

// accepted, started, stdout "abc" in two parts, stderr "x", file a "12" in two parts, an empty file b, finished.
Events GoodStream() {
  Events events(2);
  const std::string id(32, 'a');
  events[0].mutable_accepted()->set_execution_id(id);
  events[1].mutable_started();
  events.push_back(OutputEvent(v1::STREAM_STDOUT, 0, "ab"));
  events.push_back(OutputEvent(v1::STREAM_STDERR, 0, "x"));
  events.push_back(OutputEvent(v1::STREAM_STDOUT, 2, "c"));
  events.push_back(FileEvent("a", 0, "1"));
  events.push_back(FileEvent("a", 1, "2"));
  events.push_back(FileEvent("b", 0, ""));
  v1::ExecuteEvent last;
  v1::ExecutionResult& result = *last.mutable_finished();
  result.set_execution_id(id);
  result.set_template_("python");
  result.set_termination(v1::TERMINATION_EXITED);
  result.set_exit_code(0);
  result.set_message("The program exited with code 0.");
  result.add_evidence("exit frame: code 0");
  result.mutable_usage()->mutable_wall_time();
  result.mutable_stdout()->set_total(3);
  result.mutable_stdout()->set_sent(3);
  result.mutable_stderr()->set_total(1);
  result.mutable_stderr()->set_sent(1);
  result.mutable_timings();
  result.mutable_isolation()->set_runtime("runsc");
  result.mutable_isolation()->set_containerd_runtime("io.containerd.runc.v2");
  result.mutable_isolation()->set_image_digest("sha256:" + std::string(64, '0'));
  result.mutable_isolation()->set_task_id("t");
  v1::OutputFile* a = result.add_files();
  a->set_path("a");
  a->set_size(2);
  result.add_files()->set_path("b");
  events.push_back(last);
  for (size_t i = 0; i < events.size(); ++i) events[i].set_sequence(i + 1);
  return events;
}

std::vector<std::string> Breaches(const Events& events, const grpc::Status& status = grpc::Status::OK) {
  v1::ExecuteRequest request;
  request.set_template_("python");
  StreamCheck check(request);
  for (const v1::ExecuteEvent& event : events) check.OnEvent(event);
  check.OnEnd(status);
  return check.breaches();
}

TEST(StreamCheckTest, AGoodStreamHasNoBreach) {
  EXPECT_THAT(Breaches(GoodStream()), ::testing::IsEmpty());
}

TEST(StreamCheckTest, ARefusalHasNoBreach) {
  EXPECT_THAT(Breaches({}, grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "x")), ::testing::IsEmpty());
}

TEST(StreamCheckTest, EveryBreachIsFound) {
  struct Row {
    const char* what;
    std::function<void(Events&)> spoil;
  };
  const auto result = [](Events& e) -> v1::ExecutionResult& { return *e.back().mutable_finished(); };
  const std::vector<Row> rows = {
      {"gap", [](Events& e) { e[3].set_sequence(9); }},
      {"no accepted", [](Events& e) { e[0].mutable_heartbeat(); }},
      {"bad id", [](Events& e) { e[0].mutable_accepted()->set_execution_id("x"); }},
      {"started twice", [](Events& e) { e[2].mutable_started(); }},
      {"no started", [](Events& e) { e[1].mutable_heartbeat(); }},
      {"offset gap", [](Events& e) { e[4].mutable_output()->set_offset(3); }},
      {"unknown stream", [](Events& e) { e[4].mutable_output()->set_stream(v1::STREAM_UNSPECIFIED); }},
      {"empty output", [](Events& e) { e[3].mutable_output()->clear_data(); }},
      {"large output", [](Events& e) { e[4].mutable_output()->set_data(std::string(65537, 'x')); }},
      {"lost output", [](Events& e) { e[4].mutable_heartbeat(); }},
      {"file offset", [](Events& e) { e[6].mutable_file()->set_offset(0); }},
      {"file part lost", [](Events& e) { e[6].mutable_heartbeat(); }},
      {"file interleaved", [](Events& e) { std::swap(e[6], e[7]); }},
      {"file unlisted", [](Events& e) { e[7].mutable_file()->set_path("c"); }},
      {"no finished", [](Events& e) { e.pop_back(); }},
      {"finished twice", [](Events& e) { e.push_back(e.back()); }},
      {"after finished", [](Events& e) { e.emplace_back().mutable_heartbeat(); }},
      {"empty event", [](Events& e) { e[3].clear_output(); }},
      {"sum", [&](Events& e) { result(e).mutable_stdout()->set_dropped(1); }},
      {"sent",
       [&](Events& e) {
         result(e).mutable_stdout()->set_sent(2);
         result(e).mutable_stdout()->set_dropped(1);
       }},
      {"no account", [&](Events& e) { result(e).clear_stderr(); }},
      {"other id", [&](Events& e) { result(e).set_execution_id(std::string(32, 'b')); }},
      {"no termination", [&](Events& e) { result(e).clear_termination(); }},
      {"unknown termination", [&](Events& e) { result(e).set_termination(static_cast<v1::Termination>(99)); }},
      {"no exit code", [&](Events& e) { result(e).clear_exit_code(); }},
      {"large exit code", [&](Events& e) { result(e).set_exit_code(256); }},
      {"signal with EXITED", [&](Events& e) { result(e).set_signal(9); }},
      {"code with TIMED_OUT", [&](Events& e) { result(e).set_termination(v1::TERMINATION_TIMED_OUT); }},
      {"no message", [&](Events& e) { result(e).clear_message(); }},
      {"no evidence", [&](Events& e) { result(e).clear_evidence(); }},
      {"no usage", [&](Events& e) { result(e).clear_usage(); }},
      {"no digest", [&](Events& e) { result(e).mutable_isolation()->clear_image_digest(); }},
      {"file size", [&](Events& e) { result(e).mutable_files(0)->set_size(3); }},
      {"omitted but sent", [&](Events& e) { result(e).mutable_files(0)->set_omission(v1::OMISSION_TOO_LARGE); }},
      {"listed but not sent", [&](Events& e) { result(e).add_files()->set_path("c"); }},
      {"order", [&](Events& e) { result(e).mutable_files()->SwapElements(0, 1); }},
      {"content", [&](Events& e) { result(e).mutable_files(0)->set_content("12"); }},
      {"data of Run", [&](Events& e) { result(e).set_stdout_data("abc"); }},
      {"other template", [&](Events& e) { result(e).set_template_("bash"); }},
  };
  for (const Row& row : rows) {
    Events events = GoodStream();
    row.spoil(events);
    EXPECT_THAT(Breaches(events), ::testing::Not(::testing::IsEmpty())) << row.what;
  }
  EXPECT_FALSE(Breaches(GoodStream(), grpc::Status(grpc::StatusCode::INTERNAL, "x")).empty());
}

TEST(MetricsPageTest, ParsesTheTextFormat) {
  const MetricsPage page = ParseMetrics(
      "# HELP mayfly_server_executions_total Executions.\n# TYPE mayfly_server_executions_total counter\n"
      "mayfly_server_executions_total{template=\"python\",termination=\"EXITED\"} 3\n"
      "mayfly_server_executions_total{template=\"bash\",termination=\"EXITED\"} 2 1700000000\n"
      "mayfly_x{le=\"+Inf\",quoted=\"a\\\"b,}\"} 1e+06\nmayfly_y NaN\nbroken\nbroken{a=\"b\n");
  EXPECT_EQ(page.Sum("executions_total"), 5);
  EXPECT_EQ(page.Sum("executions_total", {{"template", "python"}, {"termination", "exited"}}), 3);
  EXPECT_EQ(page.Sum("mayfly_x"), 1e6);
  EXPECT_EQ(page.samples.size(), 4u);
  EXPECT_EQ(page.samples[2].labels.at("quoted"), "a\"b,}");
  EXPECT_EQ(page.types.at("mayfly_server_executions_total"), "counter");
  EXPECT_EQ(page.malformed.size(), 2u);
  EXPECT_EQ(page.Series().size(), 4u);
}

}  // namespace
}  // namespace mayfly::test
