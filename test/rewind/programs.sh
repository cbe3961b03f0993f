# Programs of test/mpi repeat exactly: their output and their status. programs.sh BIN FOLDER [all]: without "all" a sample.
# What cannot be recorded (threads, other processes, other jobs, scripts, what does not start) is counted, not compared.
. "$(dirname "$0")/common.sh"
few=${3:-}
same=0 refused=0 other=0
list=$(find "$programs" -type f -perm -u+x ! -name '*.so*' | sort)
[ "$few" = all ] || list=$(echo "$list" | awk 'NR % 4 == 1')
for program in $list; do
  case $program in */life/* | */failures/* | */multihost/* | */dynamic/*) continue ;; esac
  rm -f run.rec
  timeout 20 "$bin/mpiexec" -record run.rec -ranks 4 "$program" </dev/null >out.recorded 2>err.recorded
  status=$?
  [ $status = 124 ] && continue
  if grep -qE "cannot be recorded|linked dynamically" err.recorded; then
    refused=$((refused + 1))
    continue
  fi
  timeout 40 "$bin/mpiexec" -rewind run.rec </dev/null >out.repeated 2>err.repeated
  got=$?
  if grep -q "nothing was recorded" err.repeated; then
    refused=$((refused + 1))
  elif [ $got = $status ] && cmp -s out.recorded out.repeated; then
    same=$((same + 1))
  else
    other=$((other + 1))
    echo "${program#"$programs"/}: recorded $status, repeated $got: $(grep -m1 "fgmpi: rewind" err.repeated)"
  fi
done
echo "$same repeat, $refused cannot be recorded, $other differ"
[ $other = 0 ] && [ $same -ge 50 ]
