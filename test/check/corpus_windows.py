"""The cases of the corpus about windows: accesses that conflict, and epochs that break MPI's rules.

The origins of a conflict are ranks 1 and LAST, its target is rank 0. Their accesses overlap in every order of the ranks.
"""

TOP = r"""
static MPI_Win x;
static int* base;
static MPI_Aint places[64];
/* A window of 256 integers a rank. */
static void make(int flavor) {
  const MPI_Aint bytes = 256 * sizeof(int);
  base = a;
  if (flavor == MPI_WIN_FLAVOR_CREATE) MPI_Win_create(a, bytes, 1, MPI_INFO_NULL, w, &x);
  if (flavor == MPI_WIN_FLAVOR_ALLOCATE) MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, w, &base, &x);
  if (flavor == MPI_WIN_FLAVOR_SHARED) MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, w, &base, &x);
  if (flavor == MPI_WIN_FLAVOR_DYNAMIC) {
    MPI_Aint place;
    MPI_Win_create_dynamic(MPI_INFO_NULL, w, &x);
    MPI_Win_attach(x, a, bytes);
    MPI_Get_address(a, &place);
    MPI_Allgather(&place, 1, MPI_AINT, places, 1, MPI_AINT, w);
  }
}
/* The displacement of an integer of a rank's memory. */
static MPI_Aint at(int target, int index) { return places[target] + index * (MPI_Aint)sizeof(int); }
static MPI_Group group_of(int n, const int* ranks) {
  MPI_Group all, some;
  MPI_Comm_group(w, &all);
  MPI_Group_incl(all, n, ranks, &some);
  MPI_Group_free(&all);
  return some;
}
static __attribute__((noinline)) void make_on_stack(void) {
  int own[8];
  MPI_Win_create(own, sizeof own, 4, MPI_INFO_NULL, w, &x);
}
static __attribute__((noinline)) void shallow(void) {
  int own[8];
  MPI_Win y;
  MPI_Win_create(own, sizeof own, 4, MPI_INFO_NULL, w, &y);
  MPI_Win_fence(0, y);
  MPI_Win_fence(0, x);
  MPI_Win_free(&y);
}
static void unmake(void) { MPI_Win_free(&x); }
"""

# {i}: index of the integer at the target; {t}: the target.
OPERATIONS = {
    "Put": "MPI_Put(b, 4, MPI_INT, {t}, at({t}, {i}), 4, MPI_INT, x);",
    "Get": "MPI_Get(c, 4, MPI_INT, {t}, at({t}, {i}), 4, MPI_INT, x);",
    "Accumulate": "MPI_Accumulate(b, 4, MPI_INT, {t}, at({t}, {i}), 4, MPI_INT, MPI_SUM, x);",
    "Accumulate of another operation": "MPI_Accumulate(b, 4, MPI_INT, {t}, at({t}, {i}), 4, MPI_INT, MPI_MAX, x);",
    "Accumulate of another type": "MPI_Accumulate(b, 4, MPI_FLOAT, {t}, at({t}, {i}), 4, MPI_FLOAT, MPI_SUM, x);",
    "Get_accumulate": "MPI_Get_accumulate(b, 4, MPI_INT, c, 4, MPI_INT, {t}, at({t}, {i}), 4, MPI_INT, MPI_PROD, x);",
    "Fetch_and_op": "MPI_Fetch_and_op(b, c, MPI_INT, {t}, at({t}, {i}), MPI_BOR, x);",
    "Compare_and_swap": "MPI_Compare_and_swap(b, b + 8, c, MPI_INT, {t}, at({t}, {i}), x);",
    "Put of a vector": "MPI_Put(b, 2, MPI_INT, {t}, at({t}, {i}), 1, v, x);",
}
REQUESTS = {
    "Rput": "MPI_Rput(b, 4, MPI_INT, {t}, at({t}, {i}), 4, MPI_INT, x, &q);",
    "Rget": "MPI_Rget(c, 4, MPI_INT, {t}, at({t}, {i}), 4, MPI_INT, x, &q);",
    "Raccumulate": "MPI_Raccumulate(b, 4, MPI_INT, {t}, at({t}, {i}), 4, MPI_INT, MPI_MIN, x, &q);",
    "Rget_accumulate": "MPI_Rget_accumulate(b, 4, MPI_INT, c, 4, MPI_INT, {t}, at({t}, {i}), 4, MPI_INT, MPI_BAND, x, &q);",
}
PAIRS = [("Put", "Put"), ("Put", "Get"), ("Get", "Put"), ("Accumulate", "Accumulate of another operation"),
         ("Accumulate", "Accumulate of another type"), ("Put", "Accumulate"), ("Get", "Accumulate"), ("Accumulate", "Get_accumulate"),
         ("Put", "Fetch_and_op"), ("Fetch_and_op", "Accumulate"), ("Get", "Compare_and_swap"), ("Put", "Put of a vector"),
         ("Put of a vector", "Get")]
REQUEST_PAIRS = [("Put", "Rput"), ("Rput", "Get"), ("Put", "Rget"), ("Rput", "Rput"), ("Put", "Raccumulate"), ("Raccumulate", "Accumulate"),
                 ("Accumulate", "Rget_accumulate"), ("Rget_accumulate", "Rget"), ("Raccumulate", "Rget")]

