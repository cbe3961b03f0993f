# The ways in which a rank can end: the others go on, its handlers and output are seen, its status is the job's.
set -u
bin=$1 programs=$2
out=$programs/ends.out
fail() { echo "ends.sh: $shape $how: $*" >&2; cat "$out" >&2; exit 1; }
says() { [ "$(grep -cE -- "$2" "$out")" = "$1" ] || fail "not $1 lines: $2"; }
run() { # run HOW STATUS: the handlers of the other ranks run always
  how=$1
  # Apart: the C library writes a line of stderr in pieces, and what comes on stdout may stand between them.
  timeout 60 "$bin/mpiexec" $shape "$programs/ends" "$how" >"$out.1" 2>"$out.2"
  status=$?
  cat "$out.2" "$out.1" >"$out"
  [ $status = "$2" ] || fail "status $status instead of $2"
  # What rank 1 left without a newline may stand before another process's line.
  says $((ranks - 1)) '^(unfinished )?handler of (0|[2-9])$'
}
for shape in "-n 1 -nfg 4" "-n 2 -nfg 3" "-n 3 -nfg 1"; do
  case $shape in *4) ranks=4 ;; *) ranks=6 ;; esac
  [ "$shape" = "-n 3 -nfg 1" ] && ranks=3
  run err 5; says 1 'ends: number 17: No such file or directory$'; says 1 '^unfinished handler of 1$'
  run errx 6; says 1 'ends: number 17$'; says 1 '^unfinished handler of 1$'
  run error 7; says 1 'ends: number 17: No such file or directory$'; says 1 'handler of 1$'
  run error_at_line 8; says 1 'ends:input.txt:12: number 17$'; says 1 'handler of 1$'
  run error0 13; says 1 'ends: goes on$'; says 1 'handler of 1$'
  run exit 9; says 1 '^unfinished handler of 1$'
  run quick_exit 10; says 1 'quick handler of 1$'; says 0 '^(unfinished )?handler of 1$'
  run _exit 11; says 0 'handler of 1$'
  run _Exit 12; says 0 'handler of 1$'
  run pthread_exit 0; says 1 'handler of 1$'
done
shape="-n 2 -nfg 3" how=abort
timeout 60 "$bin/mpiexec" $shape "$programs/ends" abort >"$out" 2>&1 && fail "status 0"
says 1 'rank 1: Aborted'
echo " No Errors"
