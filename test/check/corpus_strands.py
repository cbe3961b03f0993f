"""The cases of the corpus about the order of a rank's threads, tasks and sections (mpicc -check -fopenmp): memory that a call of
one uses and another accesses; collectives, completions, probes and frees of two of them."""

TOP = r"""#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>
#define TWO _Pragma("omp parallel num_threads(2)")
#define FIRST if (omp_get_thread_num() == 0)
#define SECOND if (omp_get_thread_num() == 1)
static int v[4], z[4], flag, turn;
static MPI_Win win;
static int* room;
static MPI_Request sent[2];
static omp_lock_t one, two;
static sem_t semaphore;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t both;
/* Two messages that the rank sends to itself, a window, locks. */
static void open_all(void) {
  for (int i = 0; i < 2; ++i) MPI_Isend(a + i, 1, MPI_INT, rank, i, w, &sent[i]);
  MPI_Win_allocate(16, 4, MPI_INFO_NULL, MPI_COMM_SELF, &room, &win);
  MPI_Win_lock_all(0, win);
  omp_init_lock(&one);
  omp_init_lock(&two);
  sem_init(&semaphore, 0, 0);
  pthread_barrier_init(&both, NULL, 2);
  flag = turn = 0;
}
static void close_all(void) {
  for (int i = 0; i < 2; ++i) {
    int there;
    MPI_Iprobe(rank, i, w, &there, IGNORE);
    if (there) MPI_Recv(b + 8, 1, MPI_INT, rank, i, w, IGNORE);
  }
  MPI_Waitall(2, sent, MPI_STATUSES_IGNORE);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}
static struct timespec soon(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  t.tv_nsec += 20000000;
  t.tv_sec += t.tv_nsec / 1000000000;
  t.tv_nsec %= 1000000000;
  return t;
}
static void* thread_of(void* function) {
  ((void (*)(void))function)();
  return NULL;
}
"""
HERE = " /* HERE */"
# What one strand does with v, and what conflicts with it.
CALLS = {
    "Recv": f"MPI_Recv(v, 1, MPI_INT, rank, 0, w, IGNORE);{HERE}",
    "Irecv": f"MPI_Request q;\n  MPI_Irecv(v, 1, MPI_INT, rank, 0, w, &q);{HERE}\n  MPI_Wait(&q, IGNORE);",
    "Get": f"MPI_Get(v, 1, MPI_INT, 0, 0, 1, MPI_INT, win);{HERE}\n  MPI_Win_flush(0, win);",
    "Sendrecv": f"MPI_Sendrecv(a, 1, MPI_INT, rank, 9, v, 1, MPI_INT, rank, 9, w, IGNORE);{HERE}",
}
OTHERS = {
    "a load": f"z[0] = v[0];{HERE}",
    "a store": f"v[0] = 3;{HERE}",
    "a receive": f"MPI_Recv(v, 1, MPI_INT, rank, 1, w, IGNORE);{HERE}",
}
# What orders two strands in the twin. "@1" and "@2": what they do. The wrong program has nothing there, or something that does not
# order them in every run.
WAYS = {
    "a barrier": "  TWO {\n  FIRST { @1 }\n  GOOD {\n#pragma omp barrier\n  }\n  SECOND { @2 }\n  }",
    "a lock": "  TWO {\n  FIRST { omp_set_lock(&one); @1 omp_unset_lock(&one); }\n"
              "  SECOND { omp_set_lock(wrong ? &two : &one); @2 omp_unset_lock(wrong ? &two : &one); }\n  }",
    "a semaphore": "  TWO {\n  FIRST {\n  BAD sem_post(&semaphore);\n  @1\n  GOOD sem_post(&semaphore);\n  }\n"
                   "  SECOND { sem_wait(&semaphore); @2 }\n  }",
    "a condition": "  TWO {\n  FIRST { @1 pthread_mutex_lock(&mutex); turn = 1; pthread_cond_signal(&condition); pthread_mutex_unlock(&mutex); }\n"
                   "  SECOND {\n  GOOD {\n  pthread_mutex_lock(&mutex);\n  while (!turn) pthread_cond_wait(&condition, &mutex);\n"
                   "  pthread_mutex_unlock(&mutex);\n  }\n  @2 }\n  }",
    "a flag": "  TWO {\n  FIRST { @1\n#pragma omp flush\n#pragma omp atomic write\n  flag = 1;\n  }\n  SECOND {\n  int f = wrong;\n"
              "  while (!f) {\n#pragma omp atomic read\n  f = flag;\n#pragma omp flush\n  }\n  @2 }\n  }",
    "a flag of a mutex": "  TWO {\n  FIRST { @1 pthread_mutex_lock(&mutex); turn = 1; pthread_mutex_unlock(&mutex); }\n  SECOND {\n  int f = 0;\n"
                         "  do {\n  pthread_mutex_lock(&mutex);\n  f = wrong ? 1 : turn;\n  pthread_mutex_unlock(&mutex);\n  } while (!f);\n  @2 }\n  }",
    "taskwait": "  TWO {\n#pragma omp single\n  {\n#pragma omp task\n  { @1 }\n  GOOD {\n#pragma omp taskwait\n  }\n#pragma omp task\n  { @2 }\n  }\n  }",
    "depend": "  TWO {\n#pragma omp single\n  {\n#pragma omp task depend(out: z[wrong])\n  { @1 }\n#pragma omp task depend(in: z[0])\n  { @2 }\n  }\n  }",
    "sections": "#pragma omp parallel sections num_threads(2)\n  {\n#pragma omp section\n  { @1\n  GOOD { @2 } }\n#pragma omp section\n"
                "  { BAD { @2 } }\n  }",
    "a POSIX barrier": "  TWO {\n  FIRST {\n  BAD pthread_barrier_wait(&both);\n  @1\n  GOOD pthread_barrier_wait(&both);\n  }\n"
                       "  SECOND { pthread_barrier_wait(&both); @2 }\n  }",
}


