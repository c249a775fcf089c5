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
pkg_check_modules(HDF5_SERIAL REQUIRED IMPORTED_TARGET hdf5-serial)
pkg_check_modules(HDF5_OPENMPI REQUIRED IMPORTED_TARGET hdf5-openmpi)

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
