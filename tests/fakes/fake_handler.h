// FakeHandler: what all calls of a FakeContainerd have in common. Private to tests/fakes.
#ifndef MAYFLY_TESTS_FAKES_FAKE_HANDLER_H_
#define MAYFLY_TESTS_FAKES_FAKE_HANDLER_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "tests/fakes/fake_state.h"

namespace mayfly::fakes {

inline absl::Status NotFound(absl::string_view what, absl::string_view id) {
  return absl::NotFoundError(absl::StrCat(what, " \"", id, "\": not found"));
}

inline absl::Status AlreadyExists(absl::string_view what, absl::string_view id) {
  return absl::AlreadyExistsError(absl::StrCat(what, " \"", id, "\": already exists"));
}

// Runs one call: the namespace, the failpoint, and under the state's lock the action on that namespace's objects.
class FakeHandler {
 public:
  explicit FakeHandler(FakeState* state) : state_(state) {}

  grpc::Status Handle(absl::string_view method, grpc::ServerContext* context,
                      absl::FunctionRef<absl::Status(FakeStore&)> action) const {
    return HandleUnlocked(method, context, [&](const std::string& namespace_name) {
      absl::MutexLock lock(&state_->mutex);
      return action(state_->stores[namespace_name]);
    });
  }

  grpc::Status HandleUnlocked(absl::string_view method, grpc::ServerContext* context,
                              absl::FunctionRef<absl::Status(const std::string&)> action) const {
    const auto metadata = context->client_metadata().find("containerd-namespace");
    if (metadata == context->client_metadata().end()) {
      return {grpc::StatusCode::FAILED_PRECONDITION, "namespace is required: failed precondition"};
    }
    const std::string namespace_name(metadata->second.data(), metadata->second.size());
    const absl::Status status = state_->failpoints.Run(
        method, [&] { return context->IsCancelled(); }, [&] { return action(namespace_name); });
    return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
  }

  FakeState* state() const { return state_; }

 private:
  FakeState* const state_;
};

}  // namespace mayfly::fakes

#endif  // MAYFLY_TESTS_FAKES_FAKE_HANDLER_H_