def strands(case):
    def both(kind, what, body, functions=""):
        case(kind, what, functions + f"  open_all();\n{body}\n  close_all();", "strands")

    for number, (way, text) in enumerate(WAYS.items()):
        for call, first in CALLS.items():
            for k, (other, second) in enumerate(OTHERS.items()):
                if (number + k) % 3 and (call, other) != ("Recv", "a load"):
                    continue
                body = text.replace("@1", first)
                # The line of the second part is marked where it is wrong only.
                if way == "sections":
                    body = body.replace("@2", second.replace(HERE, ""), 1)
                both("buffers", f"{call} and {other}, ordered by {way}", body.replace("@2", second))
    # Rank 0's first thread waits for the lock in the library meanwhile, so that other ranks of its process run from within that wait.
    told = "MPI_Send(a, 1, MPI_INT, 0, 6, w); MPI_Recv(b, 1, MPI_INT, 0, 5, w, IGNORE); " + CALLS["Recv"]
    way = WAYS["a flag of a mutex"].replace("@1", told).replace("@2", OTHERS["a load"])
    both("buffers", "Recv and a load, ordered by a flag of a mutex while another rank waits for a lock",
         "  if (rank == 0) TWO {\n  SECOND {\n  omp_set_lock(&one);\n  sem_post(&semaphore);\n  usleep(50000);\n"
         "  for (int i = 1; i < size; ++i) MPI_Send(a, 1, MPI_INT, i, 5, w);\n  usleep(100000);\n  omp_unset_lock(&one);\n  }\n"
         "  FIRST {\n  for (int i = 1; i < size; ++i) MPI_Recv(b, 1, MPI_INT, i, 6, w, IGNORE);\n"
         f"  sem_wait(&semaphore);\n  omp_set_lock(&one);\n  omp_unset_lock(&one);\n  }}\n  }} else {{\n{way}\n  }}")
    calls(both)


