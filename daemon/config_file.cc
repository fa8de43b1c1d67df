#include "daemon/config_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "daemon/config_value.h"
#include "google/protobuf/descriptor.h"
#include "policy/quoted.h"
#include "yaml-cpp/yaml.h"

namespace mayfly::daemon {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Levenshtein's distance, for "did you mean".
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, substituted});
    }
  }
  return row.back();
}

// What to say of a key that `type` has not.
std::string UnknownKey(absl::string_view key, const Descriptor& type) {
  constexpr size_t kKeyBytesMax = 64;  // the distance is quadratic
  absl::string_view nearest;
  size_t nearest_distance = std::max<size_t>(2, key.size() / 3) + 1;
  std::vector<absl::string_view> known;
  for (int i = 0; i < type.field_count(); ++i) {
    known.push_back(type.field(i)->name());
    const size_t distance = EditDistance(key.substr(0, kKeyBytesMax), known.back());
    if (distance >= nearest_distance) continue;
    nearest_distance = distance;
    nearest = known.back();
  }
  if (!nearest.empty()) return absl::StrCat("unknown key; did you mean \"", nearest, "\"?");
  return absl::StrCat("unknown key; the keys here are ", absl::StrJoin(known, ", "));
}

// Walks a YAML document along a message's descriptor. Says what is wrong and goes on, to find everything at once.
// yaml-cpp throws: only within ParseConfig.
class Reader {
 public:
  explicit Reader(absl::string_view file_name) : file_name_(file_name) {}

  // Bounds the document with its aliases expanded, so that what follows needs no bounds. False when it is too large.
  bool CheckShape(const YAML::Node& node, int depth) {
    if (++nodes_ > kConfigNodesMax || depth > kConfigDepthMax) {
      Error(node, "",
            absl::StrCat("the file has more than ", kConfigNodesMax, " values (aliases expanded) or ", kConfigDepthMax,
                         " levels"));
      return false;
    }
    if (!node.IsMap() && !node.IsSequence()) return true;
    return std::all_of(node.begin(), node.end(), [&](const auto& child) {
      if (node.IsSequence()) return CheckShape(child, depth + 1);
      return CheckShape(child.first, depth + 1) && CheckShape(child.second, depth + 1);
    });
  }

