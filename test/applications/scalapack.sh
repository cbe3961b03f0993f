#!/usr/bin/env bash
# Debian's ScaLAPACK testers on several ranks a process, without any setting. Run by hand: it downloads 6 MB.
#   test/applications/scalapack.sh [BIN [FOLDER [SHAPES]]]
# BIN: where mpiexec is (build/default/bin). FOLDER: where the packages are unpacked and the results go (a new one).
# SHAPES: "CxP ..." ranks a process x processes ("1x4 3x2 16x2"). A tester passes when it says that no test failed
# the residual checks; what fails at 1xP too is not about ranks that share a process.
set -u
top=$(cd "$(dirname -- "$0")/../.." && pwd)
bin=$(cd "${1:-$top/build/default/bin}" && pwd) || exit 1
folder=${2:-$(mktemp -d)}
shapes=${3:-1x4 3x2 16x2}
mkdir -p "$folder" && cd "$folder" || exit 1
root=$folder/root
if [ ! -d "$root" ]; then
  apt-get download -q libscalapack-mpich2.2 scalapack-mpi-test scalapack-test-common libblas3 liblapack3 || exit 1
  for package in ./*.deb; do dpkg -x "$package" "$root" || exit 1; done
fi
libraries=$root/usr/lib/x86_64-linux-gnu
export LD_LIBRARY_PATH=$libraries:$libraries/blas:$libraries/lapack
cd "$libraries/scalapack/mpich-tests" || exit 1
ln -sf BLACS/*.dat .  # the BLACS testers look for their input here
for shape in $shapes; do
  ranks=${shape%x*} processes=${shape#*x}
  passed=0 failed=
  for tester in x*; do
    result=$folder/$shape.$tester
    timeout 300 "$bin/mpiexec" -n "$processes" -nfg "$ranks" "./$tester" > "$result" 2>&1
    status=$?
    if [ $status = 0 ] && ! grep -qE '[1-9][0-9]* tests? completed and failed|FAILED|fgmpi:' "$result"; then
      passed=$((passed + 1))
    else
      failed="$failed $tester($status)"
    fi
  done
  echo "$shape: $passed passed; not:${failed:- none}"
done
