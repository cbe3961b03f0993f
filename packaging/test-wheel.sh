#!/usr/bin/env bash
# Installs the wheel of scripts/package --wheel by pip in an empty root of this Debian, which has python3 and python3-venv alone,
# and runs programs there: in Python with 1,000 ranks, and in C, compiled outside. Then the root gets a compiler and pytest, for
# the wheel's mpicc and mpicc_abi, and pytest --mpi-ranks.      packaging/test-wheel.sh BUILD_FOLDER WHEEL [FOLDER_OF_ROOTS]
# The root is made by debootstrap in the last folder (~/.cache/fgmpi/roots) and kept; what a test writes lies in front of it.
set -eu
build=$(cd "$1" && pwd) wheel=$2 roots=${3:-${XDG_CACHE_HOME:-$HOME/.cache}/fgmpi/roots}
here=$(cd "$(dirname -- "$0")/.." && pwd)
fail() { echo "scripts/package: FAILED: $*" >&2; exit 1; }
command -v debootstrap > /dev/null || { echo "scripts/package: debootstrap is not installed"; exit 77; }
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
mirror=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
  sed -n 's/^[a-z]* //p' | grep -v security | head -n 1)
root=$roots/python-$release
if [ ! -e "$root/made" ]; then
  rm -rf "$root" && mkdir -p "$root"
  debootstrap --variant=minbase --include=python3,python3-venv "$release" "$root" "$mirror" > "$root.log" 2>&1 ||
    fail "debootstrap: see $root.log"
  touch "$root/made"
fi
work=$(mktemp -d /var/tmp/fgmpi-wheel.XXXXXX)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{upper/w,under,merged}
shared=$work/upper/w  # /w in the root

# inside WORD...: runs a command in the root, where nothing of this machine is seen. The mounts end with it.
inside() {
  unshare --mount --propagation private --pid --fork sh -c '
    work=$1 root=$2; shift 2
    mount -t overlay overlay -o "lowerdir=$root,upperdir=$work/upper,workdir=$work/under" "$work/merged" && cd "$work/merged" &&
      mount -t proc proc proc && mount -t sysfs sysfs sys && mount --rbind /dev dev && mount -t tmpfs tmpfs dev/shm || exit 1
    exec chroot . /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/nowhere sh -c "cd /w && $1"' sh "$work" "$root" "$*"
}
# expect NAME PATTERN COMMAND: the command succeeds, and its output has a line like PATTERN.
expect() {
  inside "$3" > "$work/run.log" 2>&1 < /dev/null || { tail -n 20 "$work/run.log"; fail "$1: status $?: $3"; }
  grep -Eq -- "$2" "$work/run.log" || { tail -n 20 "$work/run.log"; fail "$1: no line like '$2': $3"; }
  echo "ok $1"
}
seconds() { local now=${EPOCHREALTIME/./}; echo "   $(((now - began) / 1000)) ms"; }

