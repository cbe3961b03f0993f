"""The cases of the corpus in the style of the public suites of faulty programs: lifecycles of requests, partitioned
communication, arguments that MPI refuses, neighbourhoods, and errors that MPI returns to the program."""

TOP = r"""static MPI_Comm ring;
static void fold(void* in, void* out, int* n, MPI_Datatype* t) {
  (void)in, (void)out, (void)n, (void)t;
}
static void make_grid(int periods) {
  int dims = size;
  MPI_Cart_create(w, 1, &dims, &periods, 0, &ring);
}
static void make_ring(void) { make_grid(1); }
"""
HERE = " /* HERE */"
# A partitioned exchange with the next rank in four parts of two elements.
PARTITIONED = {
    "first": "  MPI_Request s, r;\n",
    "send": "  MPI_Psend_init(a, 4, 2, MPI_INT, next, 5, w, MPI_INFO_NULL, &s);",
    "receive": "  MPI_Precv_init(b, 4, 2, MPI_INT, before, 5, w, MPI_INFO_NULL, &r);",
    "start": "  MPI_Start(&r);\n  MPI_Start(&s);",
    "ready": "  MPI_Pready_range(0, 3, s);",
    "wait": "  MPI_Wait(&s, IGNORE);\n  MPI_Wait(&r, IGNORE);",
    "free": "  MPI_Request_free(&s);\n  MPI_Request_free(&r);",
}


def partitioned_exchange(**changed):
    return "\n".join({**PARTITIONED, **changed}.values())


def partitioned(case):
    def wrong(kind, what, **changed):
        case(kind, f"partitioned: {what}", partitioned_exchange(**changed), "lifecycles")

    wrong("leaks", "send never freed", send=PARTITIONED["send"] + HERE, free="  GOOD MPI_Request_free(&s);\n  MPI_Request_free(&r);")
    wrong("leaks", "receive never freed", receive=PARTITIONED["receive"] + HERE,
          free="  MPI_Request_free(&s);\n  GOOD MPI_Request_free(&r);")
    wrong("leaks", "never started", send=PARTITIONED["send"] + HERE, receive=PARTITIONED["receive"] + HERE,
          start="  GOOD MPI_Start(&r);\n  GOOD MPI_Start(&s);", ready="  GOOD MPI_Pready_range(0, 3, s);",
          wait="  GOOD MPI_Wait(&s, IGNORE);\n  GOOD MPI_Wait(&r, IGNORE);", free="  GOOD MPI_Request_free(&s);\n  GOOD MPI_Request_free(&r);")
    wrong("leaks", "no wait", receive=PARTITIONED["receive"] + HERE, wait="  MPI_Wait(&s, IGNORE);\n  GOOD MPI_Wait(&r, IGNORE);",
          free="  MPI_Request_free(&s);\n  GOOD MPI_Request_free(&r);")
    wrong("deadlock", "a part is never ready", ready="  for (int i = 0; i < (wrong ? 3 : 4); ++i) MPI_Pready(i, s);",
          wait="  MPI_Wait(&s, IGNORE); /* HERE */\n  MPI_Wait(&r, IGNORE); /* HERE */")
    for once, twice in (("MPI_Pready_range(0, 3, s);", "MPI_Pready(2, s);"),
                        ("for (int i = 0; i < 4; ++i) MPI_Pready(i, s);", "MPI_Pready_list(2, (int[]){3, 0}, s);"),
                        ("MPI_Pready_list(4, (int[]){3, 1, 0, 2}, s);", "MPI_Pready_range(1, 2, s);")):
        wrong("arguments", f"a part is ready twice: {twice}", ready=f"  {once} /* ALL HERE */\n  BAD {twice} /* ALL HERE */")
    wrong("arguments", "a part that is not there", ready="  MPI_Pready_range(0, wrong ? 4 : 3, s); /* HERE */")
    wrong("arguments", "ready before the start", start="  BAD MPI_Pready(0, s); /* HERE */\n  MPI_Start(&r);\n  MPI_Start(&s);")
    wrong("arguments", "ready for a receive", ready="  MPI_Pready_range(0, 3, s);\n  BAD MPI_Pready(0, r); /* HERE */")
    wrong("arguments", "arrived of a send", ready="  MPI_Pready_range(0, 3, s);\n  MPI_Parrived(wrong ? s : r, 0, &c[0]); /* HERE */")
    wrong("arguments", "arrived of a part that is not there",
          ready="  MPI_Pready_range(0, 3, s);\n  MPI_Parrived(r, wrong ? 4 : 3, &c[0]); /* HERE */")
    wrong("arguments", "started twice", start="  MPI_Start(&r);\n  MPI_Start(&s);\n  BAD MPI_Start(&s); /* HERE */")
    wrong("deadlock", "another tag", receive="  MPI_Precv_init(b, 4, 2, MPI_INT, before, wrong ? 6 : 5, w, MPI_INFO_NULL, &r);",
          wait="  MPI_Wait(&s, IGNORE); /* HERE */\n  MPI_Wait(&r, IGNORE); /* HERE */")

    wrong("arguments", "freed while active", wait="  BAD MPI_Request_free(&s); /* HERE */\n  BAD s = MPI_REQUEST_NULL;\n" + PARTITIONED["wait"],
          free="  GOOD MPI_Request_free(&s);\n  MPI_Request_free(&r);")
    sides(wrong)
    memory_of_partitions(wrong)