# Statements that begin and end an epoch around {ops}. Where MPI allows it, only origins are in an epoch.
FENCE = "  MPI_Win_fence(0, x);\n{ops}  MPI_Win_fence(0, x);\n"
EPOCHS = {
    "fence": FENCE,
    "fence with assertions": "  MPI_Win_fence(MPI_MODE_NOPRECEDE, x);\n{ops}  MPI_Win_fence(MPI_MODE_NOSUCCEED, x);\n",
    "lock": "  if (rank == 1 || rank == LAST) MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, x);\n{ops}  MPI_Barrier(w);\n"
            "  if (rank == 1 || rank == LAST) MPI_Win_unlock(0, x);\n",
    "lock_all": "  MPI_Win_lock_all(0, x);\n{ops}  MPI_Barrier(w);\n  MPI_Win_unlock_all(x);\n",
    "lock_all, flushed late": "  MPI_Win_lock_all(0, x);\n{ops}  MPI_Barrier(w);\n  MPI_Win_flush_all(x);\n  MPI_Win_unlock_all(x);\n",
    "start": "  const int origins[] = {1, LAST}, zero = 0;\n  MPI_Group g = rank ? group_of(1, &zero) : group_of(2, origins);\n"
             "  if (!rank) MPI_Win_post(g, 0, x);\n  if (rank == 1 || rank == LAST) MPI_Win_start(g, 0, x);\n{ops}"
             "  if (rank == 1 || rank == LAST) MPI_Win_complete(x);\n  if (!rank) MPI_Win_wait(x);\n  MPI_Group_free(&g);\n",
}
PASSIVE = [name for name in EPOCHS if name.startswith("lock")]
FLAVORS = ["CREATE", "ALLOCATE", "SHARED", "DYNAMIC"]
DECLARED = "  MPI_Request q = MPI_REQUEST_NULL;\n  MPI_Datatype v;\n  MPI_Type_vector(2, 1, 2, MPI_INT, &v);\n  MPI_Type_commit(&v);\n  (void)q;\n"
HERE = " /* HERE */"


def operation(name, index, target="0"):
    text = {**OPERATIONS, **REQUESTS}[name].format(i=index, t=target) + HERE
    return "{\n  " + text + "\n  MPI_Wait(&q, IGNORE);\n  }" if name in REQUESTS else "{\n  " + text + "\n  }"


def body_of(flavor, epoch, ops, end=""):
    return DECLARED + f"  make(MPI_WIN_FLAVOR_{flavor});\n" + EPOCHS[epoch].replace("{ops}", ops) + end + "  MPI_Type_free(&v);\n  unmake();"


def conflicts(case):
    for number, (epoch, _) in enumerate(EPOCHS.items()):
        pairs = PAIRS + (REQUEST_PAIRS if epoch in PASSIVE else [])
        for k, (first, second) in enumerate(pairs):
            flavor = FLAVORS[(number + k) % 4]
            # The checker compares a get with a request when it begins: so it must be the second access.
            between = "  MPI_Barrier(w);\n" if second in REQUESTS or first in REQUESTS else ""
            ops = f"  if (rank == 1) {operation(first, 0)}\n{between}  if (rank == LAST) {operation(second, 'wrong ? 2 : 16')}\n"
            if second in ("Fetch_and_op", "Compare_and_swap") or first == "Fetch_and_op":
                ops = ops.replace("wrong ? 2 : 16", "wrong ? 0 : 16")
            case("windows", f"{first} and {second}, {epoch}, {flavor}", body_of(flavor, epoch, ops))
    for flavor in FLAVORS:
        for first, second in (("Put", "Get"), ("Put", "Put"), ("Accumulate", "Put")):
            ops = f"  if (rank == 1) {operation(first, 0)}\n  GOOD MPI_Win_fence(0, x);\n  if (rank == LAST) {operation(second, 0)}\n"
            case("windows", f"{first} and {second}, a fence between, {flavor}", body_of(flavor, "fence", ops))
            ops = (f"  if (rank == 1) {operation(first, 0)}\n  if (!wrong && rank == 1) MPI_Win_flush(0, x);\n  MPI_Barrier(w);\n"
                   f"  if (rank == LAST) {operation(second, 0)}\n")
            case("windows", f"{first} and {second}, a flush between, {flavor}", body_of(flavor, "lock_all", ops))
        ops = f"  if (rank == 1) {operation('Put', 0)}\n  if (rank == 1) {operation('Get', 'wrong ? 2 : 16')}\n"
        case("windows", f"Put and Get by one rank, {flavor}", body_of(flavor, "fence", ops))
        # Calls of the target itself use its exposed memory.
        for what, call in (("sends", "MPI_Send(base, 4, MPI_INT, 0, 5, w);"), ("reduces", "MPI_Allreduce(base, d, 4, MPI_INT, MPI_SUM, MPI_COMM_SELF);"),
                           ("receives", "MPI_Recv(base, 4, MPI_INT, 0, 5, w, IGNORE);")):
            around = "  if (!rank) MPI_Irecv(d, 4, MPI_INT, 0, 5, w, &q);\n" if what == "sends" else \
                "  if (!rank) MPI_Isend(d, 4, MPI_INT, 0, 5, w, &q);\n" if what == "receives" else ""
            ops = f"  if (rank == 1) {operation('Put', 'wrong ? 0 : 16')}\n  MPI_Barrier(w);\n{around}  if (!rank) {{\n  {call}{HERE}\n  }}\n  MPI_Wait(&q, IGNORE);\n"
            case("windows", f"Put into what its owner {what}, {flavor}", body_of(flavor, "fence", ops))