# ---- Programs --------------------------------------------------------------------------------------------------------
cat > "$shared/hello.c" << 'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
static int own = 41; /* each rank has its own */
int main(int argc, char** argv) {
  int rank, size, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Datatype columns; /* the hosted MPICH makes it */
  MPI_Type_vector(2, 1, 2, MPI_INT, &columns);
  MPI_Type_commit(&columns);
  MPI_Type_free(&columns);
  printf("rank %d of %d: %d, %d\n", rank, size, sum, ++own);
  MPI_Finalize();
  exit(0); /* of the rank, not of the process: the library interposes it */
}
END
"$build/bin/mpicc" "$shared/hello.c" -o "$shared/hello" || fail "hello.c is not compiled"
"$build/bin/mpicc_abi" "$shared/hello.c" -o "$shared/hello_abi" || fail "hello.c is not compiled for the standard ABI"
# A program of another library with MPICH's ABI, such as Intel MPI, needs libmpi.so.12.
cp "$shared/hello" "$shared/hello_other"
patchelf --replace-needed libmpich.so.12 libmpi.so.12 --remove-rpath "$shared/hello_other"
cat > "$shared/ranks.py" << 'END'
"""Ranks of Python, which call MPI by ctypes. ranks.py [LIBRARY]: in MPICH's ABI."""
import ctypes, json, sys
mpi = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else None)
WORLD, INT, SUM = 0x44000000, 0x4C000405, 0x58000003
mpi.MPI_Init(None, None)
rank, size, got, total = (ctypes.c_int() for _ in range(4))
mpi.MPI_Comm_rank(WORLD, ctypes.byref(rank))
mpi.MPI_Comm_size(WORLD, ctypes.byref(size))
right, left = (rank.value + 1) % size.value, (rank.value - 1) % size.value
mpi.MPI_Sendrecv(ctypes.byref(rank), 1, INT, right, 5, ctypes.byref(got), 1, INT, left, 5, WORLD, (ctypes.c_int * 16)())
assert got.value == left
mpi.MPI_Allreduce(ctypes.byref(rank), ctypes.byref(total), 1, INT, SUM, WORLD)
memory = next(int(line.split()[1]) for line in open("/proc/self/smaps_rollup") if line.startswith("Pss:"))
mpi.MPI_Barrier(WORLD)
print("rank %d of %d: %d, %s, %d kB in the process" % (
    rank.value, size.value, total.value, json.dumps(sys.prefix), memory))
mpi.MPI_Finalize()
END
cat > "$shared/environment.py" << 'END'
"""What pip has installed: no file is changed, and no library is there twice. Searches for MPI as mpi4py does."""
import base64, csv, ctypes, hashlib, importlib.metadata, os, sys
files = importlib.metadata.files("finegrain_mpi")
for file in files:
    path = file.locate()
    assert os.path.isfile(path) and not os.path.islink(path), path
    if file.hash:
        digest = hashlib.new(file.hash.mode, open(path, "rb").read()).digest()
        assert base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == file.hash.value, path
lib = sys.exec_prefix + "/lib/"
try:
    ctypes.CDLL(lib + "libmpi.so")
except OSError:
    pass  # a script for the linker: mpi4py goes on to the next name
names = ["libmpi.so.12", "libmpich.so.12"]
places = [ctypes.cast(ctypes.CDLL(lib + name).MPI_Init, ctypes.c_void_p).value for name in names]
assert places[0] == places[1], "MPI_Init is there twice"
major, minor = ctypes.c_int(), ctypes.c_int()
for name in ("libmpi_abi.so.1", "libmpi_abi.so.0"):
    ctypes.CDLL(lib + name).MPI_Abi_get_version(ctypes.byref(major), ctypes.byref(minor))
    assert (major.value, minor.value) == (1, 0), name
licences = [file for file in files if "/licenses/" in str(file)]
print("%d files, %d of them licences" % (len(files), len(licences)))
END

# ---- In the empty root --------------------------------------------------------------------------------------------------
cp "$wheel" "$shared"
printf '127.0.0.1 localhost\n127.0.1.1 %s\n' "$(uname -n)" > "$work/hosts"  # hydra connects to this host by its name
mkdir -p "$work/upper/etc" && cp "$work/hosts" "$work/upper/etc/hosts"
! inside 'command -v mpiexec || command -v cc || ls /usr/lib/*/libmpi* /usr/lib/*/libpython3*.so*' > /dev/null 2>&1 ||
  fail "the root is not empty"
