# A crash names the world rank, the cause and the functions of the rank's image, and ends the job.
set -u
bin=$1 programs=$2
. "$(dirname "$0")/../transport/shm_files.bash"
fail() { echo "crashes.sh: $*" >&2; cat "$programs/crashes.out" >&2; exit 1; }
run() { # run SHAPE HOW: must fail
  timeout 60 "$bin/mpiexec" $1 "$programs/crashes" "$2" >"$programs/crashes.out" 2>&1 && fail "$1 $2: status 0"
  status=$?
  [ $status = 124 ] && fail "$1 $2: the job goes on"
  return 0
}
says() { grep -qE "$1" "$programs/crashes.out" || fail "not said: $1"; }
for shape in "-n 1 -nfg 5" "-n 2 -nfg 2"; do
  run "$shape" segv
  says 'rank 3: Segmentation fault at address'
  says '#0 +inner::crash_here\(int\)\+0x'
  says '#1 +main\+0x'
  run "$shape" raise
  says 'rank 3: Segmentation fault$'
  says ' inner::crash_here\(int\)\+0x'
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
  run "$shape" lock # the report hangs, and the process still dies of its signal
  [ $status = 6 ] || fail "$shape lock: status $status"
  says 'rank 3: Aborted'
  says 'the call stack is not complete'
  run "$shape" throw
  says 'nobody catches this'
  says 'rank 3: Aborted'
done

# Files and lines of the program, of a private library and of a plugin, in any rank's image.
work=$programs/crashes.dir
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
cat >library.c <<'END'
#include <mpi.h>
static int calls;
int fail_in_library(volatile int* where) {
  MPI_Barrier(MPI_COMM_WORLD);
  *where = ++calls;
  return calls;
}
END
cat >plugin.c <<'END'
int fail_in_library(volatile int*), plugged;
int fail_in_plugin(volatile int* where) {
  plugged++;
  return fail_in_library(where) + plugged;
}
END
cat >program.c <<'END'
#include <dlfcn.h>
#include <mpi.h>
int fail_in_library(volatile int*), own;
int main(int argc, char** argv) {
  int (*in_plugin)(volatile int*), rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  in_plugin = (int (*)(volatile int*))dlsym(dlopen("./libplugin.so", RTLD_NOW), "fail_in_plugin");
  own = in_plugin(rank == 3 ? (int*)8 : &own);
  own += fail_in_library(&own);
  return MPI_Finalize();
}
END
"$bin/mpicc" -g -O1 -shared library.c -o liblibrary.so && "$bin/mpicc" -g -O1 -shared plugin.c -o libplugin.so &&
  "$bin/mpicc" -g -O1 program.c -o program -L. -llibrary -Wl,-rpath,"$work" || fail "mpicc"
for shape in "-n 4 -nfg 1" "-n 1 -nfg 5" "-n 2 -nfg 2"; do
  for layout in protected joined; do
    FGMPI_IMAGE_MAPPINGS=$layout timeout 60 "$bin/mpiexec" $shape ./program >"$programs/crashes.out" 2>&1 && fail "$shape $layout: status 0"
    says 'rank 3: Segmentation fault at address 0x8'
    says '#0 +fail_in_library\+0x.*\(liblibrary.so\+0x.*\) at .*library.c:5$'
    says '#1 +fail_in_plugin\+0x.*\(libplugin.so\+0x.*\) at .*plugin.c:4$'
    says '#2 +main\+0x.*\(program\+0x.*\) at .*program.c:9$'
  done
done
cd "$programs" || exit 1

# Stacks used up in C and Fortran, one rank a process and several, small stacks and large ones.
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
left=$(shm_files)
[ -z "$left" ] || fail "shared memory objects were left: $left"
echo " No Errors"
