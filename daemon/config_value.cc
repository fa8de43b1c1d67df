#include "daemon/config_value.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"
#include "policy/quoted.h"
#include "re2/re2.h"

namespace mayfly::daemon {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using mayfly::config::v1::Rule;
using policy::Quoted;

struct Unit {
  absl::string_view name;
  int64_t bytes;
};
// Largest first, for FormatSize. Only binary units: whether MB is 10^6 or 2^20 is not worth an outage.
constexpr Unit kUnits[] = {
    {"TiB", int64_t{1} << 40}, {"GiB", int64_t{1} << 30}, {"MiB", int64_t{1} << 20}, {"KiB", int64_t{1} << 10}};

std::string FormatSize(int64_t bytes) {
  for (const Unit& unit : kUnits) {
    if (bytes != 0 && bytes % unit.bytes == 0) return absl::StrCat(bytes / unit.bytes, unit.name);
  }
  return absl::StrCat(bytes);
}

// A bound as the operator would write it.
std::string FormatBound(double bound, const FieldDescriptor& field) {
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) return absl::FormatDuration(absl::Seconds(bound));
  if (RuleOf(field).size()) return FormatSize(static_cast<int64_t>(bound));
  if (bound == std::floor(bound) && std::abs(bound) < 1e15) return absl::StrCat(static_cast<int64_t>(bound));
  return absl::StrCat(bound);
}

std::string OutOfRange(absl::string_view text, const FieldDescriptor& field) {
  const Rule& rule = RuleOf(field);
  if (rule.min() == 0 && rule.max() == 0) return absl::StrCat(Quoted(text), " is too large");
  return absl::StrCat(Quoted(text), " is not in the range ", FormatBound(rule.min(), field), " to ",
                      FormatBound(rule.max(), field));
}

bool InRange(double value, const Rule& rule) {
  return (rule.min() == 0 && rule.max() == 0) || (value >= rule.min() && value <= rule.max());
}

bool IsWholeNumber(absl::string_view text) {
  absl::ConsumePrefix(&text, "-");
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return absl::ascii_isdigit(c); });
}

// The digits of a size and the bytes they count; nullopt when `text` is not written as a size.
struct Size {
  absl::string_view digits;
  int64_t unit_bytes;
};
std::optional<Size> SplitSize(absl::string_view text) {
  Size size{text, 1};
  for (const Unit& unit : kUnits) {
    if (absl::ConsumeSuffix(&size.digits, unit.name)) {
      size.unit_bytes = unit.bytes;
      break;
    }
  }
  if (!IsWholeNumber(size.digits)) return std::nullopt;
  return size;
}

std::string SetInteger(absl::string_view text, const FieldDescriptor& field, Message* message) {
  absl::string_view digits = text;
  int64_t unit = 1;
  if (RuleOf(field).size()) {
    const std::optional<Size> size = SplitSize(text);
    if (!size.has_value()) return absl::StrCat(Quoted(text), " is not a size like 128MiB, 64KiB, 2GiB or 1048576");
    digits = size->digits;
    unit = size->unit_bytes;
  } else if (!IsWholeNumber(text)) {
    return absl::StrCat(Quoted(text), " is not a whole number");
  }
  int64_t count = 0;
  int64_t value = 0;
  if (!absl::SimpleAtoi(digits, &count) || __builtin_mul_overflow(count, unit, &value) ||
      !InRange(static_cast<double>(value), RuleOf(field))) {
    return OutOfRange(text, field);
  }
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
    message->GetReflection()->SetInt64(message, &field, value);
    return "";
  }
  if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max()) {
    return OutOfRange(text, field);
  }
  message->GetReflection()->SetInt32(message, &field, static_cast<int32_t>(value));
  return "";
}

std::string SetDouble(absl::string_view text, const FieldDescriptor& field, Message* message) {
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !std::isfinite(value)) {
    return absl::StrCat(Quoted(text), " is not a number");
  }
  if (!InRange(value, RuleOf(field))) return OutOfRange(text, field);
  message->GetReflection()->SetDouble(message, &field, value);
  return "";
}

std::string SetDuration(absl::string_view text, const FieldDescriptor& field, Message* message) {
  absl::Duration value;
  if (!absl::ParseDuration(text, &value) || absl::AbsDuration(value) == absl::InfiniteDuration()) {
    return absl::StrCat(Quoted(text), " is not a time like 10s, 300ms or 1m30s");
  }
  if (!InRange(absl::ToDoubleSeconds(value), RuleOf(field))) return OutOfRange(text, field);
  google::protobuf::Duration proto;
  absl::Duration rest;
  proto.set_seconds(absl::IDivDuration(value, absl::Seconds(1), &rest));
  proto.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(rest)));
  message->GetReflection()->MutableMessage(message, &field)->CopyFrom(proto);
  return "";
}

std::string SetBool(absl::string_view text, const FieldDescriptor& field, Message* message) {
  // YAML 1.1's yes, no, on and off are not taken: half of all readers do not know them.
  if (text != "true" && text != "false") return absl::StrCat(Quoted(text), " is neither true nor false");
  message->GetReflection()->SetBool(message, &field, text == "true");
  return "";
}

std::string SetString(absl::string_view text, const FieldDescriptor& field, Message* message) {
  const Rule& rule = RuleOf(field);
  if (rule.required() && text.empty()) return "is required and empty";
  if (!rule.pattern().empty() && !RE2::FullMatch(re2::StringPiece(text.data(), text.size()), rule.pattern())) {
    return absl::StrCat(Quoted(text, 100), " is not ", rule.pattern_meaning());
  }
  message->GetReflection()->SetString(message, &field, std::string(text));
  return "";
}

}  // namespace

const Rule& RuleOf(const FieldDescriptor& field) {
  return field.options().GetExtension(mayfly::config::v1::rule);
}

bool IsScalar(const FieldDescriptor& field) {
  if (field.is_repeated()) return false;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
    case FieldDescriptor::CPPTYPE_BOOL:
    case FieldDescriptor::CPPTYPE_INT32:
    case FieldDescriptor::CPPTYPE_INT64:
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return true;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return field.message_type()->full_name() == google::protobuf::Duration::descriptor()->full_name();
    default:
      return false;
  }
}

std::string SetConfigValue(absl::string_view text, const FieldDescriptor& field, Message* message) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return SetString(text, field, message);
    case FieldDescriptor::CPPTYPE_BOOL:
      return SetBool(text, field, message);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return SetDouble(text, field, message);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return SetDuration(text, field, message);
    default:
      return SetInteger(text, field, message);
  }
}

}  // namespace mayfly::daemon
