#!/usr/bin/env bash
# Optional parts of the build: what needs one works where fgmpi-info lists it, and is refused with its name where it is missing.
#   parts.sh BIN PROGRAMS
set -u
bin=$1 programs=$2 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
info=$("$bin/fgmpi-info") || { echo "FAILED fgmpi-info: $?"; exit 1; }
# with PART REFUSAL COMMAND...: the command succeeds, or it fails in a build without the part, with a line like REFUSAL.
with() {
  local part=$1 refusal=$2 out status
  shift 2
  out=$(timeout 120 "$@" 2>&1 </dev/null)
  status=$?
  if grep -qE "^optional parts .*\b$part(,|$)" <<<"$info"; then
    [ $status = 0 ] || { echo "FAILED $part is on: $*: status $status"; head -5 <<<"$out"; failed=1; }
  elif ! grep -qE "^  missing +$part: .+; .+" <<<"$info"; then
    echo "FAILED fgmpi-info does not name $part"
    failed=1
  elif [ $status = 0 ] || ! grep -qE "$refusal" <<<"$out"; then
    echo "FAILED $part is missing: $*: status $status, no line like $refusal"
    head -5 <<<"$out"
    failed=1
  fi
}
ring=$programs/ring
with LIBFABRIC "FGMPI_TRANSPORT=ofi: .*this build has no ofi, for want of libfabric" \
  env FGMPI_TRANSPORT=ofi "$bin/mpiexec" -n 2 "$ring"
with LIBFABRIC "no transport reaches process [01], .*this build has no ofi, for want of libfabric" \
  "$bin/mpiexec" -n 1 "$ring" : -n 1 -env FGMPI_HOST_ID another "$ring"
with BUDDY "\"bdd\": this build has no BuDDy" env FGMPI_GROUPMAP=bdd "$bin/mpiexec" -n 1 -nfg 4 "$ring"
with ROARING "\"roaring\": this build has no CRoaring" env FGMPI_GROUPMAP=roaring "$bin/mpiexec" -n 1 -nfg 4 "$ring"
with D3 "this build has no D3" "$bin/mpiexec" -report "$work/run.html" -n 1 "$ring"
cat >"$work/bcast.c" <<'END'
#include <mpi.h>
int main(int argc, char** argv) {
  int rank, value;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  value = rank;
  MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return MPI_Finalize() + value;
}
END
"$bin/mpicc" "$work/bcast.c" -o "$work/bcast" || failed=1
with SODIUM "collectives go without multicast: .*this build has no libsodium" bash -c \
  'out=$(FGMPI_VERBOSE=on FGMPI_COLL_BCAST=multicast FGMPI_OFI_INTERFACE=lo "$0/mpiexec" -n 2 "$1" 2>&1); echo "$out"
   ! grep -q "no libsodium" <<<"$out"' "$bin" "$work/bcast"
with GCC_PLUGINS "mpicc: -fgmpi-hoist: .*fgmpi_hoist.so is missing" "$bin/mpicc" -O2 -fgmpi-hoist "$work/bcast.c" -o "$work/hoisted"
with OTF2 "fgmpi-track-dump, which builds without OTF2 lack" bash -c \
  'out=$("$0/mpiexec" -track "$2" -n 2 "$1" 2>&1); echo "$out"; ! grep -q "cannot be started" <<<"$out"' "$bin" "$ring" "$work/trace"
with PYTHON "fgmpi-python.*: No such file" "$bin/fgmpi-python" -c "pass"
# Without these there is another way (HWLOC: files of the kernel, URING: threads, PMIX: PMI-1 and PMI-2, LZ4: recordings that
# are larger).
for part in HWLOC URING PMIX LZ4; do
  grep -qE "^(optional parts .*\b$part(,|$)|  missing +$part: .+; .+)" <<<"$info" || { echo "FAILED fgmpi-info does not name $part"; failed=1; }
done
exit $failed
