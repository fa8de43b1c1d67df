#include "policy/language_profile.h"

#include "absl/strings/str_cat.h"
#include "policy/oci_spec.h"

namespace mayfly::policy {
namespace {

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
  static const auto* const kProfiles = new std::vector<LanguageProfile>{
      {"python",
       "main.py",
       "/usr/bin/python3",
       {
           // What was printed before a kill must have left the process. By environment and not by -u, so that Pythons
           // started by the program are no different.
           {"PYTHONUNBUFFERED", "1"},
           // Importing an input file must not leave a __pycache__ that output globs like ** then match.
           {"PYTHONDONTWRITEBYTECODE", "1"},
       }},
      {"javascript", "main.js", "/usr/bin/node", {}},
      {"bash", "main.sh", "/bin/bash", {}},
  };
  return *kProfiles;
}

}  // namespace

const LanguageProfile* FindLanguageProfile(absl::string_view language) {
  for (const LanguageProfile& profile : Profiles()) {
    if (profile.name == language) return &profile;
  }
  return nullptr;
}

std::vector<std::string> ProgramArgv(const LanguageProfile& profile, absl::string_view interpreter,
                                     const std::vector<std::string>& args) {
  // No flags: not -I for Python (sys.path[0] must be the workspace, where input files are), and none for bash, which
  // reads no start-up files for a script. The main file is absolute: every interpreter here ends its own options at
  // the first operand, so an argument like "-c" or "--help" that follows it is the program's.
  std::vector<std::string> argv;
  argv.reserve(args.size() + 2);
  argv.emplace_back(interpreter.empty() ? profile.default_interpreter : interpreter);
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
