#!/bin/bash
# The debugger's commands for ranks, on a running process, on one under mpiexec -report, on a core file of gdb's and on one of the kernel's.
#   gdb.sh BIN_FOLDER WORK_FOLDER      exits with 77 where there is no gdb
set -u
bin=$1 work=$2
prefix=$(dirname "$bin")
command -v gdb > /dev/null || { echo "skipped: gdb is not installed"; exit 77; }
gdb -nx -batch -ex 'python print("has python")' 2>&1 | grep -q '^has python' || { echo "skipped: gdb without python"; exit 77; }
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
process=
fail() { echo "gdb.sh: $*" >&2; cat out >&2; [ -z "$process" ] || kill "$process"; exit 1; }

# Ranks wait in a private library, which a library that they have loaded by dlopen has called.
cat > library.c << 'END'
#include <mpi.h>
volatile int received;
void receive(int tag) {
  int got;
  MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  received = got;
}
END
cat > plugin.c << 'END'
volatile int calls;
void plugged(void (*call)(int), int tag) {
  call(tag);
  ++calls;
}
END
cat > waits.c << 'END'
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
void receive(int tag);
volatile int own;
static void exchange(int n) {
  void (*plugged)(void (*)(int), int) = (void (*)(void (*)(int), int))dlsym(dlopen("./libplugin.so", RTLD_NOW), "plugged");
  own = 100 + n;
  plugged(receive, n);
}
int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    sleep(1); /* the others wait now */
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    if (argc > 1) abort();
    sleep(100);
  }
  exchange(rank);
  MPI_Finalize();
  return 0;
}
END
here=(-L. -Wl,-rpath,"$work")
"$bin/mpicc" -g -O1 -shared library.c -o liblibrary.so && "$bin/mpicc" -g -O1 -shared plugin.c -o libplugin.so &&
  "$bin/mpicc" -g -O1 waits.c -o waits "${here[@]}" -llibrary || { echo "gdb.sh: mpicc failed" >&2; exit 1; }
look() { # look WHAT ARGUMENT...: the commands' answers, with the script loaded by itself
  what=$1
  shift
  timeout 100 gdb -nx -batch -iex "add-auto-load-safe-path $prefix" -iex "set debuginfod enabled off" "$@" -ex 'info proclets' \
    -ex 'proclet 17' -ex 'proclet 17 print own' -ex 'proclet 63 print own' -ex 'proclet 0' -ex 'proclet 64' > out 2>&1 < /dev/null
  [ "$(grep -cE '^  [0-9]+ +waiting +MPI_Recv$' out)" = 63 ] || fail "$what: not 63 ranks that wait"
  grep -qE '^#[0-9]+ .* exchange \(n=.*\) at .*waits.c:11' out || fail "$what: no backtrace with the program's functions"
  grep -qE '^#[0-9]+ .* receive \(tag=.*\) at .*library.c:5' out || fail "$what: no line of a private library"
  grep -qE '^#[0-9]+ .* plugged \(.*\) at .*plugin.c:3' out || fail "$what: no line of a library that the rank has loaded"
  grep -q '^own = 117$' out && grep -q '^own = 163$' out || fail "$what: not the ranks' own variables"
  grep -q 'allowed: proclet RANK .*RANK from 0 to 63' out || fail "$what: a rank that is none"
}

FGMPI_NFG=64 ./waits > running 2>&1 &
process=$!
for _ in $(seq 100); do grep -q ready running && break; sleep 0.2; done
if gdb -nx -batch -p $process 2>&1 | grep -q 'not permitted'; then
  echo "running process: not looked at, since ptrace is not permitted"
else
  look "running process" -p $process -ex 'gcore core.gdb'
  kill -0 $process || fail "the process did not survive"
  look "core file of gdb" ./waits core.gdb
fi
kill $process
wait $process 2> /dev/null
process=

# Under mpiexec -report, whose library stands between the program and this one.
"$bin/mpiexec" -report run.html -n 1 -nfg 64 ./waits > reported 2>&1 &
job=$!
for _ in $(seq 100); do grep -q ready reported && break; sleep 0.2; done
process=$(sed -n 's/^ready //p' reported)
if ! gdb -nx -batch -p $process 2>&1 | grep -q 'not permitted'; then
  look "process under -report" -p $process -ex 'gcore core.gdb'
  kill -0 $process || fail "the process under -report did not survive"
  look "core file of a process under -report" ./waits core.gdb
