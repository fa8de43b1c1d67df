// Output globs: which files of the workspace a caller wants back. Pure.
//
// A pattern is relative to the workspace and matches a whole path, name by name:
//   *       any characters of one name, also none
//   ?       one character (a UTF-8 character, or one byte that is not part of one)
//   [a-z_]  one of these; [!a-z] or [^a-z] one of the others; ] stands for itself when it comes first
//   **      as a whole name: any number of directories, also none; at the end: everything below
// Everything else stands for itself. There is no escape character: [*] is a star. As in a shell, a wildcard does not
// match a dot at the beginning of a name and ** enters no directory that begins with one; ".*" and ".cache/**" do.
//
//   "*.png"        plot.png, not out/plot.png
//   "**/*.png"     plot.png, out/plot.png, out/a/plot.png
//   "out/**"       out/a and out/b/c, not out itself and not out/.hidden
//
// Matching costs at most (length of pattern) x (length of name) for each name: no input makes it exponential.
#ifndef MAYFLY_WORKER_RUNNER_GLOB_H_
#define MAYFLY_WORKER_RUNNER_GLOB_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mayfly::runner {

// Whether one name matches one part of a pattern, a part without slashes and not "**".
bool NameMatches(absl::string_view part, absl::string_view name);

// A set of patterns, matched while walking down a tree: Positions say how much of each pattern a directory's path has
// used up, so that a directory is entered only if something below it may match. Immutable; safe from any thread.
class GlobSet {
 public:
  // (pattern, number of its parts used up), sorted and unique.
  using Positions = std::vector<std::pair<uint16_t, uint16_t>>;

  // InvalidArgument for more than 32 patterns, and for one that is empty or longer than 256 bytes, starts or ends with
  // a slash, has an empty, "." or ".." part, or a NUL.
  static absl::StatusOr<GlobSet> Parse(const std::vector<std::string>& patterns);

  // Where the workspace itself is.
  Positions Root() const;

  // Where the subdirectory `name` of `directory` is. Empty: nothing below it can match.
  Positions Enter(const Positions& directory, absl::string_view name) const;

  // Whether a file called `name` in `directory` matches.
  bool MatchesFile(const Positions& directory, absl::string_view name) const;

  // The same for a whole relative path.
  bool Matches(absl::string_view path) const;

 private:
  using Pattern = std::vector<std::string>;  // its parts

  // Adds the positions that are reached from `positions` by letting ** stand for no directory; sorts.
  Positions Close(Positions positions) const;

  std::vector<Pattern> patterns_;
};

}  // namespace mayfly::runner

#endif  // MAYFLY_WORKER_RUNNER_GLOB_H_