def types(case):
    """The elements at the origin are not those at the target."""
    for k, (name, rest) in enumerate({"Put": "", "Get": "", "Accumulate": " MPI_SUM,", "Get_accumulate": " MPI_SUM,"}.items()):
        result = "c, 4, MPI_INT, " if name == "Get_accumulate" else ""
        for what, (n, t) in {"other types": ("2", "MPI_DOUBLE"), "fewer elements": ("3", "MPI_INT")}.items():
            op = f"MPI_{name}(b, 4, MPI_INT, {result}0, at(0, 0), wrong ? {n} : 4, wrong ? {t} : MPI_INT,{rest} x);"
            case("types", f"{name}: {what} at the target", body_of(FLAVORS[k], "fence", f"  if (rank == 1) {{\n  {op}{HERE}\n  }}\n"), "windows")


def local_memory(case):
    uses = {"sent": ("Get", "MPI_Send({m}, 4, MPI_INT, rank, 5, w);", "MPI_Irecv(d, 4, MPI_INT, rank, 5, w, &q);"),
            "received": ("Put", "MPI_Recv({m}, 4, MPI_INT, rank, 5, w, IGNORE);", "MPI_Isend(d, 4, MPI_INT, rank, 5, w, &q);"),
            "got again": ("Get", "MPI_Get({m}, 4, MPI_INT, 0, at(0, 32), 4, MPI_INT, x);", ""),
            "put": ("Get", "MPI_Put({m}, 4, MPI_INT, 0, at(0, 32), 4, MPI_INT, x);", ""),
            "got into": ("Put", "MPI_Get({m}, 4, MPI_INT, 0, at(0, 32), 4, MPI_INT, x);", ""),
            "reduced": ("Get", "MPI_Allreduce({m}, d, 4, MPI_INT, MPI_SUM, MPI_COMM_SELF);", "")}
    for epoch in EPOCHS:
        for k, (what, (first, use, around)) in enumerate(uses.items()):
            flavor = FLAVORS[k % 4]
            memory = "c" if first == "Get" else "b"
            use = use.format(m=f"wrong ? {memory} : (int*)d + 64").replace("d, 4", "(int*)d, 4")
            ops = f"  if (rank == 1) {operation(first, 0)}\n  if (rank == 1) {{\n  {around}\n  {use}{HERE}\n  MPI_Wait(&q, IGNORE);\n  }}\n"
            case("windows", f"origin memory of {first} is {what} too early, {epoch}, {flavor}", body_of(flavor, epoch, ops))


