// The gRPC services of a FakeContainerd. Private to tests/fakes.
#ifndef MAYFLY_TESTS_FAKES_FAKE_CONTAINERD_SERVICES_H_
#define MAYFLY_TESTS_FAKES_FAKE_CONTAINERD_SERVICES_H_

#include <grpcpp/impl/service_type.h>

#include <memory>
#include <vector>

#include "tests/fakes/fake_state.h"

namespace mayfly::fakes {

// All of them, for one server. `state` must outlive them.
std::vector<std::unique_ptr<grpc::Service>> MakeFakeServices(FakeState* state);

}  // namespace mayfly::fakes

#endif  // MAYFLY_TESTS_FAKES_FAKE_CONTAINERD_SERVICES_H_
