# Libraries that ranks load while they run: each has its own, as in a process of its own.
set -u
bin=$1 work=$2/plugins.dir
source=$(cd "$(dirname "$0")/.." && pwd)
fail() { echo "plugins.sh: $*" >&2; tail -40 "$work/out" >&2; exit 1; }
rm -rf "$work" && mkdir -p "$work/far" && cd "$work" || exit 1
touch out

# Three levels: plugin -> middle -> base. All have variables; base has initial-exec and plugin dynamic thread-local ones.
cat >base.c <<'END'
#include <mpi.h>
#include <stdlib.h>
int base_value = 40;
__thread int base_tls __attribute__((tls_model("initial-exec"))) = 7;
int base_started;
__attribute__((constructor)) static void start(void) { /* constructors may call MPI */
  int flag, rank = -1;
  MPI_Initialized(&flag);
  if (flag) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  base_started = 100 + rank;
}
int base_add(int x) { base_tls++; return base_value += x; }
static int two(void) { return 2; }
static int (*choose(void))(void) { return two; }
int indirect(void) __attribute__((ifunc("choose")));
END
cat >middle.c <<'END'
int base_add(int), indirect(void);
extern int base_value;
int *middle_pointer = &base_value;
int middle_calls, middle_started = 70;
int overlaid(void) { return ++middle_started; }
int middle(int x) { middle_calls++; return base_add(x) + (*middle_pointer == base_value) + indirect(); }
END
cat >plugin.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int middle(int), host_function(int), nowhere(void) __attribute__((weak));
extern int host_variable, *host_ended;
static int calls = 10;
static __thread int tls = 5;
static __thread int* tls_pointer = &calls;
static void at_end(void) { ++*host_ended; }
__attribute__((constructor)) static void start(void) { calls += host_variable; atexit(at_end); }
__attribute__((destructor)) static void end(void) { *host_ended += 10; }
int overlaid(void) { /* in front of the function of this name in libmiddle */
  int (*next)(void) = (int (*)(void))dlsym(RTLD_NEXT, "overlaid");
  return next && next != overlaid ? next() : -1;
}
int plug(int rank) {
  int sum, size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  calls++;
  tls += rank;
  MPI_Allreduce(&calls, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (sum != size * 11 + size * (size - 1) / 2) return 1;
  if (calls != 11 + rank) return 2;
  if (tls != 5 + rank) return 3;
  if (tls_pointer != &calls) return 4;
  if (middle(rank) != 40 + rank + 1 + 2) return 5;
  if (host_function(3) != rank + 3) return 6;
  if (nowhere) return 7;
  return 0;
}
END
cat >program.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include "mpitest.h"
int host_variable, counted, *host_ended = &counted;
int host_function(int x) { return host_variable + x; }
static int find_plugin(struct dl_phdr_info* info, size_t size, void* found) {
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr)* h = &info->dlpi_phdr[i];
    char* low = (char*)info->dlpi_addr + h->p_vaddr;
    if (h->p_type == PT_LOAD && *(char**)found >= low && *(char**)found < low + h->p_memsz)
      return *(char**)found = NULL, 1;
  }
  return 0;
}
static void* in_thread(void* plug) {
  return dlsym(plug, "middle") && dlopen("./libplugin.so", RTLD_NOW | RTLD_NOLOAD) == plug && dlclose(plug) == 0 ? plug : NULL;
}
int main(int argc, char** argv) {
  int rank, size;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  host_variable = rank;
  const int last = size - 1;
  if (rank == last) { /* others have it; this one does not */
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(!dlopen("./libplugin.so", RTLD_NOW | RTLD_NOLOAD));
    CHECK(!dlsym(RTLD_DEFAULT, "middle"));
  }
  void* plugin = dlopen("./libplugin.so", RTLD_NOW | RTLD_GLOBAL);
  CHECK(plugin);
  if (!plugin) fprintf(stderr, "%s\n", dlerror()), MPI_Abort(MPI_COMM_WORLD, 1);
  if (rank != last) OK(MPI_Barrier(MPI_COMM_WORLD));
  int (*plug)(int) = (int (*)(int))dlsym(plugin, "plug");
  CHECK(plug);
  CHECK(plug(rank) == 0);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  int* started = dlsym(plugin, "base_started");
  CHECK(started && *started == 100 + rank);
  int (*overlaid)(void) = (int (*)(void))dlsym(plugin, "overlaid");
  CHECK(overlaid && overlaid() == 71);
  int* tls = dlsym(plugin, "base_tls");
  CHECK(tls && *tls == 8);
  /* Names and addresses. */
  CHECK(dlsym(RTLD_DEFAULT, "host_variable") == &host_variable);
  CHECK(!dlsym(plugin, "no_such_symbol") && dlerror());
  Dl_info info;
  CHECK(dladdr(plug, &info) && !strcmp(info.dli_sname, "plug") && info.dli_saddr == (void*)plug);
  CHECK(strstr(info.dli_fname, "libplugin.so") && (char*)info.dli_fbase < (char*)plug);
  CHECK(dladdr((void*)host_function, &info) && !strcmp(info.dli_sname, "host_function") && info.dli_saddr == (void*)host_function);
  char* code = (char*)plug;
  CHECK(dl_iterate_phdr(find_plugin, &code) == 1);
  code = (char*)main;
  CHECK(dl_iterate_phdr(find_plugin, &code) == 1);
  /* In a thread of the rank. */
  pthread_t thread;
  void* same = NULL;
  CHECK(pthread_create(&thread, NULL, in_thread, plugin) == 0 && pthread_join(thread, &same) == 0 && same == plugin);
  /* Counted: the second opening is the same library. */
  CHECK(dlopen("./libplugin.so", RTLD_LAZY) == plugin);
  CHECK(dlclose(plugin) == 0 && counted == 0);
  CHECK(dlclose(plugin) == 0);
  CHECK(counted == 11);
  CHECK(!dlopen("./libplugin.so", RTLD_NOW | RTLD_NOLOAD));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  /* From the start again, with variables as they were. */
  counted = 0;
  plugin = dlopen("./libplugin.so", RTLD_LAZY | RTLD_GLOBAL);
  plug = plugin ? (int (*)(int))dlsym(plugin, "plug") : NULL;
  CHECK(plug && plug(rank) == 0);
  /* The program's finding what a library defines keeps that library. */
  CHECK(dlsym(RTLD_DEFAULT, "middle") == dlsym(plugin, "middle"));
  int* middle_calls = dlsym(plugin, "middle_calls");
  CHECK(dlclose(plugin) == 0 && counted == 11 && *middle_calls == 1);
  plugin = dlopen("./libmiddle.so", RTLD_NOW);
  CHECK(plugin && dlsym(plugin, "middle_calls") == middle_calls && *middle_calls == 1);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  /* By the RUNPATH of the program. */
  void* far = dlopen("libfar.so", RTLD_NOW);
  CHECK(far && *(int*)dlsym(far, "far_value") == 3);
  CHECK(!dlopen("libnowhere.so", RTLD_NOW) && strstr(dlerror(), "libnowhere.so"));
  CHECK(dlopen(NULL, RTLD_NOW) && dlsym(dlopen(NULL, RTLD_NOW), "host_variable") == &host_variable);
  return finish();
}
END
echo 'int far_value = 3;' >far.c
mpicc() { "$bin/mpicc" -O1 -g -I"$source" "$@"; }
here=(-L. -Wl,-rpath,"$work")
mpicc -shared base.c -o libbase.so && mpicc -shared middle.c -o libmiddle.so "${here[@]}" -lbase &&
  mpicc -shared plugin.c -o libplugin.so "${here[@]}" -lmiddle && mpicc -shared far.c -o far/libfar.so &&
  mpicc program.c -o program -rdynamic -Wl,-rpath,"$work/far" || fail "mpicc"
