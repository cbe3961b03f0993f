# PMPI tools stay in front of the library: a call by its MPI name goes to the tool's function, whether the tool is preloaded
# or linked, from C and Fortran, from a function pointer, a library and a plugin, with several ranks a process, with images of
# the program and without, and in programs that were linked by the system MPICH's wrappers.
. "$(dirname "$0")/begin.bash"

# The tool counts what each rank calls by the MPI names, and prints the sums at the end.
cat >tool.c <<'END'
#include <mpi.h>
#include <stdio.h>
enum { kMost = 4096, kKinds = 4 };
static int counts[kMost][kKinds];
static int* mine(void) {
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return counts[rank];
}
int MPI_Barrier(MPI_Comm comm) {
  ++mine()[0];
  return PMPI_Barrier(comm);
}
int MPI_Send(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  ++mine()[1];
  return PMPI_Send(buffer, count, type, to, tag, comm);
}
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
  ++mine()[2];
  return PMPI_Comm_dup(comm, made);
}
int MPI_Finalize(void) {
  int sums[kKinds], rank;
  ++mine()[3];
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Reduce(mine(), sums, kKinds, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("tool: %d barriers %d sends %d dups %d ends\n", sums[0], sums[1], sums[2], sums[3]);
  fflush(stdout);
  return PMPI_Finalize();
}
END
cat >library.c <<'END'
#include <mpi.h>
void library_barrier(MPI_Comm comm) { MPI_Barrier(comm); }
END
# Each rank: 4 barriers (a call, a function pointer, a library, a plugin) and one as PMPI, which the tool must not see.
cat >program.c <<'END'
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
void library_barrier(MPI_Comm comm);
static int calls; /* a variable, so that there are images */
static int (*barrier)(MPI_Comm) = MPI_Barrier;
int main(int argc, char** argv) {
  int rank, size, in = -1;
  MPI_Request request;
  MPI_Comm dup;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Barrier(dup);
  barrier(dup);
  library_barrier(dup);
  PMPI_Barrier(dup);
  void* plugin = dlopen("./libplugin.so", RTLD_NOW);
  if (!plugin) abort();
  ((void (*)(MPI_Comm))dlsym(plugin, "library_barrier"))(dup);
  calls += rank;
  MPI_Irecv(&in, 1, MPI_INT, (rank + size - 1) % size, 1, dup, &request);
  MPI_Send(&calls, 1, MPI_INT, (rank + 1) % size, 1, dup);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (in != (rank + size - 1) % size) MPI_Abort(dup, 3);
  MPI_Comm_free(&dup);
  return MPI_Finalize();
}
END
sed 's/^static int calls;.*/static const int none;/; s/^static int (\*barrier)/static int (*const barrier)/
     s/calls += rank;/int calls = none + rank;/' program.c >stateless.c
cat >fortran.f90 <<'END'
program main
  use mpi
  integer :: rank, size, dup, err, out, in, request
  call MPI_Init(err)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, err)
  call MPI_Comm_size(MPI_COMM_WORLD, size, err)
  call MPI_Comm_dup(MPI_COMM_WORLD, dup, err)
  do out = 1, 4
    call MPI_Barrier(dup, err)
  end do
  out = rank
  call MPI_Irecv(in, 1, MPI_INTEGER, modulo(rank - 1, size), 1, dup, request, err)
  call MPI_Send(out, 1, MPI_INTEGER, modulo(rank + 1, size), 1, dup, err)
  call MPI_Wait(request, MPI_STATUS_IGNORE, err)
  call MPI_Comm_free(dup, err)
  call MPI_Finalize(err)
end program
END
path=-Wl,-rpath,$PWD
"$bin/mpicc" -shared -fPIC -O1 tool.c -o libtool.so || fail "mpicc tool.c"
"$bin/mpicc" -shared -fPIC -O1 library.c -o liblibrary.so || fail "mpicc library.c"
cp liblibrary.so libplugin.so
for name in program stateless; do
  "$bin/mpicc" -w -O1 $name.c -o $name ./liblibrary.so "$path" || fail "mpicc $name.c"
  "$bin/mpicc" -w -O1 $name.c -o $name.linked ./libtool.so ./liblibrary.so "$path" || fail "mpicc $name.c libtool.so"
done
# A tool in the program itself: what shared libraries call by name would reach the first rank's image (docs/hazards.md).
sed 's/library_barrier(dup);/MPI_Barrier(dup);/; s/((void.*"library_barrier"))(dup);/MPI_Barrier(dup);/' program.c >own.c
"$bin/mpicc" -w -O1 own.c tool.c -o inside || fail "mpicc own.c tool.c"
"$bin/mpifort" -O1 fortran.f90 -o fortran || fail "mpifort fortran.f90"

# run RANKS PROGRAM MPIEXEC-ARGUMENTS...: the tool must have seen 4 barriers, a send, a dup and an end of each rank.
run() {
  local ranks=$1 program=$2
  shift 2
  timeout 100 "$bin/mpiexec" "$@" "./$program" >out 2>&1 || fail "$program $*: status $?: $(head -5 out)"
  grep -qx "tool: $((4 * ranks)) barriers $ranks sends $ranks dups $ranks ends" out ||
    fail "$program $* (FGMPI_PRIVATIZE=${FGMPI_PRIVATIZE-}): the tool saw of $ranks ranks: $(head -5 out)"
}
tool=(-env LD_PRELOAD "$PWD/libtool.so")
for shape in "1 4" "4 1" "64 2"; do
  # shellcheck disable=SC2086
  set -- $shape
  ranks=$(($1 * $2)) at=(-n "$2" -nfg "$1")
  run $ranks program "${at[@]}" "${tool[@]}"
  run $ranks program.linked "${at[@]}"
  run $ranks inside "${at[@]}"
  run $ranks fortran "${at[@]}" "${tool[@]}"
  FGMPI_PRIVATIZE=off run $ranks stateless "${at[@]}" "${tool[@]}"
  FGMPI_PRIVATIZE=off run $ranks stateless.linked "${at[@]}"
  # Preloaded by the environment of mpiexec, as users do it.
  LD_PRELOAD=$PWD/libtool.so run $ranks program "${at[@]}"
done

# Programs of the system's wrappers name another library before ours; they execute themselves once more, with both preloaded.
if command -v mpicc.mpich >/dev/null; then
  mpicc.mpich -w -O1 program.c -o system ./liblibrary.so "$path" || fail "mpicc.mpich program.c"
  LD_LIBRARY_PATH=$libraries run 4 system -n 4 "${tool[@]}"
  LD_LIBRARY_PATH=$libraries run 4 system -n 1 -nfg 4 "${tool[@]}"
fi

# A program's own tool and the tracker: the first in the order of symbols sees a call, since what it calls then are PMPI_*.
FGMPI_TRACK="files:raw" run 4 inside -track inside.trace -n 2 -nfg 2
"$bin/fgmpi-track-dump" --events inside.trace >events || fail "fgmpi-track-dump"
grep -qE ' MPI_(Barrier|Send|Comm_dup|Finalize) ' events && fail "the tracker behind a tool: $(grep -m1 -E ' MPI_(Barrier|Send) ' events)"
[ "$(grep -c ' MPI_Irecv' events)" = 4 ] || fail "the tracker behind a tool: $(cat events)"
echo ok
