#include "tests/unit/server/server_under_test.h"

#include <gtest/gtest.h>

#include <utility>

#include "absl/time/clock.h"
#include "grpcpp/create_channel.h"

namespace mayfly::server {
namespace {

using mayfly::v1::ExecuteEvent;

constexpr absl::Duration kPatience = absl::Seconds(30);
constexpr absl::Duration kPollPeriod = absl::Milliseconds(5);

Admission::Options AdmissionOptions(const ServerUnderTest::Options& options, ServerMetrics* metrics) {
  Admission::Options admission;
  admission.in_flight_max = options.in_flight_max;
  admission.queue_max = options.queue_max;
  admission.queue_timeout = options.queue_timeout;
  admission.observer = [metrics](int in_flight, int queued) { metrics->SetLoad(in_flight, queued); };
  return admission;
}

void SetDeadline(grpc::ClientContext* context) {
  context->set_deadline(absl::ToChronoTime(absl::Now() + absl::Minutes(1)));
}

}  // namespace

std::shared_ptr<grpc::Channel> WorkerChannel(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

mayfly::v1::ExecutionResult Answer::result() const {
  EXPECT_FALSE(events.empty());
  if (events.empty() || !events.back().has_finished()) return {};
  return events.back().finished();
}

ServerUnderTest::ServerUnderTest(Options options)
    : address_("unix:" + dir_.path() + "/server.sock"),
      worker_(options.worker_there),
      worker_stub_(mayfly::worker::v1::Worker::NewStub(WorkerChannel(worker_.address()))),
      admission_(AdmissionOptions(options, &metrics_)),
      active_calls_(options.stall_timeout),
      context_{&admission_, worker_stub_.get(), &metrics_},
      catalog_(worker_stub_.get(), [](bool) {}, kPollPeriod),
      service_(&context_, &catalog_, &active_calls_, options.run_response_bytes_max) {
  auto listener = daemon::GrpcListener::Start({.address = address_}, {&service_});
  EXPECT_TRUE(listener.ok()) << listener.status();
  listener_ = *std::move(listener);
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  stub_ = mayfly::v1::Executor::NewStub(
      grpc::CreateCustomChannel(address_, grpc::InsecureChannelCredentials(), arguments));
  for (const absl::Time deadline = absl::Now() + kPatience;
       options.worker_there && catalog_.templates() == nullptr && absl::Now() < deadline;) {
    absl::SleepFor(kPollPeriod);
  }
}

ServerUnderTest::~ServerUnderTest() {
  admission_.Drain();
  active_calls_.Shutdown(absl::ZeroDuration());
  listener_.reset();
  // The calls to the worker end a little after those of the callers.
  EXPECT_TRUE(AwaitMetric("mayfly_server_in_flight", 0)) << "a place was not given back";
}

mayfly::v1::ExecuteRequest ServerUnderTest::MakeRequest(const std::string& code) {
  mayfly::v1::ExecuteRequest request;
  request.set_template_("python");
  request.set_code(code);
  return request;
}

Answer ServerUnderTest::Execute(const mayfly::v1::ExecuteRequest& request) {
  grpc::ClientContext context;
  SetDeadline(&context);
  auto stream = stub_->Execute(&context, request);
  Answer answer;
  ExecuteEvent event;
  while (stream->Read(&event)) answer.events.push_back(event);
  answer.status = stream->Finish();
  return answer;
}

grpc::Status ServerUnderTest::Run(const mayfly::v1::ExecuteRequest& request, mayfly::v1::ExecutionResult* result) {
  grpc::ClientContext context;
  SetDeadline(&context);
  return stub_->Run(&context, request, result);
}

void ServerUnderTest::Shutdown(absl::Duration drain) {
  admission_.Drain();
  active_calls_.Shutdown(drain);
  listener_->Shutdown(absl::ZeroDuration());
}

double ServerUnderTest::Metric(absl::string_view name, absl::string_view label) {
  double sum = 0;
  for (const auto& family : metrics_.registry()->Collect()) {
    if (family.name != name) continue;
    for (const auto& metric : family.metric) {
      bool counts = label.empty();
      for (const auto& [key, value] : metric.label) counts = counts || value == label;
      if (!counts) continue;
      sum += metric.counter.value + metric.gauge.value + static_cast<double>(metric.histogram.sample_count);
    }
  }
  return sum;
}

size_t ServerUnderTest::SeriesCount() {
  size_t series = 0;
  for (const auto& family : metrics_.registry()->Collect()) series += family.metric.size();
  return series;
}

bool ServerUnderTest::AwaitMetric(absl::string_view name, double value, absl::string_view label) {
  // A registry has nothing to wait on.
  for (const absl::Time deadline = absl::Now() + kPatience; absl::Now() < deadline; absl::SleepFor(kPollPeriod)) {
    if (Metric(name, label) == value) return true;
  }
  return false;
}

}  // namespace mayfly::server
