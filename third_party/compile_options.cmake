# Flags of our own code. Generated code (proto/) is compiled without the warnings.

add_library(mayfly_options INTERFACE)
add_library(mayfly::options ALIAS mayfly_options)
target_compile_options(mayfly_options INTERFACE -Wall -Wextra -Werror -fno-strict-overflow)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(mayfly_options INTERFACE -Wthread-safety -Werror=thread-safety)
endif()
target_include_directories(mayfly_options INTERFACE ${CMAKE_SOURCE_DIR})

# Hardening of what is shipped.
if(CMAKE_BUILD_TYPE MATCHES "Release|RelWithDebInfo" AND NOT MAYFLY_SANITIZE)
  add_compile_options(-fstack-protector-strong -D_FORTIFY_SOURCE=2)
  add_link_options(-Wl,-z,relro,-z,now)
endif()

if(MAYFLY_SANITIZE)
  add_compile_options(-fsanitize=${MAYFLY_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${MAYFLY_SANITIZE})
endif()
