# What cannot be done is refused before the start, with one line that says why and what to do.
set -u
bin=$1 programs=$2
fail() { echo "limits.sh: $*" >&2; cat "$programs/limits.out" >&2; exit 1; }
refused() { # refused REGEX COMMAND...
  regex=$1
  shift
  timeout 60 "$@" >"$programs/limits.out" 2>&1 && fail "$*: not refused"
  [ "$(grep -c '^fgmpi' "$programs/limits.out")" = 1 ] || fail "$*: not one line"
  grep -qE "$regex" "$programs/limits.out" || fail "not said: $regex"
}
export FGMPI_NFG=60000
refused 'at most [0-9]+ ranks would fit; raise vm.max_map_count' "$programs/globals_c"
export FGMPI_NFG=4
refused "FGMPI_PRIVATIZE is 'maybe'; allowed: auto, on or off" env FGMPI_PRIVATIZE=maybe "$programs/globals_c"
refused 'FGMPI_PRIVATIZE_LIBS names libnone.so, which the program does not load' \
  env FGMPI_PRIVATIZE_LIBS=libnone.so "$programs/globals_c"
refused 'FGMPI_PRIVATIZE_LIBS names libc.so.6, of which a process has one' \
  env FGMPI_PRIVATIZE_LIBS=libc.so.6 "$programs/globals_c"
refused 'raise the limit on address space' bash -c "ulimit -v 300000; FGMPI_NFG=20000 exec '$programs/globals_c'"
# Not made by our wrappers: copies of the C++ library's objects; not position-independent.
cat >"$programs/foreign.cc" <<'END'
#include <mpi.h>
#include <iostream>
int counter = 1;
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (counter == 1) std::cout << "one\n";
  MPI_Finalize();
}
END
compile=$("$bin/mpicxx" -show -c | sed 's/-fPIC//')
$compile -O0 -fPIE "$programs/foreign.cc" -o "$programs/foreign.o" || fail "cannot compile"
library=$(dirname "$bin")/lib
g++ -pie "$programs/foreign.o" -o "$programs/foreign" -L"$library" -Wl,-rpath,"$library" -lmpich || fail "cannot link"
refused 'copy of the library.s object std::cout .*_ZSt4cout.*link it with mpicc, mpicxx or mpifort' "$programs/foreign"
FGMPI_NFG=1 "$programs/foreign" >"$programs/limits.out" 2>&1 || fail "one rank: does not run"
$compile -O0 -fno-pie "$programs/foreign.cc" -o "$programs/foreign.o" || fail "cannot compile"
g++ -no-pie "$programs/foreign.o" -o "$programs/foreign" -L"$library" -Wl,-rpath,"$library" -lmpich || fail "cannot link"
refused 'not position-independent' "$programs/foreign"
FGMPI_NFG=1 "$programs/foreign" >"$programs/limits.out" 2>&1 || fail "one rank: does not run"
echo " No Errors"
