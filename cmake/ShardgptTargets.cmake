# How this project's targets are made: one library per folder, its permitted dependencies named at the target.
include_guard(GLOBAL)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

add_library(shardgpt_flags INTERFACE)
target_include_directories(shardgpt_flags INTERFACE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}")
set(_warnings -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  $<$<BOOL:${SHARDGPT_WARNINGS_AS_ERRORS}>:-Werror>)
target_compile_options(shardgpt_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${_warnings}>")  # nvcc has its own
target_compile_definitions(shardgpt_flags INTERFACE
  SHARDGPT_DEBUG_CHECKS=$<BOOL:${SHARDGPT_DEBUG_CHECKS}>
  SHARDGPT_THREAD_SANITIZER=$<IN_LIST:thread,${SHARDGPT_SANITIZE}>
  SHARDGPT_USE_OPENMP=$<BOOL:${SHARDGPT_USE_OPENMP}>)
if(SHARDGPT_SANITIZE)
  list(JOIN SHARDGPT_SANITIZE "," _sanitizers)
  set(_sanitize -fsanitize=${_sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(shardgpt_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${_sanitize}>")
  target_link_options(shardgpt_flags INTERFACE -fsanitize=${_sanitizers})
endif()

# shardgpt_library(NAME SOURCES ... DEPS ... [PRIVATE_DEPS ...])
# Makes shardgpt_NAME. DEPS are the project targets and packages whose headers this one's headers may include.
function(shardgpt_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  if(ARG_SOURCES)
    add_library(shardgpt_${name} STATIC ${ARG_SOURCES})
    target_link_libraries(shardgpt_${name} PUBLIC shardgpt_flags ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
  else()
    add_library(shardgpt_${name} INTERFACE)
    target_link_libraries(shardgpt_${name} INTERFACE shardgpt_flags ${ARG_DEPS})
  endif()
endfunction()

# Builds the programs without the tests.
add_custom_target(programs)

# shardgpt_program(NAME SOURCES ... DEPS ... [FOR_TESTS]): makes the installed program NAME; FOR_TESTS: one that only
# tests start.
function(shardgpt_program name)
  cmake_parse_arguments(ARG "FOR_TESTS" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE shardgpt_flags ${ARG_DEPS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  if(SHARDGPT_SANITIZE MATCHES address)  # as for the tests: leak reports with library names
    target_sources(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests/support/keep_libraries_loaded.cpp")
    target_link_options(${name} PRIVATE -Wl,--export-dynamic-symbol=dlclose)
  endif()
  if(ARG_FOR_TESTS)
    add_dependencies(tests_light ${name})
    return()
  endif()
  add_dependencies(programs ${name})
  install(TARGETS ${name} RUNTIME DESTINATION bin)
endfunction()