def sides(wrong):
    """Partitioned sends and receives that do not match, or differ."""
    sent = "  MPI_Psend_init(a, {p}, {n}, {t}, next, 5, w, MPI_INFO_NULL, &s);"
    taken = "  MPI_Precv_init(b, {p}, {n}, {t}, before, 5, w, MPI_INFO_NULL, &r);"
    plain = {"p": "4", "n": "2", "t": "MPI_INT"}
    for order in ("send first", "receive first"):
        def both(kind, what, out=plain, into=plain, first=PARTITIONED["first"], **changed):
            lines = [sent.format(**out) + HERE, taken.format(**into) + HERE]
            lines = lines if order == "send first" else lines[::-1]
            wrong(kind, f"{what}, {order}", first=first, send=lines[0] + "\n  MPI_Barrier(w);", receive=lines[1], **changed)

        ready = "  for (int i = 0; i < {}; ++i) MPI_Pready(i, s);"
        both("types", "sent as another type", out={**plain, "t": "wrong ? MPI_FLOAT : MPI_INT"})
        both("types", "received as another type", into={**plain, "t": "wrong ? MPI_FLOAT : MPI_INT"})
        both("types", "of bytes", out={"p": "8", "n": "wrong ? 4 : 1", "t": "wrong ? MPI_BYTE : MPI_INT"}, ready=ready.format(8))
        both("types", "too long", out={**plain, "p": "wrong ? 5 : 4"}, ready=ready.format("(wrong ? 5 : 4)"))
        both("types", "larger partitions", out={**plain, "n": "wrong ? 3 : 2"})
        both("types", "fewer and larger partitions", into={"p": "2", "n": "4", "t": "wrong ? MPI_UNSIGNED : MPI_INT"})
        both("types", "a derived type", into={"p": "4", "n": "1", "t": "t"}, first=PARTITIONED["first"] + "  MPI_Datatype t;\n"
             "  MPI_Type_vector(2, 1, 3, wrong ? MPI_FLOAT : MPI_INT, &t);\n  MPI_Type_commit(&t);\n", free=PARTITIONED["free"] + "\n  MPI_Type_free(&t);")
        # The second send matches the second receive.
        two = ("  MPI_Request u, v;\n  MPI_Psend_init(d, 1, 4, MPI_DOUBLE, next, 5, w, MPI_INFO_NULL, &u);\n"
               "  MPI_Precv_init(d + 8, 1, 4, MPI_DOUBLE, before, 5, w, MPI_INFO_NULL, &v);\n")
        both("types", "the second of two", out={**plain, "t": "wrong ? MPI_FLOAT : MPI_INT"}, first=PARTITIONED["first"] + two,
             free=PARTITIONED["free"] + "\n  MPI_Request_free(&u);\n  MPI_Request_free(&v);")
    none = "  MPI_Request s = MPI_REQUEST_NULL, r = MPI_REQUEST_NULL;\n"
    for what, condition in (("no receive", "GOOD"), ("no receive of one", "if (!wrong || rank != LAST)")):
        wrong("messages", what, first=none, send=PARTITIONED["send"] + HERE, receive=f"  {condition}\n" + PARTITIONED["receive"],
              start=f"  {condition} MPI_Start(&r);\n  MPI_Start(&s);", wait=f"  MPI_Wait(&s, IGNORE);\n  {condition} MPI_Wait(&r, IGNORE);",
              free=f"  MPI_Request_free(&s);\n  {condition} MPI_Request_free(&r);")
    wrong("messages", "a receive of another communicator", first=PARTITIONED["first"] + "  MPI_Comm x;\n  MPI_Comm_dup(w, &x);\n", send=PARTITIONED["send"] + HERE,
          receive="  MPI_Precv_init(b, 4, 2, MPI_INT, before, 5, wrong ? x : w, MPI_INFO_NULL, &r);", start="  GOOD MPI_Start(&r);\n  MPI_Start(&s);",
          free=PARTITIONED["free"] + "\n  MPI_Comm_free(&x);")
    wrong("deadlock", "no send", first=none, send="  GOOD\n" + PARTITIONED["send"], receive=PARTITIONED["receive"] + HERE,
          start="  MPI_Start(&r);\n  GOOD MPI_Start(&s);", ready="  GOOD MPI_Pready_range(0, 3, s);", free="  GOOD MPI_Request_free(&s);\n  MPI_Request_free(&r);")
    for calls in ("MPI_Pready(1, s);", "MPI_Pready_range(1, 1, s);", "MPI_Pready_list(1, (int[]){1}, s);"):
        ready = f"  MPI_Pready_list(3, (int[]){{3, 0, 2}}, s);\n  GOOD {calls}"
        wrong("deadlock", f"without {calls}", send=PARTITIONED["send"] + HERE, ready=ready)
        wrong("leaks", f"no wait, and without {calls}", send=PARTITIONED["send"] + HERE, ready=ready, wait="  GOOD MPI_Wait(&s, IGNORE);\n  GOOD MPI_Wait(&r, IGNORE);",
              free="  GOOD MPI_Request_free(&s);\n  GOOD MPI_Request_free(&r);")


