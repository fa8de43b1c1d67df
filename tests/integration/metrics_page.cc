#include "tests/integration/metrics_page.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace mayfly::test {
namespace {

// Reads `name="value",...}` from `text` up to the brace; false when it is malformed.
bool ParseLabels(absl::string_view& text, std::map<std::string, std::string>& labels) {
  while (!text.empty() && text.front() != '}') {
    const size_t equals = text.find("=\"");
    if (equals == absl::string_view::npos) return false;
    const std::string name(text.substr(0, equals));
    text.remove_prefix(equals + 2);
    std::string value;
    while (!text.empty() && text.front() != '"') {
      if (text.front() == '\\' && text.size() > 1) text.remove_prefix(1);
      value.push_back(text.front());
      text.remove_prefix(1);
    }
    if (text.empty()) return false;
    text.remove_prefix(1);
    if (!text.empty() && text.front() == ',') text.remove_prefix(1);
    labels[name] = value;
  }
  if (text.empty()) return false;
  text.remove_prefix(1);
  return true;
}

bool ParseSample(absl::string_view line, Sample& sample) {
  const size_t end = line.find_first_of("{ ");
  if (end == absl::string_view::npos || end == 0) return false;
  sample.name = std::string(line.substr(0, end));
  const bool labelled = line[end] == '{';
  line.remove_prefix(end + (labelled ? 1 : 0));
  if (labelled && !ParseLabels(line, sample.labels)) return false;
  const std::vector<absl::string_view> rest = absl::StrSplit(line, ' ', absl::SkipEmpty());
  if (rest.empty()) return false;
  if (rest[0] == "Nan" || rest[0] == "NaN") {
    sample.value = std::nan("");
    return true;
  }
  return absl::SimpleAtod(rest[0], &sample.value);
}

std::string Get(const std::string& address) {
  const std::vector<std::string> parts = absl::StrSplit(address, ':');
  int port = 0;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[1], &port)) return "";
  sockaddr_in peer = {};
  peer.sin_family = AF_INET;
  peer.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, parts[0].c_str(), &peer.sin_addr);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval timeout = {.tv_sec = 5, .tv_usec = 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  std::string answer;
  const std::string request = absl::StrCat("GET /metrics HTTP/1.0\r\nHost: ", address, "\r\nConnection: close\r\n\r\n");
  if (connect(fd, reinterpret_cast<sockaddr*>(&peer), sizeof peer) == 0 &&
      send(fd, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size())) {
    char buffer[65536];
    for (ssize_t n = recv(fd, buffer, sizeof buffer, 0); n > 0; n = recv(fd, buffer, sizeof buffer, 0)) {
      answer.append(buffer, n);
    }
  }
  close(fd);
  return answer;
}

// Undoes chunked transfer encoding.
std::string Unchunked(absl::string_view body) {
  std::string plain;
  while (true) {
    const size_t line = body.find("\r\n");
    if (line == absl::string_view::npos) return plain;
    uint32_t size = 0;
    if (!absl::SimpleHexAtoi(body.substr(0, line), &size) || size == 0) return plain;
    plain.append(std::string(body.substr(line + 2, size)));
    if (body.size() < line + 2 + size + 2) return plain;
    body.remove_prefix(line + 2 + size + 2);
  }
}

}  // namespace

std::set<std::string> MetricsPage::Series() const {
  std::set<std::string> series;
  for (const Sample& sample : samples) {
    std::string key = sample.name;
    for (const auto& [name, value] : sample.labels) absl::StrAppend(&key, " ", name, "=", value);
    series.insert(key);
  }
  return series;
}

double MetricsPage::Sum(absl::string_view name_part, const std::map<std::string, std::string>& labels) const {
  double sum = 0;
  for (const Sample& sample : samples) {
    if (!absl::StrContains(sample.name, name_part)) continue;
    bool fits = true;
    for (const auto& [name, value] : labels) {
      const auto it = sample.labels.find(name);
      fits = fits && it != sample.labels.end() && absl::EqualsIgnoreCase(it->second, value);
    }
    if (fits) sum += sample.value;
  }
  return sum;
}

MetricsPage ParseMetrics(absl::string_view text) {
  MetricsPage page;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) continue;
    if (line.front() == '#') {
      const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
      if (words.size() == 4 && words[1] == "TYPE") page.types[std::string(words[2])] = std::string(words[3]);
      continue;
    }
    Sample sample;
    if (ParseSample(line, sample)) {
      page.samples.push_back(sample);
    } else {
      page.malformed.emplace_back(line);
    }
  }
  return page;
}

MetricsPage FetchMetrics(const std::string& address) {
  const std::string answer = Get(address);
  const std::string status = answer.substr(0, answer.find("\r\n"));
  EXPECT_TRUE(absl::StrContains(status, " 200")) << "metrics at \"" << address << "\" answered: " << status;
  const size_t body = answer.find("\r\n\r\n");
  if (body == std::string::npos) return {};
  const bool chunked = absl::StrContains(absl::AsciiStrToLower(answer.substr(0, body)), "transfer-encoding: chunked");
  const std::string text = answer.substr(body + 4);
  return ParseMetrics(chunked ? Unchunked(text) : text);
}

}  // namespace mayfly::test