def epochs(case):
    group = "  const int one = 1 % size, zero = 0;\n  MPI_Group g = group_of(1, &zero), h = group_of(1, &one);\n"
    free = "  MPI_Group_free(&g);\n  MPI_Group_free(&h);\n"

    def wrong(name, body, flavor="ALLOCATE", left=False):
        case("windows", name, DECLARED + group + f"  make(MPI_WIN_FLAVOR_{flavor});\n" + body + "\n" + free + "  MPI_Type_free(&v);\n"
             + ("  GOOD unmake();" if left else "  unmake();"))

    for flavor in FLAVORS:
        for name in OPERATIONS:
            call = OPERATIONS[name].format(i=8, t="0")
            wrong(f"{name} outside of an epoch, {flavor}", f"  if (!rank) {{\n  GOOD MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, x);\n  {call}{HERE}\n  GOOD MPI_Win_unlock(0, x);\n  }}", flavor)
    for name in REQUESTS:
        call = REQUESTS[name].format(i=8, t="0")
        wrong(f"{name} in an epoch of fences", f"  BAD MPI_Win_fence(0, x);\n  GOOD MPI_Win_lock_all(0, x);\n  if (!rank) {{\n  {call}{HERE}\n  MPI_Wait(&q, IGNORE);\n  }}\n"
              "  GOOD MPI_Win_unlock_all(x);\n  BAD MPI_Win_fence(0, x);")
        wrong(f"{name} outside of an epoch", f"  GOOD MPI_Win_lock_all(0, x);\n  if (!rank) {{\n  {call}{HERE}\n  MPI_Wait(&q, IGNORE);\n  }}\n  GOOD MPI_Win_unlock_all(x);")
    put = OPERATIONS["Put"]
    wrong("Put after MPI_MODE_NOSUCCEED", "  MPI_Win_fence(0, x);\n  MPI_Win_fence(wrong ? MPI_MODE_NOSUCCEED : 0, x);\n  if (!rank) {\n  "
          + put.format(i=8, t="0") + HERE + "\n  }\n  MPI_Win_fence(0, x);")
    # The statements that begin and end an epoch, and a call that is wrong inside or outside of it.
    kinds = {"lock": ("MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, x);", "MPI_Win_unlock(0, x);"),
             "lock_all": ("MPI_Win_lock_all(0, x);", "MPI_Win_unlock_all(x);"),
             "start": ("MPI_Win_post(g, 0, x);\n  MPI_Win_start(g, 0, x);", "MPI_Win_complete(x);\n  MPI_Win_wait(x);")}
    only = "  if (!rank) {\n"
    for name, (begin, end) in kinds.items():
        last = end.split("\n")[0]
        wrong(f"{name} is not ended before MPI_Win_free", f"{only}  {begin}\n  GOOD {{ {end} }}\n  }}\n  MPI_Win_free(&x); /* HERE */\n  make(MPI_WIN_FLAVOR_CREATE);")
        wrong(f"{name} is never ended", f"{only}  {begin.replace('x);', 'x);' + HERE)}\n  GOOD {{ {end} }}\n  }}" if name != "start" else
              f"{only}  MPI_Win_post(g, 0, x);\n  MPI_Win_start(g, 0, x);{HERE}\n  GOOD MPI_Win_complete(x);\n  GOOD MPI_Win_wait(x);\n  }}", left=True)
        wrong(f"{last} without {name}", f"{only}  GOOD {{ {begin} }}\n  {last}{HERE}\n  GOOD {{ {end.split(chr(10))[-1] if name == 'start' else ''} }}\n  }}")
        for other, (inner, outer) in kinds.items():
            first = inner.split("\n")[-1] if other == "start" else inner
            if name == other == "start":
                continue
            prepared = "  MPI_Win_post(g, 0, x);\n" if other == "start" else ""
            after = "  MPI_Win_wait(x);\n" if other == "start" else ""
            finish = outer.split("\n")[0]
            wrong(f"{other} in {name}", f"{only}  {begin}\n  GOOD {{ {end} }}\n{prepared}  {first}{HERE}\n  {finish}\n{after}  }}")
        wrong(f"fence in {name}", f"  {begin}\n  GOOD {{ {end} }}\n  MPI_Win_fence(0, x);{HERE}\n  MPI_Win_fence(MPI_MODE_NOSUCCEED, x);"
              if name != "start" else f"  const int me = rank;\n  MPI_Group self = group_of(1, &me);\n  {begin.replace('g, 0', 'self, 0')}\n  GOOD {{ {end} }}\n  MPI_Win_fence(0, x);{HERE}\n"
              "  MPI_Win_fence(MPI_MODE_NOSUCCEED, x);\n  MPI_Group_free(&self);")
    wrong("wait without post", f"{only}  GOOD MPI_Win_post(MPI_GROUP_EMPTY, 0, x);\n  MPI_Win_wait(x);{HERE}\n  }}")
    wrong("test without post", f"{only}  int flag = 0;\n  GOOD MPI_Win_post(MPI_GROUP_EMPTY, 0, x);\n  MPI_Win_test(x, &flag);{HERE}\n  }}")
    wrong("post twice", f"{only}  MPI_Win_post(MPI_GROUP_EMPTY, 0, x);\n  GOOD MPI_Win_wait(x);\n  MPI_Win_post(MPI_GROUP_EMPTY, 0, x);{HERE}\n  MPI_Win_wait(x);\n  }}")
    wrong("post is never waited for", f"{only}  MPI_Win_post(MPI_GROUP_EMPTY, 0, x);{HERE}\n  GOOD MPI_Win_wait(x);\n  }}", left=True)
    wrong("fence in post", f"  MPI_Win_post(MPI_GROUP_EMPTY, 0, x);\n  GOOD MPI_Win_wait(x);\n  MPI_Win_fence(MPI_MODE_NOSUCCEED, x);{HERE}\n  BAD MPI_Win_wait(x);")
    for flush in ("flush(0, x)", "flush_local(0, x)", "flush_all(x)", "flush_local_all(x)"):
        wrong(f"{flush.split('(')[0]} outside of an epoch", f"{only}  GOOD MPI_Win_lock_all(0, x);\n  MPI_Win_{flush};{HERE}\n  GOOD MPI_Win_unlock_all(x);\n  }}")
    wrong("flush of another rank", f"{only}  MPI_Win_lock(MPI_LOCK_SHARED, wrong ? 1 : 0, 0, x);\n  MPI_Win_flush(0, x);{HERE}\n  MPI_Win_unlock(wrong ? 1 : 0, x);\n  }}")
    wrong("unlock of another rank", f"{only}  MPI_Win_lock(MPI_LOCK_SHARED, wrong ? 1 : 0, 0, x);\n  MPI_Win_unlock(0, x);{HERE}\n  }}")
    wrong("lock of one rank twice", f"{only}  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, x);\n  MPI_Win_lock(MPI_LOCK_SHARED, wrong ? 0 : 1, 0, x);{HERE}\n  MPI_Win_unlock(0, x);\n  MPI_Win_unlock(1, x);\n  }}")
    for name, text in OPERATIONS.items():
        call = text.format(i=8, t="(wrong ? 1 : 0)")
        wrong(f"{name} to a rank that is not locked", f"{only}  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, x);\n  {call}{HERE}\n  MPI_Win_unlock(0, x);\n  }}")
        wrong(f"{name} to a rank that is not in the group of start", f"{only}  MPI_Win_post(g, 0, x);\n  MPI_Win_start(g, 0, x);\n  {call}{HERE}\n  MPI_Win_complete(x);\n  MPI_Win_wait(x);\n  }}")


