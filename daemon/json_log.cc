#include "daemon/json_log.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/base/const_init.h"
#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "nlohmann/json.hpp"

namespace mayfly::daemon {
namespace {

using Record = nlohmann::ordered_json;  // ts, severity and message come first

std::atomic<Severity> min_severity{Severity::kInfo};

// Serializes lines: a write(2) of more than PIPE_BUF bytes to a pipe is not atomic by itself.
ABSL_CONST_INIT absl::Mutex sink_mutex(absl::kConstInit);
std::vector<std::string>* captured ABSL_GUARDED_BY(sink_mutex) = nullptr;

absl::string_view Name(Severity severity) {
  switch (severity) {
    case Severity::kDebug:
      return "DEBUG";
    case Severity::kInfo:
      return "INFO";
    case Severity::kWarning:
      return "WARNING";
    case Severity::kError:
      return "ERROR";
  }
  return "ERROR";
}

// Cuts a string that is too long. May cut a UTF-8 character in two: the dump replaces what is left of it.
std::string Bounded(absl::string_view text, bool& truncated) {
  if (text.size() <= kLogStringBytesMax) return std::string(text);
  truncated = true;
  return absl::StrCat(text.substr(0, kLogStringBytesMax), "...");
}

Record ToJson(const LogValue& value, bool& truncated) {
  if (const auto* text = std::get_if<absl::string_view>(&value.value())) return Bounded(*text, truncated);
  if (const auto* boolean = std::get_if<bool>(&value.value())) return *boolean;
  if (const auto* integer = std::get_if<int64_t>(&value.value())) return *integer;
  if (const auto* natural = std::get_if<uint64_t>(&value.value())) return *natural;
  return std::get<double>(value.value());  // NaN and infinity, which JSON lacks, become null
}

std::string Dump(const Record& record) {
  return record.dump(-1, ' ', false, Record::error_handler_t::replace);
}

std::string Format(absl::Time now, Severity severity, absl::string_view message,
                   std::initializer_list<LogField> fields) {
  bool truncated = false;
  Record record;
  record["ts"] = absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", now, absl::UTCTimeZone());
  record["severity"] = std::string(Name(severity));
  record["message"] = Bounded(message, truncated);
  for (const LogField& field : fields) record[std::string(field.key)] = ToJson(field.value, truncated);
  if (truncated) record["truncated"] = true;
  std::string line = Dump(record);

  // Escaping can make six bytes of one. Give up fields from the end, and of the message all but a start that fits.
  for (const LogField* field = fields.end(); line.size() >= kLogLineBytesMax && field != fields.begin();) {
    --field;
    record.erase(std::string(field->key));
    record["truncated"] = true;
    line = Dump(record);
  }
  if (line.size() >= kLogLineBytesMax) {
    record["message"] = std::string(message.substr(0, kLogLineBytesMax / 8));
    record["truncated"] = true;
    line = Dump(record);
  }
  line.push_back('\n');
  return line;
}

void WriteLine(absl::string_view line) {
  absl::MutexLock lock(&sink_mutex);
  if (captured != nullptr) {
    captured->emplace_back(line.substr(0, line.size() - 1));
    return;
  }
  while (!line.empty()) {  // once, but for signals and full pipes
    const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // a log that cannot be written has nobody to tell
    line.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

void Log(Severity severity, absl::string_view message, std::initializer_list<LogField> fields) {
  if (severity < min_severity.load(std::memory_order_relaxed)) return;
  WriteLine(Format(absl::Now(), severity, message, fields));
}

void SetMinSeverity(Severity minimum) {
  min_severity.store(minimum, std::memory_order_relaxed);
}

ScopedLogCapture::ScopedLogCapture() {
  absl::MutexLock lock(&sink_mutex);
  captured = new std::vector<std::string>();
}

ScopedLogCapture::~ScopedLogCapture() {
  absl::MutexLock lock(&sink_mutex);
  delete captured;
  captured = nullptr;
}

std::vector<std::string> ScopedLogCapture::lines() const {
  absl::MutexLock lock(&sink_mutex);
  return *captured;
}

}  // namespace mayfly::daemon
