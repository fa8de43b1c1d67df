# Finds what Debian packages bring (third_party/setup installs them). Nothing is downloaded here.

find_package(Threads REQUIRED)
find_package(Protobuf CONFIG QUIET)
if(NOT Protobuf_FOUND)
  find_package(Protobuf REQUIRED)
endif()
find_package(gRPC CONFIG REQUIRED)
find_package(absl CONFIG REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(GTest REQUIRED)
find_program(MAYFLY_GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)
find_program(MAYFLY_PROTOC protoc REQUIRED)

# Import root of containerd's, gogo's and google.rpc's .proto files, unpacked there by third_party/setup.
set(MAYFLY_PROTO_DEPS ${CMAKE_SOURCE_DIR}/build/deps/protos CACHE PATH "Import root of third-party .proto files")
if(NOT EXISTS ${MAYFLY_PROTO_DEPS}/google/rpc/status.proto)
  message(FATAL_ERROR "${MAYFLY_PROTO_DEPS} is missing: run third_party/setup first")
endif()
