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
export FGMPI_NFG=60000 FGMPI_IMAGE_MAPPINGS=protected
refused 'at most [0-9]+ ranks would fit; raise vm.max_map_count' "$programs/globals_c"
unset FGMPI_IMAGE_MAPPINGS
export FGMPI_NFG=4
refused "FGMPI_IMAGE_MAPPINGS=one: allowed is auto, protected, joined or copied" env FGMPI_IMAGE_MAPPINGS=one "$programs/globals_c"
refused "FGMPI_PRIVATIZE=maybe: allowed is auto, on or off" env FGMPI_PRIVATIZE=maybe "$programs/globals_c"
refused 'FGMPI_PRIVATIZE_LIBS names libnone.so, which the program does not load' \
  env FGMPI_PRIVATIZE_LIBS=libnone.so "$programs/globals_c"
refused 'FGMPI_PRIVATIZE_LIBS names libc.so.6, of which a process has one' \
  env FGMPI_PRIVATIZE_LIBS=libc.so.6 "$programs/globals_c"
# As many as it says would fit do, and one more does not.
refused 'at most [0-9]+ ranks would fit; .*raise the limit on address space' \
  bash -c "ulimit -v 300000; FGMPI_NFG=20000 exec '$programs/globals_c'"
fit=$(grep -oE 'at most [0-9]+' "$programs/limits.out" | grep -oE '[0-9]+')
(ulimit -v 300000; FGMPI_NFG=$fit timeout 60 "$programs/globals_c" >"$programs/limits.out" 2>&1) || fail "$fit ranks do not fit"
refused "at most $fit ranks would fit" bash -c "ulimit -v 300000; FGMPI_NFG=$((fit + 1)) exec '$programs/globals_c'"
# Not made by our wrappers: a copy of an object that a library shares with the program; not position-independent.
cat >"$programs/state.cc" <<'END'
#include <vector>
namespace state { std::vector<int> seen(3); }
END
cat >"$programs/foreign.cc" <<'END'
#include <mpi.h>
#include <iostream>
#include <vector>
namespace state { extern std::vector<int> seen; }
int counter = 1;
int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  state::seen.push_back(rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (counter == 1 && state::seen.size() == 4 && state::seen[3] == rank) std::cout << "own " << rank << "\n";
  MPI_Finalize();
}
END
compile=$("$bin/mpicxx" -show -c | sed 's/-fPIC//')
library=$(dirname "$bin")/lib
g++ -shared -fPIC "$programs/state.cc" -o "$programs/libstate.so" || fail "cannot make a library"
libraries="-L$library -Wl,-rpath,$library -lmpich -L$programs -Wl,-rpath,$programs -lstate"
$compile -O0 -fPIE "$programs/foreign.cc" -o "$programs/foreign.o" || fail "cannot compile"
g++ -pie "$programs/foreign.o" -o "$programs/foreign" $libraries || fail "cannot link"
refused 'copy of state::seen of libstate.so .*_ZN5state4seenE.*link it with mpicc.*LIBS=libstate.so' \
  env FGMPI_PRIVATIZE_LIBS=none "$programs/foreign"
FGMPI_NFG=1 "$programs/foreign" >"$programs/limits.out" 2>&1 || fail "one rank: does not run"
refused 'copy of state::seen of libstate.so' env FGMPI_PRIVATIZE_LIBS=-libstate.so "$programs/foreign"
refused "FGMPI_PRIVATIZE_LIBS: './libstate.so': allowed are auto, none" env FGMPI_PRIVATIZE_LIBS=./libstate.so "$programs/foreign"
"$programs/foreign" >"$programs/limits.out" 2>&1 || fail "private: does not run"
[ "$(sort -u "$programs/limits.out" | grep -c '^own [0-3]$')" = 4 ] || fail "a private library's object is not the rank's"
$compile -O0 -fno-pie "$programs/foreign.cc" -o "$programs/foreign.o" || fail "cannot compile"
g++ -no-pie "$programs/foreign.o" -o "$programs/foreign" $libraries || fail "cannot link"
refused 'not position-independent' "$programs/foreign"
FGMPI_NFG=1 "$programs/foreign" >"$programs/limits.out" 2>&1 || fail "one rank: does not run"
echo " No Errors"
