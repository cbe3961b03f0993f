# Recordings that are damaged at random: a clear line, never a crash or a hang. FGMPI_TEST_DAMAGES says how many.
. "$(dirname "$0")/common.sh"
times=${FGMPI_TEST_DAMAGES:-60}
printf 'one\ntwo words\nlast' >words
echo "the first line" >data
input=words
recorded 0 -ranks 4 "$programs/inputs" data
python3 "$here/damaged.py" "$bin/mpiexec" run.rec out.recorded 0 "$times" || fail "inputs"
# With kept contents: what is damaged is named, whether the file has changed or not.
seq 100000 >large
recorded 0 -record-inputs -ranks 4 "$programs/reads" large
python3 "$here/damaged.py" "$bin/mpiexec" run.rec out.recorded 0 $((times / 4)) || fail "reads"
rm large
python3 "$here/damaged.py" "$bin/mpiexec" run.rec out.recorded 0 $((times / 2)) || fail "reads, without the file"
# With sealed chunks.
input=/dev/null
recorded 0 -ranks 8 "$programs/order" 1500
[ "$(stat -c %s run.rec)" -gt 200000 ] || fail "order: no sealed chunk"
python3 "$here/damaged.py" "$bin/mpiexec" run.rec out.recorded 0 $((times / 4)) || fail "order"
