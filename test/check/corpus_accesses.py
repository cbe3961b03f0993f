"""The cases of the corpus for mpicc -check: loads and stores of the program in buffers that pending operations use.

A finding must name both lines of a wrong twin: that of the access and that of the operation. The correct twin makes the same
access when the operation is complete. Both twins also make correct accesses while it is pending: reads of data that is sent,
and accesses to elements beside a buffer and to gaps of derived types.
"""

import itertools

HERE = " /* HERE */"

# The kinds of memory for a buffer of 64 elements: its declaration as p, and the statement that ends its life.
PLACES = {
    "a static variable": ("  int* p = a;", ""),
    "a local variable": ("  int local[64] = {0};\n  int* p = local;", ""),
    "the heap": ("  int* p = calloc(64, sizeof(int));", "  free(p);"),
    "a variable of a function": ("  static int own[64];\n  int* p = own;", ""),
}
# Operations on p[8] to p[15]; they do not use the other elements.
STORES = {
    "store": "p[9] = 7;",
    "store of a byte": "((char*)p)[63] = 1;",
    "store of 8 bytes from before": "*(long long*)(p + 7) = 7;",
    "store of 16 bytes": "*(struct pair*)(p + 14) = (struct pair){1, 2};",
    "copy of a structure": "*(struct large*)(p + 10) = *(struct large*)c;",
    "increment": "++p[15];",
    "volatile store": "*(volatile int*)(p + 8) = 3;",
    "atomic addition": "__atomic_fetch_add(p + 11, 1, __ATOMIC_RELAXED);",
    "atomic exchange of 2 bytes": "__atomic_exchange_n((short*)(p + 11), 1, __ATOMIC_SEQ_CST);",
    "compare and exchange": "__sync_bool_compare_and_swap((long long*)(p + 12), *(long long*)(p + 12), 5);",
    "loop": "for (int i = 0; i < 64; ++i) p[i] = i;",
    "loop backwards": "for (int i = 15; i >= 7; --i) p[i] = i;",
    "memcpy": "memcpy(p + 6, c, 12);",
    "memmove": "memmove(p + 15, p + 20, 4);",
    "memset": "memset(p, 0, 64 * sizeof(int));",
    "strcpy": 'strcpy((char*)(p + 7), "seven");',
    "in a function": "set(p + 8, 4);",
    "by a sort": "qsort(p, 32, sizeof(int), compare);",
}
LOADS = {
    "load": "c[9] = p[9];",
    "load of a byte": "c[9] = ((char*)p)[32];",
    "load of 8 bytes": "*(long long*)c = *(long long*)(p + 12);",
    "copy of a structure": "*(struct large*)c = *(struct large*)(p + 4);",
    "volatile load": "c[1] = *(volatile int*)(p + 8);",
    "atomic load": "c[1] = __atomic_load_n(p + 15, __ATOMIC_ACQUIRE);",
    "loop": "for (int i = 0; i < 64; ++i) c[i] = p[i];",
    "memcpy": "memcpy(c, p, 40);",
    "memcmp": "c[70] = memcmp(c, p + 10, 8);",
    "printf of an element": 'snprintf((char*)c, 20, "%d", p[10]);',
    "in a function": "c[1] = sum(p + 8, 8);",
}
TOP = """struct pair {
  long long first, second;
};
struct large {
  int of[5];
};
static void __attribute__((noinline)) set(int* at, int n) {
  for (int i = 0; i < n; ++i) at[i] = i;
}
static int __attribute__((noinline)) sum(const int* at, int n) {
  int total = 0;
  for (int i = 0; i < n; ++i) total += at[i];
  return total;
}
static int compare(const void* x, const void* y) {
  return (*(const int*)x > *(const int*)y) - (*(const int*)x < *(const int*)y);
}
"""
# Accesses that are right while p[8] to p[15] are sent, or received.
FINE = "  p[7] = p[16] = 5;\n  memset(p + 16, 0, 8);\n"
FINE_SENT = FINE + "  c[0] = p[8] + sum(p, 64);\n  memcpy(c, p, 64);\n"


def on(marked, access):
    """Returns the access in a line that the finding must name. An access in a called function or macro has the marked line
    there instead."""
    return f"  {marked} {access}"


