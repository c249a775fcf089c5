# shardgpt_add_test(NAME SOURCES ... LIBS ... [RANKS 1 2 4] [TIMEOUT seconds] [LABELS ...] [ARGS ...])
# A Boost.Test program. Without RANKS it runs as a plain process; with RANKS it is started once per rank count
# under mpiexec, its test name ends in _npN and it is labelled npN.
include_guard(GLOBAL)
find_package(Boost REQUIRED COMPONENTS unit_test_framework)

set(SHARDGPT_MPI_ENVIRONMENT
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
  OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
  OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive  # spinning threads starve tests that run beside them
  # LeakSanitizer of GCC 12 crashes on some TLS blocks without the first; of a damaged file HDF5 may ask for more
  # memory than there is, and copes with getting none.
  ASAN_OPTIONS=intercept_tls_get_addr=0:allocator_may_return_null=1
  "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/lsan.supp"
  "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp")

# Labels beside npN: heavy (left out under sanitizers), tsan (run under ThreadSanitizer), system (starts a program),
# static (checks sources), long and hf (not part of "make check"). Targets that build what a label selects:
add_custom_target(tests_light)  # all but heavy
add_custom_target(tests_tsan)

function(shardgpt_set_test_properties test timeout processors labels)
  set_tests_properties(${test} PROPERTIES
    TIMEOUT ${timeout} PROCESSORS ${processors} SKIP_RETURN_CODE 77
    LABELS "${labels}" ENVIRONMENT "${SHARDGPT_MPI_ENVIRONMENT}")
endfunction()

function(shardgpt_add_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LIBS;RANKS;LABELS;ARGS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE shardgpt_flags ${ARG_LIBS} Boost::unit_test_framework)
  target_compile_definitions(${name} PRIVATE BOOST_TEST_DYN_LINK)
  if(NOT "heavy" IN_LIST ARG_LABELS AND NOT "long" IN_LIST ARG_LABELS)
    add_dependencies(tests_light ${name})
  endif()
  if("tsan" IN_LIST ARG_LABELS)
    add_dependencies(tests_tsan ${name})
  endif()
  if(ARG_RANKS)
    foreach(ranks IN LISTS ARG_RANKS)
      add_test(NAME ${name}_np${ranks}
        COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} $<TARGET_FILE:${name}> ${ARG_ARGS})
      shardgpt_set_test_properties(${name}_np${ranks} ${ARG_TIMEOUT} ${ranks} "cpu;np${ranks};${ARG_LABELS}")
    endforeach()
  else()
    add_test(NAME ${name} COMMAND ${name} ${ARG_ARGS})
    shardgpt_set_test_properties(${name} ${ARG_TIMEOUT} 1 "cpu;${ARG_LABELS}")
  endif()
endfunction()

# A source that skips a test program where there is no CUDA device.
set(SHARDGPT_SKIP_WITHOUT_CUDA "${PROJECT_SOURCE_DIR}/tests/support/skip_without_cuda.cpp")

# shardgpt_add_cuda_test(NAME SOURCES ... [LIBS ...] [CUDA_LIBS ...] [RANKS ...] [TIMEOUT seconds] [LABELS ...])
# The same test twice: NAME_on_host over the host implementation, and NAME_gpu, labelled gpu, over the toolkit, which
# is skipped where there is no device. CUDA_LIBS are names of libraries made by shardgpt_add_cuda_library.
function(shardgpt_add_cuda_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LIBS;CUDA_LIBS;RANKS;LABELS" ${ARGN})
  if(SHARDGPT_CUDA_ON_HOST)
    list(TRANSFORM ARG_CUDA_LIBS REPLACE "(.+)" "shardgpt_\\1_on_host" OUTPUT_VARIABLE libraries)
    shardgpt_add_test(${name}_on_host SOURCES ${ARG_SOURCES} LIBS ${ARG_LIBS} ${libraries}
      RANKS ${ARG_RANKS} TIMEOUT ${ARG_TIMEOUT} LABELS ${ARG_LABELS})
  endif()
  if(SHARDGPT_USE_CUDA)
    list(TRANSFORM ARG_CUDA_LIBS PREPEND shardgpt_ OUTPUT_VARIABLE libraries)
    shardgpt_add_test(${name}_gpu SOURCES ${ARG_SOURCES} "${SHARDGPT_SKIP_WITHOUT_CUDA}"
      LIBS ${ARG_LIBS} ${libraries} RANKS ${ARG_RANKS} TIMEOUT ${ARG_TIMEOUT} LABELS ${ARG_LABELS} gpu)
  endif()
endfunction()
