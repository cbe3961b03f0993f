# A Spack recipe; untested. To be put into a repository of one's own as packages/finegrain-mpi/package.py.
from spack.package import *


class FinegrainMpi(CMakePackage):
    """MPI with thousands of ranks in a few processes, with the binary interface of MPICH."""

    homepage = "https://finegrain-mpi.invalid/"
    version("develop", branch="main")

    provides("mpi@:4.0")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("python@3", type="build")
    depends_on("mpich@4.0 device=ch4 netmod=ofi")  # hosted; its hydra starts the processes
    depends_on("boost+context")
    depends_on("hwloc")
    depends_on("libfabric")
    depends_on("bzip2")
    depends_on("libsodium")
    depends_on("pmix", type="build")

    def cmake_args(self):
        return [
            self.define("FGMPI_BUILD_TESTS", False),
            self.define("FGMPI_BUILD_BENCHMARKS", False),
            self.define("FGMPI_HOST_INCLUDE", self.spec["mpich"].prefix.include),
        ]

    def setup_dependent_build_environment(self, env, dependent_spec):
        for variable, wrapper in (("MPICC", "mpicc"), ("MPICXX", "mpicxx"), ("MPIF90", "mpifort")):
            env.set(variable, join_path(self.prefix.bin, wrapper))