  void ReadMessage(const YAML::Node& node, const std::string& path, Message* message) {
    if (!node.IsMap()) return Error(node, path, "must be a mapping of keys to values");
    const Descriptor& type = *message->GetDescriptor();
    std::set<std::string> seen;
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) {
        Error(entry.first, path, "has a key that is not a word");
        continue;
      }
      const std::string& key = entry.first.Scalar();
      const FieldDescriptor* field = type.FindFieldByName(key);
      if (!seen.insert(key).second) {
        Error(entry.first, Join(path, key), "is there twice");
      } else if (field == nullptr) {
        Error(entry.first, Join(path, key), UnknownKey(key, type));
      } else {
        ReadField(entry.second, Join(path, key), *field, message);
      }
    }
    for (int i = 0; i < type.field_count(); ++i) {
      if (seen.count(type.field(i)->name()) == 0) FillAbsent(node, path, *type.field(i), message);
    }
  }

  absl::Status Result() const {
    if (errors_.empty()) return absl::OkStatus();
    std::string message = absl::StrJoin(errors_, "\n");
    if (errors_unlisted_ > 0) absl::StrAppend(&message, "\n", file_name_, ": and ", errors_unlisted_, " more errors");
    return absl::InvalidArgumentError(message);
  }

  void Error(const YAML::Mark& mark, absl::string_view path, absl::string_view problem) {
    if (errors_.size() >= static_cast<size_t>(kConfigErrorsMax)) {
      ++errors_unlisted_;
      return;
    }
    const int line = std::max(mark.line, 0) + 1;  // -1: the empty document
    errors_.push_back(absl::StrCat(file_name_, ":", line, ": ", path, path.empty() ? "" : ": ", problem));
  }

 private:
  void Error(const YAML::Node& node, absl::string_view path, absl::string_view problem) {
    Error(node.Mark(), path, problem);
  }

  // Keys can be anything; messages are one line.
  static std::string Join(const std::string& path, absl::string_view key) {
    return absl::StrCat(path, path.empty() ? "" : ".", policy::Escaped(key.substr(0, 64)));
  }

  void ReadField(const YAML::Node& node, const std::string& path, const FieldDescriptor& field, Message* message) {
    if (node.IsNull()) return Error(node, path, "has no value");
    if (field.is_map()) return ReadMap(node, path, field, message);
    if (field.is_repeated()) return ReadList(node, path, field, message);
    if (!IsScalar(field)) return ReadMessage(node, path, message->GetReflection()->MutableMessage(message, &field));
    if (!node.IsScalar()) return Error(node, path, "must be a single value, not a list or mapping");
    const std::string problem = SetConfigValue(node.Scalar(), field, message);
    if (!problem.empty()) Error(node, path, problem);
  }

  // A list of messages; the schema has no other.
  void ReadList(const YAML::Node& node, const std::string& path, const FieldDescriptor& field, Message* message) {
    if (!node.IsSequence()) return Error(node, path, "must be a list");
    if (node.size() == 0 && RuleOf(field).required()) return Error(node, path, "is required and empty");
    for (size_t i = 0; i < node.size(); ++i) {
      ReadMessage(node[i], absl::StrCat(path, "[", i, "]"), message->GetReflection()->AddMessage(message, &field));
    }
  }

  // A map<string, string>; the schema has no other.
  void ReadMap(const YAML::Node& node, const std::string& path, const FieldDescriptor& field, Message* message) {
    if (!node.IsMap()) return Error(node, path, "must be a mapping of names to values");
    std::set<std::string> seen;
    for (const auto& entry : node) {
      if (!entry.first.IsScalar() || !entry.second.IsScalar()) {
        Error(entry.first, path, "must map words to single values; quote an empty one");
        continue;
      }
      if (!seen.insert(entry.first.Scalar()).second) {
        Error(entry.first, Join(path, entry.first.Scalar()), "is there twice");
        continue;
      }
      Message* pair = message->GetReflection()->AddMessage(message, &field);
      pair->GetReflection()->SetString(pair, field.message_type()->map_key(), entry.first.Scalar());
      pair->GetReflection()->SetString(pair, field.message_type()->map_value(), entry.second.Scalar());
    }
  }

  void FillAbsent(const YAML::Node& node, const std::string& path, const FieldDescriptor& field, Message* message) {
    const auto& rule = RuleOf(field);
    if (rule.required()) {
      return Error(node, Join(path, field.name()),
                   rule.pattern_meaning().empty() ? "is required and missing"
                                                  : absl::StrCat("is required and missing: ", rule.pattern_meaning()));
    }
    if (rule.default_value().empty()) return;
    const std::string problem = SetConfigValue(rule.default_value(), field, message);
    if (!problem.empty()) Error(node, Join(path, field.name()), absl::StrCat("the default: ", problem));
  }

  const std::string file_name_;
  int nodes_ = 0;
  std::vector<std::string> errors_;
  int errors_unlisted_ = 0;
};

}  // namespace

absl::Status ParseConfig(absl::string_view yaml, absl::string_view file_name, Message* config) {
  if (yaml.size() > static_cast<size_t>(kConfigBytesMax)) {
    return absl::InvalidArgumentError(absl::StrCat(file_name, ": is larger than ", kConfigBytesMax, " bytes"));
  }
  config->Clear();
  Reader reader(file_name);
  try {
    std::vector<YAML::Node> documents = YAML::LoadAll(std::string(yaml));
    if (documents.size() > 1) {
      reader.Error(documents[1].Mark(), "", "the file has more than one document");
    } else {
      // No document at all: every required key is missing.
      const bool empty = documents.empty() || documents[0].IsNull();
      const YAML::Node root = empty ? YAML::Node(YAML::NodeType::Map) : documents[0];
      if (reader.CheckShape(root, 1)) reader.ReadMessage(root, "", config);
    }
  } catch (const YAML::Exception& error) {
    reader.Error(error.mark, "", absl::StrCat("not YAML: ", error.msg));
  }
  return reader.Result();
}

absl::Status LoadConfigFile(const std::string& path, Message* config) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"), &std::fclose);
  if (file == nullptr) return absl::ErrnoToStatus(errno, absl::StrCat("reading the configuration ", path));
  std::string yaml(static_cast<size_t>(kConfigBytesMax) + 1, '\0');
  yaml.resize(std::fread(yaml.data(), 1, yaml.size(), file.get()));
  if (std::ferror(file.get()) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("reading the configuration ", path));
  }
  return ParseConfig(yaml, path, config);
}

}  // namespace mayfly::daemon
