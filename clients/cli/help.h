// The help texts of `mayfly`.
#ifndef MAYFLY_CLIENTS_CLI_HELP_H_
#define MAYFLY_CLIENTS_CLI_HELP_H_

#include <string>

#include "clients/cli/command_line.h"

namespace mayfly::cli {

// The help for one command; kHelp is the overview. Ends in a newline.
std::string HelpText(Verb topic);

}  // namespace mayfly::cli

#endif  // MAYFLY_CLIENTS_CLI_HELP_H_
