#include "tests/fakes/containerd_filter.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace mayfly::fakes {
namespace {

// Takes "..." off the front of `rest`, unescaped.
bool ConsumeQuoted(absl::string_view* rest, std::string* out) {
  if (!absl::ConsumePrefix(rest, "\"")) return false;
  for (size_t i = 0; i < rest->size(); ++i) {
    if ((*rest)[i] == '\\') {
      ++i;
    } else if ((*rest)[i] == '"') {
      const absl::string_view quoted = rest->substr(0, i);
      rest->remove_prefix(i + 1);
      return absl::CUnescape(quoted, out);
    }
  }
  return false;
}

bool ConsumeName(absl::string_view* rest, std::string* out) {
  size_t length = 0;
  while (length < rest->size() && (absl::ascii_isalnum((*rest)[length]) || (*rest)[length] == '_')) ++length;
  *out = std::string(rest->substr(0, length));
  rest->remove_prefix(length);
  return length > 0;
}

bool ConsumeTerm(absl::string_view* rest, FilterTerm* term) {
  do {
    std::string part;
    if (!ConsumeQuoted(rest, &part) && !ConsumeName(rest, &part)) return false;
    term->path.push_back(std::move(part));
  } while (absl::ConsumePrefix(rest, "."));
  return absl::ConsumePrefix(rest, "==") && ConsumeQuoted(rest, &term->value);
}

}  // namespace

absl::StatusOr<std::vector<FilterTerm>> ParseFilter(absl::string_view filter) {
  std::vector<FilterTerm> terms;
  absl::string_view rest = filter;
  do {
    FilterTerm term;
    if (!ConsumeTerm(&rest, &term)) return absl::InvalidArgumentError(absl::StrCat("malformed filter: ", filter));
    terms.push_back(std::move(term));
  } while (absl::ConsumePrefix(&rest, ","));
  if (!rest.empty()) return absl::InvalidArgumentError(absl::StrCat("malformed filter: ", filter));
  return terms;
}

bool Matches(const std::vector<FilterTerm>& terms, const std::map<std::string, std::string>& labels,
             const std::map<std::string, std::string>& fields) {
  for (const FilterTerm& term : terms) {
    const bool is_label = term.path.size() == 2 && term.path[0] == "labels";
    const std::map<std::string, std::string>& from = is_label ? labels : fields;
    const auto found = from.find(is_label ? term.path[1] : absl::StrJoin(term.path, "."));
    if (found == from.end() || found->second != term.value) return false;
  }
  return true;
}

}  // namespace mayfly::fakes
