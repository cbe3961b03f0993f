# Tests mpicc -check with programs in C, C++ and Fortran, in libraries and plugins, with threads and callbacks, also without
# mpiexec -check; and the messages of the wrappers. Single accesses are in corpus_accesses.py.
. "$(dirname "$0")/common.sh" "$1"
# named FILE COUNT: checks that `out` names the lines of FILE with the comment OWNER, and those with HERE for a rank and COUNT
# others.
named() {
  for line in $(grep -n OWNER "$1" | cut -d: -f1); do grep -q "at .*$1:$line " out || fail "$1:$line is not named"; done
  for line in $(grep -n HERE "$1" | cut -d: -f1); do
    [ "$(grep -A1 -E " of rank [0-9]+ and $2 others?$" out | grep -cE "at .*$1:$line ")" -ge 1 ] || fail "$1:$line is not named for $2 others"
  done
}
shapes="1:4 4:1 2:3 2:64"
# each WANTED PROGRAM ARGUMENT...: runs the program with -check at every shape; the findings must name each wrong source line.
each() {
  local wanted=$1 source=$2 program=$3
  shift 3
  for shape in $shapes; do
    n=${shape%:*} c=${shape#*:}
    status "$wanted" -check -n "$n" -nfg "$c" "./$program" "$@"
    if [ "$wanted" = 86 ]; then named "$source" $((n * c - 1)); else [ -s out ] && fail "$program at $shape: output"; fi
    status 0 -n "$n" -nfg "$c" "./$program" "$@"
    [ -s out ] && fail "$program at $shape without -check: output"
  done
}

# ---- All kinds of memory at once -------------------------------------------------------------------------------------
cat >memory.c <<'END'
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
static int outside[64];
static _Thread_local int fine[64];
int common[64];
int main(int argc, char** argv) {
  int local[64] = {0}, rank, size, *heap, in[4][8], wrong = argc > 1;
  static int inside[64];
  MPI_Request q[8];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  heap = calloc(64, sizeof *heap);
  int* all[] = {local, inside, outside, heap};
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 4; ++i) MPI_Irecv(in[i], 8, MPI_INT, before, i, MPI_COMM_WORLD, &q[i]); /* OWNER */
    for (int i = 0; i < 4; ++i) MPI_Isend(all[i] + 8, 8, MPI_INT, next, i, MPI_COMM_WORLD, &q[4 + i]); /* OWNER */
    for (int i = 0; i < 64; ++i) common[i] = fine[i] = i;
    if (wrong) {
      local[8] = 1; /* HERE */
      inside[9] = 1; /* HERE */
      outside[15] = 1; /* HERE */
      heap[12]++; /* HERE */
      memset(in[2], 0, 4); /* HERE */
      common[0] = in[3][7]; /* HERE */
    }
    local[7] = inside[16] = outside[0] = heap[63] = 2;
    MPI_Waitall(8, q, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 8; ++i) all[i % 4][8 + i] = in[i % 4][i];
  }
  free(heap);
  MPI_Finalize();
  return 0;
}
END
for level in -O0 -O2 -O3; do
  "$bin/mpicc" -check -g -w $level memory.c -o memory || fail "mpicc -check $level"
  ldd memory | grep -q tsan && fail "the sanitizer's library is linked"
  each 86 memory.c memory wrong
  each 0 memory.c memory
done
status 0 -check=leaks -n 1 -nfg 4 ./memory wrong
FGMPI_PRIVATIZE=off status 86 -check -n 2 -nfg 1 ./memory wrong
"$bin/mpicc" -check -g -w -c memory.c -o memory.o && "$bin/mpicc" memory.o -o linked || fail "linked without -check"
status 86 -check -n 1 -nfg 4 ./linked wrong
./memory wrong || fail "alone"

