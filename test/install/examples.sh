# Builds each project of examples/ by find_package(MPI), as a user would, and runs it as its README says.
#   examples.sh CMAKE SOURCES BIN WORK_FOLDER
set -u
cmake=$1 sources=$2 bin=$3 work=$4
failed=0
mkdir -p "$work"
run() { # run NAME OPTIONS...: the program says that its result is right
  local name=$1 log=$work/$1.log
  shift
  "$cmake" -S "$sources/$name" -B "$work/$name" -DMPI_C_COMPILER="$bin/mpicc" -DMPI_Fortran_COMPILER="$bin/mpifort" \
    -DCMAKE_BUILD_TYPE=Release >"$log" 2>&1 && "$cmake" --build "$work/$name" >>"$log" 2>&1 &&
    timeout 200 "$bin/mpiexec" "$@" "$work/$name/$name" </dev/null >"$log" 2>&1 && [ "$(grep -c ': right$' "$log")" = 1 ] &&
    { cat "$log"; return; }
  echo "FAILED $name"
  tail -20 "$log"
  failed=1
}
run stencil -ranks 10000
run conjugate_gradient -ranks 1000
run farm -ranks 5001
run sample_sort -ranks 1000
run spectral -ranks 256
run multigrid -ranks 1024
run heat -ranks 500
OMP_NUM_THREADS=2 run hybrid -n 2 -nfg 4
exit $failed
