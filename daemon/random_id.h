// Random ids, from the kernel's generator.
#ifndef MAYFLY_DAEMON_RANDOM_ID_H_
#define MAYFLY_DAEMON_RANDOM_ID_H_

#include <string>

namespace mayfly::daemon {

// 32 lower-case hexadecimal digits that nobody can guess and nobody has seen before.
std::string RandomId();

}  // namespace mayfly::daemon

#endif  // MAYFLY_DAEMON_RANDOM_ID_H_