# ---- C++ -------------------------------------------------------------------------------------------------------------
cat >objects.cc <<'END'
#include <mpi.h>
#include <algorithm>
#include <memory>
#include <vector>
struct Base {
  virtual ~Base() = default;
  virtual int value() const = 0;
};
struct Derived : Base {
  explicit Derived(int v) : v(v) {}
  int value() const override { return v; }
  int v;
};
int main(int argc, char** argv) {
  const bool wrong = argc > 1;
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::vector<double> in(1000), out(1000, rank), other(1000);
  std::unique_ptr<Base> object = std::make_unique<Derived>(3);
  MPI_Request q[2];
  MPI_Irecv(in.data(), 1000, MPI_DOUBLE, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &q[0]); // OWNER
  MPI_Isend(out.data(), 1000, MPI_DOUBLE, (rank + 1) % size, 0, MPI_COMM_WORLD, &q[1]); // OWNER
  std::copy(out.begin(), out.end(), other.begin());
  if (wrong) {
    out[999] = object->value(); // HERE
    std::copy(other.begin(), other.end(), in.begin()); // HERE
  }
  try {
    if (object->value() == 3) throw std::vector<double>(out);
  } catch (const std::vector<double>& caught) {
    other = caught;
  }
  MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
  std::copy(in.begin(), in.end(), out.begin());
  MPI_Finalize();
  return out[5] == (rank + size - 1) % size ? 0 : 1;
}
END
for level in -O0 -O1 -O2; do
  "$bin/mpicxx" -check -g -w $level objects.cc -o objects || fail "mpicxx -check"
  each 0 objects.cc objects
  status 86 -check -n 2 -nfg 3 ./objects wrong
  named objects.cc 5
done

# ---- Memory that calls of MPI alone name ----------------------------------------------------------------------------------
# Nothing but the allocation tells that the program is compiled so.
cat >blocks.cc <<'END'
#include <mpi.h>
#include <array>
#include <cstdlib>
static void share(void* p, int n) { MPI_Bcast(p, n, MPI_CHAR, 0, MPI_COMM_SELF); } // OWNER
int main(int argc, char** argv) {
  const int more = argc > 1 ? 100 : 0;
  MPI_Init(&argc, &argv);
  char* p = static_cast<char*>(std::calloc(1000, 1));
  share(p + 500, 500 + more);
  std::free(p);
  static std::array<float, 200> a{}, beside{};
  MPI_Bcast(a.data() + 100, 100 + more, MPI_FLOAT, 0, MPI_COMM_SELF); // OWNER
  MPI_Finalize();
  return 0;
}
END
for level in -O0 -O2; do
  "$bin/mpicxx" -check -g -w $level blocks.cc -o blocks || fail "mpicxx -check blocks.cc"
  each 0 blocks.cc blocks
  status 86 -check -n 2 -nfg 3 ./blocks wrong
  named blocks.cc 5
done

# ---- Fortran ---------------------------------------------------------------------------------------------------------
cat >arrays.f90 <<'END'
program arrays
  use mpi
  implicit none
  integer :: in(100), out(100), beside(100), rank, size, q(2), error, i
  integer, allocatable :: room(:, :)
  logical :: wrong
  call MPI_Init(error)
  wrong = command_argument_count() > 0
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, size, error)
  allocate (room(100, 2))
  out = rank
  room = 0
  call MPI_Irecv(in, 100, MPI_INTEGER, modulo(rank - 1, size), 0, MPI_COMM_WORLD, q(1), error) ! OWNER
  call MPI_Isend(room, 100, MPI_INTEGER, modulo(rank + 1, size), 0, MPI_COMM_WORLD, q(2), error) ! OWNER
  do i = 1, 100
    beside(i) = room(i, 1)
  end do
  room(:, 2) = 5
  if (wrong) then
    room(modulo(rank, 50) + 1, 1) = 7 ! HERE
    beside(3) = in(modulo(rank, 50) + 4) ! HERE
  end if
  call MPI_Waitall(2, q, MPI_STATUSES_IGNORE, error)
  out = in
  if (.not. wrong .and. any(out /= 0)) error stop 1
  call MPI_Finalize(error)
