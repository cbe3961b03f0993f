# The lines of leaks in code of libraries: leak_lines.sh BIN FOLDER
set -u
bin=$1 programs=$2
source=$(cd "$(dirname "$0")" && pwd)/leak_lines.cc
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "FAILED: $*"
  cat "$scratch/out"
  exit 1
}
for options in "-O0" "-O1" "-O2 -fno-inline"; do
  "$bin/mpicxx" -g $options -std=c++17 "$source" -o "$scratch/program" || fail "mpicxx $options"
  for shape in "1 1" "1 4" "4 1" "2 3"; do
    run() { FGMPI_HEAP=rank timeout 100 "$bin/mpiexec" -check -n ${shape% *} -nfg ${shape#* } "$scratch/program" "$@" >"$scratch/out" 2>&1; }
    run || fail "$options, $shape: status $?"
    grep -q "leaks:" "$scratch/out" && fail "$options, $shape: a leak that is none"
    run leak || fail "$options, $shape, leak: status $?"
    for what in "a cycle" "a vector" "a map" "what it holds" "a line"; do
      line=$(grep -n "// leaked: $what\$" "$source" | cut -d: -f1)
      grep -q "leak_lines.cc:$line " "$scratch/out" || fail "$options, $shape: $what (line $line) is not found"
    done
    grep -q "at /usr\|at \./" "$scratch/out" && fail "$options, $shape: a line of a library"
  done
done
# So are the places that have taken most, where a rank may take no more.
cat >"$scratch/limit.cc" <<'END'
#include <mpi.h>
#include <vector>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  std::vector<std::vector<double>> all;
  for (int i = 0; i < 10000; ++i) all.emplace_back(1000);  // takes most
  MPI_Finalize();
}
END
"$bin/mpicxx" -g -O0 "$scratch/limit.cc" -o "$scratch/limit" || fail "mpicxx"
FGMPI_RANK_MEMORY=8m timeout 100 "$bin/mpiexec" -n 1 -nfg 2 "$scratch/limit" >"$scratch/out" 2>&1 && fail "no limit"
grep -q "most was taken at [^ ]*limit.cc:6 " "$scratch/out" || fail "the line that takes most is not named"
echo " No Errors"
