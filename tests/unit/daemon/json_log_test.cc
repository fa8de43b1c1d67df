#include "daemon/json_log.h"

#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace mayfly::daemon {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::SizeIs;

json OneLine(const ScopedLogCapture& capture) {
  const std::vector<std::string> lines = capture.lines();
  EXPECT_THAT(lines, SizeIs(1));
  EXPECT_LT(lines.at(0).size(), kLogLineBytesMax);
  EXPECT_EQ(lines.at(0).find('\n'), std::string::npos);
  return json::parse(lines.at(0));
}

TEST(JsonLog, WritesEveryKindOfValue) {
  ScopedLogCapture capture;
  const std::string id = "3f2a";
  Log(Severity::kInfo, "finished",
      {{"id", id},
       {"name", "x"},
       {"code", 7},
       {"bytes", int64_t{1} << 40},
       {"size", size_t{5}},
       {"cpus", 0.5},
       {"warm", true},
       {"wall_seconds", absl::Milliseconds(1500)},
       {"most", std::numeric_limits<uint64_t>::max()}});
  json record = OneLine(capture);
  EXPECT_THAT(capture.lines()[0], testing::MatchesRegex(R"(\{"ts":"[0-9-]+T[0-9:]+\.[0-9]+Z","severity":"INFO",.*)"));
  absl::Time ts;
  std::string error;
  EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full, record["ts"].get<std::string>(), &ts, &error)) << error;
  EXPECT_EQ(record["ts"].get<std::string>().size(), std::string("2026-08-20T09:30:00.123456Z").size());
  record.erase("ts");
  EXPECT_EQ(record, json::parse(R"({"severity": "INFO", "message": "finished", "id": "3f2a", "name": "x", "code": 7,
      "bytes": 1099511627776, "size": 5, "cpus": 0.5, "warm": true, "wall_seconds": 1.5,
      "most": 18446744073709551615})"));
}

TEST(JsonLog, EscapesAnything) {
  ScopedLogCapture capture;
  Log(Severity::kError, "a\n\"b\"", {{"bytes", absl::string_view("\xff\0x", 3)}, {"nan", std::nan("")}});
  const json record = OneLine(capture);
  EXPECT_EQ(record["message"], "a\n\"b\"");
  EXPECT_EQ(record["bytes"], std::string("\xef\xbf\xbd\0x", 5));
  EXPECT_TRUE(record["nan"].is_null());
  EXPECT_EQ(record["severity"], "ERROR");
  EXPECT_FALSE(record.contains("truncated"));
}

TEST(JsonLog, BoundsTheLine) {
  const std::string plain(100000, 'x');
  const std::string escaped(100000, '\0');
  {
    ScopedLogCapture capture;
    Log(Severity::kInfo, "long", {{"text", plain}, {"id", "kept"}});
    const json record = OneLine(capture);
    EXPECT_EQ(record["text"], std::string(kLogStringBytesMax, 'x') + "...");
    EXPECT_EQ(record["id"], "kept");
    EXPECT_EQ(record["truncated"], true);
  }
  {
    ScopedLogCapture capture;
    Log(Severity::kInfo, "long", {{"id", "kept"}, {"a", escaped}, {"b", escaped}});
    const json record = OneLine(capture);
    EXPECT_EQ(record["id"], "kept") << "fields go from the end";
    EXPECT_FALSE(record.contains("a"));
    EXPECT_EQ(record["truncated"], true);
  }
  {
    ScopedLogCapture capture;
    Log(Severity::kInfo, escaped, {{"a", escaped}});
    EXPECT_EQ(OneLine(capture)["truncated"], true);
  }
}

TEST(JsonLog, DropsWhatIsBelowTheMinimum) {
  ScopedLogCapture capture;
  Log(Severity::kDebug, "dropped");
  SetMinSeverity(Severity::kDebug);
  Log(Severity::kDebug, "kept");
  SetMinSeverity(Severity::kError);
  Log(Severity::kWarning, "dropped");
  SetMinSeverity(Severity::kInfo);
  EXPECT_THAT(capture.lines(), testing::ElementsAre(HasSubstr(R"("severity":"DEBUG","message":"kept")")));
}

TEST(JsonLog, IsThreadSafe) {
  ScopedLogCapture capture;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int j = 0; j < 100; ++j) Log(Severity::kInfo, "m", {{"j", j}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(capture.lines(), SizeIs(400));
  for (const std::string& line : capture.lines()) EXPECT_TRUE(json::accept(line)) << line;
}

TEST(JsonLog, WritesOneLineToStderr) {
  testing::internal::CaptureStderr();
  Log(Severity::kWarning, "out");
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, testing::EndsWith("\"message\":\"out\"}\n"));
  EXPECT_TRUE(json::accept(text));
}

}  // namespace
}  // namespace mayfly::daemon
