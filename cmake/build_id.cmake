# SPDX-License-Identifier: Apache-2.0
# The build id: 16 hexadecimal digits over every source file and what of the configuration changes the program.
# Equal sources, configured alike, give equal ids wherever they are built. Made at build time, so that it is never
# stale; the header changes only when the id does.
if(GPUVET_CUDA)
  list(JOIN CMAKE_CUDA_ARCHITECTURES " " build_cuda)
else()
  set(build_cuda "")
endif()
add_custom_target(gpuvet_build_id
  COMMAND ${CMAKE_COMMAND} "-DSOURCE=${PROJECT_SOURCE_DIR}"
          "-DHEADER=${PROJECT_BINARY_DIR}/generated/gpuvet_build.h" "-DVERSION=${PROJECT_VERSION}"
          "-DCUDA=${build_cuda}" "-DBUILD_TYPE=${CMAKE_BUILD_TYPE}" "-DSANITIZE=${GPUVET_SANITIZE}"
          "-DPORTABLE=${GPUVET_PORTABLE}" -P ${PROJECT_SOURCE_DIR}/cmake/write_build_id.cmake
  BYPRODUCTS ${PROJECT_BINARY_DIR}/generated/gpuvet_build.h
  COMMENT "" VERBATIM)
