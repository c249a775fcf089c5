# Spack recipe: put it into a repository of your site as packages/shardgpt/package.py, and set `git` to the
# repository that you build from.
from spack.package import *


class Shardgpt(CMakePackage):
    """Trains GPT-2 fully sharded over MPI, without a Python stack, with parallel HDF5 checkpoints."""

    homepage = "https://example.org/shardgpt"
    git = "https://example.org/shardgpt.git"

    version("main", branch="main")

    variant("tests", default=False, description="Build the tests")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3:", type="build")
    depends_on("mpi@3:")
    depends_on("hdf5@1.10.8:+mpi")
    depends_on("onednn@2.7:2 cpu_runtime=omp")
    depends_on("cli11@2.1:")
    depends_on("nlohmann-json@3.10:")
    depends_on("fmt@9:")
    depends_on("xxhash")
    depends_on("zlib-api")
    depends_on("zstd")
    depends_on("boost+test", when="+tests")
    depends_on("benchmark", when="+tests")

    conflicts("%gcc@:11", msg="C++20 as in GCC 12 is needed")

    def cmake_args(self):
        return [self.define_from_variant("SHARDGPT_BUILD_TESTS", "tests")]
