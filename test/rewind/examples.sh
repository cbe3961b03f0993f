# All programs of examples/: recorded, they repeat with the same output and the same events beside busy loops, and once in gdb, that goes
# back and runs forwards again. examples.sh BIN FOLDER EXAMPLES [RANKS]; FGMPI_TEST_REPEATS says how often.
. "$(dirname "$0")/common.sh"
examples=$3 few=${4:-}
repeats=${FGMPI_TEST_REPEATS:-2}
for _ in 1 2 3 4; do
  nice -n 19 bash -c 'while :; do :; done' &
  loops="${loops:-} $!"
done
trap 'kill $loops; rm -rf "$scratch"' EXIT

# repeats_exactly RANKS SOURCE ARGUMENT...: the program is compiled, recorded and repeated.
repeats_exactly() {
  ranks=${few:-$1} source=$2
  name=$(basename "${source%.*}")
  shift 2
  case $source in
    *.f90) "$bin/mpifort" -g -O2 "$examples/$source" -o "$name" || fail "$name: mpifort" ;;
    *) "$bin/mpicc" -g -O2 -fopenmp "$examples/$source" -o "$name" -lm || fail "$name: mpicc" ;;
  esac
  recorded 0 -ranks "$ranks" "./$name" "$@"
  [ -s out.recorded ] || fail "$name: no output"
  "$bin/mpiexec" -rewind run.rec -events >events || fail "$name: -events"
  for ((i = 0; i < repeats; ++i)); do
    repeated 0
    "$bin/mpiexec" -rewind run.rec -events >again || fail "$name: -events once more"
    cmp -s events again || fail "$name: other events"
  done
  if command -v gdb >/dev/null; then
    timeout 200 "$bin/mpiexec" -rewind run.rec gdb -batch -ex "fgmpi back 3" -ex "fgmpi goto $(($(wc -l <events) / 2))" -ex continue \
      -ex "fgmpi goto last" >out.gdb 2>&1 </dev/null
    grep -q "differs" out.gdb && fail "$name: gdb: $(cat out.gdb)"
    grep -q "exited normally" out.gdb || fail "$name: gdb: no end: $(cat out.gdb)"
    grep -E '^at [0-9]+ of' out.gdb | sed -E 's/^at ([0-9]+) of [0-9]+: (.*): process .*/\1 \2/' >shown
    [ "$(wc -l <shown)" = 4 ] || fail "$name: gdb: not 4 events: $(cat out.gdb)"
    while read -r line; do grep -qxF "$line" events || fail "$name: gdb: $line is no event"; done <shown
  fi
  echo "$name, $ranks ranks: $(wc -l <events) events"
}

repeats_exactly 100 stencil/stencil.c
repeats_exactly 64 conjugate_gradient/conjugate_gradient.c
repeats_exactly 41 farm/farm.c
repeats_exactly 64 sample_sort/sample_sort.c
repeats_exactly 64 spectral/spectral.c
repeats_exactly 64 multigrid/multigrid.c
repeats_exactly 50 heat/heat.f90
repeats_exactly 8 hybrid/hybrid.c
repeats_exactly 32 quicksort.c
repeats_exactly 32 divide_and_conquer.c 4