def memory_of_partitions(wrong):
    """An operation owns a partition of a send from MPI_Pready on, and one of a receive until MPI_Parrived. Here MPI calls use
    such partitions."""
    def sent(what, between, before="", after=""):
        wrong("buffers", what, send=PARTITIONED["send"] + HERE, ready=f"  MPI_Request q = MPI_REQUEST_NULL;\n{before}  MPI_Pready(0, s);\n  MPI_Pready_range(2, 3, s);\n{between}\n"
              f"  MPI_Pready(1, s);{after}")

    for part, word in ((0, "first"), (5, "third"), (7, "last")):
        sent(f"changed in the {word}", f"  a[wrong ? {part} : 3] = 77;")
    sent("changed behind", f"  a[wrong ? 1 : 8] = 77;")
    receive = "  MPI_Irecv(a + (wrong ? 4 : 2), 2, MPI_INT, before, 6, w, &q); /* HERE */\n  MPI_Send(c, 2, MPI_INT, next, 6, w);"
    sent("a receive into one", receive + "\n  MPI_Wait(&q, IGNORE);")
    sent("ready while a receive is under way", "  MPI_Send(c, 2, MPI_INT, next, 6, w);\n  MPI_Wait(&q, IGNORE);",
         before="  MPI_Irecv(a + (wrong ? 4 : 2), 2, MPI_INT, before, 6, w, &q); /* HERE */\n")
    asks = "  for (c[0] = 0; !c[0];) MPI_Parrived(r, 1, &c[0]);\n"
    use = "  MPI_Send(b + (wrong ? 4 : 2), 2, MPI_INT, next, 6, w); /* HERE */"
    wrong("buffers", "a send from one that was not asked for", receive=PARTITIONED["receive"] + HERE,
          ready="  MPI_Request q;\n  MPI_Irecv(c + 9, 2, MPI_INT, before, 6, w, &q);\n" + PARTITIONED["ready"] + "\n" + asks + use + "\n  MPI_Wait(&q, IGNORE);")
    for rounds in (1, 3):
        loop = f"  for (int i = 0; i < {rounds}; ++i) {{\n"
        wrong("buffers", f"a receive into one, in {rounds} rounds", receive=PARTITIONED["receive"] + HERE, start=loop + PARTITIONED["start"],
              ready="  MPI_Request q;\n" + PARTITIONED["ready"] + "\n" + asks + "  MPI_Irecv(b + (wrong ? 1 : 2), 1, MPI_INT, before, 6, w, &q); /* HERE */\n"
              "  MPI_Send(c + 9, 1, MPI_INT, next, 6, w);\n  MPI_Wait(&q, IGNORE);", wait=PARTITIONED["wait"] + "\n  }")