def accesses(case):
    exposed(case)
    one_sided(case)
    segments(case)
    attached(case)
    many_places(case)
    own_operations(case)
    def both(kind, name, place, begin, access, end, fine, around=("", "")):
        declaration, freed = PLACES[place]
        # The called function has the marked line.
        inside = "in a function" in name
        first = on("BAD", access) + ("" if inside else HERE)
        body = (f"{declaration}\n  MPI_Request q = MPI_REQUEST_NULL, r = MPI_REQUEST_NULL;\n{around[0]}{begin}\n{fine}{first}\n"
                f"{end}\n{on('GOOD', access)}\n{around[1]}{freed}")
        case("buffers", name, body, program="accesses")

    send = f"  MPI_Irecv(b, 8, MPI_INT, before, 5, w, &r);\n  MPI_{{}}(p + 8, 8, MPI_INT, next, 5, w, &q);{HERE}"
    receive = f"  MPI_{{}}(p + 8, 8, MPI_INT, before, 5, w, &r);{HERE}"
    wait = "  MPI_Wait(&q, IGNORE);\n  MPI_Wait(&r, IGNORE);"
    sent = "  MPI_Send(b, 8, MPI_INT, next, 5, w);\n  MPI_Wait(&r, IGNORE);"
    places = list(PLACES)
    for i, (what, access) in enumerate(STORES.items()):
        for place in (places[i % 4], places[(i + 1) % 4]):
            both("buffers", f"Isend from {place}: {what}", place, send.format("Isend"), access, wait, FINE_SENT)
            both("buffers", f"Irecv into {place}: {what}", place, receive.format("Irecv"), access, sent, FINE)
    for i, (what, access) in enumerate(LOADS.items()):
        for place in (places[i % 4], places[(i + 1) % 4]):
            both("buffers", f"Irecv into {place}: {what}", place, receive.format("Irecv"), access, sent, FINE)
    for i, mode in enumerate(("Issend", "Irsend", "Ibsend")):
        begin, end = send.format(mode), wait
        if mode == "Irsend":
            begin = begin.replace("  MPI_Irsend", "  MPI_Barrier(w);\n  MPI_Irsend")
        if mode == "Ibsend":
            begin = "  static char room[4096];\n  MPI_Buffer_attach(room, sizeof room);\n" + begin
            end += "\n  MPI_Buffer_detach(&(void*){0}, &(int){0});"
        both("buffers", f"{mode}: store", places[i], begin, STORES["store"], end, FINE_SENT)
    loop = ("  for (int round = 0; round < 3; ++round) {\n", "  }\n")
    for i, mode in enumerate(("Send_init", "Ssend_init")):
        begin = (f"  MPI_Irecv(b, 8, MPI_INT, before, 5, w, &r);\n  MPI_{mode}(p + 8, 8, MPI_INT, next, 5, w, &q);{HERE}\n"
                 "  p[8] = 1;\n  MPI_Start(&q);")
        for around in (("", ""), loop):
            both("buffers", f"{mode}{' in a loop' if around[0] else ''}: store", places[i], begin, STORES["store"],
                 wait + "\n  MPI_Request_free(&q);", FINE_SENT, around)
    for what, access in (("load", LOADS["load"]), ("store", STORES["store"])):
        begin = f"  MPI_Recv_init(p + 8, 8, MPI_INT, before, 5, w, &r);{HERE}\n  c[0] = p[8];\n  p[9] = 1;\n  MPI_Start(&r);"
        both("buffers", f"Recv_init: {what}", places[0], begin, access, sent + "\n  MPI_Request_free(&r);", FINE)
        both("buffers", f"Irecv in a loop: {what}", places[1], receive.format("Irecv"), access, sent, FINE, loop)
        both("buffers", f"Irecv and MPI_Test: {what}", places[2], receive.format("Irecv"), access,
             "  MPI_Send(b, 8, MPI_INT, next, 5, w);\n  for (int flag = 0; !flag;) MPI_Test(&r, &flag, IGNORE);", FINE)
        both("buffers", f"Irecv and MPI_Request_get_status: {what}", places[2], receive.format("Irecv"), access,
             "  MPI_Send(b, 8, MPI_INT, next, 5, w);\n  for (int flag = 0; !flag;) MPI_Request_get_status(r, &flag, IGNORE);\n"
             "  c[0] = p[8]++;\n  MPI_Wait(&r, IGNORE);", FINE)
        both("buffers", f"Irecv that is cancelled: {what}", places[3], receive.format("Irecv"), access,
             "  MPI_Cancel(&r);\n  MPI_Wait(&r, IGNORE);", FINE)
        both("buffers", f"Imrecv: {what}", places[0],
             f"  MPI_Message m;\n  MPI_Isend(b, 8, MPI_INT, next, 5, w, &q);\n  MPI_Mprobe(before, 5, w, &m, IGNORE);\n"
             f"  MPI_Imrecv(p + 8, 8, MPI_INT, &m, &r);{HERE}", access, wait, FINE)
    gaps(case)
    collectives(both, places)
    crowds(case)
    parts(case)
    partitions(case)


def gaps(case):
    """Derived types: a column of a matrix, whose gaps are free; a structure; blocks of uneven lengths."""
    types = {
        "vector": "MPI_Type_vector(8, 1, 8, MPI_INT, &t);",  # elements 0, 8, 16, ...
        "indexed": "MPI_Type_indexed(3, (int[]){1, 2, 1}, (int[]){0, 8, 24}, MPI_INT, &t);",
        "resized": "MPI_Datatype u;\n  MPI_Type_vector(4, 1, 16, MPI_INT, &u);\n  MPI_Type_create_resized(u, 0, 4, &t);\n  MPI_Type_free(&u);",
    }
    for what, make in types.items():
        count = 2 if what == "resized" else 1
        head = f"  MPI_Datatype t;\n  MPI_Request q, r;\n  {make}\n  MPI_Type_commit(&t);\n"
        tail = "  MPI_Type_free(&t);"
        # All types but the resized one have elements 0 and 8; that one has 0, 1, 16, 17, ... No type has 2 to 7.
        used = 17 if what == "resized" else 8
        free = "  for (int i = 2; i < 8; ++i) a[i] = i, c[i] = a[i + 8 * (i % 2)];\n  memset(a + 2, 0, 24);\n" if used == 17 else \
               "  for (int i = 2; i < 8; ++i) a[i] = i, c[i] = a[i];\n  memset(a + 2, 0, 24);\n"
        case("buffers", f"Isend of a {what} type: store", head + "  MPI_Irecv(b, 64, MPI_INT, before, 5, w, &r);\n"
             f"  MPI_Isend(a, {count}, t, next, 5, w, &q);{HERE}\n{free}  BAD a[{used}] = 5;{HERE}\n  MPI_Wait(&q, IGNORE);\n"
             f"  MPI_Wait(&r, IGNORE);\n  GOOD a[{used}] = 5;\n" + tail, program="accesses")
        for access in (f"c[0] = a[{used}];", f"a[{used}] = 5;", f"memcpy(a + {used} - 1, c, 12);"):
            case("buffers", f"Irecv of a {what} type: {access}", head + f"  MPI_Irecv(a, {count}, t, before, 5, w, &r);{HERE}\n{free}"
                 f"  BAD {access}{HERE}\n  MPI_Isend(b, {count}, t, next, 5, w, &q);\n  MPI_Wait(&q, IGNORE);\n  MPI_Wait(&r, IGNORE);\n"
                 f"  GOOD {access}\n" + tail, program="accesses")


def collectives(both, places):
    """Nonblocking and persistent collectives: the send buffers of all ranks, and the receive buffers of the root or of all. p[8]
    is the first element."""
    calls = {
        "bcast": "p + 8, 8, MPI_INT, 0", "gather": "p + 8, 1, MPI_INT, b, 1, MPI_INT, 0", "scatter": "b, 1, MPI_INT, p + 8, 2, MPI_INT, 0",
        "allgather": "p + 8, 2, MPI_INT, b, 2, MPI_INT", "alltoall": "b, 1, MPI_INT, p + 8, 1, MPI_INT",
        "reduce": "p + 8, b, 8, MPI_INT, MPI_SUM, 0", "allreduce": "b, p + 8, 8, MPI_INT, MPI_MAX", "scan": "b, p + 8, 8, MPI_INT, MPI_SUM",
        "exscan": "p + 8, b, 4, MPI_INT, MPI_SUM", "reduce_scatter_block": "b, p + 8, 2, MPI_INT, MPI_SUM",
        "allreduce in place": "MPI_IN_PLACE, p + 8, 8, MPI_INT, MPI_SUM",
    }
    for i, (name, inside) in enumerate(calls.items()):
        call = name.split()[0]
        if call == "scatter":
            inside = inside.replace("1, MPI_INT, p + 8, 2", "2, MPI_INT, p + 8, 2")
        taken = not inside.startswith("p + 8")
        access = LOADS["load"].replace("9]", "8]") if taken and i % 2 else "p[8] = 7;"
        fine = "  p[7] = p[40] = 5;\n" if taken or call == "bcast" else "  p[7] = p[40] = 5;\n  c[0] = p[8];\n"
        both("buffers", f"I{name}: {access}", places[i % 4], f"  MPI_I{call}({inside}, w, &q);{HERE}", access, "  MPI_Wait(&q, IGNORE);", fine)
        init = f"  MPI_{call.capitalize()}_init({inside}, w, MPI_INFO_NULL, &q);{HERE}\n  p[8] = 1;\n  MPI_Start(&q);"
        both("buffers", f"{name} that is persistent: {access}", places[(i + 1) % 4], init, access,
             "  MPI_Wait(&q, IGNORE);\n  MPI_Request_free(&q);", fine)


