#!/bin/bash
# mpicc -fgmpi-hoist: what it says, what programs need, and that they also run where the library's calls are absent.
#   wrapper.sh BIN     BIN: the folder of mpicc and mpiexec. Exit status 77: the plugin was not built.
set -u
bin=$(cd "$1" && pwd)
here=$(cd "$(dirname -- "$0")" && pwd)
[ -f "$bin/../lib/fgmpi/fgmpi_hoist.so" ] || { echo "wrapper.sh: the plugin of GCC was not built"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
# expect WHAT STATUS REGEX COMMAND...: the command ends with the status, and its output has a line that matches.
expect() {
  local what=$1 status=$2 regex=$3
  shift 3
  "$@" > out 2>&1
  local got=$?
  if [ $got != "$status" ] || ! grep -qE -- "$regex" out; then
    echo "wrapper.sh: $what: exit status $got, not $status, or no line with '$regex' in: $(head -5 out)" >&2
    failed=1
  fi
}

cat > loop.c << 'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int n = 0, rank, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 10; ++i) {
    if (rank == 0) n = i;
    MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(&n, i % 2, MPI_INT, 0, MPI_COMM_WORLD);
    sum += n;
  }
  printf("sum %d\n", sum);
  MPI_Finalize();
  return 0;
}
END
expect "reports" 0 '^loop.c:9:5: optimized: hoisted MPI_Bcast: group opened at loop.c:7$' "$bin/mpicc" -fgmpi-hoist loop.c -o loop
expect "a run" 0 '^sum 45$' "$bin/mpiexec" -n 1 -nfg 3 ./loop
expect "the calls" 0 ' w MPIX_Bcast_data_movement' nm -D loop
expect "reasons" 0 '^loop.c:10:5: missed: MPI_Bcast not hoisted: its count' "$bin/mpicc" -fgmpi-hoist=verbose -c loop.c
expect "in its place" 0 '^fine$' bash -c '"$0/mpicc" -fgmpi-hoist=quiet loop.c -o loop_quiet > said 2>&1 && [ ! -s said ] && echo fine' "$bin"
expect "-show" 0 '-fplugin=.*fgmpi_hoist.so' "$bin/mpicc" -fgmpi-hoist -show loop.c
expect "another value" 1 '^mpicc: -fgmpi-hoist=much: allowed are' "$bin/mpicc" -fgmpi-hoist=much loop.c
printf '#!/bin/sh\necho 11.1.0\n' > gcc-11
chmod +x gcc-11
expect "another compiler" 1 '^mpicc: -fgmpi-hoist: the plugin is for GCC .*gcc-11 is another' env FGMPI_CC=./gcc-11 "$bin/mpicc" -fgmpi-hoist loop.c
# A compiler that is no GCC but has a version of the same number.
printf '#!/bin/sh\n%s -dumpversion\n' "${FGMPI_CC:-cc}" > clang && chmod +x clang
expect "no GCC" 1 '^mpicc: -fgmpi-hoist: the plugin is for GCC .*/clang is another' env FGMPI_CC=./clang "$bin/mpicc" -fgmpi-hoist loop.c
mkdir -p prefix/bin prefix/lib/fgmpi
cp "$bin/mpicc" prefix/bin
cp "$bin/../lib/fgmpi/wrapper.sh" prefix/lib/fgmpi
expect "no plugin" 1 'install gcc-[0-9]*-plugin-dev' prefix/bin/mpicc -fgmpi-hoist loop.c

# Nothing of the plugin is in the library or the program.
expect "the license" 0 'plugin_is_GPL_compatible' nm -D "$bin/../lib/fgmpi/fgmpi_hoist.so"
expect "the program" 0 '^none$' bash -c '! grep -q plugin_is_GPL_compatible loop && echo none'

# A tool that wraps the call sees it.
cat > tool.c << 'END'
#include <mpi.h>
#include <stdio.h>
static int g_calls;
int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  ++g_calls;
  return PMPI_Bcast(buffer, count, type, root, comm);
}
int MPI_Finalize(void) {
  printf("calls %d\n", g_calls);
  return PMPI_Finalize();
}
END
expect "a tool" 0 '^made$' bash -c '"$0/mpicc" -shared tool.c -o libtool.so && echo made' "$bin"
for level in -O0 "-O2 -flto"; do
  expect "with a tool, $level" 0 hoisted "$bin/mpicc" -fgmpi-hoist $level loop.c -o loop_tool
  expect "a tool that is loaded first, $level" 0 '^calls 20$' \
    "$bin/mpiexec" -n 2 -genv LD_PRELOAD "$PWD/libtool.so" ./loop_tool
done

# As many closes as opens, also where exceptions leave the function.
cat > count.c << 'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
static int g_opens, g_closes;
typedef int call(void*, int, MPI_Datatype, int, MPI_Comm);
int MPIX_Bcast_open_group(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  ++g_opens;
  return ((call*)dlsym(RTLD_NEXT, "MPIX_Bcast_open_group"))(buffer, count, type, root, comm);
}
int MPIX_Bcast_close_group(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  ++g_closes;
  return ((call*)dlsym(RTLD_NEXT, "MPIX_Bcast_close_group"))(buffer, count, type, root, comm);
}
int MPI_Finalize(void) {
  printf("opens %d closes %d\n", g_opens, g_closes);
  return PMPI_Finalize();
}
END
cat > throws.cc << 'END'
#include <mpi.h>
#include <vector>
[[gnu::noinline]] void maybe(int i) {
  if (i == 3) throw i;
}
[[gnu::noinline]] void nested(MPI_Comm comm) {
  int buffer[4] = {0};
  for (int i = 0; i < 10; ++i) {
    MPI_Bcast(buffer, 4, MPI_INT, 0, comm);
    for (int k = 0; k < 2; ++k) {
      MPI_Bcast(buffer, 2, MPI_INT, 0, comm);
      maybe(i);
    }
  }
}
[[gnu::noinline]] void cleaned_up(MPI_Comm comm) {
  std::vector<int> buffer(4);
  for (int i = 0; i < 10; ++i) {
    std::vector<int> numbers(3, i);
    MPI_Bcast(buffer.data(), 4, MPI_INT, 0, comm);
    maybe(numbers[0]);
  }
}
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (int round = 0; round < 10; ++round)
    for (auto* function : {nested, cleaned_up}) try {
        function(MPI_COMM_WORLD);
      } catch (int) {
      }
  MPI_Finalize();
}
END
expect "a counter" 0 '^made$' bash -c '"$0/mpicc" -shared count.c -o libcount.so -ldl && echo made' "$bin"
for level in -O0 -O2 -O3; do
  expect "exceptions, $level" 0 hoisted "$bin/mpicxx" -fgmpi-hoist $level -fchecking=2 throws.cc -o throws
  expect "opens and closes, $level" 0 '^opens 30 closes 30$' \
    "$bin/mpiexec" -n 2 -genv LD_PRELOAD "$PWD/libcount.so" ./throws
done

# With the host's MPI library at run time, which has no opened groups.
host=$(ldconfig -p | sed -n 's/.*libmpich.so.12 .*=> //p' | head -1)
if [ -n "$host" ] && command -v mpiexec.hydra > /dev/null; then
  for level in -O0 -O2 "-O2 -flto"; do
    expect "compiling $level" 0 hoisted "$bin/mpicc" -fgmpi-hoist $level loop.c -o loop
    expect "on the host's MPI, $level" 0 '^sum 45$' env LD_PRELOAD="$host" mpiexec.hydra -n 2 ./loop
  done
fi
exit $failed
