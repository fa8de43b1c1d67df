// How this process's malloc treats memory that is free again.
#ifndef MAYFLY_DAEMON_ALLOCATOR_H_
#define MAYFLY_DAEMON_ALLOCATOR_H_

namespace mayfly::daemon {

// Makes glibc give memory back to the system, instead of keeping as much as the largest requests once took. Call it
// first thing in main().
void ReturnFreeMemory();

}  // namespace mayfly::daemon

#endif  // MAYFLY_DAEMON_ALLOCATOR_H_
