# CUDA: the toolkit, and libraries whose sources are compiled twice.
#
#   shardgpt_NAME            by nvcc and the C++ compiler against the toolkit: what runs on GPUs
#   shardgpt_NAME_on_host    by the C++ compiler against tests/cuda_on_host: the same sources, run by the tests
#
# The second needs the toolkit's headers and an x86-64 machine, no nvcc, no driver and no GPU.
include_guard(GLOBAL)

set(SHARDGPT_CUDA AUTO CACHE STRING "CUDA device: ON, OFF, or AUTO: where there is a CUDA toolkit")
set_property(CACHE SHARDGPT_CUDA PROPERTY STRINGS AUTO ON OFF)
set(SHARDGPT_CUDA_ARCHITECTURES "80;90a;100" CACHE STRING "Compute capabilities that machine code is made for")
set(SHARDGPT_CUDA_PTX "100" CACHE STRING "Compute capability that PTX for later GPUs is made for; empty: none")

# Toolkits outside PATH are looked for where NVIDIA's installers put them.
find_program(SHARDGPT_NVCC nvcc HINTS ENV CUDACXX ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
mark_as_advanced(SHARDGPT_NVCC)
set(SHARDGPT_HAVE_TOOLKIT OFF)
if(SHARDGPT_NVCC)
  cmake_path(GET SHARDGPT_NVCC PARENT_PATH _cuda_root)
  cmake_path(GET _cuda_root PARENT_PATH _cuda_root)
  set(CUDAToolkit_ROOT "${_cuda_root}")
  find_package(CUDAToolkit 12 QUIET)
  if(CUDAToolkit_FOUND AND TARGET CUDA::cudart AND TARGET CUDA::cublasLt)
    set(SHARDGPT_HAVE_TOOLKIT ON)
  endif()
endif()

# NCCL is a package of its own on most systems.
find_path(SHARDGPT_NCCL_INCLUDE_DIR nccl.h HINTS ENV NCCL_HOME ENV NCCL_ROOT ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES include)
find_library(SHARDGPT_NCCL_LIBRARY nccl HINTS ENV NCCL_HOME ENV NCCL_ROOT ${CUDAToolkit_LIBRARY_DIR} PATH_SUFFIXES lib lib64)
mark_as_advanced(SHARDGPT_NCCL_INCLUDE_DIR SHARDGPT_NCCL_LIBRARY)
if(NOT SHARDGPT_NCCL_INCLUDE_DIR OR NOT SHARDGPT_NCCL_LIBRARY)
  set(SHARDGPT_HAVE_TOOLKIT OFF)
endif()

if(SHARDGPT_CUDA STREQUAL "ON" AND NOT SHARDGPT_HAVE_TOOLKIT)
  message(FATAL_ERROR "SHARDGPT_CUDA is ON, but there is no complete CUDA toolkit 12 or newer with NCCL (nvcc: "
    "${SHARDGPT_NVCC}, NCCL: ${SHARDGPT_NCCL_LIBRARY}): put nvcc in PATH, or set SHARDGPT_NVCC, and NCCL_HOME")
endif()
if(SHARDGPT_CUDA STREQUAL "OFF" OR NOT SHARDGPT_HAVE_TOOLKIT)
  set(SHARDGPT_USE_CUDA OFF)
else()
  set(SHARDGPT_USE_CUDA ON)
  set(CMAKE_CUDA_COMPILER "${SHARDGPT_NVCC}")
  set(CMAKE_CUDA_HOST_COMPILER "${CMAKE_CXX_COMPILER}" CACHE FILEPATH "Compiler that nvcc gives host code to")
  # -gencode options are given by shardgpt_add_cuda_library: CMake's own list knows no architecture-specific names.
  set(CMAKE_CUDA_ARCHITECTURES OFF)
  enable_language(CUDA)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 knows no C++20 for nvcc
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    list(APPEND CMAKE_CUDA_COMPILE_FEATURES cuda_std_20)
  endif()
endif()

set(SHARDGPT_CUDA_ON_HOST OFF)
if(SHARDGPT_BUILD_TESTS AND SHARDGPT_HAVE_TOOLKIT AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(SHARDGPT_CUDA_ON_HOST ON)
endif()
message(STATUS "CUDA: device ${SHARDGPT_USE_CUDA}, host implementation for the tests ${SHARDGPT_CUDA_ON_HOST}")

# The headers alone: what the host implementation is compiled against. The linker gets nothing of the toolkit.
if(SHARDGPT_HAVE_TOOLKIT)
  add_library(shardgpt_cuda_headers INTERFACE)
  target_include_directories(shardgpt_cuda_headers SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS}
    ${SHARDGPT_NCCL_INCLUDE_DIR})
  add_library(shardgpt_nccl INTERFACE)
  target_link_libraries(shardgpt_nccl INTERFACE "${SHARDGPT_NCCL_LIBRARY}" CUDA::cudart_static)
endif()

set(SHARDGPT_ON_HOST_FOLDER "${PROJECT_SOURCE_DIR}/tests/cuda_on_host")
set(SHARDGPT_NVCC_OPTIONS --display-error-number -Xcompiler=-Wall,-Wextra -Xptxas=-v -lineinfo)
if(SHARDGPT_WARNINGS_AS_ERRORS)
  list(APPEND SHARDGPT_NVCC_OPTIONS -Werror=all-warnings -Xcompiler=-Werror)
endif()
foreach(_capability IN LISTS SHARDGPT_CUDA_ARCHITECTURES)
  list(APPEND SHARDGPT_NVCC_OPTIONS "SHELL:-gencode arch=compute_${_capability},code=sm_${_capability}")
endforeach()
if(SHARDGPT_CUDA_PTX)
  list(APPEND SHARDGPT_NVCC_OPTIONS
    "SHELL:-gencode arch=compute_${SHARDGPT_CUDA_PTX},code=compute_${SHARDGPT_CUDA_PTX}")
endif()

# Toolkit libraries by the name used in TOOLKIT: what provides them on a GPU and on the host.
set(SHARDGPT_TOOLKIT_cudart CUDA::cudart_static)
set(SHARDGPT_TOOLKIT_cublaslt CUDA::cublasLt)
set(SHARDGPT_TOOLKIT_nccl shardgpt_nccl)
set(SHARDGPT_ON_HOST_cudart shardgpt_cuda_on_host)
set(SHARDGPT_ON_HOST_cublaslt shardgpt_cublaslt_on_host)
set(SHARDGPT_ON_HOST_nccl shardgpt_nccl_on_host)

# shardgpt_use_nvcc(TARGET): the CUDA options, and the resource report of ptxas beside each object file
# (OBJECT.resources.txt, read by tests/cuda_on_host/check_resources.py).
function(shardgpt_use_nvcc target)
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${SHARDGPT_NVCC_OPTIONS}>")
  set(launcher bash "${PROJECT_SOURCE_DIR}/cmake/keep_resource_report.sh" ${CMAKE_CUDA_COMPILER_LAUNCHER})
  set_target_properties(${target} PROPERTIES CUDA_SEPARABLE_COMPILATION OFF CUDA_RUNTIME_LIBRARY Static
    CUDA_COMPILER_LAUNCHER "${launcher}")
endfunction()

# shardgpt_on_host_sources(VARIABLE FOLDER [OPTION...] SOURCES ...)
# For a C++ compiler a .cu file is what a generated C++ file of one line includes: one source cannot have two
# languages in one folder. The options apply to these files alone. Other sources are passed on as they are.
function(shardgpt_on_host_sources variable folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;OPTIONS" ${ARGN})
  set(result)
  foreach(source IN LISTS ARG_SOURCES)
    if(source MATCHES "\\.cu$")
      cmake_path(ABSOLUTE_PATH source)
      cmake_path(GET source FILENAME unit)
      set(wrapper "${CMAKE_CURRENT_BINARY_DIR}/${folder}/${unit}.cpp")
      file(CONFIGURE OUTPUT "${wrapper}"
        CONTENT "#include \"cuda_on_host/keywords.hpp\"\n#include \"@source@\"  // NOLINT\n" @ONLY)
      set_source_files_properties("${wrapper}" PROPERTIES
        COMPILE_OPTIONS "-Wno-unknown-pragmas;-Wno-sign-conversion;${ARG_OPTIONS}")
      list(APPEND result "${wrapper}")
    else()
      list(APPEND result "${source}")
    endif()
  endforeach()
  set(${variable} ${result} PARENT_SCOPE)
endfunction()

# shardgpt_on_host_target(TARGET): compile against tests/cuda_on_host, whose headers come before those of src.
function(shardgpt_on_host_target target)
  target_include_directories(${target} BEFORE PRIVATE "${SHARDGPT_ON_HOST_FOLDER}/include")
  target_link_libraries(${target} PRIVATE shardgpt_cuda_headers)
endfunction()

# shardgpt_add_cuda_library(NAME SOURCES ... [DEPS ...] [CUDA_DEPS ...] [TOOLKIT cudart|cublaslt|nccl ...]
#                           [RACE] [ON_HOST_ONLY])
# Makes shardgpt_NAME where the CUDA device is built, and shardgpt_NAME_on_host where the tests run it on the host.
# DEPS are targets that both use; CUDA_DEPS names of other libraries made by this function; TOOLKIT what the
# toolkit provides. RACE: also shardgpt_NAME_on_host_race, whose kernels report each access to the race checker
# (plain builds only: a sanitizer has receivers of its own). ON_HOST_ONLY: no shardgpt_NAME.
function(shardgpt_add_cuda_library name)
  cmake_parse_arguments(ARG "RACE;ON_HOST_ONLY" "" "SOURCES;DEPS;CUDA_DEPS;TOOLKIT" ${ARGN})
  if(SHARDGPT_USE_CUDA AND NOT ARG_ON_HOST_ONLY)
    list(TRANSFORM ARG_CUDA_DEPS PREPEND shardgpt_ OUTPUT_VARIABLE cuda_deps)
    foreach(library IN LISTS ARG_TOOLKIT)
      list(APPEND cuda_deps ${SHARDGPT_TOOLKIT_${library}})
    endforeach()
    shardgpt_library(${name} SOURCES ${ARG_SOURCES} DEPS ${ARG_DEPS} ${cuda_deps})
    target_link_libraries(shardgpt_${name} PUBLIC shardgpt_cuda_headers)
    shardgpt_use_nvcc(shardgpt_${name})
  endif()
  if(NOT SHARDGPT_CUDA_ON_HOST)
    return()
  endif()
  set(host_deps)
  foreach(dependency IN LISTS ARG_CUDA_DEPS)
    list(APPEND host_deps shardgpt_${dependency}_on_host)
  endforeach()
  foreach(library IN LISTS ARG_TOOLKIT)
    list(APPEND host_deps ${SHARDGPT_ON_HOST_${library}})
  endforeach()
  set(options)
  if("thread" IN_LIST SHARDGPT_SANITIZE)
    set(options -fno-sanitize=thread)  # ThreadSanitizer does not know the stacks that kernels run on
  endif()
  shardgpt_on_host_sources(sources ${name}_on_host SOURCES ${ARG_SOURCES} OPTIONS ${options})
  shardgpt_library(${name}_on_host SOURCES ${sources} DEPS ${ARG_DEPS} ${host_deps} shardgpt_cuda_headers)
  shardgpt_on_host_target(shardgpt_${name}_on_host)
  if(ARG_RACE AND NOT SHARDGPT_SANITIZE)
    shardgpt_on_host_sources(sources ${name}_on_host_race SOURCES ${ARG_SOURCES} OPTIONS -fsanitize=thread -g1)
    shardgpt_library(${name}_on_host_race SOURCES ${sources}
      DEPS ${ARG_DEPS} ${host_deps} shardgpt_cuda_on_host_race shardgpt_cuda_headers)
    shardgpt_on_host_target(shardgpt_${name}_on_host_race)
  endif()
endfunction()

# shardgpt_add_on_host_test(NAME SOURCES ... LIBS ... [shardgpt_add_test's other arguments]): a test of kernels, run
# once for each order of their threads: NAME, NAME_newest_first, NAME_random.
function(shardgpt_add_on_host_test name)
  shardgpt_add_test(${name} ${ARGN})
  cmake_parse_arguments(ARG "" "TIMEOUT" "LABELS;ARGS;SOURCES;LIBS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  shardgpt_on_host_target(${name})
  foreach(order IN ITEMS newest_first random)
    add_test(NAME ${name}_${order} COMMAND ${name} ${ARG_ARGS})
    shardgpt_set_test_properties(${name}_${order} ${ARG_TIMEOUT} 1 "cpu;${ARG_LABELS}")
    set_property(TEST ${name}_${order} APPEND PROPERTY ENVIRONMENT SHARDGPT_CUDA_ON_HOST_ORDER=${order})
  endforeach()
endfunction()