end program
END
"$bin/mpifort" -check -g -w arrays.f90 -o arrays || fail "mpifort -check"
each 0 arrays.f90 arrays
status 86 -check -n 2 -nfg 3 ./arrays wrong
named arrays.f90 5

# ---- Functions that MPI calls, and libraries -------------------------------------------------------------------------
# A reduction's user operation is code of the program that MPI calls. A library and a plugin have views of their own.
cat >library.c <<'END'
int kept;
void set_in_library(int* at) {
  *at = ++kept; /* HERE */
}
END
cat >callbacks.c <<'END'
#include <mpi.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
void set_in_library(int* at);
static void add(void* in, void* out, int* n, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *n; ++i) ((int*)out)[i] += ((int*)in)[i];
}
int main(int argc, char** argv) {
  static int in[300], out[300];
  int rank, size, wrong = argc > 1;
  MPI_Op op;
  MPI_Request q;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Op_create(add, 0, &op);
  for (int k = 0; k < 20; ++k) {
    for (int i = 0; i < 300; ++i) in[i] = 1;
    MPI_Iallreduce(in, out, 299, MPI_INT, op, MPI_COMM_WORLD, &q); /* OWNER */
    MPI_Allreduce(MPI_IN_PLACE, &(int){1}, 1, MPI_INT, op, MPI_COMM_WORLD);
    set_in_library(wrong ? out + 7 : out + 299);
    void* plugin = dlopen("./libplugin.so", RTLD_NOW | RTLD_LOCAL);
    void (*set)(int*) = (void (*)(int*))dlsym(plugin, "set_in_library");
    set(wrong ? out + 8 : out + 299);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    dlclose(plugin);
    if (!wrong && out[5] != size) abort();
  }
  MPI_Op_free(&op);
  MPI_Finalize();
  return 0;
}
END
cp library.c plugin.c
"$bin/mpicc" -check -g -shared library.c -o liblibrary.so && "$bin/mpicc" -check -g -shared plugin.c -o libplugin.so &&
  "$bin/mpicc" -check -g -w -O1 callbacks.c -o callbacks -L. -Wl,-rpath,"$scratch" -llibrary || fail "libraries"
