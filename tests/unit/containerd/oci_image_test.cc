// Unit tests of the pure part of image resolution, above all of what an image may be malformed in.
#include "worker/containerd/oci_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace mayfly::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::string kDigestA = absl::StrCat("sha256:", std::string(64, 'a'));
const std::string kDigestB = absl::StrCat("sha256:", std::string(64, 'b'));

// JSON with ' for ", and $A and $B for the digests.
std::string Text(const std::string& text) {
  return absl::StrReplaceAll(text, {{"'", "\""}, {"$A", kDigestA}, {"$B", kDigestB}});
}

TEST(ParsePinnedReference, TakesOnlyDigests) {
  absl::StatusOr<PinnedReference> pinned = ParsePinnedReference(absl::StrCat("example.test/a/b:tag@", kDigestA));
  ASSERT_TRUE(pinned.ok()) << pinned.status();
  EXPECT_EQ(pinned->name, "example.test/a/b:tag");
  EXPECT_EQ(pinned->digest, kDigestA);
  EXPECT_TRUE(ParsePinnedReference(absl::StrCat("@", kDigestA)).ok());

  for (const std::string& bad :
       {std::string(), std::string("python"), std::string("python:3.11"), std::string("python@latest"),
        absl::StrCat("python@", kDigestA, "0"), absl::StrCat("python@", kDigestA.substr(0, 70)),
        absl::StrCat("python@sha256:", std::string(64, 'A')), absl::StrCat("python@sha512:", std::string(64, 'a')),
        absl::StrCat("python@", kDigestA, "\"")}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParsePinnedReference(bad).status())) << bad;
  }
}

TEST(ChooseManifest, PrefersThePlatform) {
  absl::StatusOr<Descriptor> chosen = ChooseManifest(Text(R"({'manifests': [
      {'mediaType': 'm', 'digest': '$A'},
      {'mediaType': 'm', 'digest': '$A', 'platform': {'os': 'linux', 'architecture': 'riscv64'}},
      {'mediaType': 'm', 'digest': '$A', 'platform': {'os': 'windows', 'architecture': 'amd64'}},
      {'mediaType': 'm', 'digest': '$B', 'platform': {'os': 'linux', 'architecture': 'amd64'}}]})"),
                                                     "amd64");
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(chosen->digest, kDigestB);
}

TEST(ChooseManifest, TakesTheOneWithoutAPlatformElse) {
  absl::StatusOr<Descriptor> chosen =
      ChooseManifest(Text("{'manifests': [{'mediaType': 'm', 'digest': '$A', 'platform': null}]}"), "amd64");
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(chosen->digest, kDigestA);
}

TEST(ChooseManifest, RefusesWhatIsMalformed) {
  for (const char* bad :
       {"", "{", "[]", "null", "7", "{}", "{'manifests': {}}", "{'manifests': []}", "{'manifests': [7]}",
        "{'manifests': [{'mediaType': 7, 'digest': '$A'}]}", "{'manifests': [{'mediaType': 'm', 'digest': 'x'}]}",
        "{'manifests': [{'mediaType': 'm', 'digest': '../../$A'}]}", "{'manifests': [{'digest': '$A'}]}",
        "{'manifests': [{'mediaType': 'm', 'digest': '$A', 'platform': 'linux'}]}",
        "{'manifests': [{'mediaType': 'm', 'digest': '$A', 'platform': {'os': 1, 'architecture': ['amd64']}}]}"}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(ChooseManifest(Text(bad), "amd64").status())) << bad;
  }
  // Deep nesting is no recursion.
  EXPECT_TRUE(absl::IsFailedPrecondition(ChooseManifest(std::string(1 << 20, '['), "amd64").status()));
}

TEST(ConfigOfManifest, Follows) {
  absl::StatusOr<Descriptor> config = ConfigOfManifest(Text("{'config': {'mediaType': 'c', 'digest': '$B'}}"));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->digest, kDigestB);
  for (const char* bad : {"{}", "{'config': null}", "{'config': []}", "{'config': {'digest': '$B'}}"}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(ConfigOfManifest(Text(bad)).status())) << bad;
  }
}

TEST(EnvironmentOfConfig, Reads) {
  const std::string platform = "'os': 'linux', 'architecture': 'amd64'";
  const auto read = [&](const std::string& rest) {
    return EnvironmentOfConfig(Text(absl::StrCat("{", platform, rest, "}")), "amd64");
  };
  EXPECT_THAT(read(", 'config': {'Env': ['A=1', 'B=', 'C=x=y']}").value(), ElementsAre("A=1", "B=", "C=x=y"));
  EXPECT_THAT(read("").value(), IsEmpty());
  EXPECT_THAT(read(", 'config': null").value(), IsEmpty());
  EXPECT_THAT(read(", 'config': {}").value(), IsEmpty());
  EXPECT_THAT(read(", 'config': {'Env': null}").value(), IsEmpty());
  for (const char* bad : {"'A=1'", "{'Env': 'A=1'}", "{'Env': [1]}", "{'Env': [['A=1']]}", "{'Env': ['A']}",
                          "{'Env': ['=1']}", "{'Env': ['']}", "{'Env': ['A=\\u0000']}"}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(read(absl::StrCat(", 'config': ", bad)).status())) << bad;
  }
  EXPECT_TRUE(
      absl::IsFailedPrecondition(EnvironmentOfConfig(Text(absl::StrCat("{", platform, "}")), "arm64").status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(EnvironmentOfConfig("{}", "amd64").status()));
}

}  // namespace
}  // namespace mayfly::worker
