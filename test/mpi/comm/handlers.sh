#!/usr/bin/env bash
# A bad argument goes to the error handler that the hosted MPICH gives it to, and a failed constructor leaves the null
# handle. One rank: nothing here communicates.
set -u
bin=$1 programs=$2 source=$(dirname "$0")/handlers.c
host=$programs/handlers.host
fail() { echo "handlers.sh: $*" >&2; exit 1; }
mpicc.mpich -w -O1 "$source" -o "$host" || fail "the hosted MPICH's mpicc.mpich does not compile the program"
timeout 100 mpiexec.hydra -n 1 "$host" >"$host.out" 2>&1 || { tail -5 "$host.out"; fail "it ends badly under the hosted MPICH"; }
timeout 100 "$bin/mpiexec" -n 1 -nfg 1 "$programs/handlers" >"$host.ours" 2>&1 || { tail -5 "$host.ours"; fail "it ends badly"; }
grep '^result' "$host.ours" && fail "a failed constructor leaves a handle"
# Where ours is right and the hosted MPICH is not: MPI_INFO_NULL is an info without keys, and a grid has no dimension of
# -1 places (which the hosted MPICH accepts).
different='^MPI_Comm_set_info\(c, MPI_INFO_NULL|^MPI_Cart_create\(c, 1, minus'
diff <(grep '^MPI_' "$host.out" | grep -vE "$different") <(grep '^MPI_' "$host.ours" | grep -vE "$different") ||
  fail "< the hosted MPICH's answer, > this library's"
[ "$(grep -c '^MPI_' "$host.out")" -ge 45 ] || fail "too few calls were compared"
echo " No Errors"