# Arguments that MPI refuses: (name, statement that is right or wrong by `wrong`).
REFUSED = {
    "rank of a send": "MPI_Send(a, 1, MPI_INT, wrong ? size : MPI_PROC_NULL, 5, w);",
    "negative rank of a receive": "MPI_Recv(b, 1, MPI_INT, wrong ? -77 : MPI_PROC_NULL, 5, w, IGNORE);",
    "negative tag": "MPI_Send(a, 1, MPI_INT, MPI_PROC_NULL, wrong ? -77 : 5, w);",
    "any tag of a send": "MPI_Send(a, 1, MPI_INT, MPI_PROC_NULL, wrong ? MPI_ANY_TAG : 5, w);",
    "any source as destination": "MPI_Send(a, 1, MPI_INT, wrong ? MPI_ANY_SOURCE : MPI_PROC_NULL, 5, w);",
    "negative count": "MPI_Bcast(a, wrong ? -1 : 1, MPI_INT, 0, w);",
    "null communicator": "MPI_Barrier(wrong ? MPI_COMM_NULL : w);",
    "null datatype": "MPI_Send(a, 1, wrong ? MPI_DATATYPE_NULL : MPI_INT, MPI_PROC_NULL, 5, w);",
    "null operation": "MPI_Allreduce(a, b, 1, MPI_INT, wrong ? MPI_OP_NULL : MPI_SUM, w);",
    "operation that the type has not": "MPI_Allreduce(a, d, 1, wrong ? MPI_DOUBLE : MPI_INT, MPI_BAND, w);",
    "pair operation of a plain type": "MPI_Allreduce(a, d, 1, wrong ? MPI_INT : MPI_2INT, MPI_MAXLOC, w);",
    "root": "MPI_Bcast(a, 1, MPI_INT, wrong ? size : 0, w);",
    "negative root": "MPI_Gather(a, 1, MPI_INT, b, 1, MPI_INT, wrong ? -3 : 0, w);",
    "null buffer": "MPI_Bcast(wrong ? NULL : a, 1, MPI_INT, 0, w);",
    "rank of a window": "MPI_Win x; MPI_Win_create(a, sizeof a, 4, MPI_INFO_NULL, w, &x); MPI_Win_fence(0, x);\n"
                        "  MPI_Put(b, 1, MPI_INT, wrong ? size : next, 9, 1, MPI_INT, x); /* HERE */\n  MPI_Win_fence(0, x); MPI_Win_free(&x);",
    "size of a window": "MPI_Win x; MPI_Win_create(a, wrong ? -4 : 4, 4, MPI_INFO_NULL, w, &x); /* HERE */\n  MPI_Win_free(&x);",
    "lock type": "MPI_Win x; MPI_Win_create(a, sizeof a, 4, MPI_INFO_NULL, w, &x);\n"
                 "  MPI_Win_lock(wrong ? 12345 : MPI_LOCK_SHARED, 0, 0, x); /* HERE */\n  MPI_Win_unlock(0, x); MPI_Win_free(&x);",
    "negative number of partitions": "MPI_Request q; MPI_Psend_init(a, wrong ? -1 : 1, 1, MPI_INT, MPI_PROC_NULL, 5, w, MPI_INFO_NULL, &q); /* HERE */\n"
                                     "  MPI_Request_free(&q);",
    "null request": "MPI_Request q = MPI_REQUEST_NULL; BAD MPI_Start(&q); /* HERE */\n  (void)q;",
    "request of a receive that is not persistent": "MPI_Request q; MPI_Irecv(b, 1, MPI_INT, rank, 5, w, &q); BAD MPI_Start(&q); /* HERE */\n"
                                                  "  MPI_Send(a, 1, MPI_INT, rank, 5, w); MPI_Wait(&q, IGNORE);",
    "freed communicator": "MPI_Comm x, y; MPI_Comm_dup(w, &x); y = x; GOOD MPI_Barrier(y); MPI_Comm_free(&x);\n  BAD MPI_Barrier(y); /* HERE */",
    "freed type": "MPI_Datatype x, y; MPI_Type_contiguous(2, MPI_INT, &x); MPI_Type_commit(&x); y = x; GOOD MPI_Bcast(a, 1, y, 0, w);\n"
                  "  MPI_Type_free(&x); BAD MPI_Bcast(a, 1, y, 0, w); /* HERE */",
    "freed operation": "MPI_Op x, y; MPI_Op_create(fold, 1, &x); y = x; GOOD MPI_Allreduce(a, b, 1, MPI_INT, y, w);\n"
                       "  MPI_Op_free(&x); BAD MPI_Allreduce(a, b, 1, MPI_INT, y, w); /* HERE */",
    "predefined type is freed": "MPI_Datatype x = MPI_INT; BAD MPI_Type_free(&x); /* HERE */\n  (void)x;",
    "the world is freed": "MPI_Comm x = MPI_COMM_WORLD; BAD MPI_Comm_free(&x); /* HERE */\n  (void)x;",
    "dimensions of a grid": "MPI_Comm x; int dims = wrong ? size + 1 : size, periods = 0; MPI_Cart_create(w, 1, &dims, &periods, 0, &x); /* HERE */\n  MPI_Comm_free(&x);",
    "rank of a grid": "make_ring(); MPI_Cart_coords(ring, wrong ? size : 0, 1, c); /* HERE */\n  MPI_Comm_free(&ring);",
    "grid of a plain communicator": "make_ring(); MPI_Cart_shift(wrong ? w : ring, 0, 1, &c[0], &c[1]); /* HERE */\n  MPI_Comm_free(&ring);",
    "neighbours of a plain communicator": "make_ring(); MPI_Neighbor_allgather(a, 1, MPI_INT, b, 1, MPI_INT, wrong ? w : ring); /* HERE */\n  MPI_Comm_free(&ring);",
    "ranks of a group": "MPI_Group g, x; int r2[2] = {0, 0}; MPI_Comm_group(w, &g); r2[1] = wrong ? 0 : 1; MPI_Group_incl(g, 2, r2, &x); /* HERE */\n  MPI_Group_free(&x); MPI_Group_free(&g);",
    "color": "MPI_Comm x; MPI_Comm_split(w, wrong ? -5 : 0, rank, &x); /* HERE */\n  MPI_Comm_free(&x);",
    "buffer that is not attached": "static char room[4096]; MPI_Request q; MPI_Irecv(b, 1, MPI_INT, before, 5, w, &q); GOOD MPI_Buffer_attach(room, sizeof room);\n"
                                   "  MPI_Bsend(a, 1, MPI_INT, next, 5, w); /* HERE */\n  MPI_Wait(&q, IGNORE); void* out; int bytes; GOOD MPI_Buffer_detach(&out, &bytes);",
}