def crowds(case):
    """Many operations at once: each operates on some elements of a matrix. The access is to elements of one that is not
    complete."""
    for n in (3, 40):
        for what, access in (("load", "c[0] = x[2 * k];"), ("store", "x[2 * k + 1] = 9;")):
            case("buffers", f"one of {n} receives: {what}", f"  MPI_Request q[{n}];\n  static int x[200];\n  const int k = {n} / 2;\n"
                 f"  for (int i = 0; i < {n}; ++i)\n    MPI_Irecv(x + 2 * i, 2, MPI_INT, before, i, w, &q[i]);{HERE}\n"
                 f"  x[2 * {n}] = 1;\n  for (int i = 0; i < {n}; ++i)\n    if (i != k) MPI_Send(b, 2, MPI_INT, next, i, w);\n"
                 f"  for (int i = 0; i < {n}; ++i)\n    if (i != k) MPI_Wait(&q[i], IGNORE);\n"
                 f"  for (int i = 0; i < {n}; ++i)\n    if (i != k) c[1] += x[2 * i], x[2 * i + 1] = i;\n"
                 f"  BAD {access}{HERE}\n  MPI_Send(b, 2, MPI_INT, next, k, w);\n  MPI_Wait(&q[k], IGNORE);\n  GOOD {access}", program="accesses")
            case("buffers", f"one of {n} columns: {what}", f"  MPI_Request q[{n}];\n  MPI_Datatype t;\n  static int x[4 * 200];\n  const int k = {n} / 2;\n"
                 f"  MPI_Type_vector(4, 2, 200, MPI_INT, &t);\n  MPI_Type_commit(&t);\n"
                 f"  for (int i = 0; i < {n}; ++i)\n    MPI_Irecv(x + 2 * i, 1, t, before, i, w, &q[i]);{HERE}\n"
                 f"  x[2 * {n}] = x[200 + 2 * {n}] = 1;\n  for (int i = 0; i < {n}; ++i)\n    if (i != k) MPI_Send(b, 8, MPI_INT, next, i, w);\n"
                 f"  for (int i = 0; i < {n}; ++i)\n    if (i != k) MPI_Wait(&q[i], IGNORE);\n"
                 f"  for (int i = 0; i < {n}; ++i)\n    if (i != k) c[1] += x[200 + 2 * i], x[2 * i + 1] = i;\n"
                 f"  BAD {access.replace('x[', 'x[400 + ')}{HERE}\n  MPI_Send(b, 8, MPI_INT, next, k, w);\n  MPI_Wait(&q[k], IGNORE);\n"
                 f"  GOOD {access}\n  MPI_Type_free(&t);", program="accesses")
    case("buffers", "a buffer sent to many: store", f"  MPI_Request q[40];\n"
         "  for (int i = 0; i < 20; ++i) MPI_Irecv(b + 4 * i, 4, MPI_INT, before, i, w, &q[20 + i]);\n"
         f"  for (int i = 0; i < 20; ++i)\n    MPI_Isend(a, 4, MPI_INT, next, i, w, &q[i]);{HERE}\n  c[0] = a[1];\n  a[4] = 1;\n  BAD a[3] = 1;{HERE}\n"
         "  MPI_Waitall(40, q, MPI_STATUSES_IGNORE);\n  GOOD a[3] = 1;", program="accesses")


def parts(case):
    """Buffers with elements for each rank: the program may access the elements in between."""
    declared = ("  static int p[256];\n  int n[64], s[64], t[64], far[64];\n  MPI_Datatype types[64];\n  MPI_Request q, r = MPI_REQUEST_NULL;\n"
                "  for (int i = 0; i < 64; ++i) n[i] = 2, s[i] = 4 * i, t[i] = 16 * i, far[i] = 4 * i + 2, types[i] = MPI_INT;\n  (void)far;\n")
    calls = {"alltoallv": ("n, s, MPI_INT", "n, s, MPI_INT"), "alltoallw": ("n, t, types", "n, t, types")}
    for name, (out, into) in calls.items():
        for start, end in ((f"MPI_I{name}(FROM, {out}, TO, {into}, w, &q);", ""),
                           (f"MPI_{name.capitalize()}_init(FROM, {out}, TO, {into}, w, MPI_INFO_NULL, &q);", "  MPI_Request_free(&q);\n")):
            form = "persistent" if end else "nonblocking"
            begin = "  MPI_Start(&q);\n" if end else ""
            for what, access in (("load", "c[0] = p[5];"), ("store", "p[4] = 9;")):
                case("buffers", f"{name} {form}, {what} of a received part", declared + f"  {start.replace('FROM', 'b').replace('TO', 'p')}{HERE}\n"
                     f"{begin}  p[2] = p[7];\n  BAD {access}{HERE}\n  MPI_Wait(&q, IGNORE);\n  GOOD {access}\n" + end, program="accesses")
            case("buffers", f"{name} {form}, store into a sent part", declared + f"  {start.replace('FROM', 'p').replace('TO', 'b')}{HERE}\n"
                 f"{begin}  p[2] = p[7] + p[4];\n  BAD p[5] = 7;{HERE}\n  MPI_Wait(&q, IGNORE);\n  GOOD p[5] = 7;\n" + end, program="accesses")
    # Two operations have the same buffer address, and each uses the elements that the other leaves out.
    case("buffers", "alltoallv, store into a part of the first of two", declared
         + f"  MPI_Ialltoallv(p, n, s, MPI_INT, b, n, s, MPI_INT, w, &q);{HERE}\n  MPI_Ialltoallv(p, n, far, MPI_INT, c, n, s, MPI_INT, w, &r);\n"
         f"  d[0] = p[4];\n  BAD p[5] = 7;{HERE}\n  MPI_Wait(&q, IGNORE);\n  GOOD p[5] = 7;\n  MPI_Wait(&r, IGNORE);", program="accesses")