def calls(both):
    bcast = "MPI_Bcast({0}, 1, {1}, 0, {2});" + HERE
    a, b = bcast.format("c + 16", "MPI_INT", "w"), bcast.format("d", "MPI_FLOAT", "other")
    dup = "  MPI_Comm other;\n  MPI_Comm_dup(w, &other);\n  BAD {\n  MPI_Comm_free(&other);\n  other = w;\n  }\n"
    end = "\n  GOOD MPI_Comm_free(&other);"
    both("threads", "collectives that nothing orders",
         f"  MPI_Comm other = w;\n  TWO {{\n  BAD {{\n  FIRST {{ BARRIER(w);{HERE}\n  }}\n  SECOND {{ BARRIER(other);{HERE}\n  }}\n  }} else {{\n"
         "  FIRST MPI_Barrier(w);\n#pragma omp barrier\n  SECOND MPI_Barrier(w);\n  }\n  }".replace("BARRIER", "MPI_Barrier"))
    both("threads", "collectives that only a critical section orders",
         f"{dup}  TWO {{\n  BAD {{\n  FIRST {{\n#pragma omp critical\n  {a}\n  }}\n  SECOND {{\n#pragma omp critical\n  {b}\n  }}\n  }} else {{\n"
         f"  FIRST {a.replace(HERE, '')}\n  SECOND {b.replace(HERE, '')}\n  }}\n  }}{end}")
    both("threads", "collectives, in the twin in turns",
         f"  MPI_Comm other = w;\n  TWO {{\n  int done = 0;\n  while (!done) {{\n#pragma omp critical\n  {{\n  const int me = omp_get_thread_num();\n"
         f"  if (wrong || turn == me) {{\n  if (me == 0) {a}\n  if (me == 1) {b}\n  turn = done = 1;\n  }}\n  }}\n  }}\n  }}"
         .replace("wrong || turn == me) {", "wrong || turn == me) {"))
    for how in ("MPI_Wait(&r, IGNORE);", "MPI_Test(&r, &z[2], IGNORE);"):
        both("threads", f"{how[:8]} of one request in two threads",
             f"  MPI_Request r;\n  MPI_Irecv(v, 1, MPI_INT, rank, 0, w, &r);\n  TWO {{\n  BAD {{\n#pragma omp critical\n  {how}{HERE}\n  }} else {{\n"
             "#pragma omp single\n  MPI_Wait(&r, IGNORE);\n  }\n  }\n  MPI_Wait(&r, IGNORE);")
    probe = (f"  MPI_Status s;\n  int x;\n  BAD {{\n  MPI_Probe(rank, 5, w, &s);{HERE}\n  MPI_Recv(&x, 1, MPI_INT, rank, 5, w, IGNORE);{HERE}\n  }} else {{\n")
    sends = "  MPI_Request q[2];\n  for (int i = 0; i < 2; ++i) MPI_Isend(a, 1, MPI_INT, rank, 5, w, &q[i]);\n"
    done = "\n  MPI_Waitall(2, q, MPI_STATUSES_IGNORE);"
    both("threads", "a probe and a receive in two threads, in the twin matched",
         f"{sends}  TWO {{\n{probe}  MPI_Message m;\n  MPI_Mprobe(rank, 5, w, &m, &s);\n  MPI_Mrecv(&x, 1, MPI_INT, &m, IGNORE);\n  }}\n  }}{done}")
    both("threads", "a probe and a receive in two threads, in the twin in a critical section",
         f"{sends}  TWO {{\n{probe}#pragma omp critical\n  {{\n  MPI_Probe(rank, 5, w, &s);\n  MPI_Recv(&x, 1, MPI_INT, rank, 5, w, IGNORE);\n  }}\n  }}\n  }}{done}")
    both("threads", "an object is freed that another thread uses",
         "  MPI_Datatype t;\n  MPI_Type_contiguous(2, MPI_INT, &t);\n  MPI_Type_commit(&t);\n  TWO {\n"
         f"  FIRST {{ MPI_Sendrecv(a, 1, t, rank, 9, b, 1, t, rank, 9, w, IGNORE);{HERE}\n  flag = 1;\n  }}\n  GOOD {{\n#pragma omp barrier\n  }}\n"
         f"  SECOND {{\n  BAD usleep(200000);\n  MPI_Type_free(&t);{HERE}\n  }}\n  }}")
    # Nobody sends the second message while a thread holds the lock and waits for it.
    both("deadlock", "a thread in a receive holds a lock that another needs",
         f"  TWO {{\n  const int me = omp_get_thread_num();\n#pragma omp critical{HERE}\n"
         f"  MPI_Recv(&z[me], 1, MPI_INT, rank, wrong ? 7 + me : me, w, IGNORE);{HERE}\n  }}")
    hangs(both)
    windows(both)


