# SPDX-License-Identifier: Apache-2.0
# nvcc and what is linked of the toolkit (the runtime's archive; libcuda is loaded at run time by it).
if(NOT CMAKE_CUDA_COMPILER)
  find_program(CMAKE_CUDA_COMPILER NAMES nvcc
               HINTS ENV CUDACXX PATHS /usr/local/cuda/bin ${PROJECT_SOURCE_DIR}/.deps/cuda/bin)
endif()
if(NOT CMAKE_CUDA_COMPILER)
  message(FATAL_ERROR "nvcc was not found: run scripts/setup.sh, or build without the GPU parts "
                      "(cmake --preset host-only)")
endif()

# Every generation from sm_80 on that this nvcc knows, and PTX of the newest for what comes later. A cubin runs on
# later minors of its major too, so the missing ones (sm_87, sm_88) are covered.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-code OUTPUT_VARIABLE known RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${CMAKE_CUDA_COMPILER} --list-gpu-code failed: is the toolkit whole?")
  endif()
  foreach(arch 80 86 89 90 100 103 110 120 121)
    if(known MATCHES "sm_${arch}\n")
      list(APPEND arch_list ${arch})
    endif()
  endforeach()
  list(POP_BACK arch_list arch_newest)
  list(TRANSFORM arch_list APPEND "-real")
  set(CMAKE_CUDA_ARCHITECTURES ${arch_list} ${arch_newest} CACHE STRING "GPU architectures")
endif()

set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
enable_language(CUDA)
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_FLAGS_RELEASE "-O2")
set(CMAKE_CUDA_FLAGS_DEBUG "-O2")

list(JOIN warnings "," cuda_warnings)
# No exceptions, so no libstdc++.
add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${cuda_warnings},-fno-exceptions,-fno-threadsafe-statics,-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=>")
if(GPUVET_WERROR)
  add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>")
endif()

get_filename_component(cuda_root ${CMAKE_CUDA_COMPILER} REALPATH)
get_filename_component(cuda_root ${cuda_root} DIRECTORY)
get_filename_component(cuda_root ${cuda_root} DIRECTORY)
find_path(gv_cuda_header NAMES cuda_runtime.h
          HINTS ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES} ${cuda_root}/include
                ${cuda_root}/targets/x86_64-linux/include REQUIRED)
find_library(gv_lib_cudart NAMES libcudart_static.a
             HINTS ${cuda_root}/lib64 ${cuda_root}/lib ${cuda_root}/targets/x86_64-linux/lib REQUIRED)
target_include_directories(gv_ext_cuda SYSTEM INTERFACE ${gv_cuda_header})
target_compile_definitions(gv_ext_cuda INTERFACE GPUVET_HAVE_CUDA=1)
target_link_libraries(gv_ext_cuda INTERFACE ${gv_lib_cudart} pthread dl rt)