def partitions(case):
    """Accesses to partitions of a send that are ready, and to those of a receive that MPI_Parrived has not reported. p[8] is the
    first of 4 x 2 elements."""
    def head(a, b, sent, taken):
        return (f"  MPI_Request s, r;\n  MPI_Psend_init({a}, 4, 2, MPI_INT, next, 5, w, MPI_INFO_NULL, &s);{sent}\n"
                f"  MPI_Precv_init({b}, 4, 2, MPI_INT, before, 5, w, MPI_INFO_NULL, &r);{taken}\n  ({a})[0] = ({b})[7] = 1;\n")

    for rounds in (1, 3):
        for i, (place, (declaration, freed)) in enumerate(PLACES.items()):
            started = f"  for (int i = 0; i < {rounds}; ++i) {{\n  MPI_Startall(2, (MPI_Request[]){{s, r}});\n"
            end = "  MPI_Wait(&s, IGNORE);\n  MPI_Wait(&r, IGNORE);\n"
            tail = "  }\n  MPI_Request_free(&s);\n  MPI_Request_free(&r);\n" + freed
            store = ("p[11] = 7;", "memset(p + 10, 0, 8);")[i % 2]
            case("buffers", f"a ready partition in {place}, {rounds} rounds: store", declaration + "\n" + head("p + 8", "b", HERE, "") + started
                 + f"  p[8] = p[11] = p[15] = 3;\n  MPI_Pready(1, s);\n  p[8] = p[15] = c[9] = p[11];\n  BAD {store}{HERE}\n  MPI_Pready(0, s);\n  p[12] = 1;\n"
                 f"  MPI_Pready_range(2, 3, s);\n  c[8] = p[12];\n{end}  GOOD {store}\n" + tail, program="accesses")
            for what, access in (("load", ("c[9] = p[11];", "memcpy(c + 20, p + 10, 8);")[i % 2]), ("store", store)):
                case("buffers", f"a partition that has not arrived in {place}, {rounds} rounds: {what}", declaration + "\n" + head("b", "p + 8", "", HERE) + started
                     + "  MPI_Pready_range(0, 3, s);\n  for (int flag = 0; !flag;) MPI_Parrived(r, 2, &flag);\n  p[12] = p[13];\n"
                     f"  BAD {access}{HERE}\n  for (int flag = 0; !flag;) MPI_Parrived(r, 1, &flag);\n  GOOD {access}\n{end}" + tail, program="accesses")


# Operations of rank 1 on p[8] to p[15] of rank 0.
REMOTE = {
    "Put": "MPI_Put(b, 8, MPI_INT, 0, 8, 8, MPI_INT, x);",
    "Get": "MPI_Get(b, 8, MPI_INT, 0, 8, 8, MPI_INT, x);",
    "Accumulate": "MPI_Accumulate(b, 8, MPI_INT, 0, 8, 8, MPI_INT, MPI_SUM, x);",
    "Get_accumulate": "MPI_Get_accumulate(b, 8, MPI_INT, b + 64, 8, MPI_INT, 0, 8, 8, MPI_INT, MPI_REPLACE, x);",
}
WINDOWS = {
    "created": "  MPI_Win_create(p, 64 * sizeof(int), sizeof(int), MPI_INFO_NULL, w, &x);\n",
    "allocated": "  MPI_Win_allocate(64 * sizeof(int), sizeof(int), MPI_INFO_NULL, w, &p, &x);\n",
    "shared": "  MPI_Win_allocate_shared(64 * sizeof(int), sizeof(int), MPI_INFO_NULL, w, &p, &x);\n",
}
# Statements that begin and end an epoch in which rank 1 accesses the memory of rank 0.
BOUNDS = {
    "fence": ("  MPI_Win_fence(0, x);\n", "  MPI_Win_fence(0, x);\n"),
    "post": ("  if (!rank) MPI_Win_post(g, 0, x);\n  if (rank == 1) MPI_Win_start(g, 0, x);\n",
             "  if (rank == 1) MPI_Win_complete(x);\n  if (!rank) MPI_Win_wait(x);\n"),
}


# An epoch of locks of rank 1: the statements that begin it, complete its operations, and end it.
LOCKS = {
    "lock_all": ("MPI_Win_lock_all(0, x);", "MPI_Win_flush_all(x);", "MPI_Win_unlock_all(x);"),
    "a shared lock": ("MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, x);", "MPI_Win_flush(0, x);", "MPI_Win_unlock(0, x);"),
    "an exclusive lock": ("MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, x);", "MPI_Win_flush(0, x);", "MPI_Win_unlock(0, x);"),
}


def locked(wrong):
    """Stores while an operation of an epoch of locks is pending, and correct accesses meanwhile."""
    remotes = {k: v for k, v in REMOTE.items() if k != "Get"}
    remotes["Rput"] = "MPI_Rput(b, 8, MPI_INT, 0, 8, 8, MPI_INT, x, &r);"
    # A statement that reads the bytes may have found that the operation is complete.
    stores = {k: v for k, v in STORES.items() if k not in ("in a function", "by a sort", "increment") and "atomic" not in k and "exchange" not in k}
    windows, places = list(WINDOWS), list(PLACES)
    number = 0
    for lock, (begin, flush, end) in LOCKS.items():
        for remote, call in remotes.items():
            for k, (what, access) in enumerate(stores.items()):
                if (k + number) % 3 and what not in ("store", "loop"):
                    continue
                number += 1
                local = "  MPI_Wait(&r, IGNORE);\n" if remote == "Rput" else "  MPI_Win_flush_local(0, x);\n" if number % 2 else ""
                wrong(f"{remote} under way, {lock}, {what}", windows[number % 3], "  MPI_Request r;\n"
                      f"  if (rank == 1) {{\n  {begin}\n    {call}{HERE}\n{local}  GOOD {flush}\n  }}\n  MPI_Barrier(w);\n"
                      f"  if (!rank) {{\n  p[7] = p[16] = 5;\n  memset(p + 16, 0, 8);\n    {access}{HERE}\n  }}\n  MPI_Barrier(w);\n  if (rank == 1) {end}\n", places[number % 4])
        put, get = REMOTE["Put"], REMOTE["Get"]
        # In the correct twin the pending operation is on other elements, or the program sees that it is complete.
        for window in WINDOWS:
            wrong(f"Put, in the twin Get, under way, {lock}, store, {window}", window, f"  if (rank == 1) {{\n  {begin}\n  BAD {put}{HERE}\n  GOOD {get}\n  }}\n"
                  f"  MPI_Barrier(w);\n  if (!rank)\n    p[9] = 7;{HERE}\n  MPI_Barrier(w);\n  if (rank == 1) {end}\n")
            for seen in ("*(volatile int*)(p + 9)", "__atomic_load_n(p + 9, __ATOMIC_ACQUIRE)", "__atomic_fetch_add(p + 9, 0, __ATOMIC_ACQ_REL)"):
                wrong(f"Put under way and a flag that is taken back, in the twin after it was seen by {seen}, {lock}, {window}", window,
                      f"  b[1] = 7;\n  if (rank == 1) {{\n  {begin}\n    {put}{HERE}\n  }}\n  BAD MPI_Barrier(w);\n"
                      f"  if (!rank) {{\n  if (!wrong)\n    for (int i = 0; i < 1000 && (c[90] = {seen}) != 7; ++i) MPI_Win_sync(x);\n  if (wrong || c[90] == 7)\n    p[9] = 0;{HERE}\n  }}\n"
                      f"  MPI_Barrier(w);\n  if (rank == 1) {end}\n")


