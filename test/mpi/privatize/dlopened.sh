# Programs that load the library at run time are ranks; several a process where mpiexec could load it first. Plugins of
# ranks call MPI as their rank.
set -u
bin=$1 programs=$2
source=$(cd "$(dirname "$0")" && pwd)
work=$programs/dlopened.dir
fail() { echo "dlopened.sh: $*" >&2; cat "$work/out" >&2; exit 1; }
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
touch out
headers=$("$bin/mpicc" -show -c x.c | tr ' ' '\n' | grep '^-I' | tr '\n' ' ')
cc -O1 $headers "$source/dlopened.c" -o host -ldl || fail "cc"
for processes in 1 2 5; do
  for how in plain forget; do
    timeout 60 "$bin/mpiexec" -n $processes ./host $how >out 2>&1 || fail "$processes $how: status $?"
    [ "$(grep -c "^rank [0-4] of $processes is well$" out)" = $processes ] || fail "$processes $how: not $processes ranks"
  done
done
LD_LIBRARY_PATH=$(dirname "$bin")/lib timeout 60 ./host >out 2>&1 || fail "without mpiexec: status $?"
grep -q '^rank 0 of 1 is well$' out || fail "without mpiexec"
timeout 60 "$bin/mpiexec" -n 3 ./host exit >out 2>&1
[ $? = 7 ] || fail "exit(7) in one of three"
timeout 60 "$bin/mpiexec" -n 2 ./host deadlock >out 2>&1 && fail "a deadlock: status 0"
[ $? != 124 ] && grep -q 'MPI_Recv' out || fail "a deadlock was not reported"
for shape in "1 4" "2 3" "2 64"; do
  timeout 60 "$bin/mpiexec" -n "${shape% *}" -nfg "${shape#* }" ./host >out 2>&1 || fail "$shape: status $?"
  [ "$(grep -c 'is well$' out)" = $((${shape% *} * ${shape#* })) ] || fail "$shape: not all ranks"
done
timeout 60 "$bin/mpiexec" -n 2 -nfg 3 ./host exit >out 2>&1
[ $? = 7 ] || fail "exit(7) in one of 2 x 3"
cc -O1 -no-pie $headers "$source/dlopened.c" -o host_fixed -ldl || fail "cc -no-pie"
timeout 60 "$bin/mpiexec" -n 2 -nfg 3 ./host_fixed >out 2>&1 && fail "-nfg 3, not position-independent: status 0"
grep -q 'loaded this library with dlopen, with 3 ranks a process; allowed is 1' out || fail "-nfg 3, not position-independent: not refused"
FGMPI_NFG=3 LD_PRELOAD=$(dirname "$bin")/lib/libmpich.so.12 timeout 60 ./host_fixed >out 2>&1 && fail "preloaded, not position-independent: status 0"
grep -q 'not linked with MPI, with several ranks a process: the program is not position-independent' out || fail "preloaded: not refused"

# Programs that only start the program, or do not use MPI at all, run once a process, and as without the library.
cat >plain.c <<'END'
#include <mpi.h>
#include <stdio.h>
static int calls;
int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("rank %d of %d, call %d\n", rank, size, ++calls);
  return MPI_Finalize();
}
END
"$bin/mpicc" plain.c -o plain || fail "mpicc"
count=(-nfg 3)
once() { # once LINES STATUS PROGRAM...: at 2x3
  local lines=$1 status=$2
  shift 2
  timeout 60 "$bin/mpiexec" -n 2 "${count[@]}" "$@" >out 2>&1
  local got=$?
  [ $got = "$status" ] || fail "$*: status $got"
  [ "$(grep -cE '^(rank [0-5] of 6, call 1|before|after)$' out)" = "$lines" ] || fail "$*: not $lines lines"
}
once 10 0 sh -c 'echo before; ./plain; echo after'
once 6 0 bash -c 'exec ./plain'
once 6 0 env VARIABLE=value ./plain
once 2 3 bash -c 'printf "before\n"; exit 3'
count=(-ranks 6)
once 6 0 env VARIABLE=value ./plain
once 10 0 sh -c 'echo before; ./plain; echo after'

# MPI_Is_thread_main is true in the thread that called MPI_Init and in no other, whichever thread of the process that is;
# the library is loaded as a dependency of another one, as an interpreter's extension module brings it.
cat >extension.c <<'END'
#include <mpi.h>
int start(void) { return MPI_Init(0, 0); }
int is_main(void) {
  int flag = -1;
  MPI_Is_thread_main(&flag);
  return flag;
}
int end(void) { return MPI_Finalize(); }
END
cat >interpreter.c <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
static int (*start)(void), (*is_main)(void), (*end)(void);
static void* other(void* seen) {
  *(int*)seen = is_main();
  return NULL;
}
static int in_other_thread(void) {
  int seen = -1;
  pthread_t thread;
  if (pthread_create(&thread, NULL, other, &seen) || pthread_join(thread, NULL)) return -2;
  return seen;
}
/* The whole of MPI in this thread: before, during and after. */
static void* use(void* first) {
  int before = is_main();
  if (start()) return NULL;
  printf("%s: before %d, me %d, another %d\n", (char*)first, before, is_main(), in_other_thread());
  end();
  return first;
}
int main(int argc, char** argv) {
  void* library = dlopen("./extension.so", RTLD_NOW | RTLD_LOCAL);
  if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
  start = (int (*)(void))dlsym(library, "start");
  is_main = (int (*)(void))dlsym(library, "is_main");
  end = (int (*)(void))dlsym(library, "end");
  void* done = NULL;
  pthread_t thread;
  if (argc > 1 && !strcmp(argv[1], "other")) {
    if (pthread_create(&thread, NULL, use, "other") || pthread_join(thread, &done)) return 2;
    printf("then main %d\n", is_main());
  } else {
    done = use("main");
  }
  return done ? 0 : 3;
}
END
"$bin/mpicc" -shared extension.c -o extension.so && cc interpreter.c -o interpreter -ldl -lpthread || fail "extension"
for shape in "1 1" "2 1" "2 3"; do
  timeout 60 "$bin/mpiexec" -n "${shape% *}" -nfg "${shape#* }" ./interpreter >out 2>&1 || fail "interpreter, $shape: status $?"
  [ "$(grep -c '^main: before 1, me 1, another 0$' out)" = $((${shape% *} * ${shape#* })) ] || fail "interpreter, $shape: not the main thread"
done
timeout 60 ./interpreter other >out 2>&1 || fail "interpreter, MPI in another thread: status $?"
grep -q '^other: before 0, me 1, another 0$' out && grep -q '^then main 0$' out || fail "interpreter: MPI in another thread"
if command -v python3 >/dev/null; then
  cat >script.py <<'END'
import ctypes, sys, threading
mpi = ctypes.CDLL("libmpich.so.12", ctypes.RTLD_GLOBAL)
def is_main():
    flag = ctypes.c_int(-1)
    mpi.MPI_Is_thread_main(ctypes.byref(flag))
    seen.append(flag.value)
seen = []
assert mpi.MPI_Init(None, None) == 0
is_main()
thread = threading.Thread(target=is_main)
thread.start(), thread.join()
mpi.MPI_Finalize()
# The whole line in one write, however the interpreter buffers.
sys.stdout.write("python %d %d\n" % tuple(seen))
END
  timeout 60 "$bin/mpiexec" -n 2 python3 script.py >out 2>&1 || fail "python3: status $?"
  [ "$(grep -c '^python 1 0$' out)" = 2 ] || fail "python3: not the main thread"
fi

# A plugin that a rank loads: shared by the process's ranks, but its calls are the calling rank's.
cat >plugin.c <<'END'
#include <mpi.h>
int plugged(void) {
  int rank, sum;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return rank * 1000 + sum;
}
END
cat >loader.c <<'END'
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
int rank, size;
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  void* plugin = dlopen("./plugin.so", RTLD_NOW);
  int (*plugged)(void) = plugin ? (int (*)(void))dlsym(plugin, "plugged") : 0;
  int bad = !plugged || plugged() != rank * 1000 + size * (size - 1) / 2, all;
  MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d of %d wrong\n", all, size);
  MPI_Finalize();
  return 0;
}
END
"$bin/mpicc" -shared plugin.c -o plugin.so && "$bin/mpicc" loader.c -o loader -ldl || fail "mpicc"
timeout 60 "$bin/mpiexec" -n 2 -nfg 20 ./loader >out 2>&1 || fail "plugin: status $?"
grep -q '^0 of 40 wrong$' out || fail "plugin: calls of another rank"
echo " No Errors"