# How a thread waits for another, and what the other does then. The place of a region's end is its begin.
AWAITS = {
    "a semaphore": (f"sem_wait(&semaphore);{HERE}", "sem_post(&semaphore);"),
    "a condition variable": (f"pthread_mutex_lock(&mutex);\n  while (!turn) pthread_cond_wait(&condition, &mutex);{HERE}\n  pthread_mutex_unlock(&mutex);",
                             "pthread_mutex_lock(&mutex);\n  turn = 1;\n  pthread_cond_signal(&condition);\n  pthread_mutex_unlock(&mutex);"),
    "a POSIX barrier": (f"pthread_barrier_wait(&both);{HERE}", "pthread_barrier_wait(&both);"),
    "a barrier of OpenMP": (f"\n#pragma omp barrier{HERE}\n", "\n#pragma omp barrier\n"),
}
# The same again and again, each time until a time.
FOR_A_TIME = {
    "a condition variable": AWAITS["a condition variable"][0].replace("while (!turn) pthread_cond_wait(&condition, &mutex);" + HERE,
        f"while (!turn) {{\n  const struct timespec t = soon();\n  pthread_cond_timedwait(&condition, &mutex, &t);{HERE}\n  }}"),
    "a semaphore": f"for (int got = -1; got;) {{\n  const struct timespec t = soon();\n  got = sem_timedwait(&semaphore, &t);{HERE}\n  }}",
}


def hangs(both):
    """A thread waits for another, which waits for a message that nobody sends."""
    receive = f"MPI_Recv(v, 1, MPI_INT, rank, wrong ? 7 : 0, w, IGNORE);{HERE}"
    for way, (waits, tells) in AWAITS.items():
        # In both orders: the library looks for deadlocks in a rank's first thread.
        for first, second in ((waits, f"{receive}\n  {tells}"), (f"{receive}\n  {tells}", waits)):
            both("deadlock", f"{'a thread' if first == waits else 'another'} waits at {way} for one in a receive",
                 f"  TWO {{\n  if (omp_get_thread_num() == 0) {{\n  {first}\n  }} else {{\n  {second}\n  }}\n  }}")
    for k, (way, waits) in enumerate(FOR_A_TIME.items()):
        other = f"{receive}\n  {AWAITS[way][1]}"
        first, second = (waits, other) if k else (other, waits)
        both("deadlock", f"a thread waits at {way} for a time, again and again, for one in a receive",
             f"  TWO {{\n  if (omp_get_thread_num() == 0) {{\n  {first}\n  }} else {{\n  {second}\n  }}\n  }}")
    both("deadlock", "a thread tries to lock a mutex that one in a receive holds",
         f"  TWO {{\n  FIRST {{\n  sem_wait(&semaphore);\n  while (pthread_mutex_trylock(&mutex)) sched_yield();{HERE}\n  pthread_mutex_unlock(&mutex);\n  }}\n"
         f"  SECOND {{\n  pthread_mutex_lock(&mutex);\n  sem_post(&semaphore);\n  {receive}\n  pthread_mutex_unlock(&mutex);\n  }}\n  }}")
    both("deadlock", "a receive without its message, after a call of another thread that began before",
         f"  MPI_Request q[2];\n  MPI_Isend(a, 1, MPI_INT, rank, 18, w, &q[0]);{HERE}\n  TWO {{\n  FIRST {{\n  usleep(100000);\n"
         f"  MPI_Isend(a, 1, MPI_INT, rank, 20, w, &q[1]);\n  MPI_Recv(v, 1, MPI_INT, rank, wrong ? 17 : 18, w, IGNORE);{HERE}\n  }}\n"
         "  SECOND MPI_Recv(&z[3], 1, MPI_INT, rank, 20, w, IGNORE);\n  }\n  MPI_Waitall(2, q, MPI_STATUSES_IGNORE);")
    for part in ("FIRST", "SECOND"):
        both("deadlock", f"a thread locks a mutex twice, {part.lower()}",
             f"  TWO {{\n  {part} {{\n  pthread_mutex_lock(&mutex);\n  BAD pthread_mutex_lock(&mutex);{HERE}\n  pthread_mutex_unlock(&mutex);\n  }}\n  }}")
    both("deadlock", "a thread locks twice a mutex that counts its locks in the twin",
         "  pthread_mutexattr_t a;\n  pthread_mutex_t m;\n  pthread_mutexattr_init(&a);\n  GOOD pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);\n"
         f"  pthread_mutex_init(&m, &a);\n  TWO {{\n  SECOND {{\n  pthread_mutex_lock(&m);\n  pthread_mutex_lock(&m);{HERE}\n"
         "  pthread_mutex_unlock(&m);\n  pthread_mutex_unlock(&m);\n  }\n  }")
    both("deadlock", "a thread waits for tasks of which one is in a receive",
         f"  TWO {{\n#pragma omp single\n  {{\n#pragma omp task\n  {{ {receive}\n  }}\n#pragma omp taskwait\n  }}\n  }}")
    waits, tells = AWAITS["a barrier of OpenMP"]
    both("deadlock", "a thread waits at a barrier behind a region of one thread for one in a receive",
         "  TWO {\n  if (omp_get_thread_num() == 0) {\n#pragma omp parallel num_threads(1)\n  {\n#pragma omp barrier\n  }\n"
         f"  {waits}\n  }} else {{\n  {receive}\n  {tells}\n  }}\n  }}")
    both("deadlock", "a thread waits at the end of a region for one in a receive",
         f"#pragma omp parallel num_threads(2){HERE}\n  {{\n  SECOND {receive}\n  }}")


