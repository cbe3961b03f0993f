#!/bin/bash
# Ranks that have loaded libraries are saved and go on in other processes; what cannot be carried is named.
#   plugins.sh BIN_FOLDER WORK_FOLDER PROCESSES RANKS_EACH PROGRAM
set -u
bin=$1 work=$2 processes=$3 each=$4 program=$5
source=$(cd "$(dirname "$0")" && pwd)
libraries=$work.libraries
rm -rf "$libraries" && mkdir -p "$libraries" && cd "$libraries" || exit 1
fail() { echo "plugins.sh: $*" >&2; tail -n 20 out err 2>/dev/null >&2; exit 1; }
cat >base.c <<'END'
static int total = 1000;
int base_add(int x) { return total += x; }
END
cat >state.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int state_value = 7;
char state_space[300000];
int state_step(int x);
int (*state_pointer)(int) = state_step;
static int* own;
static void at_end(void) { printf("state %d at the end\n", state_value); }
__attribute__((constructor)) static void begin(void) { own = malloc(sizeof *own); *own = 0; atexit(at_end); }
__attribute__((destructor)) static void end(void) { printf("state %d is closed\n", *own); free(own); }
int state_step(int x) { *own += x; return state_value += x; }
END
cat >more.cc <<'END'
#include <mpi.h>
#include <stdexcept>
#include <string>
extern "C" int base_add(int);
namespace {
struct Shape { virtual ~Shape() = default; virtual int twice(int x) const { return x; } };
struct Square : Shape { int twice(int x) const override { return 2 * x; } };
const Shape* g_shape = new Square;
std::string g_text = "a text that is longer than a string object itself";
}
extern "C" int more_step(int round) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    if (g_text.size() != 49) return -1;
    throw std::runtime_error(std::to_string(g_shape->twice(round)));
  } catch (const std::exception& e) { return std::stoi(e.what()) + base_add(rank); }
}
END
build() { # build EXTRA...: state.so as it is, or another
  cc -shared -fPIC -O1 -Wl,--build-id "$@" state.c -o state.so
}
build && cc -shared -fPIC base.c -o base.so \
  && "$bin/mpicxx" -shared -fPIC -O1 more.cc -o more.so -Wl,-rpath,'$ORIGIN' -L. -l:base.so || fail "cc"
bash "$source/restarts.sh" "$bin" "$work" "$processes" "$each" "$program" "$libraries" || exit 1
# Another build of a library is refused, before ranks go on, and named.
cd "$work" || exit 1
cp "$libraries/state.so" kept.so
(cd "$libraries" && build -DANOTHER=1 -O2) || fail "cc"
timeout 100 "$bin/mpiexec" -restart saved -n 1 >out 2>err && fail "another build of state.so goes on"
grep -q "rank [0-9]* has loaded $libraries/state.so, which is another build here" err || fail "another build is not named"
rm "$libraries/state.so"
timeout 100 "$bin/mpiexec" -restart saved -n 1 >out 2>err && fail "a job without state.so goes on"
grep -q "rank [0-9]* has loaded a library that cannot be loaded here: $libraries/state.so" err || fail "a library that is missing is not named"
cp kept.so "$libraries/state.so"
timeout 100 "$bin/mpiexec" -restart saved -n 1 >out 2>err || fail "the library as it was: $?"
echo " No Errors"