du -h "$wheel"
inside 'python3 -m venv v' || fail "no environment"
began=${EPOCHREALTIME/./}
inside 'v/bin/pip install -q --no-index ./*.whl' || fail "pip does not install the wheel"
seconds
expect "pip check" "No broken requirements" 'v/bin/pip check'
expect "what is installed" "files, [1-9]" 'v/bin/python environment.py'
expect "its host library" "/w/v/lib/fgmpi/host/lib/libmpich.so.12" 'v/bin/fgmpi-info'
began=${EPOCHREALTIME/./}
expect "1,000 ranks of Python" '^rank 999 of 1000: 499500, "/w/v"' 'v/bin/mpiexec -n 2 -nfg 500 v/bin/fgmpi-python ranks.py'
seconds
[ "$(grep -c '^rank [0-9]* of 1000: 499500' "$work/run.log")" = 1000 ] || fail "not 1,000 ranks"
expect "64 ranks of Python" '^rank 63 of 64: 2016' 'v/bin/mpiexec -n 2 -nfg 32 v/bin/fgmpi-python ranks.py'
grep -E '^rank (0|32) of' "$work/run.log"
expect "by libmpi.so.12" '^rank 63 of 64: 2016' 'v/bin/mpiexec -n 2 -nfg 32 v/bin/fgmpi-python ranks.py libmpi.so.12'
expect "without mpiexec" '^rank 2 of 3: 3' 'FGMPI_NFG=3 v/bin/fgmpi-python ranks.py'
expect "python3, one rank a process" '^rank 1 of 2: 1, ' 'v/bin/mpiexec -n 2 -nfg 1 v/bin/python ranks.py /w/v/lib/libmpi.so.12'
for name in hello hello_abi hello_other; do
  expect "$name, compiled outside" '^rank 99 of 100: 4950, 42$' "v/bin/mpirun -n 2 -nfg 50 ./$name"
  [ "$(grep -c '^rank [0-9]* of 100: 4950, 42$' "$work/run.log")" = 100 ] || fail "$name: not 100 ranks"
done
for command in mpiexec mpirun; do
  expect "the exit status of $command" '^status 7$' \
    "v/bin/$command -n 2 -nfg 2 v/bin/fgmpi-python -c 'import sys; sys.exit(7)'; echo status \$?"
  expect "SIGTERM to $command" '^ended$' "v/bin/$command -n 2 -nfg 2 v/bin/fgmpi-python -c 'import time; time.sleep(600)' & sleep 3
    kill -TERM \$! && wait \$!; sleep 1; ls /proc/[0-9]*/exe -l | grep -E 'fgmpi-python|hydra' || echo ended"
done

# ---- With a compiler and pytest -----------------------------------------------------------------------------------------
cp -L /etc/resolv.conf "$work/upper/etc/resolv.conf"
packages="gcc libc6-dev python3-pytest"
inside "apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $packages" \
  > "$work/install.log" 2>&1 || { tail -n 5 "$work/install.log"; echo "no compiler: the wrappers are not tested"; exit 0; }
expect "mpicc" '^rank 3 of 4: 6, 42$' 'v/bin/mpicc hello.c -o made && v/bin/mpiexec -n 2 -nfg 2 ./made'
expect "its program alone" '^rank 1 of 2: 1, 42$' 'FGMPI_NFG=2 ./made'
expect "mpicc_abi" '^rank 3 of 4: 6, 42$' 'v/bin/mpicc_abi hello.c -o made_abi && v/bin/mpiexec -n 2 -nfg 2 ./made_abi'
expect "its program alone" '^rank 1 of 2: 1, 42$' 'FGMPI_NFG=2 ./made_abi'
expect "mpicc -lmpi" '^rank 3 of 4: 6, 42$' 'v/bin/mpicc hello.c -o made_mpi -lmpi && v/bin/mpiexec -n 2 -nfg 2 ./made_mpi'
cp "$here/packaging/python/examples/test_ring.py" "$shared"
cp -r "$here/test/python/samples/stand_in/mpi4py" "$shared"
inside 'python3 -m venv --system-site-packages p && p/bin/pip install -q --no-index ./*.whl' || fail "no environment with pytest"
expect "pytest" '[0-9]+ passed' 'PYTHONPATH=/w p/bin/python -m pytest -p no:cacheprovider --mpi-ranks 1,4,64 test_ring.py'
tail -n 1 "$work/run.log"
left="find v -name '*libmpi*' -o -name 'fgmpi*' -o -name mpiexec"
expect "what pip uninstall leaves" '^nothing$' "v/bin/pip uninstall -q -y finegrain_mpi && $left | grep . || echo nothing"
