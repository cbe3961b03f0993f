# Programs that our wrappers did not make, and libraries with state of their own.
set -u
bin=$1 programs=$2
source=$(cd "$(dirname "$0")" && pwd)
library=$(dirname "$bin")/lib
work=$programs/foreign.dir
fail() { echo "foreign.sh: $*" >&2; cat "$work/out" >&2; exit 1; }
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1

# Built with the host's own mpicc: position-independent, lazily bound, copies of stdout, environ and optarg.
mpicc.mpich -O1 -I"$source/.." "$source/globals_c.c" -o host_globals || fail "mpicc.mpich"
mpicc.mpich -O1 -I"$source/.." "$source/libc_state.c" -o host_state -lm || fail "mpicc.mpich"
for program in host_globals host_state; do
  LD_LIBRARY_PATH=$library timeout 100 "$bin/mpiexec" -n 2 -nfg 20 "./$program" >out 2>&1 || fail "$program: status $?"
  grep -q 'No Errors' out || fail "$program: did not end well"
done
# One with an RPATH to the host's library, which counts more than LD_LIBRARY_PATH: mpiexec sees to it that it is ours.
host=$(dirname "$(readlink -f "$(ldconfig -p | sed -n 's/.*libmpich.so.12 .*=> //p' | head -1)")")
mpicc.mpich -O1 -I"$source/.." "$source/globals_c.c" -o host_rpath -Wl,--disable-new-dtags -Wl,-rpath,"$host" || fail "rpath"
readelf -d host_rpath | grep -q '(RPATH)' || fail "no RPATH: the test tests nothing"
timeout 100 "$bin/mpiexec" -n 2 -nfg 20 ./host_rpath >out 2>&1 || fail "host_rpath: status $?"
[ "$(grep -c 'No Errors' out)" = 1 ] || fail "host_rpath: not one job of 40 ranks"
LD_PRELOAD=libm.so.6 timeout 100 "$bin/mpiexec" -n 1 -nfg 2 ./host_rpath >out 2>&1 || fail "host_rpath preloaded: status $?"
mpicc.mpich -O1 -I"$source/.." "$source/globals_c.c" -o host_runpath -Wl,--enable-new-dtags -Wl,-rpath,"$host" || fail "runpath"
timeout 100 "$bin/mpiexec" -n 2 -nfg 20 ./host_runpath >out 2>&1 || fail "host_runpath: status $?"
# A library of the program's brings in MPI, with an RPATH of its own.
echo '#include <mpi.h>
int ranks(void) { int size; MPI_Init(0, 0); MPI_Comm_size(MPI_COMM_WORLD, &size); MPI_Finalize(); return size; }' >ranks.c
echo 'int ranks(void); int main() { return ranks(); }' >indirect.c
mpicc.mpich -shared -fPIC ranks.c -o libranks.so -Wl,--disable-new-dtags -Wl,-rpath,"$host" || fail "libranks.so"
cc indirect.c -o indirect ./libranks.so -Wl,--disable-new-dtags -Wl,-rpath,"$work" || fail "indirect"
timeout 100 "$bin/mpiexec" -n 2 -nfg 3 ./indirect >out 2>&1
[ $? = 6 ] || fail "indirect: not 6 ranks"

# C++ without -fPIC, as CMake's FindMPI compiles: copies of std::cout, of typeinfo and virtual tables of exceptions.
for program in globals_cxx exceptions lines; do
  mpicxx.mpich -O1 -fPIE -I"$source/.." "$source/$program.cc" -o "host_$program" || fail "mpicxx.mpich"
done
readelf -Wr host_exceptions host_lines | grep -q 'R_[A-Z0-9_]*_COPY.*_ZTI' || fail "no copy of typeinfo: the test tests nothing"
readelf -Wr host_globals_cxx | grep -q 'R_[A-Z0-9_]*_COPY.*_ZSt4cout' || fail "no copy of std::cout: the test tests nothing"
for program in host_globals_cxx host_exceptions; do
  timeout 100 "$bin/mpiexec" -n 2 -nfg 60 "./$program" >out 2>&1 || fail "$program: status $?"
  grep -q 'No Errors' out || fail "$program: did not end well"
