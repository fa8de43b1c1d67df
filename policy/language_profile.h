// Language profile: how the program of a template is started, that is its main file, argument vector and environment.
//
//   const LanguageProfile* profile = FindLanguageProfile("python");
//   ProgramArgv(*profile, "/usr/bin/python3", {"--help"});   // /usr/bin/python3 /workspace/main.py --help
//   ProgramEnv(TemplateEnv(*profile, {}), {{"DEBUG", "1"}}); // DEBUG=1 HOME=/workspace LANG=C.UTF-8 ...
//
// Pure data and functions, thread-safe.
#ifndef MAYFLY_POLICY_LANGUAGE_PROFILE_H_
#define MAYFLY_POLICY_LANGUAGE_PROFILE_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace mayfly::policy {

using EnvMap = std::map<std::string, std::string>;  // ordered, so that what is made of it is reproducible

struct LanguageProfile {
  absl::string_view name;                 // "python"; what the configuration's `language` says
  absl::string_view main_file;            // in the workspace: "main.py"
  absl::string_view default_interpreter;  // absolute path in the image
  std::vector<std::pair<absl::string_view, absl::string_view>> env;  // beside what every program gets
  std::vector<absl::string_view> flags;                              // of the interpreter, before the main file
};

// A file that profiles need in the sandbox beside the runner, part of the read-only root.
struct SupportFile {
  absl::string_view path;  // absolute, in the sandbox
  absl::string_view content;
};
const std::vector<SupportFile>& SupportFiles();

// nullptr when there is no such language. Lives as long as the process.
const LanguageProfile* FindLanguageProfile(absl::string_view language);

// argv of the program. `interpreter` is an absolute path (empty: the profile's default), and becomes argv[0]. `args`
// arrive in the program exactly as they are, whatever they look like.
std::vector<std::string> ProgramArgv(const LanguageProfile& profile, absl::string_view interpreter,
                                     const std::vector<std::string>& args);

// The template's own environment: what the profile needs, overridden by `operator_env` of the configuration. Its names
// are Template.reserved_env. Nothing of the image's or the host's environment is in it.
EnvMap TemplateEnv(const LanguageProfile& profile, const EnvMap& operator_env);

// The program's whole environment as NAME=value, by name. Where both have a name, `template_env` wins (CheckRequest
// refuses such requests).
std::vector<std::string> ProgramEnv(const EnvMap& template_env, const EnvMap& request_env);

}  // namespace mayfly::policy

#endif  // MAYFLY_POLICY_LANGUAGE_PROFILE_H_
