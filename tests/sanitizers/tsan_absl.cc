// Tells ThreadSanitizer what Debian's Abseil does: the library is built without it, so that its mutexes would be
// nothing but unseen memory accesses, and everything that they guard a race. Preloaded by tests/sanitize; each function
// here calls the library's own and says which order that makes.

#include <dlfcn.h>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"

extern "C" void __tsan_acquire(void*);
extern "C" void __tsan_release(void*);
namespace {
template <typename F>
F Next(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}
#define NEXT(type, name) static type const next = Next<type>(name)
struct Wrapped {
  void* mu;
  const absl::Condition* condition;
};
bool Eval(Wrapped* w) {
  __tsan_acquire(w->mu);
  const bool r = w->condition->Eval();
  __tsan_release(w->mu);
  return r;
}
void* P(const void* p) {
  return const_cast<void*>(p);
}
}  // namespace
namespace absl {
ABSL_NAMESPACE_BEGIN
using V = void (*)(void*);
using B = bool (*)(void*);
void Mutex::Lock() {
  NEXT(V, "_ZN4absl7debian35Mutex4LockEv");
  next(this);
  __tsan_acquire(this);
}
void Mutex::Unlock() {
  NEXT(V, "_ZN4absl7debian35Mutex6UnlockEv");
  __tsan_release(this);
  next(this);
}
bool Mutex::TryLock() {
  NEXT(B, "_ZN4absl7debian35Mutex7TryLockEv");
  bool r = next(this);
  if (r) __tsan_acquire(this);
  return r;
}
void Mutex::ReaderLock() {
  NEXT(V, "_ZN4absl7debian35Mutex10ReaderLockEv");
  next(this);
  __tsan_acquire(this);
}
void Mutex::ReaderUnlock() {
  NEXT(V, "_ZN4absl7debian35Mutex12ReaderUnlockEv");
  __tsan_release(this);
  next(this);
}
void Mutex::Await(const Condition& c) {
  using F = void (*)(Mutex*, const Condition&);
  NEXT(F, "_ZN4absl7debian35Mutex5AwaitERKNS0_9ConditionE");
  Wrapped w{this, &c};
  Condition wrapped(&Eval, &w);
  __tsan_release(this);
  next(this, wrapped);
  __tsan_acquire(this);
}
bool Mutex::AwaitWithTimeout(const Condition& c, Duration t) {
  using F = bool (*)(Mutex*, const Condition&, Duration);
  NEXT(F, "_ZN4absl7debian35Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE");
  Wrapped w{this, &c};
  Condition wrapped(&Eval, &w);
  __tsan_release(this);
  bool r = next(this, wrapped, t);
  __tsan_acquire(this);
  return r;
}
void CondVar::Wait(Mutex* mu) {
  using F = void (*)(CondVar*, Mutex*);
  NEXT(F, "_ZN4absl7debian37CondVar4WaitEPNS0_5MutexE");
  __tsan_release(mu);
  next(this, mu);
  __tsan_acquire(mu);
}
bool CondVar::WaitWithDeadline(Mutex* mu, Time t) {
  using F = bool (*)(CondVar*, Mutex*, Time);
  NEXT(F, "_ZN4absl7debian37CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE");
  __tsan_release(mu);
  bool r = next(this, mu, t);
  __tsan_acquire(mu);
  return r;
}
bool CondVar::WaitWithTimeout(Mutex* mu, Duration t) {
  using F = bool (*)(CondVar*, Mutex*, Duration);
  NEXT(F, "_ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE");
  __tsan_release(mu);
  bool r = next(this, mu, t);
  __tsan_acquire(mu);
  return r;
}
void Notification::Notify() {
  NEXT(V, "_ZN4absl7debian312Notification6NotifyEv");
  __tsan_release(this);
  next(this);
}
void Notification::WaitForNotification() const {
  NEXT(V, "_ZNK4absl7debian312Notification19WaitForNotificationEv");
  next(P(this));
  __tsan_acquire(P(this));
}
bool Notification::WaitForNotificationWithTimeout(Duration t) const {
  using F = bool (*)(const void*, Duration);
  NEXT(F, "_ZNK4absl7debian312Notification30WaitForNotificationWithTimeoutENS0_8DurationE");
  bool r = next(this, t);
  if (r) __tsan_acquire(P(this));
  return r;
}
ABSL_NAMESPACE_END
}  // namespace absl
