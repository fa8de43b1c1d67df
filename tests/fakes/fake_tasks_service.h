// The tasks service of a FakeContainerd, which has the most rules of all. Private to tests/fakes.
#ifndef MAYFLY_TESTS_FAKES_FAKE_TASKS_SERVICE_H_
#define MAYFLY_TESTS_FAKES_FAKE_TASKS_SERVICE_H_

#include <grpcpp/impl/service_type.h>

#include <memory>

#include "tests/fakes/fake_state.h"

namespace mayfly::fakes {

// `state` must outlive it.
std::unique_ptr<grpc::Service> MakeFakeTasksService(FakeState* state);

}  // namespace mayfly::fakes

#endif  // MAYFLY_TESTS_FAKES_FAKE_TASKS_SERVICE_H_