def requests(case):
    """The buffers of operations with requests are the program's when a flush or the end of the epoch has completed them."""
    ends = {"flush": "MPI_Win_flush(0, x);", "flush_local": "MPI_Win_flush_local(0, x);", "flush_all": "MPI_Win_flush_all(x);",
            "flush_local_all": "MPI_Win_flush_local_all(x);", "unlock_all": "MPI_Win_unlock_all(x);\n  MPI_Win_lock_all(0, x);"}
    for number, (end, call) in enumerate(ends.items()):
        for name in REQUESTS:
            memory = "c" if name == "Rget" else "b"
            body = ("  MPI_Win_lock_all(0, x);\n  if (rank == 1) {\n  " + REQUESTS[name].format(i=8, t="0") + HERE + f"\n  GOOD {{ {call} }}\n"
                    f"  MPI_Sendrecv(d, 4, MPI_INT, rank, 5, {memory}, 4, MPI_INT, rank, 5, w, IGNORE);{HERE}\n  BAD {{ {call} }}\n  MPI_Wait(&q, IGNORE);\n  }}\n"
                    "  MPI_Win_unlock_all(x);\n")
            case("buffers", f"{name}: its buffer is received into before {end}", DECLARED + f"  make(MPI_WIN_FLAVOR_{FLAVORS[number % 4]});\n" + body
                 + "  MPI_Type_free(&v);\n  unmake();", "windows")
    for name in REQUESTS:  # the flush of another target completes nothing
        memory = "c" if name == "Rget" else "b"
        body = ("  MPI_Win_lock_all(0, x);\n  if (rank == 1) {\n  " + REQUESTS[name].format(i=8, t="0") + HERE + "\n  MPI_Win_flush(wrong ? 1 : 0, x);\n"
                f"  MPI_Sendrecv(d, 4, MPI_INT, rank, 5, {memory}, 4, MPI_INT, rank, 5, w, IGNORE);{HERE}\n  MPI_Wait(&q, IGNORE);\n  }}\n  MPI_Win_unlock_all(x);\n")
        case("buffers", f"{name}: its buffer is received into after a flush of another target", DECLARED + "  make(MPI_WIN_FLAVOR_ALLOCATE);\n" + body
             + "  MPI_Type_free(&v);\n  unmake();", "windows")


    reads = {"Fetch_and_op": "MPI_Fetch_and_op({m}, d, MPI_INT, 0, at(0, 64), MPI_SUM, x);", "Compare_and_swap": "MPI_Compare_and_swap({m}, b + 64, d, MPI_INT, 0, at(0, 64), x);",
             "Compare_and_swap, compared": "MPI_Compare_and_swap(b + 64, {m}, d, MPI_INT, 0, at(0, 64), x);",
             "Fetch_and_op, result": "MPI_Fetch_and_op(b + 64, {m}, MPI_INT, 0, at(0, 64), MPI_SUM, x);"}
    for number, (name, call) in enumerate(reads.items()):
        for first in ("Rget", "Rget_accumulate"):
            call_of = call.format(m="(wrong ? c + 3 : c + 4)")
            body = f"  MPI_Win_lock_all(0, x);\n  if (rank == 1) {{\n  {REQUESTS[first].format(i=8, t='0')}{HERE}\n  {call_of}{HERE}\n  MPI_Wait(&q, IGNORE);\n  }}\n  MPI_Win_unlock_all(x);\n"
            case("buffers", f"{first}, then {name} uses its buffer", DECLARED + f"  make(MPI_WIN_FLAVOR_{FLAVORS[number % 4]});\n" + body + "  MPI_Type_free(&v);\n  unmake();", "windows")


def accumulates(case):
    """Accumulates of one origin: their elements are the same, or they conflict."""
    seconds = {"another type": "MPI_Accumulate(b, 4, MPI_FLOAT, 0, at(0, wrong ? 0 : 16), 4, MPI_FLOAT, MPI_SUM, x);",
               "half of an element": "MPI_Accumulate(b, 4, MPI_INT, 0, at(0, 1) + (wrong ? 2 : 0), 4, MPI_INT, MPI_SUM, x);",
               "longer elements": "MPI_Accumulate(d, 2, MPI_LONG, 0, at(0, wrong ? 2 : 16), 2, MPI_LONG, MPI_SUM, x);",
               "an element of another type": "MPI_Fetch_and_op(b, d, wrong ? MPI_FLOAT : MPI_INT, 0, at(0, 1), MPI_SUM, x);",
               "bytes": "MPI_Accumulate(b, 4, MPI_BYTE, 0, at(0, wrong ? 2 : 20), 4, MPI_BYTE, MPI_BOR, x);",
               "an element of another length": "MPI_Compare_and_swap(b, b + 8, d, wrong ? MPI_SHORT : MPI_INT, 0, at(0, 2), x);"}
    for number, (epoch, _) in enumerate(EPOCHS.items()):
        for k, (name, second) in enumerate(seconds.items()):
            ops = f"  if (rank == 1) {operation('Accumulate', 0)}\n  if (rank == 1) {{\n  {second}{HERE}\n  }}\n"
            case("windows", f"Accumulate and {name} by one rank, {epoch}", body_of(FLAVORS[(number + k) % 4], epoch, ops))