def refused(case):
    for what, statement in REFUSED.items():
        body = "  " + (statement if "HERE" in statement else statement + HERE)
        case("arguments", f"{what} that MPI refuses", body, "lifecycles")


def neighbourhoods(case):
    def wrong(kind, what, body):
        case(kind, what, "  int n[2] = {2, 2}, d[2] = {0, 3};\n  (void)n;\n  (void)d;\n" + body, "lifecycles")

    calls = {"allgather": "a, 2, MPI_INT, TO, 2, MPI_INT, ring", "alltoall": "a, 2, MPI_INT, TO, 2, MPI_INT, ring",
             "allgatherv": "a, 2, MPI_INT, TO, n, d, MPI_INT, ring", "alltoallv": "a, n, d, MPI_INT, TO, n, d, MPI_INT, ring"}
    receive = ("  MPI_Irecv(to, 1, MPI_INT, before, 5, w, &r); /* HERE */\n  MPI_Send(c + 9, 1, MPI_INT, next, 5, w);\n"
               "  MPI_Wait(&q, IGNORE);\n  MPI_Wait(&r, IGNORE);\n  MPI_Comm_free(&ring);")
    for name, call in calls.items():
        wrong("arguments", f"Neighbor_{name}: overlap", "  make_ring();\n  int* to = wrong ? a + 1 : b;\n"
              f"  MPI_Neighbor_{name}({call.replace('TO', 'to')}); /* HERE */\n  MPI_Comm_free(&ring);")
        call = call.replace("TO", "b")
        gap = "b + 2" if name.endswith("v") else "c"
        wrong("buffers", f"Ineighbor_{name}: another receive into its buffer", f"  MPI_Request q, r;\n  int* to = wrong ? b + 1 : {gap};\n"
              f"  make_ring();\n  MPI_Ineighbor_{name}({call}, &q); /* HERE */\n" + receive)
        # The program may use the elements for the neighbour that rank 0 does not have.
        real, free = ("b + 3", "b + 1") if name.endswith("v") else ("b + 2", "b")
        wrong("buffers", f"Ineighbor_{name}: another receive at the border", f"  MPI_Request q, r;\n"
              f"  int* to = rank > 0 ? c : wrong ? {real} : {free};\n  make_grid(0);\n  MPI_Ineighbor_{name}({call}, &q); /* HERE */\n" + receive)


