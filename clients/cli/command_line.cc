#include "clients/cli/command_line.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "clients/cli/quantity.h"

namespace mayfly::cli {
namespace {

using Apply = absl::Status (*)(absl::string_view value, CommandLine& out);

struct Option {
  absl::string_view name;
  char letter;  // 0: none
  bool takes_value;
  bool run_only;
  Apply apply;
};

absl::string_view BaseName(absl::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? path : path.substr(slash + 1);
}

absl::Status AddFile(absl::string_view value, CommandLine& out) {
  // The last colon: a workspace path rarely has one, a local path may.
  const size_t colon = value.rfind(':');
  FileArgument file;
  file.local = std::string(value.substr(0, colon));
  file.remote = std::string(colon == absl::string_view::npos ? BaseName(value) : value.substr(colon + 1));
  if (file.local.empty() || file.remote.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("--file: '", value, "' is not LOCAL or LOCAL:REMOTE"));
  }
  out.run.files.push_back(std::move(file));
  return absl::OkStatus();
}

absl::Status AddEnv(absl::string_view value, CommandLine& out) {
  const size_t equals = value.find('=');
  if (equals == absl::string_view::npos || equals == 0) {
    return absl::InvalidArgumentError(absl::StrCat("--env: '", value, "' is not NAME=VALUE"));
  }
  const absl::string_view name = value.substr(0, equals);
  for (const auto& [known, unused] : out.run.env) {
    if (known == name) return absl::InvalidArgumentError(absl::StrCat("--env: ", name, " is given twice"));
  }
  out.run.env.emplace_back(name, value.substr(equals + 1));
  return absl::OkStatus();
}

absl::Status Named(absl::string_view option, const absl::Status& status) {
  return absl::InvalidArgumentError(absl::StrCat(option, ": ", status.message()));
}

absl::Status SetSize(absl::string_view option, absl::string_view value, std::optional<int64_t>& out) {
  const absl::StatusOr<int64_t> bytes = ParseByteSize(value);
  if (!bytes.ok()) return Named(option, bytes.status());
  out = *bytes;
  return absl::OkStatus();
}

absl::Status SetTimeout(absl::string_view value, CommandLine& out) {
  const absl::StatusOr<absl::Duration> timeout = ParseTimeout(value);
  if (!timeout.ok()) return Named("--timeout", timeout.status());
  out.run.timeout = *timeout;
  return absl::OkStatus();
}

absl::Status Set(absl::string_view value, std::string& out) {
  out = std::string(value);
  return absl::OkStatus();
}

absl::Status Append(absl::string_view value, std::vector<std::string>& out) {
  out.emplace_back(value);
  return absl::OkStatus();
}

using Value = absl::string_view;
constexpr Option kOptions[] = {
    {"--addr", 0, true, false, [](Value v, CommandLine& c) { return Set(v, c.address); }},
    {"--json", 0, false, false,
     [](Value, CommandLine& c) {
       c.json = true;
       return absl::OkStatus();
     }},
    {"--template", 't', true, true, [](Value v, CommandLine& c) { return Set(v, c.run.template_name); }},
    {"--arg", 0, true, true, [](Value v, CommandLine& c) { return Append(v, c.run.args); }},
    {"--stdin", 0, true, true, [](Value v, CommandLine& c) { return Set(v, c.run.stdin_path); }},
    {"--file", 0, true, true, AddFile},
    {"--out", 0, true, true, [](Value v, CommandLine& c) { return Set(v, c.run.out_dir); }},
    {"--collect", 0, true, true, [](Value v, CommandLine& c) { return Append(v, c.run.globs); }},
    {"--timeout", 0, true, true, SetTimeout},
    {"--output-limit", 0, true, true,
     [](Value v, CommandLine& c) { return SetSize("--output-limit", v, c.run.output_limit_bytes); }},
    {"--file-limit", 0, true, true,
     [](Value v, CommandLine& c) { return SetSize("--file-limit", v, c.run.file_limit_bytes); }},
    {"--env", 0, true, true, AddEnv},
    {"--model-id", 0, true, true, [](Value v, CommandLine& c) { return Set(v, c.run.model_id); }},
    {"--agent-id", 0, true, true, [](Value v, CommandLine& c) { return Set(v, c.run.agent_id); }},
    {"--task-id", 0, true, true, [](Value v, CommandLine& c) { return Set(v, c.run.task_id); }},
};

// Finds the option that `arg` begins: by its whole name up to "=", or by its letter.
const Option* FindOption(absl::string_view arg) {
  const absl::string_view name = arg.substr(0, arg.find('='));
  for (const Option& option : kOptions) {
    if (option.name == name) return &option;
    if (option.letter != 0 && arg.size() >= 2 && arg[0] == '-' && arg[1] == option.letter) return &option;
  }
  return nullptr;
}

absl::StatusOr<Verb> ParseVerb(absl::string_view word) {
  if (word == "run") return Verb::kRun;
  if (word == "templates") return Verb::kTemplates;
  if (word == "health") return Verb::kHealth;
  if (word == "version") return Verb::kVersion;
  if (word == "help") return Verb::kHelp;
  return absl::InvalidArgumentError(
      absl::StrCat("'", word, "' is not a command; there are run, templates, health and version"));
}

absl::StatusOr<std::string> TemplateFor(absl::string_view program) {
  struct Extension {
    absl::string_view suffix;
    absl::string_view template_name;
  };
  static constexpr Extension kExtensions[] = {{".py", "python"},      {".js", "javascript"}, {".mjs", "javascript"},
                                              {".cjs", "javascript"}, {".sh", "bash"},       {".bash", "bash"}};
  if (program == "-") return "python";
  for (const Extension& extension : kExtensions) {
    if (absl::EndsWith(program, extension.suffix)) return std::string(extension.template_name);
  }
  return absl::InvalidArgumentError(absl::StrCat("the name of '", program,
                                                 "' does not tell its language; say which template with -t, "
                                                 "e.g. -t python (`mayfly templates` lists them)"));
}

// One pass over the arguments; `run` is filled whatever the verb, and judged at the end.
class Parser {
 public:
  explicit Parser(const std::vector<std::string>& args) : args_(args) {}

