# SPDX-License-Identifier: Apache-2.0
# One static library a folder of harness/, so that a part and its tests build without the others. A folder that
# is still empty gives an empty target, which others may name all the same.
function(gpuvet_library target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
  if(arg_SOURCES)
    add_library(${target} STATIC ${arg_SOURCES})
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:${warnings}>)
    target_link_libraries(${target} PUBLIC ${arg_LIBRARIES})
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ${arg_LIBRARIES})
  endif()
endfunction()

function(gpuvet_module name)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/harness/${name}/*.c)
  gpuvet_library(gv_${name} SOURCES ${sources} LIBRARIES ${ARGN})
endfunction()

gpuvet_module(base gv_ext_jansson gv_ext_yaml gv_ext_md m)
add_dependencies(gv_base gpuvet_build_id)
target_include_directories(gv_base PRIVATE ${PROJECT_BINARY_DIR}/generated)

gpuvet_module(stats gv_base m)
gpuvet_module(system gv_ext_hwloc gv_ext_numa gv_base)

file(GLOB kernel_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/*_host.c)
if(GPUVET_CUDA)
  file(GLOB cuda_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/*.cu)
else()
  file(GLOB cuda_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/without_cuda.c)
endif()
gpuvet_library(gv_kernels SOURCES ${kernel_sources} ${cuda_sources} LIBRARIES gv_ext_cuda)
gpuvet_module(gpu gv_kernels gv_system gv_ext_cuda gv_base)

gpuvet_module(target gv_system gv_base)

# cases.def is the one list of cases: C includes it, and the sources come from its lines. run and bench need each
# other: run names the cases, which call run's helpers.
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
                                                             ${PROJECT_SOURCE_DIR}/bench/cases.def)
file(STRINGS ${PROJECT_SOURCE_DIR}/bench/cases.def case_lines REGEX "^CASE\\(")
set(case_sources)
foreach(line IN LISTS case_lines)
  string(REGEX REPLACE "^CASE\\(([a-z0-9_]+)\\).*" "\\1" case_name "${line}")
  list(APPEND case_sources ${PROJECT_SOURCE_DIR}/bench/${case_name}.c)
endforeach()
# What several cases share.
file(GLOB bench_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*.c)
set(bench_missing ${case_sources})
list(REMOVE_ITEM bench_missing ${bench_sources})
if(bench_missing)
  message(STATUS "named in bench/cases.def, but not there: ${bench_missing}")
endif()
gpuvet_library(gv_bench SOURCES ${bench_sources} LIBRARIES gv_run gv_gpu gv_system gv_stats gv_kernels gv_base)
gpuvet_module(run gv_bench gv_target gv_gpu gv_system gv_stats gv_ext_zlib gv_base)

gpuvet_module(compare gv_run gv_stats gv_base)
gpuvet_module(report gv_run gv_stats gv_base)
# The page's style and script and the plot scripts are in the program: a report needs no source tree.
file(GLOB embedded CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/harness/report/page.css
     ${PROJECT_SOURCE_DIR}/harness/report/page.js ${PROJECT_SOURCE_DIR}/scripts/plot/*.gp)
list(JOIN embedded "|" embedded_list)
add_custom_command(
  OUTPUT ${PROJECT_BINARY_DIR}/generated/embedded.c
  COMMAND ${CMAKE_COMMAND} "-DFILES=${embedded_list}" "-DOUTPUT=${PROJECT_BINARY_DIR}/generated/embedded.c"
          -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
  DEPENDS ${embedded} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
  COMMENT "" VERBATIM)
target_sources(gv_report PRIVATE ${PROJECT_BINARY_DIR}/generated/embedded.c)
gpuvet_module(doctor gv_system gv_base)
file(GLOB cli_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/harness/cli/*.c)