def requests(case):
    def wrong(kind, what, body):
        case(kind, what, body, "lifecycles")

    for form, call in {"Neighbor_allgather": "a, 2, MPI_INT, b, 2, MPI_INT, ring", "Neighbor_alltoall": "a, 2, MPI_INT, b, 2, MPI_INT, ring"}.items():
        wrong("leaks", f"I{form.lower()}: no wait", f"  MPI_Request q;\n  make_ring();\n  MPI_I{form.lower()}({call}, &q); /* HERE */\n"
              "  GOOD MPI_Wait(&q, IGNORE);\n  MPI_Comm_free(&ring);")
        wrong("leaks", f"{form}_init: never freed", f"  MPI_Request q;\n  make_ring();\n  MPI_{form}_init({call}, MPI_INFO_NULL, &q); /* HERE */\n"
              "  MPI_Start(&q);\n  MPI_Wait(&q, IGNORE);\n  GOOD MPI_Request_free(&q);\n  MPI_Comm_free(&ring);")
    for what, call in {"send": "MPI_Send_init(a, 2, MPI_INT, next, 5, w, &q);", "receive": "MPI_Recv_init(b, 2, MPI_INT, before, 5, w, &q);"}.items():
        for wait in ("MPI_Wait(&q, IGNORE);", "MPI_Waitall(1, &q, MPI_STATUSES_IGNORE);", ""):
            other = "MPI_Recv(b, 2, MPI_INT, before, 5, w, IGNORE);" if what == "send" else "MPI_Send(a, 2, MPI_INT, next, 5, w);"
            wrong("leaks", f"a persistent {what} is freed and was never started{', nor waited for' if not wait else ''}: {wait}",
                  f"  MPI_Request q;\n  {call} /* HERE */\n  GOOD MPI_Start(&q);\n  GOOD {other}\n  GOOD MPI_Wait(&q, IGNORE);\n  BAD {{ {wait} }}\n  MPI_Request_free(&q);")
    for operation, call in {"Rput": "b, 1, MPI_INT, next, 0, 1, MPI_INT", "Rget": "b, 1, MPI_INT, next, 0, 1, MPI_INT",
                            "Raccumulate": "b, 1, MPI_INT, next, 0, 1, MPI_INT, MPI_SUM"}.items():
        wrong("leaks", f"{operation}: no wait", "  MPI_Win x;\n  MPI_Request q;\n  MPI_Win_create(a, sizeof a, 4, MPI_INFO_NULL, w, &x);\n"
              f"  MPI_Win_lock_all(0, x);\n  MPI_{operation}({call}, x, &q); /* HERE */\n  GOOD MPI_Wait(&q, IGNORE);\n  MPI_Win_unlock_all(x);\n  MPI_Win_free(&x);")
        plain = operation[1].upper() + operation[2:]
        wrong("windows", f"{plain} outside of an epoch", "  MPI_Win x;\n  MPI_Win_create(a, sizeof a, 4, MPI_INFO_NULL, w, &x);\n"
              f"  GOOD MPI_Win_fence(0, x);\n  MPI_{plain}({call}, x); /* HERE */\n  GOOD MPI_Win_fence(0, x);\n  MPI_Win_free(&x);")
    wrong("leaks", "a request is overwritten", "  MPI_Request q, r;\n  MPI_Irecv(b, 1, MPI_INT, before, 5, w, &q); /* HERE */\n"
          "  r = q;\n  MPI_Irecv(c, 1, MPI_INT, before, 6, w, &q);\n  MPI_Send(a, 1, MPI_INT, next, 5, w);\n  MPI_Send(a, 1, MPI_INT, next, 6, w);\n"
          "  MPI_Wait(&q, IGNORE);\n  GOOD MPI_Wait(&r, IGNORE);")
    wrong("leaks", "a request in a loop is overwritten", "  MPI_Request q[3];\n  for (int i = 0; i < 3; ++i) MPI_Irecv(b + i, 1, MPI_INT, before, i, w, &q[wrong ? 0 : i]); /* HERE */\n"
          "  for (int i = 0; i < 3; ++i) MPI_Send(a, 1, MPI_INT, next, i, w);\n  MPI_Waitall(wrong ? 1 : 3, q, MPI_STATUSES_IGNORE);")
    wrong("arguments", "a request is in a list twice", "  MPI_Request q[2];\n  MPI_Irecv(b, 1, MPI_INT, before, 5, w, &q[0]);\n  MPI_Irecv(c, 1, MPI_INT, before, 6, w, &q[1]);\n"
          "  MPI_Request list[2] = {q[0], wrong ? q[0] : q[1]};\n  MPI_Send(a, 1, MPI_INT, next, 5, w);\n  MPI_Send(a, 1, MPI_INT, next, 6, w);\n  MPI_Waitall(2, list, MPI_STATUSES_IGNORE); /* HERE */")
    wrong("leaks", "a test that is not repeated", "  MPI_Request q;\n  MPI_Irecv(b, 1, MPI_INT, before, 5, w, &q); /* HERE */\n  MPI_Test(&q, &c[0], IGNORE);\n"
          "  MPI_Send(a, 1, MPI_INT, next, 5, w);\n  GOOD MPI_Wait(&q, IGNORE);")
    wrong("leaks", "a persistent receive is active at the end", "  MPI_Request q;\n  MPI_Recv_init(b, 1, MPI_INT, before, 5, w, &q); /* HERE */\n  MPI_Start(&q);\n"
          "  MPI_Send(a, 1, MPI_INT, next, 5, w);\n  GOOD MPI_Wait(&q, IGNORE);\n  GOOD MPI_Request_free(&q);")
    wrong("collectives", "a nonblocking and a blocking call", "  MPI_Request q = MPI_REQUEST_NULL;\n  if (wrong && rank == LAST) MPI_Ibcast(a, 1, MPI_INT, 0, w, &q); /* HERE */\n"
          "  else MPI_Bcast(a, 1, MPI_INT, 0, w); /* HERE */\n  MPI_Wait(&q, IGNORE);")
    wrong("collectives", "two nonblocking calls in another order", "  MPI_Request q, r;\n  if (wrong && rank == LAST) {\n  MPI_Ibarrier(w, &r); /* HERE */\n"
          "  MPI_Ibcast(a, 1, MPI_INT, 0, w, &q); /* HERE */\n  } else {\n  MPI_Ibcast(a, 1, MPI_INT, 0, w, &q); /* HERE */\n  MPI_Ibarrier(w, &r); /* HERE */\n  }\n"
          "  MPI_Wait(&q, IGNORE);\n  MPI_Wait(&r, IGNORE);")
    wrong("deadlock", "a call that one rank leaves out", "  if (!wrong || rank != LAST) MPI_Allreduce(a, b, 1, MPI_INT, MPI_SUM, w); /* HERE */")
    # The program has asked MPI to return errors; the checker reports them all the same, as notes.
    for what, statement in {"tag": "MPI_Send(a, 1, MPI_INT, MPI_PROC_NULL, wrong ? -77 : 5, w);",
                            "rank": "MPI_Send(a, 1, MPI_INT, wrong ? size : MPI_PROC_NULL, 5, w);",
                            "count": "MPI_Bcast(a, wrong ? -1 : 1, MPI_INT, 0, w);",
                            "null type": "MPI_Bcast(a, 1, wrong ? MPI_DATATYPE_NULL : MPI_INT, 0, w);"}.items():
        wrong("arguments", f"an error that is returned: {what}", f"  MPI_Comm_set_errhandler(w, MPI_ERRORS_RETURN);\n  {statement} /* HERE */")


