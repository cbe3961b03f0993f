# Libraries with state are private without being named: which are found, and what each rank then sees.
set -u
bin=$1 work=$2/libraries.dir
source=$(cd "$(dirname "$0")" && pwd)
fail() { echo "libraries.sh: $*" >&2; cat "$work/out" >&2; exit 1; }
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
touch out
library() { # library NAME SOURCE LIBRARIES...
  local name=$1 source=$2 compiler=cc
  shift 2
  [ "${source##*.}" = cc ] && compiler=c++
  $compiler -O1 -shared -fPIC "$source" -o "$name" $include -L. -Wl,-rpath,"$work" -Wl,--no-as-needed "$@" || fail "$name"
}
include=$("$bin/mpicc" -show -c x.c | grep -o -- "-I[^ ]*")

# libmpistate uses MPI; libtop only through it. libthin has no variables, but calls both.
cat >mpistate.c <<'END'
#include <mpi.h>
static int calls;
extern int counter;           /* a variable of libcounter, which knows nothing of MPI */
extern _Thread_local int per_thread; /* and one per thread */
int step(void) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  calls += rank + 1;
  counter += rank + 1;
  per_thread += rank + 1;
  MPI_Barrier(MPI_COMM_WORLD);
  return calls;
}
END
echo 'int counter = 5; _Thread_local int per_thread = 7; int count(void) { return counter + per_thread; }' >counter.c
echo 'int step(void); static int top = 3; int over(void) { top++; return step() + top; }' >top.c
echo 'int step(void); int over(void); int thin(void) { return step() + over(); }' >thin.c
# Called by a library that uses MPI; keeps what it was told.
echo 'static int kept; void keep(int x) { kept += x; } int what_was_kept(void) { return kept; }' >keeps.c
echo '#include <mpi.h>
void keep(int); int what_was_kept(void);
static int told;
int tell(void) { int rank; MPI_Comm_rank(MPI_COMM_WORLD, &rank); keep(rank); told++; MPI_Barrier(MPI_COMM_WORLD);
  return what_was_kept() + told; }' >tells.c
# Calls back into the program by name, and knows nothing of MPI either.
echo 'int user_function(void); int call(void) { return user_function(); }' >callback.c
# A C library with a C++ one behind it: constructors, exceptions, and an inline variable that both have.
cat >inner.h <<'END'
#include <string>
inline std::string trace = "inline";
struct Failure { int rank; };
END
cat >inner.cc <<'END'
#include <mpi.h>
#include <map>
#include "inner.h"
static std::map<int, int> seen = {{-1, 100}};
void note(int rank) {
  seen[rank]++;
  trace += "+";
  MPI_Barrier(MPI_COMM_WORLD);
  if (seen.size() != 2 || !seen.count(rank)) throw Failure{-2};
  throw Failure{rank};
}
END
cat >outer.cc <<'END'
#include "inner.h"
void note(int rank);
extern "C" int outer(int rank) {
  try {
    note(rank);
  } catch (const Failure& f) {
    return f.rank == rank ? static_cast<int>(trace.size()) : -1;
  }
  return -1;
}
END
# What is left of a stripped library with a single small variable.
echo '#include <mpi.h>
static int only = 5;
int bump(void) { int rank; MPI_Comm_rank(MPI_COMM_WORLD, &rank); only += rank; MPI_Barrier(MPI_COMM_WORLD); return only; }' >small.c
# Uses MPI and has no variables: one is enough.
echo '#include <mpi.h>
int size_of_world(void) { int size; MPI_Comm_size(MPI_COMM_WORLD, &size); return size; }' >stateless.c
mpi=(-L"$(dirname "$bin")/lib" -lmpich)
library libcounter.so counter.c
library libmpistate.so mpistate.c -lcounter "${mpi[@]}"
library libtop.so top.c -lmpistate
library libthin.so thin.c -ltop -lmpistate
library libkeeps.so keeps.c
library libtells.so tells.c -lkeeps "${mpi[@]}"
library libcallback.so callback.c
library libinner.so inner.cc "${mpi[@]}"
library libouter.so outer.cc -linner
library libsmall.so small.c "${mpi[@]}" -s
library libstateless.so stateless.c "${mpi[@]}"
cat >user.c <<'END'
#include <mpi.h>
#include <stdio.h>
int step(void), over(void), thin(void), tell(void), count(void), call(void), outer(int), bump(void), size_of_world(void);
extern int counter;
static int mine;
int user_function(void) { return ++mine; }
int main(int argc, char** argv) {
  int rank, size, wrong = 0, all;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  mine = 10 * rank;
  const int d = rank + 1;
  wrong += step() != d;
  wrong += over() != 2 * d + 4;
  wrong += thin() != 3 * d + 4 * d + 5;
  wrong += (counter != 5 + 4 * d) * 100;
  wrong += (count() != 12 + 8 * d) * 1000;
  wrong += (call() != 10 * rank + 1 || mine != 10 * rank + 1) * 10000;
  wrong += (outer(rank) != 7 || outer(rank) != 8) * 100000;
  wrong += (bump() != 5 + rank) * 1000000;
  wrong += (tell() != rank + 1) * 100000000;
  wrong += (size_of_world() != size) * 10000000;
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) printf("%d wrong\n", all);
  MPI_Finalize();
  return all != 0;
}
END
link=(-L. -lthin -ltop -lmpistate -lcounter -lcallback -louter -ltells -lsmall -lstateless -Wl,-rpath,"$work")
"$bin/mpicc" -O1 user.c -o user "${link[@]}" || fail "user"
for shape in "-n 1 -nfg 1" "-n 4 -nfg 1" "-n 1 -nfg 4" "-n 2 -nfg 3" "-n 2 -nfg 64"; do
  timeout 100 "$bin/mpiexec" $shape ./user >out 2>&1 || fail "$shape: status $?"
  grep -q '^0 wrong' out || fail "$shape: state is shared"
  grep -q warning out && fail "$shape: a warning without cause"
