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
  run "$shape" call
  says 'rank 3: Segmentation fault at address \(nil\)'
  says '#1 +inner::call_nothing\(\)\+0x'
  says '#2 +main\+0x'
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

# Stacks used up in C and Fortran, one rank a process and several, small stacks and large ones.
objects_before=$(ls /dev/shm | wc -l)
for stack in 64k 1m 32m; do
  export FGMPI_STACK_SIZE=$stack
  for shape in "-n 1 -nfg 1" "-n 2 -nfg 3"; do
    case $shape in *1) last=0 ;; *) last=5 ;; esac
    for how in overflow frame; do
      timeout 60 "$bin/mpiexec" $shape "$programs/crashes_c" $how >"$programs/crashes.out" 2>&1
      [ $? = 11 ] || fail "C $stack $shape $how: not the status of SIGSEGV"
      says "stack overflow of rank $last \([0-9]+ KiB\): raise FGMPI_STACK_SIZE"
      says '(recurse|large_frame)\+0x'
    done
    timeout 60 "$bin/mpiexec" $shape "$programs/crashes_f" overflow >"$programs/crashes.out" 2>&1
    [ $? = 11 ] || fail "Fortran $stack $shape: not the status of SIGSEGV"
    says 'stack overflow of rank 0 \([0-9]+ KiB\): raise FGMPI_STACK_SIZE'
    says '__deep_MOD_recurse\+0x'
    for how in "stop 3" "error 4"; do
      timeout 60 "$bin/mpiexec" $shape "$programs/crashes_f" ${how% *} >"$programs/crashes.out" 2>&1
      [ $? = ${how#* } ] || fail "Fortran $stack $shape $how: another status"
    done
  done
done
[ "$(ls /dev/shm | wc -l)" -le "$objects_before" ] || fail "shared memory objects were left"
echo " No Errors"