fi
kill $job
wait $job
process=
[ -s run.html ] || { echo "gdb.sh: no report" >&2; cat reported >&2; exit 1; }

# A rank that has moved: rank 1 begins in process 0, and sleeps in process 1.
cat > moves.c << 'END'
#include <mpi.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
volatile int own;
static void rest(int n) {
  own = 100 + n;
  sleep(100);
}
int main(int argc, char** argv) {
  const long home = syscall(SYS_getpid);
  int rank, flag;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  while (rank == 1 && syscall(SYS_getpid) == home) MPI_Iprobe(0, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  printf("rank %d home %ld place %ld\n", rank, home, syscall(SYS_getpid));
  fflush(stdout);
  rest(rank);
  MPI_Finalize();
  return 0;
}
END
"$bin/mpicc" -g -O1 moves.c -o moves || fail "mpicc moves.c"
FGMPI_HEAP=rank FGMPI_PRIVATIZE=on FGMPI_BALANCE=random:1 "$bin/mpiexec" -n 2 -nfg 2 -genv LD_PRELOAD libfgmpi-checkpoint.so ./moves > moved 2>&1 &
job=$!
for _ in $(seq 100); do [ "$(grep -c '^rank' moved)" = 4 ] && break; sleep 0.2; done
read -r home place <<< "$(sed -n 's/^rank 1 home \([0-9]*\) place \([0-9]*\)$/\1 \2/p' moved)"
if [ -z "$place" ] || [ "$home" = "$place" ]; then
  kill $job
  mv moved out
  fail "no rank has moved"
fi
ask() { # ask PID COMMAND...: what gdb answers in a process of the job
  local pid=$1
  shift
  timeout 100 gdb -nx -batch -iex "add-auto-load-safe-path $prefix" -iex "set debuginfod enabled off" -p "$pid" "$@" > out 2>&1 < /dev/null
}
process=$job
if ! gdb -nx -batch -p "$home" 2>&1 | grep -q 'not permitted'; then
  ask "$home" -ex 'info proclets' -ex 'proclet 1' -ex 'proclet 2'
  grep -qE "^  1 +away +process 1 \(pid $place\)$" out || fail "home of a rank that has moved: not where it is"
  grep -q "rank 1 has moved: it is in process 1 (pid $place)" out || fail "proclet: not where the rank is"
  grep -q 'allowed: proclet RANK .*RANK from 0 to 1$' out || fail "home: a rank of another process"
  ask "$place" -ex 'info proclets' -ex 'proclet 1' -ex 'proclet 1 print own' -ex 'proclet 0'
  grep -qE "^  1 +sleeping +sleep, visitor from process 0 \(pid $home\)$" out || fail "no visitor with its home"
  [ "$(grep -cE '^[* ] [0-3] +(sleeping|running) ' out)" = 3 ] || fail "not three ranks in the process with a visitor"
  grep -qE '^#[0-9]+ .* rest \(n=.*\) at .*moves.c:8' out || fail "no backtrace of a visitor"
  grep -q '^own = 101$' out || fail "not a visitor's own variable"
  grep -q 'allowed: proclet RANK .*RANK from 2 to 3, 1$' out || fail "a rank that is in another process"
  "$bin/fgmpi-info" -job $job > out 2>&1
  grep -qE '^ +4  asleep: ranks 0-3$' out || fail "fgmpi-info: not four ranks that sleep"
fi
kill $job
wait $job
process=

# The kernel's: of a rank that aborts, while the others wait.
if [ "$(cat /proc/sys/kernel/core_pattern)" = core ]; then
  (ulimit -c unlimited; FGMPI_NFG=64 timeout 100 ./waits abort > aborted 2>&1)
  file=$(ls core core.[0-9]* 2> /dev/null | head -1)
  if [ -n "$file" ]; then
    look "core file" ./waits "$file"
    grep -qE '^\* 0 +running' out || fail "the rank that aborts is not the running one"
    grep -qE '^#[0-9]+ .* main \(.*waits.c:21' out || fail "no backtrace of the rank that aborts"
  else
    echo "core file of the kernel: not looked at, since it wrote none"
  fi
else
  echo "core file of the kernel: not looked at, since core_pattern is not 'core'"
fi
rm -f core*
echo " No Errors"