run() { # run SHAPE PROGRAM ARGUMENTS
  timeout 100 "$bin/mpiexec" $1 "./$2" ${3:-} >out 2>&1 || fail "$*: status $?"
  grep -q 'No Errors' out || fail "$*: did not end well"
}
shapes=("-n 1 -nfg 1" "-n 4 -nfg 1" "-n 1 -nfg 4" "-n 2 -nfg 3" "-n 2 -nfg 64")
for shape in "${shapes[@]}"; do run "$shape" program; done
for seed in 1 2 3; do FGMPI_SCHED=random:$seed run "-n 2 -nfg 7" program; done

# C++: classes, exceptions and static objects across the program, a library of it and a plugin.
cat >shape.h <<'END'
#include <stdexcept>
#include <string>
#include <vector>
struct Shape {
  virtual ~Shape();
  virtual int area() const = 0;
};
struct Square : Shape {
  explicit Square(int s) : side(s) {}
  int area() const override;
  int side;
};
struct Wrong : std::runtime_error {
  Wrong(const std::string& what, int r) : std::runtime_error(what), rank(r) {}
  ~Wrong() override;
  int rank;
};
std::vector<std::string>& log_of_library();
inline int shared_by_all = 0;
END
cat >shape.cc <<'END'
#include "shape.h"
Shape::~Shape() { ++shared_by_all; }
int Square::area() const { return side * side; }
Wrong::~Wrong() = default;
std::vector<std::string>& log_of_library() {
  static std::vector<std::string> log;
  return log;
}
END
cat >round.cc <<'END'
#include <mpi.h>
#include <map>
#include <typeinfo>
#include "shape.h"
namespace {
struct Trace {
  Trace() { log_of_library().push_back("constructed"); }
  ~Trace() { log_of_library().push_back("destroyed"); }
} trace;
thread_local int per_thread = 9;
std::map<int, int> seen;
struct Disc : Shape {
  int area() const override { return 3; }
};
}
extern "C" Shape* make() { return new Disc; }
extern "C" int side_of(Shape* s) {
  shared_by_all += 100;
  auto* square = dynamic_cast<Square*>(s);
  return square ? square->side : -1;
}
extern "C" void fails(int rank) {
  seen[rank]++;
  per_thread += rank;
  MPI_Barrier(MPI_COMM_WORLD);
  if (seen.size() != 1 || per_thread != 9 + rank) throw Wrong("mixed up", -1);
  throw Wrong("as planned", rank);
}
extern "C" int catches(void (*f)(int), int rank) {
  try {
    f(rank);
  } catch (const Wrong& w) {
    MPI_Barrier(MPI_COMM_WORLD);
    return w.rank;
  }
  return -1;
}
END
cat >shapes.cc <<'END'
#include <dlfcn.h>
#include <memory>
#include <typeinfo>
#include "mpitest.h"
#include "shape.h"
static void program_fails(int rank) { throw Wrong("program", rank + 1000); }
int main(int argc, char** argv) {
  int rank;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  for (int round = 0; round < 3; ++round) {
    log_of_library().clear();
    shared_by_all = 0;
    void* plugin = dlopen("./libround.so", RTLD_NOW);
    CHECK(plugin);
    if (!plugin) fprintf(stderr, "%s\n", dlerror());
    auto make = reinterpret_cast<Shape* (*)()>(dlsym(plugin, "make"));
    auto side_of = reinterpret_cast<int (*)(Shape*)>(dlsym(plugin, "side_of"));
    auto fails = reinterpret_cast<void (*)(int)>(dlsym(plugin, "fails"));
    auto catches = reinterpret_cast<int (*)(void (*)(int), int)>(dlsym(plugin, "catches"));
    {
      Square square(rank + 2);
      CHECK(side_of(&square) == rank + 2);
      std::unique_ptr<Shape> disc(make());
      CHECK(disc->area() == 3 && side_of(disc.get()) == -1 && !dynamic_cast<Square*>(disc.get()));
      CHECK(typeid(*disc) != typeid(square));
    }
    CHECK(shared_by_all == 202);
    int caught = -1;
    try {
      fails(rank);
    } catch (const std::runtime_error& e) {
      OK(MPI_Barrier(MPI_COMM_WORLD));
      auto* wrong = dynamic_cast<const Wrong*>(&e);
      caught = wrong ? wrong->rank : -2;
    }
    CHECK(caught == rank);
    CHECK(catches(program_fails, rank) == rank + 1000);
    CHECK(dlclose(plugin) == 0);
    CHECK(log_of_library().size() == 2 && log_of_library()[0] == "constructed" && log_of_library()[1] == "destroyed");
  }
  return finish();
}
END
cxx() { "$bin/mpicxx" -O1 -g -std=c++17 -fno-gnu-unique -I"$source" "$@"; }
cxx -shared shape.cc -o libshape.so && cxx -shared round.cc -o libround.so "${here[@]}" -lshape &&
  cxx shapes.cc -o shapes "${here[@]}" -lshape || fail "mpicxx"