def null_ranks(case):
    """Ranks of -1 computed as `rank - 1`: the twin passes MPI_PROC_NULL instead."""
    def wrong(what, body):
        case("arguments", f"{what} that is computed", body, "lifecycles")

    left = "(wrong ? rank - 1 : rank > 0 ? rank - 1 : MPI_PROC_NULL)"
    right = "(rank + 1 < size ? rank + 1 : MPI_PROC_NULL)"
    known = f"  GOOD MPI_Recv(b, 0, MPI_INT, {left}, 6, w, IGNORE);\n  GOOD MPI_Send(a, 0, MPI_INT, {right}, 6, w);\n"
    wrong("source -1", f"{known}  MPI_Recv(b, 1, MPI_INT, {left}, 5, w, IGNORE); /* HERE */\n"
          "  if (rank + 1 < size) MPI_Send(a, 1, MPI_INT, rank + 1, 5, w);")
    wrong("destination -1", f"  MPI_Request q;\n{known}  MPI_Isend(a, 1, MPI_INT, {left}, 5, w, &q); /* HERE */\n"
          "  if (rank + 1 < size) MPI_Recv(b, 1, MPI_INT, rank + 1, 5, w, IGNORE);\n  MPI_Wait(&q, IGNORE);")


def targets(case):
    """As null_ranks(), for targets of one-sided operations."""
    for name, call in {"Put": "MPI_Put(a, 1, MPI_INT, {t}, 0, 1, MPI_INT, x);", "Get": "MPI_Get(b, 1, MPI_INT, {t}, 0, 1, MPI_INT, x);",
                       "Accumulate": "MPI_Accumulate(a, 1, MPI_INT, {t}, 0, 1, MPI_INT, MPI_SUM, x);"}.items():
        for known in (False, True):  # the correct twin gives MPI_PROC_NULL by its name elsewhere, or makes no call at rank 0
            right = call.format(t="(rank + 1 < size ? rank + 1 : MPI_PROC_NULL)")
            body = ("  MPI_Win x;\n  MPI_Win_create(d, 8, 4, MPI_INFO_NULL, w, &x);\n  MPI_Win_fence(0, x);\n"
                    + (f"  GOOD {right}\n  GOOD MPI_Win_fence(0, x);\n" if known else "  if (wrong || rank)\n") + f"  {call.format(t='rank - 1')} /* HERE */\n  MPI_Win_fence(0, x);\n  MPI_Win_free(&x);")
            case("arguments", f"{name}: a target of -1 that is computed{', by its name elsewhere' if known else ''}", body, "lifecycles")