for shape in 1:4 4:1 2:3; do
  status 0 -check -n ${shape%:*} -nfg ${shape#*:} ./callbacks
  [ -s out ] && fail "callbacks: output"
  status 0 -n ${shape%:*} -nfg ${shape#*:} ./callbacks
  status 86 -check -n ${shape%:*} -nfg ${shape#*:} ./callbacks wrong
  grep -q 'library.c:3 ' out && grep -q 'plugin.c:3 ' out && grep -qE "callbacks.c:$(grep -n OWNER callbacks.c | cut -d: -f1) " out || fail "libraries at $shape"
  grep -q 'add)' out && fail "the operation of a reduction at $shape"
done

# ---- Threads and atomic operations -----------------------------------------------------------------------------------
cat >threads.c <<'END'
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
static atomic_int count;
static _Atomic short small;
static atomic_llong large, locked;
static unsigned __int128 wide;
static int turn, shared[8], level, wrong, in[8];
static void must(int holds, int line) {
  if (!holds) fprintf(stderr, "line %d\n", line), abort();
}
static void* work(void* argument) {
  (void)argument;
  for (int i = 0; i < 20000; ++i) {
    atomic_fetch_add(&count, 1);
    atomic_fetch_sub_explicit(&small, 1, memory_order_relaxed);
    atomic_fetch_xor(&large, 1ll << 40);
    for (long long free = 0; !atomic_compare_exchange_weak(&locked, &free, 1); free = 0) {
    }
    ++turn;
    wide += ((unsigned __int128)1 << 64) + 1;
    atomic_store_explicit(&locked, 0, memory_order_release);
  }
  if (wrong) shared[3] = in[2]; /* HERE */
  return NULL;
}
int main(int argc, char** argv) {
  wrong = argc > 2;
  pthread_t threads[3];
  MPI_Request q;
  MPI_Init_thread(&argc, &argv, atoi(argv[1]), &level);
  MPI_Irecv(in, 8, MPI_INT, 0, 0, MPI_COMM_SELF, &q); /* OWNER */
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 500; ++i) {
    MPI_Request r[2];
    MPI_Irecv(shared, 2, MPI_INT, 0, 1, MPI_COMM_SELF, &r[0]);
    MPI_Isend(shared + 4, 2, MPI_INT, 0, 1, MPI_COMM_SELF, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  }
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  MPI_Send(shared, 8, MPI_INT, 0, 0, MPI_COMM_SELF);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
  must(count == 60000 && turn == 60000 && large == 0 && small == (short)-60000, __LINE__);
  must(wide == (((unsigned __int128)60000 << 64) + 60000), __LINE__);
  unsigned char byte = 7;
  must(__atomic_fetch_nand(&byte, 3, __ATOMIC_SEQ_CST) == 7 && byte == 0xfc, __LINE__);
  must(__atomic_exchange_n(&byte, 9, __ATOMIC_ACQ_REL) == 9 - 9 + 0xfc && __atomic_load_n(&byte, __ATOMIC_ACQUIRE) == 9, __LINE__);
  must(__sync_val_compare_and_swap(&byte, 8, 1) == 9 && __sync_bool_compare_and_swap(&byte, 9, 1) && byte == 1, __LINE__);
  long word = 6;
  must((__atomic_or_fetch(&word, 1, __ATOMIC_RELAXED) & __atomic_and_fetch(&word, 3, __ATOMIC_RELAXED)) == 3, __LINE__);
  atomic_thread_fence(memory_order_seq_cst);
  atomic_signal_fence(memory_order_acquire);
  MPI_Finalize();
  return 0;
}
END
cat >wide.c <<'END'
#include <mpi.h>
typedef unsigned __int128 Wide;
/* As -fsanitize=thread makes them of atomic operations of 16 bytes. */
Wide __tsan_atomic128_load(const volatile Wide*, int);
void __tsan_atomic128_store(volatile Wide*, Wide, int);
Wide __tsan_atomic128_fetch_add(volatile Wide*, Wide, int);
Wide __tsan_atomic128_exchange(volatile Wide*, Wide, int);
_Bool __tsan_atomic128_compare_exchange_strong(volatile Wide*, Wide*, Wide, int, int);
int main(int argc, char** argv) {
  static Wide at;
  const Wide high = (Wide)5 << 100;
  MPI_Init(&argc, &argv);
  __tsan_atomic128_store(&at, high, __ATOMIC_SEQ_CST);
  if (__tsan_atomic128_fetch_add(&at, high + 1, __ATOMIC_SEQ_CST) != high) return 1;
  if (__tsan_atomic128_load(&at, __ATOMIC_SEQ_CST) != 2 * high + 1) return 2;
  Wide expected = 4;
  if (__tsan_atomic128_compare_exchange_strong(&at, &expected, 1, 5, 5) || expected != 2 * high + 1) return 3;
  if (!__tsan_atomic128_compare_exchange_strong(&at, &expected, 1, 5, 5)) return 4;
  if (__tsan_atomic128_exchange(&at, 3, 5) != 1 || at != 3) return 5;
  return MPI_Finalize();
}
END
"$bin/mpicc" -check -w wide.c -o wide || fail "atomic operations of 16 bytes"
status 0 -n 1 -nfg 2 ./wide
"$bin/mpicc" -check -g -w -O1 -pthread threads.c -o threads || fail "threads.c"
for level in 1 3; do # MPI_THREAD_FUNNELED, MPI_THREAD_MULTIPLE
  for shape in 1:1 1:3 2:2; do
    status 0 -check -n ${shape%:*} -nfg ${shape#*:} ./threads $level
    [ -s out ] && fail "threads: output at level $level"
    status 0 -n ${shape%:*} -nfg ${shape#*:} ./threads $level
    status 86 -check -n ${shape%:*} -nfg ${shape#*:} ./threads $level wrong
    for line in $(grep -nE 'HERE|OWNER' threads.c | cut -d: -f1); do grep -q "threads.c:$line " out || fail "threads at level $level, line $line"; done
  done
done

# A thread makes the only access, while the rank itself sleeps.
cat >sleeper.c <<'END'
#include <mpi.h>
#include <pthread.h>
#include <unistd.h>
int in[8], sent[8], level, taken;
static void* work(void* argument) {
  taken = in[2]; /* HERE */
  return argument;
}
int main(int argc, char** argv) {
  MPI_Request q;
  pthread_t thread;
  taken = argc;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  MPI_Irecv(in, 8, MPI_INT, 0, 0, MPI_COMM_SELF, &q); /* OWNER */
  pthread_create(&thread, NULL, work, NULL);
  usleep(300000);
  pthread_join(thread, NULL);
  MPI_Send(sent, 8, MPI_INT, 0, 0, MPI_COMM_SELF);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
END
"$bin/mpicc" -check -g -w -O1 -pthread sleeper.c -o sleeper || fail "sleeper.c"
for shape in 1:1 1:3 2:2; do
  status 86 -check -n ${shape%:*} -nfg ${shape#*:} ./sleeper
  for line in $(grep -nE 'HERE|OWNER' sleeper.c | cut -d: -f1); do grep -q "sleeper.c:$line " out || fail "sleeper at $shape, line $line"; done
done

# ---- Processes -------------------------------------------------------------------------------------------------------
# A child that the program has forked has memory of its own. Executions of an exploration are children, too, but are ranks.
cat >children.c <<'END'
#include <mpi.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char** argv) {
  int in[4] = {0}, rank, other[2];
  MPI_Request q, r[2];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    for (int i = 0; i < 2; ++i) MPI_Irecv(&other[i], 1, MPI_INT, i + 1, 1, MPI_COMM_WORLD, &r[i]);
    int first;
    MPI_Waitany(2, r, &first, MPI_STATUS_IGNORE);
    MPI_Irecv(in, 4, MPI_INT, 1, 0, MPI_COMM_WORLD, &q); /* OWNER */
    if (argc == 1) {
      const pid_t child = fork();
      if (child == 0) _exit(in[0]);
      waitpid(child, NULL, 0);
    } else if (first == 1) {
      in[0] = 1; /* HERE */
    }
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
  } else {
    MPI_Send(&rank, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    if (rank == 1) MPI_Send(in, 4, MPI_INT, 0, 0, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
END
"$bin/mpicc" -check -g -w children.c -o children || fail "children.c"
status 0 -check=buffers -n 1 -nfg 3 ./children
grep -q buffers: out && fail "a child by fork"
status 86 -explore=20s -n 3 ./children wrong
for line in $(grep -nE 'HERE|OWNER' children.c | cut -d: -f1); do grep -q "children.c:$line " out || fail "exploration, line $line"; done

# ---- The compare in front of the calls: in line where as.sh or the plugin can insert it, else only in the entry points ---
cat >inline.c <<'END'
int read_it(const int* at) { return *at; }
void write_it(char* at) { *at = 1; }
END
# compares COUNT OPTION...: compiles inline.c with the options. COUNT functions must compare in line; all call entry points.
compares() {
  local wanted=$1
  shift
  "$bin/mpicc" -check "$@" -g -c inline.c -o inline.o || fail "inline.c $*"
  objdump -dr inline.o >out
  [ "$(grep -cE '__tsan_(read|write)' out)" = 2 ] || fail "inline.c $*: calls"
  # Each such function reads two words of the view.
  [ "$(grep -c fgmpi_access_view out)" = $((2 * wanted)) ] || fail "inline.c $*: not $wanted in line"
}
# Without optimization as.sh inserts all compares.
compares 2
compares 2 -pipe
compares 2 -save-temps
compares 0 -masm=intel
compares 0 -fno-plt
if [ -f "$bin/../lib/fgmpi/fgmpi_check.so" ]; then
  for option in -O1 -O2 -Og -masm=intel -fno-plt; do
    "$bin/mpicc" -check -O1 $option -g -c inline.c -o inline.o || fail "inline.c $option"
    objdump -dr inline.o >out
    grep -qE '__tsan_(read|write)' out && fail "inline.c $option: a call is left"
    [ "$(grep -cE 'fgmpi_access_(read|write)' out)" = 2 ] && [ "$(grep -c fgmpi_access_view out)" = 4 ] || fail "inline.c $option"
  done
  "$bin/mpicc" -check -show -c memory.c >out && grep -q 'fplugin=.*fgmpi_check.so' out || fail "-show: no plugin"
  # For another compiler than the plugin's, the calls stay.
  printf '#!/bin/sh\ncase $* in -dumpversion) echo 99 ;; *) exec gcc "$@" ;; esac\n' >other-gcc && chmod +x other-gcc
  FGMPI_CC=./other-gcc "$bin/mpicc" -check -show -c memory.c >out && ! grep -q 'fplugin' out || fail "-show: plugin of another compiler"
  FGMPI_CC=./other-gcc "$bin/mpicc" -check -g -O2 -w memory.c -o memory || fail "memory.c without the plugin"
  each 86 memory.c memory wrong
  each 0 memory.c memory
fi
for option in -pipe -masm=intel -fno-plt; do
  "$bin/mpicc" -check $option -g -O1 -w memory.c -o memory || fail "memory.c $option"
  status 86 -check -n 1 -nfg 4 ./memory wrong
  named memory.c 3
done
printf 'void wrong(int* at) {\n  *at = 1;\n  __asm__("no_such");\n}\n' >wrong.c
"$bin/mpicc" -check -c wrong.c >out 2>&1 && fail "wrong.c: no error"
grep -q 'wrong.c:3: Error: .*no_such' out || fail "the assembler's message"

# ---- The wrappers ----------------------------------------------------------------------------------------------------
"$bin/mpicc" -help >out && grep -q '^  -check ' out || fail "-help"
"$bin/mpicc" --help >out && grep -q '^  -check ' out || fail "--help"
"$bin/mpicc" -check -show -c memory.c >out && grep -q 'specs=.*check.specs' out || fail "-show"
"$bin/mpicc" -check -show memory.o >out && grep -q -- '--wrap=memcpy' out && ! grep -q 'fsanitize' out || fail "-show of a link"
FGMPI_CC=clang "$bin/mpicc" -check memory.c >out 2>&1 && fail "clang"
grep -q 'clang is no GCC' out || fail "clang's message"
printf '#!/bin/sh\necho "another compiler, version 12.0.0"\n' >another && chmod +x another
FGMPI_CC=./another "$bin/mpicc" -check memory.c >out 2>&1 && fail "another compiler"
grep -q '\./another is no GCC' out || fail "another compiler's message"
# The wrappers' list of functions must be that of the archive.
cat >all.c <<'END'
#include <mpi.h>
int main(int argc, char** argv) { return MPI_Init(&argc, &argv) || MPI_Finalize(); }
END
wrapped=$("$bin/mpicc" -check -show all.c | tr ' ' '\n' | sed -n 's/^-Wl,--wrap=//p' | sort)
defined=$(nm "$bin/../lib/libfgmpi-access.a" 2>/dev/null | sed -n 's/.* T __wrap_//p' | sort)
[ "$wrapped" = "$defined" ] || fail "functions: $(echo $wrapped) are wrapped, $(echo $defined) are there"
for symbol in $(strings "$(gcc -print-prog-name=cc1)" | sed -n 's/^__builtin_\(__tsan_[a-z0-9_]*\)$/\1/p'); do
  nm "$bin/../lib/libfgmpi-access.a" 2>/dev/null | grep -q " T $symbol$" || fail "the compiler calls $symbol, which is missing"
done
echo ok