for shape in "${shapes[@]}"; do run "$shape" shapes; done
# With symbols of which a process has one, libraries stay until the end.
cat >unique.cc <<'END'
template <class T> struct Counter { static int value; };
template <class T> int Counter<T>::value = 5;
extern "C" int count() { return ++Counter<int>::value; }
END
# So do those whose thread-local objects are to be destroyed when the thread ends.
cat >destroyed.cc <<'END'
#include <string>
static int calls = 5;
static thread_local std::string text = "not short enough to be kept in the object itself";
extern "C" int count() { text += "+"; return ++calls; }
END
cat >stays.cc <<'END'
#include <dlfcn.h>
#include "mpitest.h"
static int rank;
int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  for (int i = 1; i <= 3; ++i) {
    void* library = dlopen(argv[1], RTLD_NOW);
    auto count = library ? reinterpret_cast<int (*)()>(dlsym(library, "count")) : nullptr;
    CHECK(count && count() == 5 + i);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(library && dlclose(library) == 0);
  }
  return finish();
}
END
"$bin/mpicxx" -O1 -shared unique.cc -o libunique.so && cxx -shared destroyed.cc -o libdestroyed.so && "$bin/mpicxx" -I"$source" stays.cc -o stays || fail "unique"
readelf -Ws libunique.so | grep -q UNIQUE || fail "no unique symbol: the test tests nothing"
for library in ./libunique.so ./libdestroyed.so; do
  run "-n 4 -nfg 1" stays $library
  run "-n 2 -nfg 5" stays $library
