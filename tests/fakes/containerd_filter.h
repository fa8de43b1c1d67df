// The part of containerd's filter language that clients of it use: FIELD=="VALUE", several joined by commas, where a
// field is a path like target.digest or labels."some.key".
#ifndef MAYFLY_TESTS_FAKES_CONTAINERD_FILTER_H_
#define MAYFLY_TESTS_FAKES_CONTAINERD_FILTER_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mayfly::fakes {

// One field==value. The path of labels."a.b" is {"labels", "a.b"}.
struct FilterTerm {
  std::vector<std::string> path;
  std::string value;
};

// InvalidArgument for anything else than the above.
absl::StatusOr<std::vector<FilterTerm>> ParseFilter(absl::string_view filter);

// Whether an object with these labels, and these other fields by their dotted path, matches all of the terms.
bool Matches(const std::vector<FilterTerm>& terms, const std::map<std::string, std::string>& labels,
             const std::map<std::string, std::string>& fields);

}  // namespace mayfly::fakes

#endif  // MAYFLY_TESTS_FAKES_CONTAINERD_FILTER_H_