done
timeout 100 "$bin/mpiexec" -n 2 -nfg 20 ./host_lines >out 2>&1 || fail "host_lines: status $?"
[ "$(grep -cE '^<([0-9]+) stream stdio write \1>$' out)" = 400 ] || fail "lines that are not whole"
cat >formats.cc <<'END'
// Each rank's std::cout and std::cerr keep a format, a locale, words (iword) and a state of their own.
#include <mpi.h>
#include <iomanip>
#include <iostream>
#include <locale>
struct Comma : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
};
static const int slot = std::ios_base::xalloc();
int main(int argc, char** argv) {
  int rank, bad = 0, all;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::cout << std::setprecision(rank % 7 + 1);
  std::cout.iword(slot) = rank;
  if (rank % 2) std::cout.imbue(std::locale(std::cout.getloc(), new Comma));
  if (rank % 3 == 0) std::cerr.setstate(std::ios::failbit);
  MPI_Barrier(MPI_COMM_WORLD);
  bad += std::cout.precision() != rank % 7 + 1;
  bad += std::cout.iword(slot) != rank;
  bad += std::use_facet<std::numpunct<char>>(std::cout.getloc()).decimal_point() != (rank % 2 ? ',' : '.');
  bad += std::cerr.fail() != (rank % 3 == 0);
  std::cout << std::fixed << std::setprecision(1) << rank + 0.5;
  MPI_Barrier(MPI_COMM_WORLD);
  std::cout << " is rank " << rank << std::endl;
  MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all != 0;
}
END
mpicxx.mpich -O1 -fPIE formats.cc -o host_formats || fail "mpicxx.mpich"
timeout 100 "$bin/mpiexec" -n 2 -nfg 20 ./host_formats >out 2>&1 || fail "host_formats: status $?"
[ "$(grep -cE '^([0-9]+)[.,]5 is rank \1$' out)" = 40 ] || fail "host_formats: lines that are not whole"
[ "$(grep -c ',' out)" = 20 ] || fail "host_formats: a locale is not the rank's"

# A library that keeps state between MPI calls: private by default; shared on demand, with a warning that names it.
cat >counting.c <<'END'
#include <mpi.h>
#include <stdlib.h>
static int calls, last = -1;
_Thread_local int per_thread = 5;
int (*self)(void);
__attribute__((constructor)) static void start(void) { calls = 100; }
int count_and_sync(void) {
  int rank;
  if (!self) self = count_and_sync;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (last == -1) last = rank;
  per_thread += rank;
  calls++;
  MPI_Barrier(MPI_COMM_WORLD);
  if (last != rank || self != count_and_sync) return -1;
  return calls * 1000 + per_thread;
}
END
cat >user.c <<'END'
#include <mpi.h>
#include <stdio.h>
int count_and_sync(void);
int rounds;
int main(int argc, char** argv) {
  int rank, bad = 0, all;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (rounds = 1; rounds <= 4; ++rounds)
    bad += count_and_sync() != (100 + rounds) * 1000 + 5 + rounds * rank;
  MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d wrong\n", all);
  MPI_Finalize();
  return 0;
}
END
"$bin/mpicc" -shared -fPIC counting.c -o libcounting.so || fail "library"
"$bin/mpicc" user.c -o user -L. -lcounting -Wl,-rpath,"$work" || fail "user"
timeout 100 "$bin/mpiexec" -n 2 -nfg 10 ./user >out 2>&1 || fail "private: status $?"
grep -q '^0 wrong' out || fail "the ranks shared a private library"
grep -q warning out && fail "a warning without cause"
FGMPI_PRIVATIZE_LIBS=none timeout 100 "$bin/mpiexec" -n 2 -nfg 10 ./user >out 2>&1 || fail "none: status $?"
grep -q '^0 wrong' out && fail "the ranks should have shared the library"
[ "$(grep -c 'fgmpi: warning.*libcounting.so.*FGMPI_PRIVATIZE_LIBS=auto' out)" = 1 ] || fail "no warning, or more"
FGMPI_PRIVATIZE_LIBS=-libcounting.so timeout 100 "$bin/mpiexec" -n 2 -nfg 10 ./user >out 2>&1 || fail "-lib: status $?"
grep -q '^0 wrong' out && fail "the ranks should have shared the library that was taken away"
FGMPI_PRIVATIZE_LIBS=none,libcounting.so timeout 100 "$bin/mpiexec" -n 2 -nfg 10 ./user >out 2>&1 || fail "named: status $?"
grep -q '^0 wrong' out || fail "the ranks shared a library that was named"
echo " No Errors"
