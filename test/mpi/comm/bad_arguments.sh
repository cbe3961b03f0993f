#!/usr/bin/env bash
# Bad arguments give the error classes that the hosted MPICH gives, and where that accepts what MPI forbids, an error.
# A communicator used after it was freed is named.
set -u
bin=$1 programs=$2 source=$(dirname "$0")/bad_arguments.c
host=$programs/bad_arguments.host
fail() { echo "bad_arguments.sh: $*" >&2; exit 1; }
mpicc.mpich -w -O1 "$source" -o "$host" || fail "the hosted MPICH's mpicc.mpich does not compile the program"
timeout 100 mpiexec.hydra -n 2 "$host" host >"$host.out" 2>&1 || { tail -5 "$host.out"; fail "it ends badly under the hosted MPICH"; }

# Where both have an answer and ours is right all the same:
#   a range from 1 to 0 in steps of 1 is empty (MPI-4.0 section 7.3.2: floor((last - first) / stride) + 1 ranks)
#   a bad rank is an invalid rank in a range too, as it is in MPI_Group_incl
#   MPI_Cart_map refuses a grid larger than the communicator as MPI_Cart_create does
different='^MPI_Group_range_incl\(world, 1, back|^MPI_Group_range_(in|ex)cl\(world, [12], (past|overlap)|^MPI_Cart_map\(MPI_COMM_WORLD, 2, many'

for shape in "-n 1 -nfg 2" "-n 2 -nfg 1"; do
  ours=$host.ours
  timeout 100 "$bin/mpiexec" $shape "$programs/bad_arguments" >"$ours" 2>&1 || { tail -5 "$ours"; fail "$shape: it ends badly"; }
  compared=0
  while read -r line; do
    call=${line% *} class=${line##* }
    mine=$(grep -F -- "$call " "$ours") || fail "$shape: no line for $call"
    mine=${mine##* }
    compared=$((compared + 1))
    [ "$mine" = "$class" ] && continue
    grep -qE "$different" <<<"$call" && continue
    [ "$class" = 0 ] && continue
    fail "$shape: class $mine, the hosted MPICH's is $class: $call"
  done < <(sed -n '/^MPI_/s/  */ /gp' "$host.out" | sed 's/ \([0-9]*\)$/ \1/')
  [ "$compared" -ge 120 ] || fail "only $compared calls were compared"
  # Calls that the hosted MPICH crashes on are errors here.
  grep -E '^MPI_(Comm_remote_group\(world|Intercomm_merge\(world|Cart_get|Dims_create\(0|Dist_graph_create\(MPI_COMM_WORLD, 1, (bad|nine))' "$ours" |
    grep -E ' 0$' && fail "$shape: accepted"
  timeout 100 "$bin/mpiexec" $shape "$programs/bad_arguments" freed >"$ours" 2>&1 && fail "$shape: a freed communicator is accepted"
  grep -q 'comm is 0x[0-9a-f]*, which was freed: it was "the halo", rank [01] of 2' "$ours" ||
    { tail -3 "$ours"; fail "$shape: the freed communicator is not named"; }
done
echo " No Errors"