# Loops that wait for p[9] to become 7.
WAITS = {
    "MPI_Win_sync in a loop": "while (p[9] != 7) MPI_Win_sync(x);",
    "a loop of probes": "while (p[9] != 7) MPI_Iprobe(1, 77, w, &c[70], IGNORE);",
    "a loop that is left": "for (;;) {\n    if (p[9] == 7) break;\n    MPI_Iprobe(1, 77, w, &c[70], IGNORE);\n  }",
    "a loop that ends": "do {\n    c[71] = p[9];\n    MPI_Iprobe(1, 77, w, &c[70], IGNORE);\n  } while (c[71] != 7);",
    "volatile loads": "while (*(volatile int*)(p + 9) != 7) usleep(10);",
    "atomic loads": "while (__atomic_load_n(p + 9, __ATOMIC_ACQUIRE) != 7) usleep(10);",
}


def loads_beside(wrong):
    """Loads and operations of epochs of locks that nothing orders, before each other or under way. In the correct twins a barrier
    orders them, or the program waits by loads."""
    for lock, (begin, flush, end) in LOCKS.items():
        for remote in ("Put", "Accumulate", "Get_accumulate"):
            for window in ("created", "allocated"):
                load = f"  if (!rank)\n    c[1] = p[9];{HERE}\n"
                operation = f"  if (rank == 1) {{\n  {begin}\n    {REMOTE[remote]}{HERE}\n  {end}\n  }}\n"
                wrong(f"{remote} under {lock}, then a load, {window}", window, operation + "  GOOD MPI_Barrier(w);\n  if (!rank) usleep(20000);\n" + load)
                wrong(f"a load, then {remote} under {lock}, {window}", window, load + "  GOOD MPI_Barrier(w);\n  if (rank == 1) usleep(20000);\n" + operation)
                wrong(f"{remote} under way under {lock} and a load, {window}", window, f"  if (rank == 1) {{\n  {begin}\n    {REMOTE[remote]}{HERE}\n  GOOD {flush}\n  }}\n"
                      f"  MPI_Barrier(w);\n{load}  MPI_Barrier(w);\n  if (rank == 1) {end}\n")
    for k, (how, wait) in enumerate(WAITS.items()):
        for window in ("created", "allocated"):
            # The flag p[9] comes after the data p[10], which are read when the flag is seen.
            wrong(f"a load beside Put, in the twin {how}, {window}", window, f"  b[10] = 3;\n  b[9] = 7;\n  if (rank == {k % 2} || !wrong) MPI_Barrier(w);\n  if (rank != {k % 2} && wrong) MPI_Barrier(w);\n"
                  "  GOOD MPI_Win_lock_all(0, x);\n"
                  f"  if (rank == 1) {{\n  BAD MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, x);\n  GOOD MPI_Put(b + 10, 1, MPI_INT, 0, 10, 1, MPI_INT, x);\n  MPI_Win_flush(0, x);\n    MPI_Put(b + 9, 1, MPI_INT, 0, 9, 1, MPI_INT, x);{HERE}\n"
                  f"  MPI_Win_flush(0, x);\n  BAD MPI_Win_unlock(0, x);\n  }}\n  if (!rank && wrong)\n    c[1] = p[9];{HERE}\n  if (!rank && !wrong) {{\n  {wait}\n  c[1] = p[10];\n  }}\n  GOOD MPI_Win_unlock_all(x);\n  MPI_Barrier(w);\n")


# One-sided operations that read or write p[8] to p[15] at the origin. The windows have the memory b.
ORIGINS = {
    "Put": ("MPI_Put(p + 8, 8, MPI_INT, next, 0, 8, MPI_INT, x);", False),
    "Put of vectors": ("MPI_Put(p + 8, 1, v, next, 0, 4, MPI_INT, x);", False),
    "Puts in a loop": ("for (int i = 8; i < 16; ++i) MPI_Put(p + i, 1, MPI_INT, next, i, 1, MPI_INT, x);", False),
    "Accumulate": ("MPI_Accumulate(p + 8, 8, MPI_INT, next, 0, 8, MPI_INT, MPI_SUM, x);", False),
    "Get": ("MPI_Get(p + 8, 8, MPI_INT, next, 0, 8, MPI_INT, x);", True),
    "Get_accumulate": ("MPI_Get_accumulate(c + 100, 8, MPI_INT, p + 8, 8, MPI_INT, next, 0, 8, MPI_INT, MPI_SUM, x);", True),
    "Get_accumulate without an operation": ("MPI_Get_accumulate(NULL, 0, MPI_INT, p + 8, 8, MPI_INT, next, 0, 8, MPI_INT, MPI_NO_OP, x);", True),
    "Fetch_and_op": ("MPI_Fetch_and_op(c + 100, p + 9, MPI_INT, next, 0, MPI_SUM, x);", True),
    "Compare_and_swap": ("MPI_Compare_and_swap(c + 100, c + 101, p + 9, MPI_INT, next, 0, x);", True),
}
# Statements that begin an epoch, complete the operation, and end the epoch.
COMPLETIONS = {
    "fence": ("MPI_Win_fence(0, x);", "MPI_Win_fence(0, x);", "MPI_Win_fence(0, x);"),
    "complete": ("MPI_Win_post(to, 0, x);\n  MPI_Win_start(of, 0, x);", "MPI_Win_complete(x);", "MPI_Win_wait(x);"),
    "flush": ("MPI_Win_lock_all(0, x);", "MPI_Win_flush(next, x);", "MPI_Win_unlock_all(x);"),
    "flush_local": ("MPI_Win_lock(MPI_LOCK_SHARED, next, 0, x);", "MPI_Win_flush_local(next, x);", "MPI_Win_unlock(next, x);"),
    "flush_all": ("MPI_Win_lock_all(0, x);", "MPI_Win_flush_all(x);", "MPI_Win_unlock_all(x);"),
    "flush_local_all": ("MPI_Win_lock_all(0, x);", "MPI_Win_flush_local_all(x);", "MPI_Win_unlock_all(x);"),
    "unlock": ("MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, x);", "MPI_Win_unlock(next, x);", ""),
    "unlock_all": ("MPI_Win_lock_all(0, x);", "MPI_Win_unlock_all(x);", ""),
}


