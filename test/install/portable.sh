#!/bin/bash
# The tarball of scripts/package --portable: what is in it, and that it runs with its own files alone from a folder with spaces,
# after a move.   portable.sh PACKAGE_SCRIPT BUILD_FOLDER WORK_FOLDER
set -u
script=$1 build=$2 work=$3
command -v patchelf > /dev/null || { echo "patchelf is not installed"; exit 77; }
failed=0
fault() { echo "FAILED $*"; failed=1; }
# expect NAME PATTERN COMMAND...: the command succeeds, and its output has a line like PATTERN. It has no variables of this one.
expect() {
  local name=$1 pattern=$2 said
  shift 2
  said=$(timeout 300 env -i PATH=/usr/bin:/bin HOME=/nowhere "$@" 2>&1 < /dev/null) || fault "$name: status $?: $*"
  if grep -Eq -- "$pattern" <<< "$said"; then echo "ok $name"; else fault "$name: no line like '$pattern': $*"; head -n 20 <<< "$said"; fi
}

rm -rf "$work" && mkdir -p "$work/a folder" && cd "$work" || exit 1
"$script" --build "$build" --portable --to "$work" > package.log 2>&1 || { tail package.log; exit 1; }
tarball=$(tail -n 1 package.log)
glibc=${tarball##*-glibc} && glibc=${glibc%.tar.gz}
tar -xzf "$tarball" -C "a folder" && rm "$tarball" && mv "a folder"/finegrain-mpi-* "a folder/moved" || exit 1
prefix="$work/a folder/moved" && bin="$prefix/bin" && inside="$prefix/lib/fgmpi"

for file in bin/{mpicc,mpicxx,mpicc_abi,mpicxx_abi,mpifort,mpiexec,fgmpi-info} \
  lib/{libmpich.so.12,libmpi_abi.so.1,libmpichfort.so,libfgmpi_hydra.so,libfgmpi-track.so} \
  lib/fgmpi/host/{bin/mpiexec.hydra,bin/hydra_pmi_proxy,include/mpi.h,lib/libmpich.so.12} lib/fgmpi/fortran/{mpif.h,mpi.f90,mpi_f08.f90,checksum} \
  lib/fgmpi/libraries/libhwloc.so.15 share/doc/fgmpi/{README,LICENSE,copyright,licences/README}; do
  [ -s "$prefix/$file" ] || fault "$file is missing"
done
# Paths of other projects may end like ours.
traces=$(grep -rlE -e "(^|[^[:alnum:]_./-])($build|${script%scripts/package}src)(/|$)" "$prefix")
[ -z "$traces" ] || fault "a folder of the build is named by $traces"
. /etc/os-release
[ "$ID${VERSION_ID:-}" != debian12 ] || [ "$glibc" = 2.34 ] || fault "glibc $glibc is wanted instead of 2.34"
# Each library is one of the base system, or lies inside, and has a licence.
while IFS= read -r file; do
  objdump -p "$file" > /dev/null 2>&1 || continue
  newest=$(objdump -T "$file" | grep -F '*UND*' | grep -oE 'GLIBC_[0-9.]+' | cut -d_ -f2 | sort -V | tail -n 1)
  [ "$(printf '%s\n' "$newest" "$glibc" | sort -V | tail -n 1)" = "$glibc" ] || fault "$file wants glibc $newest"
  outside=$(ldd "$file" | grep -E '=>' | grep -vF "$prefix" |
    grep -vE '^\s*lib(c|m|dl|pthread|rt|resolv|stdc\+\+|gcc_s|gfortran|quadmath)\.so')
  [ -z "$outside" ] || fault "$file needs $outside"
done < <(find "$prefix" -name '*.so*' -type f -o -type f -path '*/bin/*' -o -type f -name fgmpi-start)
for file in "$inside"/{libraries,host/bin,host/lib,host/include}/*; do
  grep -qE "^${file#"$prefix/"} +[a-z]" "$prefix/share/doc/fgmpi/licences/README" || fault "$file has no licence"
done

cat > hello.c << 'END'
#include <mpi.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int provided, variables; /* the host has some of its own */
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_T_cvar_get_num(&variables);
  MPI_T_finalize();
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("rank %d of %d: %d\n", rank, size, sum);
  char line[4096];
  FILE* maps = argc > 1 && rank == 0 ? fopen("/proc/self/maps", "r") : 0;
  while (maps && fgets(line, sizeof line, maps))
    if (strstr(line, argv[1]) && strstr(line, "r-x")) printf("%s", strchr(line, '/'));
  MPI_Finalize();
  return 0;
}
END
cat > hello.f90 << 'END'
program hello
  use mpi
  integer :: rank, error
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  print *, 'rank', rank
  call MPI_Finalize(error)
