# A crash names the world rank, the cause and the functions of the rank's image, and ends the job.
set -u
bin=$1 programs=$2
fail() { echo "crashes.sh: $*" >&2; cat "$programs/crashes.out" >&2; exit 1; }
run() { # run SHAPE HOW: must fail
  timeout 60 "$bin/mpiexec" $1 "$programs/crashes" "$2" >"$programs/crashes.out" 2>&1 && fail "$1 $2: status 0"
  [ $? = 124 ] && fail "$1 $2: the job goes on"
}
says() { grep -qE "$1" "$programs/crashes.out" || fail "not said: $1"; }
for shape in "-n 1 -nfg 5" "-n 2 -nfg 2"; do
  run "$shape" segv
  says 'rank 3: Segmentation fault at address'
  says '#0 +inner::crash_here\(int\)\+0x'
  says '#1 +main\+0x'
  run "$shape" overflow
  says 'stack overflow of rank 3 \(.* KiB\): raise FGMPI_STACK_SIZE'
  says 'recurse\(int\)\+0x'
  run "$shape" frame
  says 'stack overflow of rank 3 \(.* KiB\): raise FGMPI_STACK_SIZE'
  says 'large_frame\(\)\+0x'
  run "$shape" abort
  says 'rank 3: Aborted'
  run "$shape" throw
  says 'nobody catches this'
  says 'rank 3: Aborted'
done
echo " No Errors"