def one_sided(case):
    """Loads and stores of memory that pending one-sided operations of the rank read or write."""
    number = 0
    for completion, (begin, done, end) in COMPLETIONS.items():
        for operation, (call, writes) in ORIGINS.items():
            accesses = [*STORES.items(), *(LOADS.items() if writes else ())]
            for k, (what, access) in enumerate(accesses):
                single = operation in ("Fetch_and_op", "Compare_and_swap", "Put of vectors")
                if what in ("in a function", "by a sort") or (single and what not in ("store", "load", "loop", "memset")):
                    continue
                if (k + number) % 5 and what not in ("store", "load"):
                    continue
                number += 1
                declaration, freed = list(PLACES.values())[number % 4]
                # Operations with vectors read p[8], p[9], p[11] and p[12].
                fine = FINE if writes else FINE_SENT + ("  p[10] = 3;\n" if "vectors" in operation else "")
                # The completion is followed by the access in the correct twin, and by the end of the epoch in both.
                case("buffers", f"{operation} until {completion}: {what}", f"{declaration}\n  MPI_Win x;\n  MPI_Group all, of, to;\n  MPI_Datatype v;\n  MPI_Comm_group(w, &all);\n"
                     "  MPI_Group_incl(all, 1, &next, &of);\n  MPI_Group_incl(all, 1, &before, &to);\n  MPI_Type_vector(2, 2, 3, MPI_INT, &v);\n  MPI_Type_commit(&v);\n"
                     "  MPI_Win_create(b, sizeof b, sizeof(int), MPI_INFO_NULL, w, &x);\n"
                     f"  {begin}\n    {call}{HERE}\n{fine}  BAD {access}{HERE}\n  {done}\n  GOOD {access}\n" + (f"  {end}\n" if end else "")
                     + f"  MPI_Group_free(&all);\n  MPI_Group_free(&of);\n  MPI_Group_free(&to);\n  MPI_Type_free(&v);\n  MPI_Win_free(&x);\n{freed}", program="accesses")


def exposed(case):
    """Loads and stores of rank 0 in its memory of a window, in the epoch in which rank 1 accesses the same bytes."""
    def wrong(name, window, body, place="a static variable"):
        declaration, freed = PLACES[place]
        case("windows", name, f"{declaration}\n  MPI_Win x;\n  MPI_Group all, g;\n  MPI_Comm_group(w, &all);\n  MPI_Group_incl(all, 1, (int[]){{rank == 0}}, &g);\n"
             + "  int* const own_p = p;\n" + WINDOWS[window] + "  memset(p, 0, 64 * sizeof(int));\n  MPI_Barrier(w);\n" + body
             + f"  MPI_Group_free(&all);\n  MPI_Group_free(&g);\n  MPI_Win_free(&x);\n  p = own_p;\n{freed}", program="accesses")

    locked(wrong)
    loads_beside(wrong)
    loads = {k: v for k, v in LOADS.items() if k != "in a function"}
    stores = {k: v for k, v in STORES.items() if k not in ("in a function", "by a sort")}
    windows, places = list(WINDOWS), list(PLACES)
    number = 0
    for epoch, (begin, end) in BOUNDS.items():
        for remote, call in REMOTE.items():
            for k, (what, access) in enumerate((*stores.items(), *(loads.items() if remote != "Get" else ()))):
                if (k + number) % 3 and what not in ("load", "store"):
                    continue
                number += 1
                fine = "  if (!rank) {\n  p[7] = p[16] = 5;\n  memset(p + 16, 0, 8);\n  c[0] = p[40]" + (" + p[9]" if remote == "Get" else "") + ";\n  }\n"
                first, second = f"  if (rank == 1)\n    {call}{HERE}\n", f"{fine}  if (wrong && !rank)\n    {access}{HERE}\n"
                # Either the access or the operation is first.
                ops = second + f"  if (rank == 1) usleep(20000);\n{first}" if number % 2 else first + "  MPI_Barrier(w);\n" + second
                wrong(f"{remote} and {what}, {epoch}, {'access' if number % 2 else 'operation'} first", windows[number % 3],
                      f"{begin}{ops}{end}  if (!wrong && !rank)\n    {access}\n" + (end if epoch == "fence" else "  MPI_Barrier(w);\n"), places[number % 4])
    # Between its access and the end of the epoch the rank makes calls that let no other rank begin; the operation is last.
    between = {"a local call": "MPI_Type_size(MPI_INT, &c[80]);", "a put of its own": "MPI_Put(b, 4, MPI_INT, 1, 40, 4, MPI_INT, x);",
               "both": "MPI_Accumulate(b, 1, MPI_INT, 1, 40, 1, MPI_INT, MPI_SUM, x);\n    MPI_Comm_size(w, &c[80]);"}
    for i, (what, calls) in enumerate(between.items()):
        for window in WINDOWS:
            own = f"  if (!rank) {{\n  BAD p[9] = 7;{HERE}\n    {calls}\n  }}\n"
            later = f"  if (rank == 1) {{\n    usleep(20000);\n    {list(REMOTE.values())[i]}{HERE}\n  }}\n"
            wrong(f"a store, {what}, {list(REMOTE)[i]}, {window}", window, BOUNDS["fence"][0] + own + later + BOUNDS["fence"][1])
    # Accesses whose result the unified model leaves open give a note, if the program has asked for the model.
    asked = "  int* model;\n  MPI_Win_get_attr(x, MPI_WIN_MODEL, &model, &c[81]);\n"
    for window in WINDOWS:
        for remote, access in (("Put", "c[1] = p[9];"), ("Get", "p[9] = 7;")):
            wrong(f"the model is asked for: {remote} and {access}, {window}", window, asked + BOUNDS["fence"][0]
                  + f"  if (rank == 1)\n    {REMOTE[remote]}{HERE}\n  if (wrong && !rank)\n    {access}{HERE}\n{BOUNDS['fence'][1]}  if (!wrong && !rank)\n    {access}\n")
    # A store before an operation of an epoch of locks. It takes a while until the operation, so that the store is first.
    for number, (lock, (begin, flush, end)) in enumerate(LOCKS.items()):
        for remote in ("Put", "Accumulate", "Get_accumulate"):
            for window in ("created", "allocated"):
                wrong(f"a store, then {remote} under {lock}, {window}", window, f"  if (!rank) {{\n    p[9] = 7;{HERE}\n  MPI_Type_size(MPI_INT, &c[80]);\n  }}\n  GOOD MPI_Barrier(w);\n"
                      f"  if (rank == 1) {{\n  BAD usleep(20000);\n  {begin}\n    {REMOTE[remote]}{HERE}\n  {end}\n  }}\n  MPI_Barrier(w);\n")
    for window in WINDOWS:
        wrong(f"a store, then a fence with MPI_MODE_NOSTORE, {window}", window, f"  MPI_Win_fence(0, x);\n  if (!rank)\n    p[9] = 7;{HERE}\n  c[1] = p[10];\n"
              f"  MPI_Win_fence(wrong ? MPI_MODE_NOSTORE : 0, x);{HERE}\n  c[1] = p[9];\n  MPI_Win_fence(MPI_MODE_NOSTORE, x);\n  MPI_Win_fence(0, x);\n")
    # Accesses are correct if locks order them, or MPI_Win_sync and values that the program reads from the memory.
    for window in WINDOWS:
        start = f"  if (wrong) MPI_Win_fence(0, x);\n  if (wrong && rank == 1)\n    {REMOTE['Put']}{HERE}\n  if (wrong) MPI_Barrier(w);\n"
        stop = "  if (wrong) MPI_Win_fence(0, x);\n"
        wrong(f"Put and a load that waits for it, {window}", window, "  b[1] = 7;\n" + start + f"  if (wrong && !rank)\n    c[1] = p[9];{HERE}\n{stop}"
              "  if (!wrong) {\n  MPI_Win_lock_all(0, x);\n  if (rank == 1) {\n  MPI_Put(b, 8, MPI_INT, 0, 8, 8, MPI_INT, x);\n  MPI_Win_flush(0, x);\n  }\n"
              "  if (!rank) {\n  do MPI_Win_sync(x);\n  while (*(volatile int*)(p + 9) != 7);\n  p[9] = 8;\n  }\n  MPI_Win_unlock_all(x);\n  }\n")
        wrong(f"Put and a store with a lock, {window}", window, start + f"  if (wrong && !rank)\n    p[9] = 7;{HERE}\n{stop}"
              "  if (!wrong && rank < 2) {\n  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, x);\n  if (rank == 1) MPI_Put(b, 8, MPI_INT, 0, 8, 8, MPI_INT, x);\n"
              "  else p[9] = c[9] + p[10];\n  MPI_Win_unlock(0, x);\n  }\n")
        wrong(f"Put and a store that a message follows, {window}", window, start + f"  if (wrong && !rank)\n    p[9] = 7;{HERE}\n{stop}"
              "  if (!wrong) {\n  MPI_Win_lock_all(0, x);\n  if (!rank) p[9] = 7;\n  MPI_Win_sync(x);\n  MPI_Barrier(w);\n  if (rank == 1) {\n"
              "  MPI_Put(b, 8, MPI_INT, 0, 8, 8, MPI_INT, x);\n  MPI_Win_flush(0, x);\n  }\n  MPI_Barrier(w);\n  MPI_Win_sync(x);\n  if (!rank) c[9] = p[9]++;\n  MPI_Win_unlock_all(x);\n  }\n")


