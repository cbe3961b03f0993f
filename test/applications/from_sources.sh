#!/usr/bin/env bash
# FFTW-MPI and hypre as shared libraries, on several ranks a process, without any setting. Debian's packages are built
# for Open MPI, so their sources are built with our wrappers. Run by hand: it downloads 15 MB and takes minutes.
#   test/applications/from_sources.sh [BIN [FOLDER]]
# Each program must say the same with all ranks in processes of their own and with several a process.
set -u
top=$(cd "$(dirname -- "$0")/../.." && pwd)
bin=$(cd "${1:-$top/build/default/bin}" && pwd) || exit 1
folder=${2:-$(mktemp -d)}
mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial" && cd "$folder" || exit 1
if [ ! -d inst ]; then
  # The sources lie where this machine's packages of Debian come from.
  apt-get indextargets --format 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' |
    sort -u > sources.list
  options=(-q -o Dir::Etc::sourcelist="$folder/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$folder/lists"
    -o Dir::Cache="$folder/cache")
  apt-get "${options[@]}" update && apt-get "${options[@]}" source --download-only fftw3 hypre || exit 1
  for archive in fftw3_*.orig.tar.gz hypre_*.orig.tar.gz; do tar xf "$archive" || exit 1; done
  (cd fftw-3* && ./configure --enable-shared --disable-static --enable-mpi --disable-fortran MPICC="$bin/mpicc" CFLAGS=-O1 \
    --prefix="$folder/inst" && make && make install) > fftw.log 2>&1 || { echo "see $folder/fftw.log"; exit 1; }
  (cd hypre-*/src && ./configure --enable-shared CC="$bin/mpicc" CXX="$bin/mpicxx" FC="$bin/mpifort" CFLAGS="-O1 -fPIC" \
    --prefix="$folder/inst" && make && make install && cd test && make ij struct) > hypre.log 2>&1 ||
    { echo "see $folder/hypre.log"; exit 1; }
fi
export LD_LIBRARY_PATH=$folder/inst/lib
failed=0
same() { # same WHAT PATTERN PROGRAM ARGUMENTS: the lines with PATTERN of 4 ranks
  local what=$1 pattern=$2 shape said first=
  shift 2
  for shape in "4 1" "2 2" "1 4"; do
    said=$(timeout 300 "$bin/mpiexec" -n "${shape% *}" -nfg "${shape#* }" "$@" 2>&1 | grep -E "$pattern|fgmpi:|rror")
    [ -n "$first" ] || first=$said
    [ -n "$said" ] && [ "$said" = "$first" ] && continue
    echo "$what at $shape: $said; expected: $first"
    failed=1
  done
}
fftw=$(echo "$folder"/fftw-3*/mpi/.libs/mpi-bench) hypre=$(echo "$folder"/hypre-*/src/test)
for problem in ifc16x12x10 obrd15x33x20 ofc10x30x40; do
  for shape in "4 1" "2 3" "2 16"; do
    timeout 300 "$bin/mpiexec" -n "${shape% *}" -nfg "${shape#* }" "$fftw" -oestimate --verify $problem ||
      { echo "FFTW $problem at $shape: status $?"; failed=1; }
  done
done
for solver in 0 1 3; do same "hypre ij, solver $solver" "Iterations|Residual Norm" "$hypre/ij" -n 16 16 16 -P 2 2 1 -solver $solver; done
same "hypre struct" "Iterations|Residual Norm" "$hypre/struct" -n 8 8 8 -P 2 2 1 -solver 10
[ $failed = 0 ] && echo "all as with one rank a process"
exit $failed
