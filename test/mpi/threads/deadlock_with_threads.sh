# A deadlock of processes that have other threads, also where the library was loaded at run time and has not seen them begin:
# it is reported unless one of them may still do something.
set -u
bin=$1 work=$2/deadlock_with_threads.dir
fail() { echo "deadlock_with_threads.sh: $*" >&2; cat "$work/out" >&2; exit 1; }
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
touch out
cat >host.c <<'EOF'
#include <dlfcn.h>
#include <mpi.h> /* types and constants only */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define FUNCTION(name) __typeof__(&MPI_##name) name = (__typeof__(&MPI_##name))dlsym(library, "MPI_" #name)
static void* library;
static int rank, size;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int go;
static void* receive(void* tag) {
  FUNCTION(Recv);
  int got;
  Recv(&got, 1, MPI_INT, (rank + 1) % size, *(int*)tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return NULL;
}
static void* ask(void* tag) {
  FUNCTION(Comm_rank);
  Comm_rank(MPI_COMM_WORLD, tag);
  return NULL;
}
static void* wait_and_send(void* tag) {
  FUNCTION(Send);
  pthread_mutex_lock(&mutex);
  while (!go) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
  Send(&rank, 1, MPI_INT, (rank + size - 1) % size, *(int*)tag, MPI_COMM_WORLD);
  return NULL;
}
static void* wake(void* unused) {
  usleep(1800000); /* longer than it takes to report a deadlock */
  pthread_mutex_lock(&mutex);
  go = 1;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
  return unused;
}
int main(int argc, char** argv) {
  library = dlopen("libmpich.so.12", RTLD_NOW | RTLD_GLOBAL);
  if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
  FUNCTION(Init_thread);
  FUNCTION(Comm_rank);
  FUNCTION(Comm_size);
  FUNCTION(Finalize);
  const char* how = argv[1];
  int provided, tags[] = {5, 6, 7};
  pthread_t threads[3];
  int count = 0;
  Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided != MPI_THREAD_MULTIPLE) return 1;
  Comm_rank(MPI_COMM_WORLD, &rank);
  Comm_size(MPI_COMM_WORLD, &size);
  if (!strcmp(how, "ended") && pthread_create(&threads[0], NULL, ask, &tags[1]) == 0) pthread_join(threads[0], NULL);
  if (!strcmp(how, "receiving")) pthread_create(&threads[count++], NULL, receive, &tags[1]);
  if (!strcmp(how, "receiving")) pthread_create(&threads[count++], NULL, receive, &tags[2]);
  if (!strcmp(how, "waiting") || !strcmp(how, "woken")) pthread_create(&threads[count++], NULL, wait_and_send, &tags[0]);
  if (!strcmp(how, "woken")) pthread_create(&threads[count++], NULL, wake, NULL);
  receive(&tags[0]);
  while (count > 0) pthread_join(threads[--count], NULL);
  if (!strcmp(how, "woken")) printf("rank %d is well\n", rank);
  return Finalize();
}
EOF
headers=$("$bin/mpicc" -show -c x.c | tr ' ' '\n' | grep '^-I' | tr '\n' ' ')
cc -O1 -pthread $headers host.c -o loading -ldl || fail "cc"
"$bin/mpicc" -O1 -pthread host.c -o linked -ldl || fail "mpicc"
for program in loading linked; do
  for processes in 1 2; do
    for how in alone ended receiving waiting; do
      [ $processes = 1 ] && [ $how != waiting ] && continue
      timeout 60 "$bin/mpiexec" -n $processes ./$program $how >out 2>&1
      [ $? = 1 ] || fail "$program $how, $processes processes: not status 1"
      grep -q 'deadlock: ' out && grep -q 'rank 0 in MPI_Recv: source' out || fail "$program $how, $processes processes: not reported"
    done
    timeout 60 "$bin/mpiexec" -n $processes ./$program woken >out 2>&1 || fail "$program woken, $processes processes: status $?"
    [ "$(grep -c 'is well$' out)" = $processes ] || fail "$program woken, $processes processes: not all are well"
  done
done
echo " No Errors"