def dead_memory(case):
    """Memory of a window in a frame of the stack that has ended."""
    ends = {"fence": "MPI_Win_fence(0, x);", "free": "MPI_Win_free(&x);"}
    for end, call in ends.items():
        case("windows", f"memory on the stack of a function that has returned, {end}", f"  GOOD make(MPI_WIN_FLAVOR_CREATE);\n  BAD make_on_stack();\n  {call}{HERE}\n"
             + ("  unmake();" if end == "fence" else ""))
    case("windows", "memory on the stack of a function that calls others", "  int own[8];\n  BAD make_on_stack();\n  GOOD MPI_Win_create(own, 32, 4, MPI_INFO_NULL, w, &x);\n  GOOD shallow();\n"
         "  MPI_Win_fence(0, x); /* HERE */\n  unmake();")


# What a rank does with 4 integers of its own memory at {m}, around messages of LAST that come after its access to the window.
OWN = {
    "sent": "MPI_Send({m}, 4, MPI_INT, LAST, 7, w);",
    "received": "MPI_Recv({m}, 4, MPI_INT, LAST, 6, w, IGNORE);",
    "received later": "MPI_Irecv({m}, 4, MPI_INT, LAST, 6, w, &q);{h}\n  MPI_Wait(&q, IGNORE);",
    "received by a vector": "MPI_Recv({m}, 2, v, LAST, 6, w, IGNORE);",
    "reduced": "MPI_Allreduce({m}, d, 4, MPI_INT, MPI_SUM, MPI_COMM_SELF);",
    "reduced into": "MPI_Allreduce(d, {m}, 4, MPI_INT, MPI_SUM, MPI_COMM_SELF);",
}


def own_memory(case):
    """Calls of rank 0 on its own memory, while an operation of LAST reaches the same bytes in one epoch."""
    for number, (epoch, text) in enumerate(EPOCHS.items()):
        for k, (what, call) in enumerate(OWN.items()):
            for name in ("Put", "Get", "Accumulate"):
                if name == "Get" and what in ("sent", "reduced"):
                    continue
                # In a shared window ranks may order their accesses by loads and stores.
                flavor = ("CREATE", "ALLOCATE", "DYNAMIC")[(number + k) % 3]
                mine = call.format(m="base + (wrong ? 0 : 32)", h=HERE)
                mine = mine if HERE in mine else mine + HERE
                others = f"  if (rank == LAST) {operation(name, 0)}\n"
                # LAST sends what rank 0 receives after its operation; what rank 0 sends it receives when all is over.
                there = "  if (rank == LAST) MPI_Send(d, 4, MPI_INT, 0, 6, w);\n" if "received" in what else ""
                first = "  if (rank == LAST) MPI_Irecv(a + 128, 4, MPI_INT, 0, 7, w, &q);\n" if what == "sent" else ""
                ops = f"{first}{others}{there}  if (!rank) {{\n  {mine}\n  }}\n"
                if what == "sent":
                    ops += "  if (rank == LAST) MPI_Wait(&q, IGNORE);\n"
                case("windows", f"memory that {name} reaches is {what} by its owner, {epoch}, {flavor}", body_of(flavor, epoch, ops))
        # Origin memory in the caller's own window.
        for name, mine in {"Get": "MPI_Get(base + (wrong ? 2 : 32), 4, MPI_INT, LAST, at(LAST, 64), 4, MPI_INT, x);",
                           "Put": "MPI_Put(base + (wrong ? 2 : 32), 4, MPI_INT, LAST, at(LAST, 64), 4, MPI_INT, x);"}.items():
            if epoch.startswith("start") or epoch == "lock":
                continue  # rank 0 has no access epoch there
            ops = f"  if (rank == LAST) {operation('Put', 0)}\n  if (!rank) {{\n  {mine}{HERE}\n  }}\n"
            case("windows", f"memory that Put reaches is the origin of {name}, {epoch}", body_of(("CREATE", "ALLOCATE", "DYNAMIC")[number % 3], epoch, ops))


