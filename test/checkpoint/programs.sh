#!/bin/bash
# The programs of test/mpi behind the layer of src/checkpoint: they run with virtual handles, and all objects are made anew in
# front of every second collective of MPI_COMM_WORLD (MODE remake:2), or at random moments (remake:500us); or their ranks have
# deputies (deputy).
# EVERY: only each so manyth program.
#   programs.sh BIN MPI_TESTS MODE [EVERY]
bin=$1 tests=$2 mode=$3 every=${4:-1}
sources=$(cd "$(dirname "$0")/../mpi" && pwd)
# Programs that look at what the layer changes: counters of messages, shared maps, names of freed communicators in texts of
# errors, errors of which only some ranks learn, ways to windows and memory of other ranks; those that make thousands of
# communicators take minutes. In Fortran, array sections in nonblocking calls get the layer's requests.
but=" attributes local_messages messages extensions many session_late system_ranked_errors sections_pt2pt sections_window closed falls large rma/errors rma/query rma/windows "
# Communicators have more parts where ranks have deputies.
case $mode in deputy*) but="${but}comm/memory " ;; esac
failed=0 count=0
for topic in pt2pt coll comm attr datatype topo group old_style fortran rma file; do
  for program in "$tests/$topic"/*; do
    name=$(basename "$program")
    [ -f "$program" ] && [ -x "$program" ] || continue
    case "$but" in *" $name "* | *" $topic/$name "*) continue ;; esac
    case $name in *.host | *_abi | *.sh) continue ;; esac
    shapes=$sources/$topic/$name.shapes
    [ ! -e "$shapes" ] || grep -q '^3x2$' "$shapes" || continue
    count=$((count + 1))
    [ $((count % every)) -eq 0 ] || continue
    output=$(timeout 120 "$bin/mpiexec" -n 2 -nfg 3 -genv LD_PRELOAD libfgmpi-checkpoint.so -genv FGMPI_CHECKPOINT "$mode" \
      "$program" < /dev/null 2>&1)
    status=$?
    [ $status -eq 0 ] && continue
    echo "$topic/$name ends with $status:"
    echo "$output" | head -5
    failed=1
  done
done
[ $count -gt 50 ] || { echo "only $count programs were found in $tests"; failed=1; }
exit $failed
