// JSON log: one line of JSON a record, on stderr, for systemd, Kubernetes and people with jq.
//
//   Log(Severity::kInfo, "execution finished", {{"execution_id", id}, {"exit_code", 7}, {"wall_seconds", elapsed}});
//   {"ts":"2026-08-20T09:30:00.123456Z","severity":"INFO","message":"execution finished","execution_id":"3f2a..."...}
//
// Everything here is thread-safe. A line is written with one write(2), so lines never interleave. Values may be any
// bytes, also a program's: they are escaped, and what is not UTF-8 becomes U+FFFD.
#ifndef MAYFLY_DAEMON_JSON_LOG_H_
#define MAYFLY_DAEMON_JSON_LOG_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace mayfly::daemon {

enum class Severity { kDebug, kInfo, kWarning, kError };

// The longest line, its newline included. A longer record loses bytes of its strings, then fields from its end, and
// says so with "truncated":true.
inline constexpr size_t kLogLineBytesMax = 16 * 1024;
// The longest string value, before escaping; a longer one ends in "...".
inline constexpr size_t kLogStringBytesMax = 4 * 1024;

// A field's value. Borrows strings: it lives only for the call of Log. A Duration is written in seconds.
class LogValue {
 public:
  // NOLINTBEGIN(google-explicit-constructor): implicit, so that fields read as {"key", value}.
  LogValue(absl::string_view value) : value_(value) {}
  LogValue(const std::string& value) : value_(absl::string_view(value)) {}
  LogValue(const char* value) : value_(absl::string_view(value)) {}
  LogValue(bool value) : value_(value) {}
  template <std::signed_integral T>
  LogValue(T value) : value_(static_cast<int64_t>(value)) {}
  template <std::unsigned_integral T>
  LogValue(T value) : value_(static_cast<uint64_t>(value)) {}
  LogValue(double value) : value_(value) {}
  LogValue(absl::Duration value) : value_(absl::ToDoubleSeconds(value)) {}
  // NOLINTEND(google-explicit-constructor)

  using Variant = std::variant<absl::string_view, bool, int64_t, uint64_t, double>;
  const Variant& value() const { return value_; }

 private:
  Variant value_;
};

struct LogField {
  absl::string_view key;  // snake_case; not "ts", "severity", "message" or "truncated"
  LogValue value;
};

// Writes one record, unless `severity` is below the minimum. Blocks while stderr does.
void Log(Severity severity, absl::string_view message, std::initializer_list<LogField> fields = {});

// Records below `minimum` are dropped. Default: kInfo.
void SetMinSeverity(Severity minimum);

// For tests: while it lives, every thread's records come here and not to stderr. One at a time.
class ScopedLogCapture {
 public:
  ScopedLogCapture();
  ~ScopedLogCapture();
  ScopedLogCapture(const ScopedLogCapture&) = delete;
  ScopedLogCapture& operator=(const ScopedLogCapture&) = delete;

  // The lines so far, without their newlines.
  std::vector<std::string> lines() const;
};

}  // namespace mayfly::daemon

#endif  // MAYFLY_DAEMON_JSON_LOG_H_