# The two ends of an epoch in which each rank's first thread puts into the next rank's memory, `x` is its window.
EPOCHS = {
    "fences": ("MPI_Win_fence(0, x);", "MPI_Win_fence(0, x);"),
    "MPI_Win_post": ("MPI_Win_post(all, 0, x);\n  MPI_Win_start(all, 0, x);", "MPI_Win_complete(x);\n  MPI_Win_wait(x);"),
}


def windows(both):
    """Another thread's loads and stores in memory of a window that an operation of another rank changes in the same epoch."""
    for epoch, (begin, end) in EPOCHS.items():
        for what, access in (("a load", "z[0] = mine[wrong ? 0 : 1];"), ("a store", "mine[wrong ? 0 : 1] = 3;")):
            both("windows", f"{what} of another thread and a put, in an epoch of {epoch}",
                 "  MPI_Win x;\n  MPI_Group all;\n  int* mine;\n  MPI_Comm_group(w, &all);\n  MPI_Win_allocate(16, 4, MPI_INFO_NULL, w, &mine, &x);\n"
                 f"  mine[0] = mine[1] = 0;\n  MPI_Barrier(w);\n  {begin}\n  TWO {{\n  FIRST MPI_Put(a, 1, MPI_INT, next, 0, 1, MPI_INT, x);{HERE}\n"
                 f"  SECOND {{ {access}{HERE}\n  }}\n  }}\n  {end}\n  MPI_Group_free(&all);\n  MPI_Win_free(&x);")
    # Each flush completes the operations of both threads; each thread knows of its own.
    both("buffers", "a get into memory of a thread, flushed by both, and a load, in the twin by that thread",
         "  MPI_Win x;\n  int* mine;\n  MPI_Win_allocate(16, 4, MPI_INFO_NULL, w, &mine, &x);\n  mine[0] = mine[1] = 0;\n  MPI_Barrier(w);\n"
         "  MPI_Win_lock_all(0, x);\n  TWO {\n  const int me = omp_get_thread_num();\n  for (int i = 0; i < 5; ++i) {\n"
         f"  MPI_Get(&v[me], 1, MPI_INT, next, me, 1, MPI_INT, x);{HERE}\n  MPI_Win_flush_all(x);\n  z[me] = v[wrong ? 1 - me : me];{HERE}\n  }}\n  }}\n"
         "  MPI_Win_unlock_all(x);\n  MPI_Win_free(&x);")
    # In an epoch of locks what counts is the order, whichever threads call.
    for what, call in (("put", "MPI_Put(a, 1, MPI_INT, LAST, 0, 1, MPI_INT, x);"), ("get", "MPI_Get(v, 1, MPI_INT, LAST, 0, 1, MPI_INT, x);")):
        both("windows", f"a put and a {what} of threads of two ranks under locks",
             "  MPI_Win x;\n  int* mine;\n  MPI_Win_allocate(16, 4, MPI_INFO_NULL, w, &mine, &x);\n  mine[0] = 0;\n  MPI_Barrier(w);\n  if (rank < 2) TWO {\n"
             "  SECOND {\n  if (!wrong && rank == 1) MPI_Recv(b, 0, MPI_INT, 0, 5, w, IGNORE);\n  MPI_Win_lock(MPI_LOCK_SHARED, LAST, 0, x);\n"
             f"  if (rank == 0) {{\n  MPI_Put(a, 1, MPI_INT, LAST, 0, 1, MPI_INT, x);{HERE}\n  }} else {{\n  {call}{HERE}\n  }}\n"
             "  MPI_Win_unlock(LAST, x);\n  if (!wrong && rank == 0) MPI_Send(a, 0, MPI_INT, 1, 5, w);\n  }\n  }\n  MPI_Barrier(w);\n  MPI_Win_free(&x);")
