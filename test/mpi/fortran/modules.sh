# mpifort lets each compiler make the modules mpi and mpi_f08 at first use, also when several begin at the same time; in the user's
# cache where the installation may not be written to, and never in a folder of somebody else.
set -u
bin=$1 work=$2/modules.dir
prefix=$(dirname "$bin")
fail() { echo "modules.sh: $*" >&2; tail -40 "$work/out" >&2; exit 1; }
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
touch out
cat >hello.f90 <<'END2'
program hello
  use mpi_f08
  implicit none
  integer :: rank
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  if (MPI_SUBARRAYS_SUPPORTED) print '(a,i0)', 'hello from ', rank
  call MPI_Finalize()
end program
END2
sed 's/mpi_f08/mpi/; s/Init()/Init(ierr)/; s/rank)$/rank, ierr)/; s/Finalize()/Finalize(ierr)/; s/:: rank/:: rank, ierr/; s/if (.*) print/print/' \
  hello.f90 >plain.f90
# Every gfortran that there is.
for compiler in "${FGMPI_FC:-gfortran}" gfortran-12 gfortran-13 gfortran-14 gfortran-15 gfortran-16; do
  command -v "$compiler" >/dev/null || continue
  for program in hello plain; do
    FGMPI_FC=$compiler "$bin/mpifort" $program.f90 -o $program >out 2>&1 || fail "$compiler $program.f90"
    timeout 60 "$bin/mpiexec" -n 1 -nfg 3 ./$program >out 2>&1 || fail "$compiler, $program: status $?"
    [ "$(grep -c "hello from [012]$" out)" = 3 ] || fail "$compiler, $program: wrong output"
  done
done

# Arrays of counts may be scalars (array_shapes.f90), but no numbers of another kind.
cat >wrong.f90 <<'END2'
program wrong
  use mpi
  implicit none
  integer(8) :: counts(1) = 1
  integer :: value, displs(1) = 0, ierr
  call MPI_Allgatherv(value, 1, MPI_INTEGER, value, counts, displs, MPI_INTEGER, MPI_COMM_SELF, ierr)
end program
END2
"$bin/mpifort" -c wrong.f90 -o wrong.o >out 2>&1 && fail "counts of 8 bytes"
grep -qi "MPI_Allgatherv" out || fail "counts of 8 bytes: another error"

# A compiler of a version that nobody has seen, in a prefix of its own.
mkdir -p own/bin own/lib
cp "$bin/mpifort" own/bin
cp -r "$prefix"/lib/fgmpi own/lib
rm -rf own/lib/fgmpi/fortran/*-*
ln -s "$prefix"/lib/lib* own/lib
cat >compiler <<'END2'
#!/bin/sh
[ "$1" != --version ] || { echo "GNU Fortran 99.$VERSION"; echo "Free Software Foundation"; exit; }
exec gfortran "$@"
END2
chmod +x compiler
export FGMPI_FC="$work/compiler"
for ((i = 0; i < 6; ++i)); do
  VERSION=1 own/bin/mpifort -c hello.f90 -o $i.o >out.$i 2>&1 &
done
for job in $(jobs -p); do wait "$job" || fail "several at the same time: $(cat out.?)"; done
[ "$(ls own/lib/fgmpi/fortran | grep -c '^GNU_Fortran_99.1-')" = 1 ] || fail "folders: $(ls own/lib/fgmpi/fortran)"

# An installation that this user may not write to. Root may write anywhere, so it becomes somebody else.
as=
if [ "$(id -u)" = 0 ]; then
  command -v setpriv >/dev/null || { echo " No Errors"; exit; }
  as="setpriv --reuid 65534 --regid 65534 --clear-groups"
  $as test -r "$work/hello.f90" || { echo " No Errors"; exit; }
  mkdir cache home other && chown 65534 cache home
else
  mkdir cache home other
fi
chmod a-w own/lib/fgmpi/fortran
export VERSION=2
$as env XDG_CACHE_HOME="$work/cache" own/bin/mpifort -c hello.f90 -o home/hello.o >out 2>&1 || fail "XDG_CACHE_HOME"
ls cache/fgmpi/GNU_Fortran_99.2-*/mpi_f08.mod >/dev/null || fail "no module in XDG_CACHE_HOME"
$as env -u XDG_CACHE_HOME HOME="$work/home" own/bin/mpifort -c hello.f90 -o home/hello.o >out 2>&1 || fail "HOME"
ls home/.cache/fgmpi/GNU_Fortran_99.2-*/mpi_f08.mod >/dev/null || fail "no module in HOME"
if [ -n "$as" ]; then
  mkdir -m 777 other/fgmpi-modules-65534
  $as env -u XDG_CACHE_HOME HOME=/nonexistent TMPDIR="$work/other" own/bin/mpifort -c hello.f90 -o home/hello.o >out 2>&1 &&
    fail "a folder of somebody else was used"
  grep -q "^mpifort: no folder for the modules" out || fail "a folder of somebody else"
fi
chmod u+w own/lib/fgmpi/fortran
echo " No Errors"
