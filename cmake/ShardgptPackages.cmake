# Every outside package, found once. Each becomes an imported target that only its owner folder links.
include_guard(GLOBAL)

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(MPI REQUIRED COMPONENTS CXX)
find_package(nlohmann_json REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(ZLIB REQUIRED)
if(SHARDGPT_USE_OPENMP)
  find_package(OpenMP REQUIRED COMPONENTS CXX)
endif()
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(LIBDEFLATE REQUIRED IMPORTED_TARGET libdeflate)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
# Debian has a serial and a parallel HDF5 side by side; sites often have one, parallel, under the plain name.
set(SHARDGPT_HDF5_SERIAL "hdf5-serial;hdf5" CACHE STRING "pkg-config modules tried for the programs without MPI")
set(SHARDGPT_HDF5_PARALLEL "hdf5-openmpi;hdf5-mpich;hdf5" CACHE STRING "pkg-config modules tried for shardgpt-train")
pkg_search_module(HDF5_SERIAL REQUIRED IMPORTED_TARGET ${SHARDGPT_HDF5_SERIAL})
pkg_search_module(HDF5_PARALLEL REQUIRED IMPORTED_TARGET ${SHARDGPT_HDF5_PARALLEL})

# Open MPI's retired C++ bindings do not compile cleanly under our warnings.
add_library(shardgpt_mpi INTERFACE)
target_link_libraries(shardgpt_mpi INTERFACE MPI::MPI_CXX)
target_compile_definitions(shardgpt_mpi INTERFACE OMPI_SKIP_MPICXX=1 MPICH_SKIP_MPICXX=1)

# Debian's dnnl-config.cmake insists on OpenCL development files that the CPU engine does not use.
find_path(DNNL_INCLUDE_DIR dnnl.hpp REQUIRED)
find_library(DNNL_LIBRARY dnnl REQUIRED)
add_library(shardgpt_dnnl INTERFACE)
target_include_directories(shardgpt_dnnl SYSTEM INTERFACE "${DNNL_INCLUDE_DIR}")
target_link_libraries(shardgpt_dnnl INTERFACE "${DNNL_LIBRARY}")

# Apache Arrow's C++ libraries, for Parquet input of shardgpt-prep only; without them that input is refused.
# SHARDGPT_ARROW_ROOT: an installation, or the folder `pyarrow` of the wheel from PyPI, which has no CMake files.
set(SHARDGPT_ARROW_ROOT "" CACHE PATH "Folder with include/arrow and libarrow, libparquet; empty: as CMake finds it")
set(SHARDGPT_ARROW_TARGETS)
if(SHARDGPT_ARROW_ROOT)
  find_path(SHARDGPT_ARROW_INCLUDE_DIR arrow/api.h REQUIRED NO_DEFAULT_PATH PATHS "${SHARDGPT_ARROW_ROOT}/include")
  foreach(name IN ITEMS arrow parquet)
    # The wheel has only the names with a version.
    file(GLOB libraries "${SHARDGPT_ARROW_ROOT}/lib${name}.so*" "${SHARDGPT_ARROW_ROOT}/lib/lib${name}.so*"
      "${SHARDGPT_ARROW_ROOT}/lib/*/lib${name}.so*")
    if(NOT libraries)
      message(FATAL_ERROR "SHARDGPT_ARROW_ROOT: no lib${name}.so in ${SHARDGPT_ARROW_ROOT} or its lib")
    endif()
    list(GET libraries 0 library)
    add_library(shardgpt_${name} SHARED IMPORTED)
    set_target_properties(shardgpt_${name} PROPERTIES IMPORTED_LOCATION "${library}"
      INTERFACE_INCLUDE_DIRECTORIES "${SHARDGPT_ARROW_INCLUDE_DIR}")
    list(APPEND SHARDGPT_ARROW_TARGETS shardgpt_${name})
  endforeach()
else()
  find_package(Parquet QUIET)
  find_package(Arrow QUIET)
  if(Arrow_FOUND AND Parquet_FOUND)
    set(SHARDGPT_ARROW_TARGETS Parquet::parquet_shared Arrow::arrow_shared)
  endif()
endif()
if(SHARDGPT_ARROW_TARGETS)
  set(SHARDGPT_PARQUET_READER arrow)
  message(STATUS "Parquet input: through Apache Arrow")
else()
  set(SHARDGPT_PARQUET_READER absent)
  message(STATUS "Parquet input: no (SHARDGPT_ARROW_ROOT is empty and CMake finds no Arrow)")
endif()