def orders(case):
    """Epochs of locks of two ranks that are over: what orders them, in the correct twin, and nothing else."""
    # How rank 1 tells LAST that its access is over.
    tells = {
        "a message": ("MPI_Send(d, 0, MPI_INT, LAST, 5, w);", "MPI_Recv(d, 0, MPI_INT, 1, 5, w, IGNORE);", ""),
        "messages by way of another": ("MPI_Send(d, 0, MPI_INT, 0, 5, w);", "MPI_Recv(d, 0, MPI_INT, 0, 5, w, IGNORE);",
                                       "  GOOD if (!rank) {\n  MPI_Recv(d, 0, MPI_INT, 1, 5, w, IGNORE);\n  MPI_Send(d, 0, MPI_INT, LAST, 5, w);\n  }\n"),
        "a barrier": ("MPI_Barrier(w);", "MPI_Barrier(w);", "  GOOD if (rank != 1 && rank != LAST) MPI_Barrier(w);\n"),
        "a nonblocking barrier": ("MPI_Ibarrier(w, &q);\n  MPI_Wait(&q, IGNORE);", "MPI_Ibarrier(w, &q);\n  MPI_Wait(&q, IGNORE);",
                                  "  GOOD if (rank != 1 && rank != LAST) {\n  MPI_Ibarrier(w, &q);\n  MPI_Wait(&q, IGNORE);\n  }\n"),
        "a fence": ("MPI_Win_fence(0, y);", "MPI_Win_fence(0, y);", "  GOOD if (rank != 1 && rank != LAST) MPI_Win_fence(0, y);\n"),
        "post and start": ("MPI_Win_post(g, 0, y);\n  MPI_Win_wait(y);", "MPI_Win_start(h, 0, y);\n  MPI_Win_complete(y);", ""),
        "complete and wait": ("MPI_Win_start(g, 0, y);\n  MPI_Win_complete(y);", "MPI_Win_post(h, 0, y);\n  MPI_Win_wait(y);", ""),
        "a flag that is fetched": ("MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, y);\n  MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, y);\n  MPI_Win_unlock(0, y);",
                                   "int seen = 0;\n  while (!seen) {\n  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, y);\n"
                                   "  MPI_Fetch_and_op(&one, &seen, MPI_INT, 0, 0, MPI_NO_OP, y);\n  MPI_Win_unlock(0, y);\n  }", ""),
        "a flag in its memory": ("MPI_Win_lock(MPI_LOCK_SHARED, LAST, 0, y);\n  MPI_Put(&one, 1, MPI_INT, LAST, 0, 1, MPI_INT, y);\n  MPI_Win_unlock(LAST, y);",
                                 "MPI_Win_lock(MPI_LOCK_SHARED, LAST, 0, y);\n  while (!*(volatile int*)flag) MPI_Win_sync(y);\n  MPI_Win_unlock(LAST, y);", ""),
    }
    pairs = [("Put", "Put"), ("Put", "Get"), ("Get", "Put"), ("Accumulate", "Put"), ("Put", "Accumulate"), ("Rput", "Put"), ("Put of a vector", "Get"),
             ("Accumulate", "Accumulate of another operation"), ("Fetch_and_op", "Put")]

    def wrong(name, first, second, between, around=""):
        flags = ("  const int one = 1, last = LAST, second = 1;\n  int* flag;\n  MPI_Win y;\n  MPI_Win_allocate(16, 1, MPI_INFO_NULL, w, &flag, &y);\n  *flag = 0;\n"
                 "  MPI_Group g = group_of(1, &last), h = group_of(1, &second);\n  (void)one;\n  MPI_Barrier(w);\n")
        body = DECLARED + flags + "  make(MPI_WIN_FLAVOR_{flavor});\n  MPI_Barrier(w);\n" + f"  if (rank == 1) {{\n  {first}\n  }}\n{between}  if (rank == LAST) {{\n  {second}\n  }}\n"
        body += "  MPI_Barrier(w);\n  MPI_Group_free(&g);\n  MPI_Group_free(&h);\n  MPI_Win_free(&y);\n  MPI_Type_free(&v);\n  unmake();"
        nonlocal count
        count += 1
        case("windows", name, body.replace("{flavor}", ("CREATE", "ALLOCATE", "DYNAMIC")[count % 3]))

    count = 0
    lock, unlock = "MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, x);", "MPI_Win_unlock(0, x);"
    for number, (told, (tell, learn, between)) in enumerate(tells.items()):
        for k, (a, b) in enumerate(pairs):
            if (number + k) % 2 and told != "a message":
                continue
            begin, end = (lock, unlock) if k % 3 else ("MPI_Win_lock_all(0, x);", "MPI_Win_unlock_all(x);")
            wrong(f"{a}, then {b}, ordered by {told} or not", f"{begin}\n  {operation(a, 0)}\n  {end}\n  GOOD {{\n  {tell}\n  }}",
                  f"GOOD {{\n  {learn}\n  }}\n  {begin}\n  {operation(b, 0)}\n  {end}", between)
    for a, b in pairs:
        begin = "MPI_Win_lock(wrong ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, x);"
        wrong(f"{a}, then {b}, under locks that exclude each other or not", f"{begin}\n  {operation(a, 0)}\n  {unlock}", f"{begin}\n  {operation(b, 0)}\n  {unlock}", "")
        wrong(f"{a}, then {b}, the first under an exclusive lock or not", f"{begin}\n  {operation(a, 0)}\n  {unlock}", f"{lock}\n  {operation(b, 0)}\n  {unlock}", "")
        flushed = "MPI_Win_lock_all(0, x);"
        wrong(f"{a}, then {b}, flushed before a message or behind it", f"{flushed}\n  {operation(a, 0)}\n  GOOD MPI_Win_flush(0, x);\n  MPI_Send(d, 0, MPI_INT, LAST, 5, w);\n  MPI_Win_unlock_all(x);",
              f"{flushed}\n  MPI_Recv(d, 0, MPI_INT, 1, 5, w, IGNORE);\n  {operation(b, 0)}\n  MPI_Win_unlock_all(x);", "")


