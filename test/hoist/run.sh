#!/bin/bash
# The corpus: what is hoisted is what its comments say, and programs give the same with and without -fgmpi-hoist.
#   run.sh [--hosts] BIN [PROGRAM...]     BIN: the folder of mpicc and mpiexec; without programs: all of them
# --hosts: on four hosts made of network namespaces, as collectives come and forced to go by multicast.
# Exit status 77: the plugin was not built, or hosts cannot be made.
set -u
hosts=
[ "$1" != --hosts ] || { hosts=yes; shift; }
bin=$(cd "$1" && pwd)
shift
here=$(cd "$(dirname -- "$0")" && pwd)
[ -f "$bin/../lib/fgmpi/fgmpi_hoist.so" ] || { echo "run.sh: the plugin of GCC was not built"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
fail() { echo "run.sh: $*" >&2; failed=1; }

wrapper_of() { case $1 in *.c) echo mpicc ;; *.cc) echo mpicxx ;; *.f90) echo mpifort ;; esac; }
levels=("-O0" "-O2" "-O3" "-O2 -flto" "-O1 -g")
shapes=("-n 1 -nfg 4" "-n 2 -nfg 3" "-n 2 -nfg 16")
launch() { "$bin/mpiexec" $1 "$2"; }  # launch SHAPE PROGRAM
if [ -n "$hosts" ]; then
  levels=("-O2")
  shapes=(ordinary multicast)
  launch() (
    [ "$1" = ordinary ] || export FGMPI_COLL_{BCAST,SCATTER,ALLGATHER,ALLTOALL}=multicast
    "$here/../../scripts/test-multihost" --build "$bin/.." --hosts 4 --processes 1 --ranks 2 -- "$work/${2#./}"
  )
  launch ordinary /bin/true > said 2>&1
  [ $? != 77 ] || { cat said; exit 77; }
fi

# compile SOURCE PROGRAM FLAG...: with what the corpus needs; OpenMP, since some of it is about that.
compile() {
  local source=$1 program=$2
  shift 2
  local more=()
  case $source in *.f90) ;; *) more=(unknown.o) ;; esac
  "$bin/$(wrapper_of "$source")" "$@" -w -fopenmp -I"$here" "$here/$source" "${more[@]}" -o "$program"
}

"$bin/mpicc" -O1 -c "$here/unknown.c" -o unknown.o || exit 1
sources=("$@")
[ $# -gt 0 ] || sources=(forms.c collectives.c memory.c frees.c objects.cc old.f90 modules.f90 new.f90)
for source in "${sources[@]}"; do
  compile "$source" plain -O1 || fail "$source: does not compile"
  for shape in "${shapes[@]}"; do
    launch "$shape" ./plain > "plain$shape" 2>&1 || fail "$source $shape, not hoisted: $(tail -3 "plain$shape")"
  done
  for level in "${levels[@]}"; do
    if ! compile "$source" hoisted -fgmpi-hoist=verbose $level 2> report; then
      fail "$source $level: does not compile: $(grep -v -E ': (optimized|missed): ' report | head -5)"
      continue
    fi
    python3 "$here/check_list.py" "$here/$source" report > list || fail "$level: $(cat list)"
    for shape in "${shapes[@]}"; do
      launch "$shape" ./hoisted > hoisted_says 2>&1 || fail "$source $level $shape: $(tail -3 hoisted_says)"
      cmp -s "plain$shape" hoisted_says || fail "$source $level $shape: another result"
    done
  done
  sed "s|$here/||" list
done
exit $failed
