# SPDX-License-Identifier: Apache-2.0
# One static library a folder of harness/, so that a part and its tests build without the others.
function(gpuvet_module name)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/harness/${name}/*.c)
  if(NOT sources)
    return()
  endif()
  add_library(gv_${name} STATIC ${sources})
  target_compile_options(gv_${name} PRIVATE ${warnings})
  target_link_libraries(gv_${name} PUBLIC ${ARGN})
endfunction()
