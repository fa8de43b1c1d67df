#include "worker/runner/glob.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "policy/utf8.h"

namespace mayfly::runner {
namespace {

constexpr size_t kPatternsMax = 32;
constexpr size_t kPatternBytesMax = 256;
constexpr absl::string_view kAnyDirectories = "**";

// Matches `character` against the bracket expression at the start of `*part` and removes that. When there is no
// closing bracket, the opening one stands for itself.
bool TakeBracket(absl::string_view* part, char32_t character) {
  absl::string_view rest = part->substr(1);
  const bool negated = !rest.empty() && (rest[0] == '!' || rest[0] == '^');
  if (negated) rest.remove_prefix(1);
  bool found = false;
  bool first = true;
  while (!rest.empty() && (first || rest[0] != ']')) {
    first = false;
    const char32_t low = policy::TakeCharacter(&rest);
    char32_t high = low;
    if (rest.size() >= 2 && rest[0] == '-' && rest[1] != ']') {
      rest.remove_prefix(1);
      high = policy::TakeCharacter(&rest);
    }
    found = found || (low <= character && character <= high);
  }
  if (rest.empty()) {
    part->remove_prefix(1);
    return character == U'[';
  }
  *part = rest.substr(1);
  return found != negated;
}

// Matches one character of a name against what stands at the start of `*part`, which is not a star, and removes that.
bool TakeOne(absl::string_view* part, char32_t character) {
  if (part->front() == '[') return TakeBracket(part, character);
  const char32_t wanted = policy::TakeCharacter(part);
  return wanted == U'?' || wanted == character;
}

absl::Status CheckPattern(absl::string_view pattern) {
  if (pattern.empty() || pattern.size() > kPatternBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("an output glob of ", pattern.size(), " bytes; allowed are 1 to ", kPatternBytesMax));
  }
  if (pattern.find('\0') != absl::string_view::npos) return absl::InvalidArgumentError("an output glob with a NUL");
  for (absl::string_view part : absl::StrSplit(pattern, '/')) {
    if (part.empty() || part == "." || part == "..") {
      return absl::InvalidArgumentError(absl::StrCat("output glob \"", pattern, "\" has a part \"", part, "\""));
    }
  }
  return absl::OkStatus();
}

}  // namespace

bool NameMatches(absl::string_view part, absl::string_view name) {
  if (!name.empty() && name[0] == '.' && (part.empty() || part[0] != '.')) return false;
  // On a mismatch only the last star need be tried again, one character longer: an earlier one could gain nothing.
  bool starred = false;
  absl::string_view part_after_star;
  absl::string_view name_at_star;
  while (!name.empty()) {
    if (!part.empty() && part[0] == '*') {
      part.remove_prefix(1);
      starred = true;
      part_after_star = part;
      name_at_star = name;
      continue;
    }
    absl::string_view name_rest = name;
    const char32_t character = policy::TakeCharacter(&name_rest);
    if (!part.empty() && TakeOne(&part, character)) {
      name = name_rest;
    } else if (starred) {
      policy::TakeCharacter(&name_at_star);
      name = name_at_star;
      part = part_after_star;
    } else {
      return false;
    }
  }
  return part.find_first_not_of('*') == absl::string_view::npos;
}

absl::StatusOr<GlobSet> GlobSet::Parse(const std::vector<std::string>& patterns) {
  if (patterns.size() > kPatternsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(patterns.size(), " output globs; allowed are at most ", kPatternsMax));
  }
  GlobSet set;
  for (const std::string& pattern : patterns) {
    absl::Status good = CheckPattern(pattern);
    if (!good.ok()) return good;
    Pattern parts;
    for (absl::string_view part : absl::StrSplit(pattern, '/')) {
      // Several in a row mean the same as one.
      if (part != kAnyDirectories || parts.empty() || parts.back() != kAnyDirectories) parts.emplace_back(part);
    }
    if (parts.back() == kAnyDirectories) parts.emplace_back("*");
    set.patterns_.push_back(std::move(parts));
  }
  return set;
}

GlobSet::Positions GlobSet::Root() const {
  Positions positions;
  for (size_t i = 0; i < patterns_.size(); ++i) positions.emplace_back(i, 0);
  return Close(std::move(positions));
}

GlobSet::Positions GlobSet::Enter(const Positions& directory, absl::string_view name) const {
  Positions inside;
  for (const auto& [pattern, used] : directory) {
    const Pattern& parts = patterns_[pattern];
    if (parts[used] == kAnyDirectories) {
      if (!name.empty() && name[0] != '.') inside.emplace_back(pattern, used);
    } else if (used + 1u < parts.size() && NameMatches(parts[used], name)) {
      inside.emplace_back(pattern, used + 1);
    }
  }
  return Close(std::move(inside));
}

bool GlobSet::MatchesFile(const Positions& directory, absl::string_view name) const {
  return std::any_of(directory.begin(), directory.end(), [&](const auto& position) {
    const Pattern& parts = patterns_[position.first];
    return position.second + 1u == parts.size() && NameMatches(parts.back(), name);
  });
}

bool GlobSet::Matches(absl::string_view path) const {
  Positions positions = Root();
  size_t slash = path.find('/');
  while (slash != absl::string_view::npos) {
    positions = Enter(positions, path.substr(0, slash));
    path.remove_prefix(slash + 1);
    slash = path.find('/');
  }
  return MatchesFile(positions, path);
}

GlobSet::Positions GlobSet::Close(Positions positions) const {
  const size_t count = positions.size();
  for (size_t i = 0; i < count; ++i) {
    const auto [pattern, used] = positions[i];
    // Two ** never follow one another, and none is last: one step is all.
    if (patterns_[pattern][used] == kAnyDirectories) positions.emplace_back(pattern, used + 1);
  }
  std::sort(positions.begin(), positions.end());
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  return positions;
}

}  // namespace mayfly::runner
