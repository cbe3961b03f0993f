# Libraries that stand in for a part of the C, C++ or unwind runtime: allocators, unwinders, profilers, tracers. The program is
# linked with each, and started with each preloaded; every rank throws, catches and allocates.
set -u
bin=$1 work=$2/runtimes.dir program=$2/runtimes
source=$(cd "$(dirname "$0")" && pwd)
fail() { echo "runtimes.sh: $*" >&2; cat "$work/out" >&2; exit 1; }
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
touch out
run() { # run WORDS COMMAND...
  local words=$1
  shift
  timeout 120 "$@" >out 2>&1 || fail "$words: status $?"
  grep -q "^ No Errors" out || fail "$words: no closing line"
}

# An unwinder of its own, as libunwind is one: libstdc++ is bound to the first image's functions, which must find themselves and
# the frames of whichever rank throws by dl_iterate_phdr. The program calls it too, and so may have an image of it.
cat >standin.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unwind.h>
static int calls;
struct Wanted {
  uintptr_t address;
  int found;
};
static int look(struct dl_phdr_info* info, size_t size, void* data) {
  struct Wanted* wanted = data;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr)* h = &info->dlpi_phdr[i];
    if (h->p_type == PT_LOAD && wanted->address - (info->dlpi_addr + h->p_vaddr) < h->p_memsz) wanted->found++;
  }
  return 0;
}
static void must_find(const void* address, const char* what) {
  struct Wanted wanted = {(uintptr_t)address, 0};
  dl_iterate_phdr(look, &wanted);
  if (wanted.found == 1) return;
  fprintf(stderr, "%s is found %d times\n", what, wanted.found);
  abort();
}
static _Unwind_Reason_Code visit(struct _Unwind_Context* context, void* data) {
  if (_Unwind_GetIP(context)) must_find((void*)_Unwind_GetIP(context), "a frame");
  return _URC_NO_REASON;
}
_Unwind_Reason_Code _Unwind_RaiseException(struct _Unwind_Exception* exception) {
  _Unwind_Reason_Code (*real)(struct _Unwind_Exception*) = dlsym(RTLD_NEXT, "_Unwind_RaiseException");
  calls++;
  must_find(__builtin_return_address(0), "the caller");
  must_find(&&here, "the unwinder");
here:
  _Unwind_Backtrace(visit, NULL);
  return real(exception);
}
int standin_calls(void) { return calls; }
END
cc -O1 -g -fPIC -shared standin.c -o libstandin.so || fail "cc standin.c"
sed 's/^int main(/extern "C" int standin_calls(void);\nint (*volatile calls)(void) = standin_calls;\n&/' "$source/runtimes.cc" >with_standin.cc
"$bin/mpicxx" -O1 -g -I"$source/.." with_standin.cc -o with_standin -L. -Wl,--no-as-needed -lstandin -Wl,-rpath,"$work" || fail "mpicxx with_standin.cc"
for shape in "-n 2 -nfg 1" "-n 1 -nfg 4" "-n 2 -nfg 20"; do
  run "an unwinder, linked, $shape" "$bin/mpiexec" $shape ./with_standin "$work"
  run "an unwinder, preloaded, $shape" "$bin/mpiexec" -genv LD_PRELOAD "$work/libstandin.so" $shape "$program" "$work"
  LD_PRELOAD=$work/libstandin.so run "an unwinder, in the environment, $shape" "$bin/mpiexec" $shape "$program" "$work"
done

# An allocator with a mutex, as in dmalloc, that is called while dlsym() has an error whose text it frees first.
cat >allocator.c <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void __libc_free(void*);
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
#define LOCKED(call) (pthread_mutex_lock(&mutex), p = call, pthread_mutex_unlock(&mutex), p)
void* malloc(size_t n) { void* p; return LOCKED(__libc_malloc(n)); }
void* calloc(size_t n, size_t size) { void* p; return LOCKED(__libc_calloc(n, size)); }
void* realloc(void* old, size_t n) { void* p; return LOCKED(__libc_realloc(old, n)); }
void free(void* p) { pthread_mutex_lock(&mutex), __libc_free(p), pthread_mutex_unlock(&mutex); }
__attribute__((constructor)) static void fail(void) { dlsym(RTLD_DEFAULT, "no such function"); }
END
cc -O1 -g -fPIC -shared allocator.c -o liballocator.so || fail "cc allocator.c"
for shape in "-n 2 -nfg 1" "-n 1 -nfg 4" "-n 2 -nfg 20"; do
  run "an allocator with a mutex, preloaded, $shape" "$bin/mpiexec" -genv LD_PRELOAD "$work/liballocator.so" $shape "$program" "$work"
done

# What Debian has of them, where it is installed. libunwind is called by the program, as by a profiler.
tried=0
for folder in /usr/lib/x86_64-linux-gnu /usr/lib/aarch64-linux-gnu /usr/lib/x86_64-linux-gnu/faketime /usr/lib/heaptrack; do
  for library in libunwind.so.8 libunwind.so.1 libprofiler.so.0 libtcmalloc.so.4 libtcmalloc_minimal.so.4 libtcmalloc_and_profiler.so.4 \
    libjemalloc.so.2 libmimalloc.so.2 libtbbmalloc_proxy.so.2 libgc.so.1 libc++.so.1 libmemusage.so libpcprofile.so libeatmydata.so \
    libfaketimeMT.so.1 libheaptrack_preload.so libdmalloc.so.5 libdmallocth.so.5 libtcmalloc_debug.so.4; do
    file=$folder/$library
    [ -e "$file" ] || continue
    tried=$((tried + 1))
    run "$library, preloaded" "$bin/mpiexec" -genv LD_PRELOAD "$file" -n 2 -nfg 4 "$program" "$work"
    case $library in libheaptrack*) continue ;; esac
    cp "$source/runtimes.cc" linked.cc
    [ $library = libunwind.so.8 ] && sed -i 's/^int main(/extern "C" int _ULx86_64_init_local(void*, void*);\nint (*volatile calls)(void*, void*) = _ULx86_64_init_local;\n&/' linked.cc
    "$bin/mpicxx" -O1 -I"$source/.." linked.cc -o linked -Wl,--no-as-needed "$file" -Wl,-rpath,"$folder" || fail "mpicxx with $library"
    run "$library, linked" "$bin/mpiexec" -n 2 -nfg 4 ./linked "$work"
    run "$library, linked, one rank a process" "$bin/mpiexec" -n 2 ./linked "$work"
  done
done
echo "$tried libraries of the system"
echo " No Errors"