done
FGMPI_SCHED=random:5 timeout 100 "$bin/mpiexec" -n 2 -nfg 9 ./user >out 2>&1 || fail "random: status $?"
# Without -fPIC the linker gives the program copies of the libraries' variables.
"$bin/mpicc" -show user.c -o user_copies "${link[@]}" | sed 's/-fPIC/-fPIE/g' >command && sh command || fail "user_copies"
readelf -Wr user_copies | grep -q 'R_[A-Z0-9_]*_COPY.*counter' || fail "no copy of counter: the test tests nothing"
timeout 100 "$bin/mpiexec" -n 2 -nfg 5 ./user_copies >out 2>&1 || fail "user_copies: status $?"

"$bin/fgmpi-info" -libs ./user >out 2>&1 || fail "fgmpi-info -libs: status $?"
line() { grep -qE "^$1 .*  $2\$" out || fail "fgmpi-info -libs does not say '$1 ... $2'"; }
line '\(program\)' 'has variables, or uses a private library'
line libmpistate.so 'uses MPI and has variables'
line libtop.so 'uses MPI and has variables'
line libsmall.so 'uses MPI and has variables'
line libcounter.so 'libmpistate.so (uses its variable (counter|per_thread)|calls counter, and it has variables)'
line libkeeps.so 'libtells.so calls (keep|what_was_kept), and it has variables'
line libthin.so 'refers to (step|over) of lib(top|mpistate).so'
line libcallback.so 'refers to user_function of the program'
line libinner.so 'uses MPI and has variables'
line libouter.so '(uses MPI and has variables|refers to note.*)'
grep -q 'libstateless\|libmpich\|libc.so' out && fail "more is private than needs be"
line 'a rank, protected' 'at most [0-9]+ ranks a process \(vm.max_map_count is [0-9]+\)'
FGMPI_PRIVATIZE_LIBS=none "$bin/fgmpi-info" -libs ./user >out 2>&1 || fail "fgmpi-info -libs, none: status $?"
[ "$(wc -l <out)" = 5 ] || fail "none: more than the program is private"
FGMPI_PRIVATIZE_LIBS=none,libsmall.so "$bin/fgmpi-info" -libs ./user >out 2>&1
[ "$(wc -l <out)" = 6 ] && grep -q '^libsmall.so .*FGMPI_PRIVATIZE_LIBS names it$' out || fail "one library by name"
FGMPI_PRIVATIZE_LIBS=-libcallback,libstateless.so "$bin/fgmpi-info" -libs ./user >out 2>&1
grep -q '^libstateless.so .*names it' out && ! grep -q libcallback out || fail "added to and taken from what is chosen"
"$bin/fgmpi-info" -libs ./nothing >out 2>&1 && fail "fgmpi-info -libs ./nothing: status 0"
grep -q '^fgmpi-info: -libs: ./nothing: no such program' out || fail "fgmpi-info -libs ./nothing"
"$bin/fgmpi-info" -libs ./command >out 2>&1 && fail "fgmpi-info -libs with a script: status 0"
# A plain program has one image a rank, and nothing else.
echo '#include <mpi.h>
int x = 1;
int main(int argc, char** argv) { MPI_Init(&argc, &argv); return MPI_Finalize() || x != 1; }' >plain.c
"$bin/mpicc" plain.c -o plain || fail "plain"
"$bin/fgmpi-info" -libs ./plain >out 2>&1
[ "$(wc -l <out)" = 5 ] && grep -qE '^a rank, protected +2 ' out || fail "a plain program takes more than 2 mappings a rank"
FGMPI_VERBOSE=1 timeout 100 "$bin/mpiexec" -n 2 -nfg 3 ./user >out 2>&1 || fail "verbose: status $?"
[ "$(grep -c '^fgmpi: each of the 3 ranks of a process has images of the program, .*libsmall.so (uses MPI and has variables)' out)" = 1 ] ||
  fail "FGMPI_VERBOSE does not say it, or not once"
