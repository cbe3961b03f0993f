# Programs repeat exactly: their output and their status. programs.sh BIN FOLDER [all|PART/PARTS [FOLDER]...]: of the programs in the
# folders a sample, all, or one part. FGMPI_TEST_REPEATS says how often each: 1 by default, 10 are all ways that there are.
# What cannot be recorded (threads, other processes, other jobs, scripts, what does not start) is counted, not compared, as is
# what another test builds meanwhile.
. "$(dirname "$0")/common.sh"
few=${3:-1/4}
[ "$few" = all ] && few=1/1
shift $(($# < 3 ? $# : 3))
repeats=${FGMPI_TEST_REPEATS:-1}
same=0 refused=0 changed=0 other=0
mkdir elsewhere
record=$PWD/run.rec

# repeated_by WAY: the run is repeated so; its status is in $got, its output in out.repeated, its words in err.repeated.
repeated_by() {
  case $1 in
    files) timeout 60 "$bin/mpiexec" -rewind run.rec </dev/null >out.repeated 2>err.repeated ;;
    pipes)
      { timeout 60 "$bin/mpiexec" -rewind run.rec </dev/null 2>&1 >&3 3>&-; echo $? >status; } 3>out.repeated | cat >err.repeated
      (exit "$(cat status)")
      ;;
    elsewhere) # another folder, environment and limit of the stack
      (cd elsewhere && ulimit -Ss 4096 && env -i A=b timeout 60 "$bin/mpiexec" -rewind "$record" </dev/null) >out.repeated 2>err.repeated
      ;;
    terminal)
      script -qec "timeout 60 $bin/mpiexec -rewind run.rec 2>err.repeated; echo \$? >status" /dev/null </dev/null >out.shown
      tr -d '\r' <out.shown >out.repeated
      (exit "$(cat status)")
      ;;
    *) timeout 100 "$bin/mpiexec" -rewind run.rec -events </dev/null 2>err.repeated >/dev/null ;;
  esac
  got=$?
}
# state_of PROGRAM: which build of the program, and of the libraries beside it, lies there. Other tests, which may run meanwhile,
# build theirs anew.
state_of() {
  stat -c '%n %i %s %Y' "$1" $(ldd "$1" 2>/dev/null | awk -v folder="$programs" 'index($3, folder) == 1 { print $3 }') 2>&1
}
# is_same WAY: the repeated run is the recorded one.
is_same() {
  case $1 in
    events | gdb) ! grep -q "fgmpi: rewind: the run differs" err.repeated ;;
    terminal) [ $got = $status ] && cmp -s <(tr -d '\r' <out.recorded) out.repeated ;;
    *) [ $got = $status ] && cmp -s out.recorded out.repeated ;;
  esac
}

list=$(find "$programs" "$@" -type f -perm -u+x ! -name '*.so*' | sort | awk -v part="${few%/*}" -v parts="${few#*/}" 'NR % parts == part % parts')
for program in $list; do
  case $program in */life/* | */failures/* | */multihost/* | */dynamic/*) continue ;; esac
  rm -f run.rec
  state=$(state_of "$program")
  timeout 20 "$bin/mpiexec" -record run.rec -ranks 4 "$program" </dev/null >out.recorded 2>err.recorded
  status=$?
  [ $status = 124 ] && continue
  if grep -qE "cannot be recorded|linked dynamically" err.recorded; then
    refused=$((refused + 1))
    continue
  fi
  ways="events files pipes elsewhere terminal gdb files pipes elsewhere events"
  command -v script >/dev/null || ways=${ways/terminal/files}
  command -v gdb >/dev/null || ways=${ways/gdb/files}
  wrong=
  for way in files $(echo "$ways" | cut -d ' ' -f "1-$repeats"); do
    if [ $way = gdb ]; then
      timeout 100 "$bin/mpiexec" -rewind run.rec gdb -batch -ex "fgmpi back 3" -ex continue </dev/null >err.repeated 2>&1
    else
      repeated_by $way
    fi
    grep -q "nothing was recorded" err.repeated && break
    is_same $way || wrong="$wrong $way: $got, $(grep -m1 "fgmpi: rewind" err.repeated);"
  done
  if [ "$state" != "$(state_of "$program")" ]; then
    changed=$((changed + 1))
  elif grep -q "nothing was recorded" err.repeated; then
    refused=$((refused + 1))
  elif [ -z "$wrong" ]; then
    same=$((same + 1))
  else
    other=$((other + 1))
    echo "${program#"$programs"/}: recorded $status, repeated$wrong"
  fi
done
echo "$same repeat, $refused cannot be recorded, $changed were built meanwhile, $other differ"
[ $other = 0 ] && [ $same -ge "${FGMPI_TEST_LEAST:-50}" ]