  absl::Status ParseAll() {
    for (; next_ < args_.size(); ++next_) {
      const std::string& arg = args_[next_];
      absl::Status status;
      if (arg == "--") {
        return TakeProgramArguments();
      } else if (arg == "--help" || arg == "-h") {
        help = true;
      } else if (arg == "--version") {
        verb = Verb::kVersion;
      } else if (arg.size() > 1 && arg[0] == '-') {
        status = TakeOption(arg);
      } else {
        status = TakeWord(arg);
      }
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  CommandLine result;
  std::optional<Verb> verb;
  bool help = false;
  absl::string_view first_run_option;  // empty: none was given

 private:
  absl::Status TakeProgramArguments() {
    if (verb != Verb::kRun) return absl::InvalidArgumentError("'--' has a meaning only with run");
    result.run.args.insert(result.run.args.end(), args_.begin() + next_ + 1, args_.end());
    return absl::OkStatus();
  }

  absl::Status TakeOption(absl::string_view arg) {
    const Option* option = FindOption(arg);
    if (option == nullptr) return absl::InvalidArgumentError(absl::StrCat("there is no option ", arg));
    if (option->run_only && first_run_option.empty()) first_run_option = option->name;
    absl::string_view rest = arg;
    const bool is_long = absl::StartsWith(arg, "--");
    rest.remove_prefix(is_long ? option->name.size() : 2);
    const bool attached = is_long ? absl::ConsumePrefix(&rest, "=") : !rest.empty();
    if (!option->takes_value) {
      if (attached) return absl::InvalidArgumentError(absl::StrCat(option->name, " takes no value"));
      return option->apply("", result);
    }
    if (attached) return option->apply(rest, result);
    if (next_ + 1 == args_.size()) return absl::InvalidArgumentError(absl::StrCat(option->name, " needs a value"));
    return option->apply(args_[++next_], result);
  }

  absl::Status TakeWord(absl::string_view word) {
    if (!verb.has_value() || (verb == Verb::kHelp && result.help_topic == Verb::kHelp)) {
      const absl::StatusOr<Verb> parsed = ParseVerb(word);
      if (!parsed.ok()) return parsed.status();
      if (verb.has_value()) {
        result.help_topic = *parsed;  // mayfly help run
      } else {
        verb = *parsed;
      }
      return absl::OkStatus();
    }
    if (verb == Verb::kRun && result.run.program.empty() && !word.empty()) {
      result.run.program = std::string(word);
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat("unexpected argument '", word, "'",
                                                   verb == Verb::kRun ? "; arguments of the program go after --" : ""));
  }

  const std::vector<std::string>& args_;
  size_t next_ = 0;
};

absl::Status CompleteRun(RunOptions& run) {
  if (run.program.empty()) return absl::InvalidArgumentError("run needs the FILE to run, or - for standard input");
  if (run.program == "-" && run.stdin_path == "-") {
    return absl::InvalidArgumentError("the program and its --stdin cannot both come from standard input");
  }
  if (!run.out_dir.empty() && run.globs.empty()) {
    return absl::InvalidArgumentError("--out needs --collect GLOB: which files to return, e.g. --collect '**'");
  }
  if (run.out_dir.empty() && !run.globs.empty()) {
    return absl::InvalidArgumentError("--collect needs --out DIR: where to put the files");
  }
  if (run.template_name.empty()) {
    const absl::StatusOr<std::string> name = TemplateFor(run.program);
    if (!name.ok()) return name.status();
    run.template_name = *name;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& args, absl::string_view env_address) {
  Parser parser(args);
  const absl::Status parsed = parser.ParseAll();
  if (!parsed.ok()) return parsed;
  CommandLine& result = parser.result;
  if (parser.help) {
    if (parser.verb != Verb::kHelp) result.help_topic = parser.verb.value_or(Verb::kHelp);
    result.verb = Verb::kHelp;
    return std::move(result);
  }
  if (!parser.verb.has_value()) return absl::InvalidArgumentError("say what to do: run, templates, health or version");
  result.verb = *parser.verb;
  if (result.verb != Verb::kRun && !parser.first_run_option.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(parser.first_run_option, " has a meaning only with run"));
  }
  if (result.address.empty()) result.address = std::string(env_address.empty() ? kDefaultAddress : env_address);
  if (result.verb == Verb::kRun) {
    const absl::Status complete = CompleteRun(result.run);
    if (!complete.ok()) return complete;
  }
  return std::move(result);
}

bool WantsJson(const std::vector<std::string>& args) {
  for (const std::string& arg : args) {
    if (arg == "--") return false;
    if (arg == "--json") return true;
  }
  return false;
}

}  // namespace mayfly::cli