def cancelled(case):
    """Requests of sends that are freed: only a send that was cancelled needs no receive."""
    for destination in ("rank", "next", "before"):
        for count in (0, 4, 256):
            case("messages", f"Issend of {count} to {destination}, freed and not cancelled",
                 f"  MPI_Request q;\n  MPI_Issend(d, {count}, MPI_INT, {destination}, 9, w, &q); /* HERE */\n  GOOD MPI_Cancel(&q);\n  MPI_Request_free(&q);", "lifecycles")


def types_and_operations(case):
    """Datatypes whose entries overlap, operations that MPI does not define for a type, and receives that are freed."""
    overlapping = {"vector": ("  MPI_Type_create_hvector(4, 1, wrong ? 3 : 4, MPI_INT, &t);", "1"),
                   "indexed": ("  MPI_Type_indexed(2, (int[]){2, 2}, (int[]){0, wrong ? 1 : 2}, MPI_INT, &t);", "1"),
                   "resized": ("  MPI_Datatype u;\n  MPI_Type_contiguous(2, MPI_INT, &u);\n  MPI_Type_create_resized(u, 0, wrong ? 4 : 8, &t);\n  MPI_Type_free(&u);", "2")}
    for what, (make, count) in overlapping.items():
        for of, receive in {"Recv": f"MPI_Recv(b, {count}, t, before, 5, w, IGNORE);",
                            "Irecv": f"MPI_Irecv(b, {count}, t, before, 5, w, &q);\n  MPI_Wait(&q, IGNORE);"}.items():
            first, _, rest = receive.partition("\n")
            case("arguments", f"{of} with a type that overlaps: {what}",
                 f"  MPI_Datatype t;\n  MPI_Request q, s;\n  (void)q;\n{make}\n  MPI_Type_commit(&t);\n  MPI_Isend(a, 4, MPI_INT, next, 5, w, &s);\n"
                 f"  {first}{HERE}\n{rest}\n  MPI_Wait(&s, IGNORE);\n  MPI_Type_free(&t);", "lifecycles")
    for op in ("MPI_LAND", "MPI_LOR", "MPI_LXOR"):
        for of, call in {"Reduce": "MPI_Reduce(a, b, 2, {t}, {op}, 0, w);", "Iallreduce": "MPI_Iallreduce(a, b, 2, {t}, {op}, w, &q);"}.items():
            case("arguments", f"{of}: {op} of floats", "  MPI_Request q = MPI_REQUEST_NULL;\n  "
                 + call.format(t="wrong ? MPI_FLOAT : MPI_INT", op=op) + HERE + "\n  MPI_Wait(&q, IGNORE);", "lifecycles")
    case("arguments", "MPI_TAG_UB as a tag", "  MPI_Request q;\n  MPI_Irecv(b, 4, MPI_INT, before, MPI_ANY_TAG, w, &q);\n"
         "  MPI_Send(a, 4, MPI_INT, next, wrong ? MPI_TAG_UB + 1 : 32767, w); /* HERE */\n  MPI_Wait(&q, IGNORE);", "lifecycles")
    case("arguments", "an active receive is freed",
         "  MPI_Request q;\n  MPI_Irecv(b, 4, MPI_INT, before, 5, w, &q); /* ALL HERE */\n  GOOD MPI_Send(a, 4, MPI_INT, next, 5, w);\n"
         "  BAD MPI_Request_free(&q); /* ALL HERE */\n  BAD MPI_Send(a, 4, MPI_INT, next, 5, w);\n  GOOD MPI_Wait(&q, IGNORE);", "lifecycles")


def lifecycles(case):
    types_and_operations(case)
    null_ranks(case)
    targets(case)
    cancelled(case)
    partitioned(case)
    refused(case)
    neighbourhoods(case)
    requests(case)