def asserted(case):
    """MPI_MODE_NOPUT where something arrives."""
    for number, name in enumerate(OPERATIONS):
        if name in ("Get",):
            continue
        call = OPERATIONS[name].format(i=8, t="0") + HERE
        case("windows", f"{name} in an epoch of a fence with MPI_MODE_NOPUT", DECLARED + f"  make(MPI_WIN_FLAVOR_{FLAVORS[number % 3]});\n"
             f"  MPI_Win_fence(wrong && !rank ? MPI_MODE_NOPUT : 0, x);{HERE}\n  if (rank == 1) {{\n  {call}\n  }}\n  MPI_Win_fence(!wrong && !rank ? MPI_MODE_NOPUT : 0, x);\n"
             f"  if (rank == 1) {OPERATIONS['Get'].format(i=8, t='0')}\n  MPI_Win_fence(0, x);\n  MPI_Type_free(&v);\n  unmake();")
        text = EPOCHS["start"].replace("{ops}", f"  if (rank == 1) {{\n  {call}\n  }}\n").replace("MPI_Win_post(g, 0, x);", "MPI_Win_post(g, wrong ? MPI_MODE_NOPUT : 0, x);" + HERE)
        case("windows", f"{name} in an epoch of a post with MPI_MODE_NOPUT", DECLARED + f"  make(MPI_WIN_FLAVOR_{FLAVORS[number % 3]});\n" + text + "  MPI_Type_free(&v);\n  unmake();")


    for asserts, first, second in (("MPI_MODE_NOPRECEDE", "{a}", "0"), ("MPI_MODE_NOSUCCEED", "0", "{a}")):
        some = f"(wrong ? !rank ? {asserts} : 0 : {asserts})"
        for number, flavor in enumerate(FLAVORS):
            case("windows", f"{asserts} by one member, {flavor}", DECLARED + f"  make(MPI_WIN_FLAVOR_{flavor});\n  MPI_Win_fence({first.format(a=some)}, x);{HERE if number >= 0 and first != '0' else ''}\n"
                 f"  if (rank == 1) {OPERATIONS['Put'].format(i=8, t='0')}\n  MPI_Win_fence({second.format(a=some)}, x);{HERE if second != '0' else ''}\n  MPI_Type_free(&v);\n  unmake();")
    # What is no store changes the memory, too.
    changes = {"a receive": ("MPI_Recv(base, 4, MPI_INT, 0, 5, w, IGNORE);", "  if (!rank) MPI_Isend(d, 4, MPI_INT, 0, 5, w, &q);\n"),
               "a receive with a request": ("MPI_Irecv(base, 4, MPI_INT, 0, 5, w, &q);", "  if (!rank) MPI_Send(d, 4, MPI_INT, 0, 5, w);\n"),
               "a reduction": ("MPI_Allreduce(c, base, 4, MPI_INT, MPI_SUM, MPI_COMM_SELF);", ""),
               "a get": ("MPI_Get(base, 4, MPI_INT, 1, at(1, 16), 4, MPI_INT, x);", "")}
    for number, (what, (call, other)) in enumerate(changes.items()):
        flavor = FLAVORS[number % 3]
        ops = f"  if (!rank)\n    {call}{HERE}\n{other}" if "request" in what else f"{other}  if (!rank)\n    {call}{HERE}\n"
        case("windows", f"{what}, then a fence with MPI_MODE_NOSTORE, {flavor}", DECLARED + f"  make(MPI_WIN_FLAVOR_{flavor});\n  MPI_Win_fence(0, x);\n{ops}"
             f"  MPI_Wait(&q, IGNORE);\n  MPI_Win_fence(wrong ? MPI_MODE_NOSTORE : 0, x);{HERE}\n  MPI_Win_fence(MPI_MODE_NOSTORE, x);\n  MPI_Type_free(&v);\n  unmake();")


def fences(case):
    """What a program asserts of fences, and epochs of fences that nothing ends or that locks are in."""
    count = 0

    def wrong(name, body, end="  unmake();"):
        nonlocal count
        count += 1
        case("windows", name, DECLARED + f"  make(MPI_WIN_FLAVOR_{FLAVORS[count % 4]});\n" + body + "\n  MPI_Type_free(&v);\n" + end)

    for name, text in OPERATIONS.items():
        call = text.format(i=8, t="0") + HERE
        wrong(f"{name}, then a fence with MPI_MODE_NOPRECEDE", f"  MPI_Win_fence(0, x);\n  if (rank == 1) {{\n  {call}\n  }}\n  GOOD MPI_Win_fence(0, x);\n"
              f"  MPI_Win_fence(MPI_MODE_NOPRECEDE, x);{HERE}\n  MPI_Win_fence(MPI_MODE_NOSUCCEED | MPI_MODE_NOPRECEDE, x);")
        wrong(f"{name}, and the window is freed without a fence", f"  MPI_Win_fence(0, x);\n  if (rank == 1) {{\n  {call}\n  }}\n  GOOD MPI_Win_fence(0, x);", "  MPI_Win_free(&x);" + HERE)
    every = {**OPERATIONS, **REQUESTS}
    locks = {"lock": ("MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, x);", "MPI_Win_unlock(0, x);"), "lock_all": ("MPI_Win_lock_all(0, x);", "MPI_Win_unlock_all(x);")}
    for lock, (begin, end) in locks.items():
        for name, text in every.items():
            call = text.format(i=8, t="0") + HERE
            body = f"  if (rank == 1) {{\n  {begin}\n  {call}\n  MPI_Wait(&q, IGNORE);\n  {end}\n  }}\n"
            wrong(f"{name} in {lock} between two fences", f"  MPI_Win_fence(0, x);{HERE}\n  GOOD MPI_Win_fence(MPI_MODE_NOSUCCEED, x);\n{body}"
                  f"  GOOD MPI_Win_fence(MPI_MODE_NOPRECEDE, x);\n  MPI_Win_fence(0, x);" + HERE)


def windows(case):
    conflicts(case)
    types(case)
    local_memory(case)
    epochs(case)
    requests(case)
    accumulates(case)
    dead_memory(case)
    own_memory(case)
    orders(case)
    asserted(case)
    fences(case)
