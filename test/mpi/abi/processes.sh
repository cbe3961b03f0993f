#!/usr/bin/env bash
# The standard ABI as users meet it: symbols, wrappers, both ABIs in one process, tools, runs without mpiexec.
# usage: processes.sh BIN FOLDER
set -eu
bin=$1
lib=$bin/../lib
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "processes.sh: $*" >&2; exit 1; }

# What is exported: MPI's functions, each under two names, and extensions; the header declares what is exported.
nm -D --defined-only "$lib/libmpi_abi.so.1" | awk '{print $3}' | sort > exported
! grep -vE '^(P?MPIX?_|FGmpiexec$)' exported || fail "libmpi_abi exports other names"
grep '^MPI_' exported | sed 's/^/P/' | sort > twice
grep '^PMPI_' exported | diff twice - || fail "MPI_ and PMPI_ differ"
grep -oE '\bMPI_[A-Za-z_0-9]+\(' "$bin/../include/mpi_abi/mpi.h" | tr -d '(' | sort -u > declared
grep '^MPI_' exported | diff declared - || fail "the header declares other functions"
! grep -qE '_(c2f|f2c)$' exported || fail "c2f and f2c are no functions of the standard ABI"

# A program, a library of the same ABI and one of MPICH's ABI in one process.
cat > standard.c << 'END'
#include <mpi.h>
int standard_size(void) {
  int size, other, flag, *bound;
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_size(copy, &size);
  MPI_Comm_free(&copy);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &flag);
  (void)other;
  return flag && copy == MPI_COMM_NULL ? size : -1;
}
END
sed 's/standard_size/mpich_size/' standard.c > mpich.c
cat > main.c << 'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
int standard_size(void);
int mpich_size(void);
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, version, minor, sum;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int (*get)(int*, int*) = (int (*)(int*, int*))dlsym(RTLD_DEFAULT, "MPI_Abi_get_version");
  if (!get || get(&version, &minor) != MPI_SUCCESS || version != 1) return printf("dlsym: wrong ABI\n"), 3;
  if (dlvsym(RTLD_DEFAULT, "MPI_Abi_get_version", "any") != (void*)get) return printf("dlvsym: wrong ABI\n"), 3;
  if (standard_size() != size || mpich_size() != size) return printf("wrong sizes\n"), 4;
  void* late = dlopen(argv[1], RTLD_NOW);
  if (!late) return printf("%s\n", dlerror()), 5;
  int (*late_size)(void) = (int (*)(void))dlsym(late, "standard_size");
  if (late_size() != size) return printf("wrong size in a library that is loaded late\n"), 6;
  for (int again = 0; again < 3; ++again) { /* another library may get the addresses of one that is unloaded */
    dlclose(late);
    if (!(late = dlopen(argv[again % 2 + 1], RTLD_NOW))) return printf("%s\n", dlerror()), 5;
    late_size = (int (*)(void))dlsym(late, "standard_size");
    if (late_size() != size) return printf("wrong size in a library that is loaded again\n"), 6;
  }
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("sum %d of %d\n", sum, size);
  MPI_Finalize();
  return 0;
}
END
"$bin/mpicc_abi" -shared -fPIC -o libstandard.so standard.c
"$bin/mpicc_abi" -shared -fPIC -o liblate.so standard.c
"$bin/mpicc_abi" -shared -fPIC -o liblater.so standard.c
"$bin/mpicc" -shared -fPIC -o libmpichabi.so mpich.c
"$bin/mpicc" -abi=standard -o main main.c -L. -lstandard -lmpichabi -Wl,-rpath,"$work" -ldl
for shape in "1 1" "1 4" "3 2" "2 8"; do
  set -- $shape
  n=$(($1 * $2))
  [ "$("$bin/mpiexec" -n "$1" -nfg "$2" ./main ./liblate.so ./liblater.so)" = "sum $((n * (n - 1) / 2)) of $n" ] || fail "main at $shape"
done
[ "$(FGMPI_NFG=3 ./main ./liblate.so ./liblater.so)" = "sum 3 of 3" ] || fail "main without mpiexec"

# A tool in the standard ABI lies in front of the library.
cat > tool.c << 'END'
#include <mpi.h>
#include <stdio.h>
int MPI_Allreduce(const void* in, void* out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  if (type == MPI_INT && op == MPI_SUM && comm == MPI_COMM_WORLD) fprintf(stderr, "tool\n");
  return PMPI_Allreduce(in, out, n, type, op, comm);
}
END
"$bin/mpicc_abi" -shared -fPIC -o libtool.so tool.c
[ "$(LD_PRELOAD=$PWD/libtool.so "$bin/mpiexec" -n 1 -nfg 2 ./main ./liblate.so ./liblater.so 2>&1 | grep -c '^tool$')" = 2 ] || fail "a tool"

# Our tools see the calls below the translation, and name lines of the program.
cat > wrong.c << 'END'
#include <mpi.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, value = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  float other;
  if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(&other, 1, MPI_FLOAT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
}
END
"$bin/mpicxx_abi" -x c++ -g -o wrong wrong.c
"$bin/mpiexec" -n 1 -nfg 2 -check ./wrong > checked 2>&1 || true
grep -q 'MPI_FLOAT' checked && grep -q 'wrong.c:8' checked || { cat checked >&2; fail "-check"; }
"$bin/mpiexec" -n 1 -nfg 2 -summary ./main ./liblate.so ./liblater.so > summary 2>&1
grep -q 'MPI_Comm_dup' summary || { cat summary >&2; fail "-summary"; }

# Options of the wrappers.
"$bin/mpicc" -abi=standard -show x.c | grep -q mpi_abi || fail "mpicc -abi=standard -show"
! "$bin/mpicc" -abi=other x.c > out 2>&1 && grep -q 'allowed are -abi=standard and -abi=mpich' out || fail "-abi=other"
! "$bin/mpifort" -abi=standard x.f90 > out 2>&1 && grep -q 'allowed are C and C++' out || fail "mpifort -abi=standard"
"$bin/mpicc_abi" -c -o /dev/null "$here/values.c" -I"$here/.." || fail "mpicc_abi -c"
echo " No Errors"
