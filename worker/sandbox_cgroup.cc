#include "worker/sandbox_cgroup.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "policy/oci_spec.h"
#include "worker/unique_fd.h"

namespace mayfly::worker {
namespace {

// The file's first 4 KiB, more than any of these has; nullopt when it cannot be read.
std::optional<std::string> ReadSmallFile(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return std::nullopt;
  char buffer[4096];
  const ssize_t count = read(fd.get(), buffer, sizeof(buffer));
  if (count < 0) return std::nullopt;
  return std::string(buffer, static_cast<size_t>(count));
}

// A file that holds one number.
std::optional<int64_t> ReadNumber(const std::string& path) {
  const std::optional<std::string> text = ReadSmallFile(path);
  int64_t value;
  if (!text.has_value() || !absl::SimpleAtoi(absl::StripAsciiWhitespace(*text), &value)) return std::nullopt;
  return value;
}

// The number behind `key` in a file of "key number" lines.
std::optional<int64_t> ReadKey(const std::string& path, absl::string_view key) {
  const std::optional<std::string> text = ReadSmallFile(path);
  if (!text.has_value()) return std::nullopt;
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    int64_t value;
    if (absl::ConsumePrefix(&line, key) && absl::ConsumePrefix(&line, " ") && absl::SimpleAtoi(line, &value)) {
      return value;
    }
  }
  return std::nullopt;
}

absl::Status WriteSmallFile(const std::string& path, const std::string& text) {
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("opening ", path));
  if (write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return absl::ErrnoToStatus(errno, absl::StrCat("writing ", text, " to ", path));
  }
  return absl::OkStatus();
}

std::optional<int64_t> FirstOf(std::optional<int64_t> a, std::optional<int64_t> b) {
  return a.has_value() ? a : b;
}

}  // namespace

SandboxCgroup::SandboxCgroup(absl::string_view path, absl::string_view root)
    : memory_v1_(absl::StrCat(root, "/memory", path)),
      cpuacct_v1_(absl::StrCat(root, "/cpuacct", path)),
      cpu_v1_(absl::StrCat(root, "/cpu", path)),
      v2_(absl::StrCat(root, path)) {}

std::optional<int64_t> SandboxCgroup::oom_kills() const {
  return FirstOf(ReadKey(absl::StrCat(memory_v1_, "/memory.oom_control"), "oom_kill"),
                 ReadKey(absl::StrCat(v2_, "/memory.events"), "oom_kill"));
}

std::optional<int64_t> SandboxCgroup::memory_peak() const {
  return FirstOf(ReadNumber(absl::StrCat(memory_v1_, "/memory.max_usage_in_bytes")),
                 ReadNumber(absl::StrCat(v2_, "/memory.peak")));
}

std::optional<absl::Duration> SandboxCgroup::cpu_time() const {
  if (const auto nanos = ReadNumber(absl::StrCat(cpuacct_v1_, "/cpuacct.usage"))) return absl::Nanoseconds(*nanos);
  if (const auto micros = ReadKey(absl::StrCat(v2_, "/cpu.stat"), "usage_usec")) return absl::Microseconds(*micros);
  return std::nullopt;
}

absl::Status SandboxCgroup::SetCpuBandwidth(double cpus) const {
  const int64_t quota = policy::CpuQuotaMicros(cpus);
  // What a period leaves may be used later, up to one period's worth: a program that waits and works in turns gets what
  // it is promised. Over time the bandwidth holds as it is. Kernels before 5.14 do without.
  (void)WriteSmallFile(absl::StrCat(cpu_v1_, "/cpu.cfs_burst_us"), absl::StrCat(quota));
  (void)WriteSmallFile(absl::StrCat(v2_, "/cpu.max.burst"), absl::StrCat(quota));
  absl::Status v1 = WriteSmallFile(absl::StrCat(cpu_v1_, "/cpu.cfs_quota_us"), absl::StrCat(quota));
  if (!absl::IsNotFound(v1)) return v1;
  return WriteSmallFile(absl::StrCat(v2_, "/cpu.max"), absl::StrCat(quota, " ", policy::kCpuPeriodMicros));
}

}  // namespace mayfly::worker
