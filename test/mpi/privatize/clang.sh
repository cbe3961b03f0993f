# Programs that clang has compiled, by FGMPI_CC and FGMPI_CXX: each rank has its own globals, thread-local variables, exceptions
# and plugins. Every version of clang that is installed compiles them.
set -u
bin=$1 work=$2/clang.dir
source=$(cd "$(dirname "$0")" && pwd)
fail() { echo "clang.sh: $*" >&2; tail -40 "$work/out" >&2; exit 1; }
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
touch out
suffixes=
for suffix in "" $(seq -f -%g 14 30); do
  command -v "clang$suffix" >/dev/null && command -v "clang++$suffix" >/dev/null || continue
  version=$("clang$suffix" --version | head -n 1)
  grep -qxF "$version" versions 2>/dev/null || suffixes="$suffixes clang$suffix"
  echo "$version" >>versions
done
[ -n "$suffixes" ] || { echo "clang is not installed"; exit 0; }

# clang puts a program's own operator new and delete in line, also with -fPIC: docs/hazards.md.
flags_of() { case $1 in allocator.cc) echo -fno-inline ;; *) echo -O2 ;; esac; }

cat >plugin.cc <<'END'
#include <mpi.h>
#include <stdexcept>
#include <string>
static int calls;
static thread_local std::string last = "none";
extern "C" int count(int rank) {
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  calls += rank;
  last = std::to_string(calls);
  MPI_Barrier(MPI_COMM_WORLD);
  if (last != std::to_string(calls)) return -1;
  if (calls > 2 * rank) throw std::runtime_error(last);
  return calls;
}
END
cat >loads.cc <<'END'
#include <dlfcn.h>
#include <string>
#include "mpitest.h"
int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  int rank;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  void* plugin = dlopen("./plugin.so", RTLD_NOW);
  CHECK(plugin);
  auto* count = reinterpret_cast<int (*)(int)>(dlsym(plugin, "count"));
  CHECK(count(rank + 1) == rank + 1 && count(rank + 1) == 2 * (rank + 1));
  std::string caught;
  try {
    count(rank + 1);
  } catch (const std::exception& error) {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    caught = error.what();
  }
  CHECK(caught == std::to_string(3 * (rank + 1)));
  return finish();
}
END
for clang in $suffixes; do
  export FGMPI_CC=$clang FGMPI_CXX=clang++${clang#clang}
  for file in globals_c.c c_state.c libc_state.c thread_keys.c globals_cxx.cc cxx_state.cc exceptions.cc threads.cc allocator.cc; do
    case $file in *.c) wrapper=mpicc language= ;; *) wrapper=mpicxx language=-std=c++20 ;; esac
    "$bin/$wrapper" $language -g -w $(flags_of $file) -I"$source/.." "$source/$file" -o program -lm >out 2>&1 || fail "$clang $file"
    for shape in "-n 1" "-n 1 -nfg 4" "-n 2 -nfg 6"; do
      FGMPI_SCHED=random:9 timeout 100 "$bin/mpiexec" $shape ./program >out 2>&1 || fail "$clang $file, $shape: status $?"
    done
  done
  # An object of one compiler and a link by the other.
  "$bin/mpicxx" -O2 -g -std=c++20 -I"$source/.." -c "$source/exceptions.cc" -o exceptions.o >out 2>&1 || fail "$clang -c"
  FGMPI_CXX=g++ "$bin/mpicxx" exceptions.o -o program >out 2>&1 || fail "$clang, linked by g++"
  timeout 100 "$bin/mpiexec" -n 2 -nfg 6 ./program >out 2>&1 || fail "$clang, linked by g++: status $?"
  "$bin/mpicxx" -O2 -g -shared plugin.cc -o plugin.so >out 2>&1 && "$bin/mpicxx" -O2 -g -I"$source/.." loads.cc -o loads -ldl >out 2>&1 ||
    fail "$clang, plugin.cc or loads.cc"
  for shape in "-n 1" "-n 1 -nfg 4" "-n 2 -nfg 6"; do
    timeout 100 "$bin/mpiexec" $shape ./loads >out 2>&1 || fail "$clang, a plugin, $shape: status $?"
  done
done
echo " No Errors"
