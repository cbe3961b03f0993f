# glibc before 2.35 has neither _dl_find_object() nor epoll_pwait2(). A copy of this system's C library without these names stands in
# for it: C++ exceptions in images and plugins, dlopen from ranks, and waits for descriptors work all the same.
set -u
bin=$1 programs=$2 work=$2/old_glibc.dir
source=$(cd "$(dirname "$0")" && pwd)
fail() { echo "old_glibc.sh: $*" >&2; cat "$work/out" >&2; exit 1; }
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
touch out

# What was built on glibc up to 2.37 asks for nothing later than 2.34. (Since 2.38 the headers name later versions of strtol and others.)
minor=$(getconf GNU_LIBC_VERSION | sed 's/.*\.//')
if [ "$minor" -le 37 ]; then
  for file in "$bin"/mpiexec "$bin"/fgmpi-* "$bin"/../lib/*.so "$bin"/../lib/libmpich.so.12; do
    objdump -T "$file" | grep -E 'GLIBC_2\.(3[5-9]|[4-9][0-9])' >out && fail "$file needs a later glibc than 2.34"
  done
fi

libc=$(ldd "$programs/exceptions" | sed -n 's/.*libc\.so\.6 => \([^ ]*\).*/\1/p')
LC_ALL=C sed 's/\x00_dl_find_object\x00/\x00-dl_find_object\x00/; s/\x00epoll_pwait2\x00/\x00-poll_pwait2\x00/' "$libc" >libc.so.6 || fail "no copy of $libc"
nm -D libc.so.6 | grep -E ' (_dl_find_object|epoll_pwait2)(@|$)' >out && fail "the copy still has these names"

cat >plugin.cc <<'END'
#include <stdexcept>
#include <string>
extern "C" void throw_number(int n) {
  if (n >= 0) throw std::out_of_range("plugin " + std::to_string(n));
}
END
cat >program.cc <<'END'
#include <dlfcn.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

#include "mpitest.h"

// Ranks that wait for a pipe let their partner run, which writes to it.
static void wait_for_pipe(int rank, int size) {
  using Wait = int(int, epoll_event*, int, const timespec*, const sigset_t*);
  auto* wait = reinterpret_cast<Wait*>(dlsym(RTLD_DEFAULT, "epoll_pwait2"));
  int ends[2], to = (rank + 1) % size, from = (rank + size - 1) % size;
  CHECK(wait && pipe(ends) == 0);
  int epoll = epoll_create1(0);
  epoll_event event{};
  event.events = EPOLLIN;
  CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event) == 0);
  const timespec none{}, brief{0, 20'000'000};
  CHECK(wait(epoll, &event, 1, &none, nullptr) == 0);
  CHECK(wait(epoll, &event, 1, &brief, nullptr) == 0);
  OK(MPI_Sendrecv_replace(&ends[1], 1, MPI_INT, to, 1, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK(write(ends[1], "x", 1) == 1);
  CHECK(wait(epoll, &event, 1, nullptr, nullptr) == 1 && event.events == EPOLLIN);
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int, char** argv) {
  int rank, size;
  OK(MPI_Init(nullptr, nullptr));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  void* plugin = dlopen(argv[1], RTLD_NOW);
  CHECK(plugin);
  auto* throw_number = reinterpret_cast<void (*)(int)>(dlsym(plugin, "throw_number"));
  Dl_info info;
  CHECK(throw_number && dladdr(reinterpret_cast<void*>(throw_number), &info) != 0);
  CHECK(std::string(info.dli_sname) == "throw_number");
  std::string caught;
  try {
    throw_number(rank);
  } catch (std::out_of_range& e) {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    caught = e.what();
  }
  CHECK(caught == "plugin " + std::to_string(rank));
  if (argv[2]) wait_for_pipe(rank, size);
  return finish();
}
END
"$bin/mpicxx" -O1 -g -fPIC -shared plugin.cc -o plugin.so >out 2>&1 || fail "mpicxx plugin.cc"
"$bin/mpicxx" -O1 -g -I"$source/.." program.cc -o program >out 2>&1 || fail "mpicxx program.cc"

run() { # run SHAPE COMMAND...
  local shape=$1
  shift
  timeout 120 "$bin/mpiexec" -genv LD_LIBRARY_PATH "$work" $shape "$@" >out 2>&1 || fail "$shape $*: status $?"
  grep -q "^ No Errors" out || fail "$shape $*: no closing line"
}
for shape in "-n 1 -nfg 1" "-n 1 -nfg 4" "-n 2 -nfg 3"; do
  run "$shape" "$programs/exceptions"
  run "$shape" "$programs/cxx_state"
  run "$shape" ./program ./plugin.so
done
run "-n 1 -nfg 4" ./program ./plugin.so wait
echo " No Errors"