# Ways to another rank's memory: by its address, or by an index behind the rank's own memory. The memory of rank 1 in a shared
# window is at p[64] of rank 0.
SEGMENTS = {
    "asked for": ("", "MPI_Win_shared_query(x, 1, &bytes, &unit, &other);"),
    "behind the own": ("", "other = p + 64;"),
    "not contiguous": ("  MPI_Info_set(info, \"alloc_shared_noncontig\", \"true\");\n", "MPI_Win_shared_query(x, 1, &bytes, &unit, &other);"),
    "of a rank without memory": ("  length = rank ? length : 0;\n", "MPI_Win_shared_query(x, 1, &bytes, &unit, &other);"),
}


def some_accesses(remote, numbers, every):
    """Returns the accesses that conflict with an operation, each with its number: a plain store and load, and one in `every` of
    the others."""
    for what, access in {**STORES, **(LOADS if remote != "Get" else {})}.items():
        if what in ("in a function", "by a sort"):
            continue
        number = next(numbers)
        if number % every == 0 or what in ("store", "load"):
            yield number, what, access


def segments(case):
    """Loads and stores of rank 0 in the memory of rank 1 in a shared window, which rank 2 accesses by one-sided operations."""
    def wrong(name, before, query, body):
        case("windows", name, "  MPI_Win x;\n  MPI_Info info;\n  MPI_Aint bytes, length = 64 * sizeof(int);\n  int unit;\n  int *p, *other = NULL;\n  MPI_Info_create(&info);\n"
             f"{before}  MPI_Win_allocate_shared(length, sizeof(int), info, w, &p, &x);\n  MPI_Info_free(&info);\n  {query}\n"
             f"  if (length) memset(p, 0, 64 * sizeof(int));\n  MPI_Barrier(w);\n{body}  MPI_Win_free(&x);", program="accesses")

    numbers = itertools.count(1)
    for where, (before, query) in SEGMENTS.items():
        for remote, call in REMOTE.items():
            call = call.replace("MPI_INT, 0, 8", "MPI_INT, 1, 8")
            for number, what, access in some_accesses(remote, numbers, 5):
                access = access.replace("p", "other") if what in ("store", "load") else f"{{\n    int* p = other;\n    {access}{HERE}\n  }}"
                fine = "  if (!rank) {\n  other[7] = other[16] = 5;\n  c[0] = other[40];\n  }\n"
                first = f"  if (rank == 2)\n    {call}{HERE}\n"
                second = f"{fine}  if (wrong && !rank)\n    {access}{'' if HERE in access else HERE}\n"
                ops = second + f"  if (rank == 2) usleep(20000);\n{first}" if number % 2 else first + "  MPI_Barrier(w);\n" + second
                fence = "  MPI_Win_fence(0, x);\n"
                wrong(f"another's memory, {where}: {remote} and {what}, {'access' if number % 2 else 'operation'} first", before, query,
                      fence + ops + fence + f"  if (!wrong && !rank)\n    {access.replace(HERE, '')}\n" + fence)
        # In the correct twin the operation is complete before the store.
        for lock, (begin, flush, end) in LOCKS.items():
            one = lambda text: text.replace("(0, x)", "(1, x)").replace(", 0, 0, x", ", 1, 0, x") if "all" not in lock else text
            for remote in ("Put", "Accumulate"):
                wrong(f"another's memory, {where}: {remote} under way, {lock}", before, query,
                      f"  if (rank == 2) {{\n  {one(begin)}\n    {REMOTE[remote].replace('MPI_INT, 0, 8', 'MPI_INT, 1, 8')}{HERE}\n  GOOD {one(flush)}\n  }}\n  MPI_Barrier(w);\n"
                      f"  if (!rank)\n    other[9] = 7;{HERE}\n  MPI_Barrier(w);\n  if (rank == 2) {one(end)}\n")


