#include "tests/fakes/guest_script.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace mayfly::fakes {
namespace {

constexpr int kUnknownInstruction = 127;
constexpr int64_t kSpamChunkBytes = 65'536;

enum class Next { kContinue, kEnd };

// `end` ends the script; so does a kill, which makes calls return false.
Next ContinueIf(bool alive) {
  return alive ? Next::kContinue : Next::kEnd;
}

Next End(bool) {
  return Next::kEnd;
}

int64_t Number(absl::string_view text) {
  int64_t number = 0;
  return absl::SimpleAtoi(text, &number) ? number : 0;
}

Next Spam(FakeGuest& guest, int64_t bytes) {
  const std::string chunk(kSpamChunkBytes, 'x');
  for (; bytes > 0; bytes -= kSpamChunkBytes) {
    const int64_t size = bytes < kSpamChunkBytes ? bytes : kSpamChunkBytes;
    if (!guest.Output(1, absl::string_view(chunk).substr(0, static_cast<size_t>(size)))) return Next::kEnd;
  }
  return Next::kContinue;
}

Next Cat(FakeGuest& guest) {
  std::string data;
  while (guest.ReadStdin(&data)) {
    if (data.empty()) return Next::kContinue;
    if (!guest.Output(1, data)) return Next::kEnd;
  }
  return Next::kEnd;
}

Next Die(FakeGuest& guest, int64_t status) {
  guest.Die(static_cast<uint32_t>(status));
  return Next::kEnd;
}

Next File(FakeGuest& guest, absl::string_view arguments) {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(arguments, absl::MaxSplits(' ', 1));
  guest.AddOutputFile(parts.first, std::string(static_cast<size_t>(Number(parts.second)), 'f'));
  return Next::kContinue;
}

Next Hang(FakeGuest& guest) {
  guest.Hang();
  return Next::kEnd;
}

template <typename Lines>
Next PrintLines(FakeGuest& guest, const Lines& lines) {
  return ContinueIf(guest.Output(1, absl::StrCat(absl::StrJoin(lines, "\n"), "\n")));
}

Next RunInstruction(FakeGuest& guest, absl::string_view line) {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(' ', 1));
  const auto& [instruction, argument] = parts;
  if (instruction.empty()) return Next::kContinue;
  if (instruction == "print") return ContinueIf(guest.Output(1, absl::StrCat(argument, "\n")));
  if (instruction == "err") return ContinueIf(guest.Output(2, absl::StrCat(argument, "\n")));
  if (instruction == "spam") return Spam(guest, Number(argument));
  if (instruction == "sleep") return ContinueIf(guest.Sleep(absl::Milliseconds(Number(argument))));
  if (instruction == "cat") return Cat(guest);
  if (instruction == "args") return PrintLines(guest, guest.job().argv());
  if (instruction == "env") return PrintLines(guest, guest.job().env());
  if (instruction == "file") return File(guest, argument);
  if (instruction == "raw") return ContinueIf(guest.SendRaw(absl::HexStringToBytes(argument)));
  if (instruction == "hang") return Hang(guest);
  if (instruction == "die") return Die(guest, Number(argument));
  if (instruction == "signal") return End(guest.Signal(static_cast<int>(Number(argument))));
  if (instruction == "exit") return End(guest.Exit(static_cast<int>(Number(argument))));
  return End(guest.Exit(kUnknownInstruction));
}

}  // namespace

void RunScriptGuest(FakeGuest& guest) {
  constexpr absl::string_view kFail = "fail ";
  if (!guest.Ready() || !guest.ReadJob()) return;
  const std::string script = guest.MainFile().data;
  if (absl::StartsWith(script, kFail)) {
    guest.Failed(absl::string_view(script).substr(kFail.size(), script.find('\n') - kFail.size()));
    return;
  }
  if (!guest.Started()) return;
  for (absl::string_view line : absl::StrSplit(script, '\n')) {
    if (RunInstruction(guest, line) == Next::kEnd) return;
  }
  guest.Exit(0);
}

}  // namespace mayfly::fakes