end program
END
expect "the host library inside" "^host library +$inside/host/lib/libmpich.so.12$" "$bin/fgmpi-info"
expect "the launcher inside" "^launcher +$inside/host/bin/mpiexec.hydra$" "$bin/fgmpi-info"
expect "C" "" "$bin/mpicc" hello.c -o hello
expect "its headers" "lib/fgmpi/host/include" "$bin/mpicc" -show -c hello.c
expect "the host's C++ bindings" "^-lmpichcxx$" sh -c '"$0" -link_info | tr " " "\n"' "$bin/mpicxx"
expect "100 ranks" "^rank 99 of 100: 4950$" "$bin/mpiexec" -n 2 -nfg 50 ./hello
expect "without mpiexec" "^rank 2 of 3: 3$" FGMPI_NFG=3 ./hello
expect "C of the standard ABI" "" "$bin/mpicc_abi" hello.c -o hello_abi
expect "without mpiexec, too" "^rank 2 of 3: 3$" FGMPI_NFG=3 ./hello_abi
if ! "$bin/fgmpi-info" | grep -q 'missing *LIBFABRIC:'; then
  expect "its libfabric" "^$inside/libraries/libfabric.so.1$" FGMPI_TRANSPORT=ofi "$bin/mpiexec" -n 2 ./hello libfabric
fi
expect "its host" "^$inside/host/lib/libmpich.so.12$" "$bin/mpiexec" -n 2 ./hello libmpich
host=$(sed -n 's/^FGMPI_HOST_LIBRARY:[A-Z]*=//p' "$build/CMakeCache.txt")
expect "a wish for another host" "^$(readlink -f "$host")" FGMPI_HOST_MPI="$host" "$bin/mpiexec" -n 2 ./hello libmpich
expect "-track" "^rank 3 of 4: 6$" "$bin/mpiexec" -track "a trace" -n 2 -nfg 2 ./hello
[ ! -x "$bin/fgmpi-track-dump" ] || expect "fgmpi-track-dump" "^job [0-9a-f]+: 4 ranks$" "$bin/fgmpi-track-dump" "a trace"
expect "Fortran" "" "$bin/mpifort" hello.f90 -o hello_f
expect "its ranks" "rank +5$" "$bin/mpiexec" -n 2 -nfg 3 ./hello_f
sed '1s/.*/#include <mpi.h>/; s/MPI_Init(.*/MPI::Init();/; s/MPI_Comm_rank(.*/rank = MPI::COMM_WORLD.Get_rank();/' hello.c > hello.cc
expect "C++" "" "$bin/mpicxx" hello.cc -o hello_cc
expect "its bindings" "^$prefix/lib/libmpichcxx.so.12$" "$bin/mpiexec" -n 2 ./hello_cc libmpichcxx
expect "no plugin" "fgmpi_hoist.so is missing" sh -c '! "$0" -fgmpi-hoist hello.c -o none' "$bin/mpicc"
expect "-check without a plugin" "" "$bin/mpicc" -check hello.c -o hello_check
expect "its job" "^rank 3 of 4: 6$" "$bin/mpiexec" -check -n 2 -nfg 2 ./hello_check
expect "pkg-config's description" "^Cflags: -I.{prefix}/lib/fgmpi/host/include " cat "$prefix/lib/pkgconfig/fgmpi.pc"
expect "CMake's description" '.\{Finegrain_PREFIX}/lib/fgmpi/host/include' cat "$prefix/lib/cmake/Finegrain/FinegrainConfig.cmake"
exit $failed
