#include "policy/language_profile.h"

#include "absl/strings/str_cat.h"
#include "policy/oci_spec.h"

namespace mayfly::policy {
namespace {

// Node keeps what a full pipe does not take for later, and process.exit() drops it. With writes that wait, what a
// program wrote is out before anything else happens, as it is with files. The streams stay as lazy as they are.
constexpr absl::string_view kNodeStdioPath = "/.mayfly/node_stdio.cjs";
constexpr absl::string_view kNodeStdio = R"js('use strict';
for (const name of ['stdout', 'stderr']) {
  const lazy = Object.getOwnPropertyDescriptor(process, name);
  Object.defineProperty(process, name, {
    ...lazy,
    get() {
      Object.defineProperty(process, name, lazy);
      const stream = process[name];
      stream._handle?.setBlocking?.(true);
      return stream;
    },
  });
}
)js";

// Every program's environment. An allow-list: what is not here or in a profile, the program does not see.
EnvMap BaseEnv() {
  return {
      {"PATH", "/usr/local/bin:/usr/bin:/bin"},
      // The workspace is the only directory of its own that the program has.
      {"HOME", std::string(kWorkspacePath)},
      {"TMPDIR", "/tmp"},
      // Without it, Python's open() and Perl's and sort's idea of text is ASCII. C.UTF-8 needs no locale files.
      {"LANG", "C.UTF-8"},
  };
}

const std::vector<LanguageProfile>& Profiles() {
  static const auto* const profiles = new std::vector<LanguageProfile>{
      {"python",
       "main.py",
       "/usr/bin/python3",
       {
           // What was printed before a kill must have left the process. By environment and not by -u, so that Pythons
           // started by the program are no different.
           {"PYTHONUNBUFFERED", "1"},
           // Importing an input file must not leave a __pycache__ that output globs like ** then match.
           {"PYTHONDONTWRITEBYTECODE", "1"},
       },
       {}},  // not -I: sys.path[0] must be the workspace, where input files are
      {"javascript", "main.js", "/usr/bin/node", {}, {"--require", kNodeStdioPath}},
      {"bash", "main.sh", "/bin/bash", {}, {}},  // it reads no start-up files for a script
  };
  return *profiles;
}

}  // namespace

const std::vector<SupportFile>& SupportFiles() {
  static const auto* const files = new std::vector<SupportFile>{{kNodeStdioPath, kNodeStdio}};
  return *files;
}

const LanguageProfile* FindLanguageProfile(absl::string_view language) {
  for (const LanguageProfile& profile : Profiles()) {
    if (profile.name == language) return &profile;
  }
  return nullptr;
}

std::vector<std::string> ProgramArgv(const LanguageProfile& profile, absl::string_view interpreter,
                                     const std::vector<std::string>& args) {
  // The main file is absolute: every interpreter here ends its own options at the first operand, so an argument like
  // "-c" or "--help" that follows it is the program's.
  std::vector<std::string> argv;
  argv.reserve(args.size() + profile.flags.size() + 2);
  argv.emplace_back(interpreter.empty() ? profile.default_interpreter : interpreter);
  for (absl::string_view flag : profile.flags) argv.emplace_back(flag);
  argv.push_back(absl::StrCat(kWorkspacePath, "/", profile.main_file));
  argv.insert(argv.end(), args.begin(), args.end());
  return argv;
}

EnvMap TemplateEnv(const LanguageProfile& profile, const EnvMap& operator_env) {
  EnvMap env = operator_env;
  for (const auto& [name, value] : profile.env) env.emplace(name, value);
  for (const auto& [name, value] : BaseEnv()) env.emplace(name, value);
  return env;
}

std::vector<std::string> ProgramEnv(const EnvMap& template_env, const EnvMap& request_env) {
  EnvMap all = template_env;
  all.insert(request_env.begin(), request_env.end());
  std::vector<std::string> env;
  env.reserve(all.size());
  for (const auto& [name, value] : all) env.push_back(absl::StrCat(name, "=", value));
  return env;
}

}  // namespace mayfly::policy
