#include "daemon/allocator.h"

#include <malloc.h>

namespace mayfly::daemon {

void ReturnFreeMemory() {
  // Setting one of the thresholds also stops glibc from raising them by itself. Large blocks (requests, events) then
  // are mappings of their own, and go back when they are freed.
  mallopt(M_MMAP_THRESHOLD, 64 * 1024);
  mallopt(M_TRIM_THRESHOLD, 256 * 1024);
  // An arena per thread would keep its own leftovers each.
  mallopt(M_ARENA_MAX, 2);
}

}  // namespace mayfly::daemon