def attached(case):
    """Loads and stores of rank 0 in memory that it has attached to a dynamic window, which rank 1 accesses."""
    numbers = itertools.count(1)
    for remote, call in REMOTE.items():
        call = call.replace("MPI_INT, 0, 8,", "MPI_INT, 0, at + 8 * sizeof(int),")
        for number, what, access in some_accesses(remote, numbers, 3):
            declaration, freed = list(PLACES.values())[number % 4]
            early = number % 2  # memory is attached before the epoch, or in it
            head = (f"{declaration}\n  MPI_Win x;\n  MPI_Aint at;\n  MPI_Get_address(p, &at);\n  MPI_Win_create_dynamic(MPI_INFO_NULL, w, &x);\n"
                    + ("" if early else "  MPI_Win_fence(0, x);\n") + "  if (!rank) MPI_Win_attach(x, p, 64 * sizeof(int));\n  MPI_Bcast(&at, 1, MPI_AINT, 0, w);\n")
            fine = "  if (!rank) {\n  p[7] = p[16] = 5;\n  memset(p + 16, 0, 8);\n  }\n"
            first, second = f"  if (rank == 1)\n    {call}{HERE}\n", f"{fine}  if (wrong && !rank)\n    {access}{HERE}\n"
            ops = second + f"  if (rank == 1) usleep(20000);\n{first}" if number % 2 else first + "  MPI_Barrier(w);\n" + second
            fence = "  MPI_Win_fence(0, x);\n"
            # The program may access detached memory again.
            tail = "  if (!rank) MPI_Win_detach(x, p);\n" + f"  if (!rank)\n    {access}\n" + "  MPI_Win_free(&x);\n" + freed
            case("windows", f"dynamic, attached {'before' if early else 'in'} the epoch: {remote} and {what}", head + (fence if early else "") + ops + fence + tail, program="accesses")
    for lock, (begin, flush, end) in LOCKS.items():
        for remote in ("Put", "Accumulate"):
            call = REMOTE[remote].replace("MPI_INT, 0, 8,", "MPI_INT, 0, at + 8 * sizeof(int),")
            case("windows", f"dynamic: {remote} under way, {lock}", "  int* p = b;\n  MPI_Win x;\n  MPI_Aint at;\n  MPI_Get_address(p, &at);\n  MPI_Win_create_dynamic(MPI_INFO_NULL, w, &x);\n"
                 "  if (!rank) MPI_Win_attach(x, p, 64 * sizeof(int));\n  MPI_Bcast(&at, 1, MPI_AINT, 0, w);\n"
                 + f"  if (rank == 1) {{\n  {begin}\n    {call.replace('b, 8', 'c, 8')}{HERE}\n  GOOD {flush}\n  }}\n  MPI_Barrier(w);\n  if (!rank)\n    p[9] = 7;{HERE}\n"
                 f"  MPI_Barrier(w);\n  if (rank == 1) {end}\n  MPI_Barrier(w);\n  if (!rank) MPI_Win_detach(x, p);\n  MPI_Win_free(&x);", program="accesses")


def many_places(case):
    """Accesses to so many addresses of a window that they are reported while the program goes on. The operation conflicts with
    the last one, or the first."""
    for n in (255, 256, 257, 300, 2000):
        for which in (0, n - 1):
            for first in (True, False):
                put = f"  if (rank == 1)\n    MPI_Put(a, 1, MPI_INT, 0, wrong ? {2 * which} : {2 * which + 1}, 1, MPI_INT, x);{HERE}\n"
                stores = f"  if (!rank)\n    for (int i = 0; i < {n}; ++i)\n      p[2 * i] = i;{HERE}\n"
                case("windows", f"Put and store {which} of {n} that do not touch, {'operation' if first else 'store'} first", "  MPI_Win x;\n  int* p;\n"
                     "  MPI_Win_allocate(4096 * sizeof(int), sizeof(int), MPI_INFO_NULL, w, &p, &x);\n  MPI_Win_fence(0, x);\n"
                     + (put + "  MPI_Barrier(w);\n" + stores if first else stores + "  if (rank == 1) usleep(50000);\n" + put) + "  MPI_Win_fence(0, x);\n  MPI_Win_free(&x);", program="accesses")


def own_operations(case):
    """Operations of a rank on its own memory after a put of another that is not complete, though a message has come."""
    for op in ("MPI_Put(c, 1, MPI_INT, 1, 0, 1, MPI_INT, x);", "MPI_Get(c, 1, MPI_INT, 1, 0, 1, MPI_INT, x);",
                            "MPI_Accumulate(c, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, x);"):
        for twin in ("flush", "load"):
            waits = "  GOOD while (!mine[0]) MPI_Win_sync(x);\n" if twin == "load" else ""
            case("windows", f"Put, no flush, a message, and {op[4:op.index('(')]} by the owner, the twin with a {twin}",
                 "  MPI_Win x;\n  int* mine;\n  MPI_Win_allocate(16, 4, MPI_INFO_NULL, w, &mine, &x);\n  mine[0] = 0;\n  a[0] = 7;\n  MPI_Barrier(w);\n"
                 f"  MPI_Win_lock_all(0, x);\n  if (rank == 0) {{\n  MPI_Put(a, 1, MPI_INT, 1, 0, 1, MPI_INT, x);{HERE}\n"
                 f"  {'GOOD MPI_Win_flush(1, x);' if twin == 'flush' else ''}\n  MPI_Send(a, 0, MPI_INT, 1, 5, w);\n  }} else if (rank == 1) {{\n"
                 f"  MPI_Recv(b, 0, MPI_INT, 0, 5, w, IGNORE);\n{waits}  {op}{HERE}\n  }}\n  MPI_Win_unlock_all(x);\n  MPI_Barrier(w);\n  MPI_Win_free(&x);",
                 program="accesses")