done

# Fortran: module variables, units, and MPI in a plugin of a program in C.
cat >fortran.f90 <<'END'
module state
  integer :: calls = 3
  character(len=20) :: text = 'before'
end module
integer function step(rank) bind(c)
  use state
  use mpi
  use iso_c_binding
  integer(c_int), value :: rank
  integer :: err, sum, unit, back, size
  calls = calls + rank
  write (text, '(a,i0)') 'rank ', rank
  open (newunit=unit, status='scratch')
  write (unit, *) rank
  call MPI_Allreduce(calls, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, err)
  call MPI_Comm_size(MPI_COMM_WORLD, size, err)
  rewind (unit)
  read (unit, *) back
  close (unit)
  step = 0
  if (sum /= 3 * size + size * (size - 1) / 2) step = 1
  if (calls /= 3 + rank .or. back /= rank) step = 2
  if (text(6:6) /= char(ichar('0') + mod(rank, 10)) .and. rank < 10) step = 3
end function
END
cat >calls_fortran.c <<'END'
#include <dlfcn.h>
#include "mpitest.h"
static int rank;
int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  void* library = dlopen("./libfortran.so", RTLD_LAZY);
  if (!library) fprintf(stderr, "%s\n", dlerror());
  int (*step)(int) = library ? (int (*)(int))dlsym(library, "step") : NULL;
  CHECK(step && step(rank) == 0);
  return finish();
}
END
"$bin/mpifort" -O1 -g -shared fortran.f90 -o libfortran.so && mpicc calls_fortran.c -o calls_fortran || fail "mpifort"
for shape in "${shapes[@]}"; do run "$shape" calls_fortran; done

# Opened and closed many times: the same memory and as many mappings.
cat >cycles.c <<'END'
#include <dlfcn.h>
#include <malloc.h>
#include <unistd.h>
#include "mpitest.h"
int host_variable, counted, *host_ended = &counted;
int host_function(int x) { return x; }
static long lines_of(const char* name) {
  FILE* file = fopen(name, "r");
  long lines = 0;
  for (int c; file && (c = getc(file)) != EOF;) lines += c == '\n';
  if (file) fclose(file);
  return lines;
}
static long resident(void) {
  long pages = 0, size;
  FILE* file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld %ld", &size, &pages) != 2) pages = 0;
  if (file) fclose(file);
  return pages;
}
int main(int argc, char** argv) {
  const int cycles = argc > 1 ? atoi(argv[1]) : 1000;
  int rank;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  long maps = 0, pages = 0;
  for (int i = 0; i < cycles; i++) {
    void* plugin = dlopen("./libplugin.so", RTLD_NOW);
    int* started = plugin ? dlsym(plugin, "base_started") : NULL;
    CHECK(started && *started == 100 + rank);
    CHECK(plugin && dlclose(plugin) == 0);
    if (i % 100 == 99) OK(MPI_Barrier(MPI_COMM_WORLD));
    if (i == cycles / 5) maps = lines_of("/proc/self/maps"), pages = resident();
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(counted == 11 * cycles);
  CHECK(lines_of("/proc/self/maps") <= maps + 20);
  if (resident() > pages + 256) fprintf(stderr, "%ld pages, then %ld\n", pages, resident());
  CHECK(resident() <= pages + 256);
  return finish();
}
END
mpicc cycles.c -o cycles -rdynamic || fail "cycles"
run "-n 1 -nfg 4" cycles 1000
run "-n 2 -nfg 3" cycles 200

# In gdb, which has a breakpoint in the dynamic linker from the start of the process on, and learns of each library.
if [ "$(uname -m)" = x86_64 ] && command -v gdb >/dev/null; then
  FGMPI_NFG=4 timeout 100 gdb -batch -ex "set breakpoint pending on" -ex "catch load libplugin" -ex run -ex delete -ex continue ./program >out 2>&1 </dev/null
  grep -q "Inferior loaded .*libplugin.so" out || fail "gdb does not learn of the library"
  grep -q "exited normally" out || fail "in gdb"
fi
echo " No Errors"
