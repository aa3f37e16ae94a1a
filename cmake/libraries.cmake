# SPDX-License-Identifier: Apache-2.0
# Other people's libraries, each behind a target of ours (gv_ext_NAME). Shared as the system has them, or with
# GPUVET_PORTABLE their archives, so that one program runs on every distribution from glibc 2.35 on.
function(gpuvet_external name header)
  find_path(gv_${name}_header NAMES ${header})
  set(names)
  foreach(library IN LISTS ARGN)
    if(GPUVET_PORTABLE)
      find_library(gv_lib_${library} NAMES lib${library}.a)
    else()
      find_library(gv_lib_${library} NAMES ${library})
    endif()
    if(NOT gv_lib_${library} OR NOT gv_${name}_header)
      message(FATAL_ERROR "${library} (with ${header}) is missing: scripts/setup.sh installs it")
    endif()
    list(APPEND names ${gv_lib_${library}})
  endforeach()
  add_library(gv_ext_${name} INTERFACE)
  target_link_libraries(gv_ext_${name} INTERFACE ${names})
endfunction()

gpuvet_external(jansson jansson.h jansson)
gpuvet_external(yaml yaml.h yaml)
gpuvet_external(md sha2.h md)
gpuvet_external(zlib zlib.h z)
gpuvet_external(numa numa.h numa)
gpuvet_external(hwloc hwloc.h hwloc)

if(GPUVET_PORTABLE)
  # hwloc's archive asks libudev for the serial number of disks; libudev has no archive.
  add_library(gv_ext_no_udev STATIC ${PROJECT_SOURCE_DIR}/cmake/no_udev.c)
  target_compile_options(gv_ext_no_udev PRIVATE ${warnings})
  target_link_libraries(gv_ext_hwloc INTERFACE gv_ext_no_udev)
  add_link_options(-static-libgcc)
endif()

# Filled by cuda.cmake; without CUDA an empty target keeps the others' lists the same.
add_library(gv_ext_cuda INTERFACE)
