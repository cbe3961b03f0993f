#!/bin/bash
# The wheel of scripts/package --wheel, in an environment of this machine's Python without the network: what is in it, and ranks of
# Python.   wheel.sh PACKAGE_SCRIPT BUILD_FOLDER WORK_FOLDER      packaging/test-wheel.sh does more, in an empty root.
set -u
script=$1 build=$2 work=$3
command -v patchelf > /dev/null || { echo "patchelf is not installed"; exit 77; }
[ -x "$build/bin/fgmpi-python" ] || { echo "the interpreter's library is not installed"; exit 77; }
version=$("$build/bin/fgmpi-python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
for python in "/usr/bin/python$version" "$(command -v "python$version")" none; do
  [ -x "$python" ] && "$python" -c 'import ensurepip, venv' 2> /dev/null && break
done
[ "$python" != none ] || { echo "python3-venv is not installed for Python $version"; exit 77; }
failed=0
fault() { echo "FAILED $*"; failed=1; }

rm -rf "$work" && mkdir -p "$work/a folder" && cd "$work" || exit 1
"$script" --build "$build" --wheel --to "$work" > package.log 2>&1 || { tail package.log; exit 1; }
environment="$work/a folder/v"
"$python" -m venv "$environment" && "$environment/bin/python" -m pip install -q --no-index ./*.whl || exit 1
"$environment/bin/python" - << 'END' || fault "what is installed"
import base64, ctypes, hashlib, importlib.metadata, os, sys
files = importlib.metadata.files("finegrain_mpi")
for file in files:
    path = file.locate()
    assert os.path.isfile(path) and not os.path.islink(path), path
    if file.hash:
        digest = hashlib.sha256(open(path, "rb").read()).digest()
        assert base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == file.hash.value, path
lib = sys.prefix + "/lib/"
one, other = (ctypes.cast(ctypes.CDLL(lib + name).MPI_Init, ctypes.c_void_p).value for name in ("libmpi.so.12", "libmpich.so.12"))
assert one == other, "MPI_Init is there twice"
ctypes.CDLL(lib + "libmpi_abi.so.0").MPI_Abi_get_version
licences = next(file for file in files if str(file).endswith("licenses/licences/README")).read_text()
for file in files:
    name = os.path.relpath(file.locate(), sys.prefix)
    if name.startswith(("lib/fgmpi/libraries/", "lib/fgmpi/python/", "lib/fgmpi/host/")):
        assert name + " " in licences, name + " has no licence"
END
cat > ranks.py << 'END'
import ctypes, sys
mpi, rank = ctypes.CDLL(None), ctypes.c_int()
mpi.MPI_Init(None, None)
mpi.MPI_Comm_rank(0x44000000, ctypes.byref(rank))
print(rank.value, sys.prefix)
mpi.MPI_Finalize()
sys.exit(3 if rank.value == 9 else 0)
END
timeout 300 "$environment/bin/mpirun" -n 2 -nfg 5 "$environment/bin/fgmpi-python" ranks.py > said
[ $? = 3 ] || fault "mpirun's exit status"
[ "$(grep -cx "[0-9] $environment" said)" = 10 ] || { fault "not 10 ranks of the environment's Python"; head said; }

# An environment of another release without a shared library is told so in one line.
mkdir -p none/bin && sed "s|^home.*|home = $work/none/bin|; s|^version.*|version = $version.99|" "$environment/pyvenv.cfg" > changed &&
  mv changed "$environment/pyvenv.cfg"
FGMPI_NFG=3 timeout 300 "$environment/bin/fgmpi-python" -c 'pass' 2> said
[ "$(grep -c "the environment's Python $version.99 has no shared library" said)" = 1 ] || { fault "no line about the release"; head said; }
exit $failed