timeout 100 "$bin/mpiexec" -v -n 2 -nfg 3 ./plain >out 2>&1 || fail "-v: status $?"
[ "$(grep -c '^fgmpi: each of the 3 ranks of a process has images of the program: 2 mappings' out)" = 1 ] || fail "-v"
# A library that knows nothing of MPI, called by a program without variables of its own.
echo 'static int sum = 1; int add(int x) { return sum += x; }' >alone.c
library libalone.so alone.c
cat >caller.c <<'END'
#include <mpi.h>
int add(int);
int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  add(rank);
  MPI_Barrier(MPI_COMM_WORLD);
  const int wrong = add(rank) != 1 + 2 * rank;
  return MPI_Finalize() || wrong;
}
END
"$bin/mpicc" caller.c -o caller -L. -lalone -Wl,-rpath,"$work" || fail "caller"
for shape in "-n 4" "-n 1 -nfg 4" "-n 2 -nfg 64"; do
  timeout 100 "$bin/mpiexec" $shape ./caller >out 2>&1 || fail "caller, $shape: state is shared"
done
FGMPI_PRIVATIZE_LIBS=-libalone timeout 100 "$bin/mpiexec" -n 1 -nfg 4 ./caller >out 2>&1 && fail "-libalone: it is private"
"$bin/fgmpi-info" -libs ./caller >out 2>&1
line libalone.so 'the program calls add, and it has variables'
# Serial HDF5, where it is installed: closed by one rank, it stays open for the others.
hdf5=$(ls -d /usr/lib/*/hdf5/serial 2>/dev/null | head -1)
if [ -n "$hdf5" ] && [ -e /usr/include/hdf5/serial/hdf5.h ]; then
  "$bin/mpicc" -I/usr/include/hdf5/serial "$source/hdf5/serial.c" -o hdf5 -L"$hdf5" -lhdf5 || fail "hdf5/serial.c"
  for shape in "-n 4" "-n 1 -nfg 4" "-n 2 -nfg 32"; do
    timeout 100 "$bin/mpiexec" $shape ./hdf5 "$work" >out 2>&1 || fail "HDF5, $shape"
    grep -q HDF5-DIAG out && fail "HDF5, $shape: one rank closed another one's files"
  done
fi
echo " No Errors"
