// Cancellation: one wish to stop, from Ctrl-C to the call that is under way.
//
//   grpc::ClientContext context;
//   Cancellation::Scope scope(cancellation, &context);   // from here on, Cancel() cancels this call
//   stub->Execute(&context, request);
//
// Thread-safe. At most one scope at a time.
#ifndef MAYFLY_CLIENTS_CLI_CANCELLATION_H_
#define MAYFLY_CLIENTS_CLI_CANCELLATION_H_

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/client_context.h"

namespace mayfly::cli {

class Cancellation {
 public:
  // Cancels the call of the current scope, and of every scope to come. Returns whether there is a call that will now
  // end; if not, nobody will notice, and the caller may want to leave by itself. Does not block.
  bool Cancel() {
    absl::MutexLock lock(&mutex_);
    cancelled_ = true;
    if (context_ != nullptr) context_->TryCancel();
    return context_ != nullptr;
  }

  bool cancelled() const {
    absl::MutexLock lock(&mutex_);
    return cancelled_;
  }

  // While it lives, its call can be cancelled. Borrows both; the context must outlive it.
  class Scope {
   public:
    Scope(Cancellation& cancellation, grpc::ClientContext* context) : cancellation_(cancellation) {
      absl::MutexLock lock(&cancellation_.mutex_);
      cancellation_.context_ = context;
      if (cancellation_.cancelled_) context->TryCancel();
    }
    ~Scope() {
      absl::MutexLock lock(&cancellation_.mutex_);
      cancellation_.context_ = nullptr;
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Cancellation& cancellation_;
  };

 private:
  mutable absl::Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace mayfly::cli

#endif  // MAYFLY_CLIENTS_CLI_CANCELLATION_H_
