#include "worker/runner/glob.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mayfly::runner {
namespace {

GlobSet MustParse(const std::vector<std::string>& patterns) {
  absl::StatusOr<GlobSet> set = GlobSet::Parse(patterns);
  EXPECT_TRUE(set.ok()) << set.status();
  return set.ok() ? *std::move(set) : GlobSet();
}

struct NameCase {
  std::string part;
  std::string name;
  bool matches;
};

TEST(NameMatchesTest, Table) {
  const std::vector<NameCase> cases = {
      {"a.txt", "a.txt", true},
      {"a.txt", "a.txt2", false},
      {"a.txt", "A.txt", false},
      {"*", "anything", true},
      {"*.png", "plot.png", true},
      {"*.png", "plot.png.gz", false},
      {"*.png", "png", false},
      {"a*b*c", "aXbXbXc", true},
      {"a*b*c", "aXcXb", false},
      {"**.py", "main.py", true},
      {"?", "x", true},
      {"?", "", false},
      {"?", "xy", false},
      {"?.txt", "\xc3\xa9.txt", true},  // é is one character
      {"?.txt", "\xc3.txt", true},      // and so is a byte that is none
      {"??.txt", "\xc3\xa9.txt", false},
      {"[a-c]", "b", true},
      {"[a-c]", "d", false},
      {"[!a-c]", "d", true},
      {"[^a-c]", "b", false},
      {"[]x]", "]", true},
      {"[!]x]", "]", false},
      {"[a-]", "-", true},
      {"[*]", "*", true},
      {"[*]", "x", false},
      {"[\xc3\xa0-\xc3\xbf]", "\xc3\xa9", true},  // [à-ÿ]
      {"[abc", "[abc", true},                     // no closing bracket: itself
      {"[abc", "a", false},
      {"a[", "a[", true},
      {"\\*", "\\anything", true},  // no escape character
      {"*", ".hidden", false},
      {"?hidden", ".hidden", false},
      {"[.]hidden", ".hidden", false},
      {".*", ".hidden", true},
      {".hidden", ".hidden", true},
      {"a*", "a.b", true},
  };
  for (const NameCase& c : cases) EXPECT_EQ(NameMatches(c.part, c.name), c.matches) << c.part << " on " << c.name;
}

struct PathCase {
  std::string pattern;
  std::string path;
  bool matches;
};

TEST(GlobSetTest, MatchesWholePaths) {
  const std::vector<PathCase> cases = {
      {"*.png", "plot.png", true},
      {"*.png", "out/plot.png", false},
      {"out/*", "out/a", true},
      {"out/*", "out/a/b", false},
      {"*/a", "out/a", true},
      {"**", "a", true},
      {"**", "a/b/c", true},
      {"**", ".a", false},
      {"**", ".cache/a", false},
      {"**/*.png", "plot.png", true},
      {"**/*.png", "a/b/plot.png", true},
      {"out/**", "out/a", true},
      {"out/**", "out/a/b", true},
      {"out/**", "out", false},
      {"out/**", "out/.hidden", false},
      {".cache/**", ".cache/a/b", true},
      {"a/**/b", "a/b", true},
      {"a/**/b", "a/x/y/b", true},
      {"a/**/b", "a/x/y", false},
      {"**/a/**/b", "x/a/y/b", true},
      {"**/**/**", "a", true},
      {"a/**/**/b", "a/b", true},
      {"**/.x", "a/.x", true},
  };
  for (const PathCase& c : cases)
    EXPECT_EQ(MustParse({c.pattern}).Matches(c.path), c.matches) << c.pattern << " on " << c.path;
}

TEST(GlobSetTest, AnyPatternOfTheSetMatches) {
  const GlobSet set = MustParse({"*.csv", "out/*.png"});
  EXPECT_TRUE(set.Matches("a.csv"));
  EXPECT_TRUE(set.Matches("out/a.png"));
  EXPECT_FALSE(set.Matches("a.png"));
  EXPECT_FALSE(MustParse({}).Matches("a"));
}

TEST(GlobSetTest, EntersOnlyWhereSomethingCanMatch) {
  const GlobSet set = MustParse({"*.png", "out/*/x", "data/**"});
  const GlobSet::Positions root = set.Root();
  EXPECT_TRUE(set.Enter(root, "other").empty());
  EXPECT_FALSE(set.Enter(root, "out").empty());
  EXPECT_TRUE(set.Enter(set.Enter(set.Enter(root, "out"), "a"), "b").empty());
  EXPECT_FALSE(set.Enter(set.Enter(set.Enter(root, "data"), "a"), "b").empty());
  EXPECT_TRUE(set.Enter(set.Enter(root, "data"), ".git").empty());
}

TEST(GlobSetTest, RefusesWhatLeadsNowhere) {
  const std::vector<std::string> bad = {"",
                                        "/",
                                        "/etc/passwd",
                                        "a/",
                                        "a//b",
                                        "..",
                                        "../*",
                                        "a/../b",
                                        ".",
                                        "./a",
                                        std::string("a\0b", 3),
                                        std::string(257, 'a')};
  for (const std::string& pattern : bad) EXPECT_FALSE(GlobSet::Parse({pattern}).ok()) << pattern;
  EXPECT_TRUE(GlobSet::Parse({std::string(256, 'a')}).ok());
  EXPECT_TRUE(GlobSet::Parse(std::vector<std::string>(32, "a")).ok());
  EXPECT_FALSE(GlobSet::Parse(std::vector<std::string>(33, "a")).ok());
}

// Backtracking into every star would take longer than the universe has.
TEST(GlobSetTest, ManyStarsAreNotExponential) {
  std::string part;
  for (int i = 0; i < 100; ++i) part += "*a";
  EXPECT_FALSE(NameMatches(part + "b", std::string(255, 'a')));
  std::string pattern;
  std::string path;
  for (int i = 0; i < 60; ++i) {
    pattern += "**/a/";
    path += "a/a/";
  }
  EXPECT_FALSE(MustParse({pattern.substr(0, 250) + "b"}).Matches(path + "c"));
}

}  // namespace
}  // namespace mayfly::runner
