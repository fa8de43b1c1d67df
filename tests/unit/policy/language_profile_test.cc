#include "policy/language_profile.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mayfly::policy {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(LanguageProfile, ThereAreThree) {
  struct Case {
    const char* language;
    const char* main_file;
    const char* interpreter;
  };
  for (const Case& c : {Case{"python", "main.py", "/usr/bin/python3"}, Case{"javascript", "main.js", "/usr/bin/node"},
                        Case{"bash", "main.sh", "/bin/bash"}}) {
    const LanguageProfile* profile = FindLanguageProfile(c.language);
    ASSERT_NE(profile, nullptr) << c.language;
    EXPECT_EQ(profile->main_file, c.main_file);
    EXPECT_EQ(profile->default_interpreter, c.interpreter);
  }
  for (const char* language : {"", "Python", "ruby"}) EXPECT_EQ(FindLanguageProfile(language), nullptr) << language;
}

TEST(LanguageProfile, ArgumentsReachTheProgramAsTheyAre) {
  const std::vector<std::string> args = {"", "-c", "--help", "$(id)", "a\nb", "--"};
  EXPECT_THAT(ProgramArgv(*FindLanguageProfile("python"), "", args),
              ElementsAre("/usr/bin/python3", "/workspace/main.py", "", "-c", "--help", "$(id)", "a\nb", "--"));
  EXPECT_THAT(ProgramArgv(*FindLanguageProfile("javascript"), "", {"--version"}),
              ElementsAre("/usr/bin/node", "--require", "/.mayfly/node_stdio.cjs", "/workspace/main.js", "--version"));
  EXPECT_THAT(ProgramArgv(*FindLanguageProfile("bash"), "/opt/bash", {}),
              ElementsAre("/opt/bash", "/workspace/main.sh"));
}

TEST(LanguageProfile, EnvironmentIsAnAllowList) {
  EXPECT_THAT(TemplateEnv(*FindLanguageProfile("bash"), {}),
              ElementsAre(Pair("HOME", "/workspace"), Pair("LANG", "C.UTF-8"),
                          Pair("PATH", "/usr/local/bin:/usr/bin:/bin"), Pair("TMPDIR", "/tmp")));
  EXPECT_THAT(TemplateEnv(*FindLanguageProfile("python"), {{"PATH", "/opt/bin"}, {"TZ", "UTC"}}),
              ElementsAre(Pair("HOME", "/workspace"), Pair("LANG", "C.UTF-8"), Pair("PATH", "/opt/bin"),
                          Pair("PYTHONDONTWRITEBYTECODE", "1"), Pair("PYTHONUNBUFFERED", "1"), Pair("TMPDIR", "/tmp"),
                          Pair("TZ", "UTC")));
}

TEST(LanguageProfile, RequestCannotReplaceTheTemplatesEnvironment) {
  EXPECT_THAT(ProgramEnv({{"HOME", "/workspace"}}, {{"HOME", "/"}, {"DEBUG", "a=b"}, {"EMPTY", ""}}),
              ElementsAre("DEBUG=a=b", "EMPTY=", "HOME=/workspace"));
}

}  // namespace
}  // namespace mayfly::policy
