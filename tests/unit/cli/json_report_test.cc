#include "clients/cli/json_report.h"

#include <gtest/gtest.h>
#include "policy/utf8.h"

#include "nlohmann/json.hpp"

namespace mayfly::cli {
namespace {

TEST(IsUtf8, KnowsWellFormedFromNot) {
  using std::string_literals::operator""s;
  for (const std::string& text : {""s, "a\0b"s, "\x7f"s, "\xc2\x80"s, "\xe2\x82\xac"s, "\xed\x9f\xbf"s, "\xee\x80\x80"s,
                                  "\xf0\x90\x80\x80"s, "\xf4\x8f\xbf\xbf"s}) {
    EXPECT_TRUE(policy::IsUtf8(text));
  }
  for (const std::string& text :
       {"\x80"s, "\xc0\x80"s, "\xc1\xbf"s, "\xc2"s, "\xe0\x9f\xbf"s, "\xed\xa0\x80"s, "\xe2\x82"s, "\xf0\x8f\xbf\xbf"s,
        "\xf4\x90\x80\x80"s, "\xf5\x80\x80\x80"s, "a\xff"s}) {
    EXPECT_FALSE(policy::IsUtf8(text));
  }
}

ExecutionEnd Exited(int code) {
  ExecutionEnd end;
  end.execution_id = "id1";
  end.result.emplace();
  end.result->set_execution_id("id1");
  end.result->set_termination(v1::TERMINATION_EXITED);
  end.result->set_exit_code(code);
  return end;
}

TEST(ExecutionJson, HasTextWhenItIsTextAndBase64WhenNot) {
  const auto json = nlohmann::json::parse(ExecutionJson(Exited(7), "h\u00e4\n", "\xff"));
  EXPECT_EQ(json["termination"], "EXITED");
  EXPECT_EQ(json["exit_code"], 7);
  EXPECT_EQ(json["stdout"], "h\u00e4\n");
  EXPECT_EQ(json["stderr_base64"], "/w==");
  EXPECT_FALSE(json.contains("stderr"));
  EXPECT_FALSE(json.contains("signal"));
  EXPECT_FALSE(json.contains("error"));
}

TEST(ExecutionJson, IsOneLine) {
  const std::string text = ExecutionJson(Exited(0), "a\nb\n", "");
  EXPECT_EQ(text.find('\n'), text.size() - 1);
}

TEST(ExecutionJson, ListsOmittedFiles) {
  ExecutionEnd end = Exited(0);
  v1::OutputFile& file = *end.result->add_files();
  file.set_path("big");
  file.set_size(9);
  file.set_mode(0644);
  file.set_omission(v1::OMISSION_TOO_LARGE);
  const auto json = nlohmann::json::parse(ExecutionJson(end, "", ""));
  EXPECT_EQ(json["files"][0]["omitted"], "TOO_LARGE");
  EXPECT_EQ(json["files"][0]["mode"], "0644");
}

TEST(ExecutionJson, KeepsPartialOutputBesideAnError) {
  ExecutionEnd end;
  end.execution_id = "id1";
  end.failure = LocalFailure("UNAVAILABLE", 125, "gone");
  const auto json = nlohmann::json::parse(ExecutionJson(end, "part", ""));
  EXPECT_EQ(json["error"]["code"], "UNAVAILABLE");
  EXPECT_EQ(json["stdout"], "part");
  EXPECT_EQ(json["execution_id"], "id1");
}

TEST(FailureJson, HasWhatTheFailureHas) {
  Failure failure = LocalFailure("INVALID_ARGUMENT", 125, "bad \xff byte");
  failure.violations.push_back({"code", "is empty"});
  failure.retry_after = absl::Milliseconds(1500);
  const auto json = nlohmann::json::parse(FailureJson(failure))["error"];
  EXPECT_EQ(json["violations"][0]["field"], "code");
  EXPECT_EQ(json["retry_after_seconds"], 1.5);
  EXPECT_FALSE(json.contains("reason"));
}

}  // namespace
}  // namespace mayfly::cli
