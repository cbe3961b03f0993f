"""The cases of the corpus about what the compiler knows of a program's memory (mpicc -check): types of buffers in C, counts that
exceed variables and blocks of the heap, memory that nothing has written, that is freed or whose function has returned while an
operation uses it, and statuses that nothing reads."""

TOP = r"""struct point {
  double x, y;
  int n;
  char name[12];
};
static int given[10];
static int rows[4][5];
static MPI_Request pending;
static void __attribute__((noinline)) begin(void) {
  int local[8];
  MPI_Irecv(local, 8, MPI_INT, before, 5, w, &pending);
  if (!wrong) {
    MPI_Send(a, 8, MPI_INT, next, 5, w);
    MPI_Wait(&pending, IGNORE);
  }
}
"""
HERE = " /* HERE */"
# A type of C, the datatype that fits, and one that does not.
TYPES = [("int", "MPI_INT", "MPI_FLOAT"), ("unsigned", "MPI_UNSIGNED", "MPI_INT"), ("long", "MPI_LONG", "MPI_INT"),
         ("float", "MPI_FLOAT", "MPI_INT"), ("double", "MPI_DOUBLE", "MPI_FLOAT"), ("short", "MPI_SHORT", "MPI_UNSIGNED_SHORT"),
         ("long long", "MPI_INT64_T", "MPI_DOUBLE"), ("struct point", "MPI_BYTE", "MPI_DOUBLE")]
# Calls in which every rank gives `n` elements of type `t` from `p`, and gets as many into `r`.
CALLS = {
    "Sendrecv": "MPI_Sendrecv({p}, {n}, {t}, next, 5, {r}, {n}, {t}, before, 5, w, IGNORE);",
    "Bcast": "MPI_Bcast({p}, {n}, {t}, 0, w);",
    "Ibcast": "MPI_Ibcast({p}, {n}, {t}, 0, w, &q);",
    "Gather": "MPI_Gather({p}, {n}, {t}, rank ? NULL : {all}, {n}, {t}, 0, w);",
}


def types(case):
    for c, good, bad in TYPES:
        for name, call in CALLS.items():
            n = "3 * sizeof(struct point) / (wrong ? 8 : 1)" if "point" in c else "2"
            statement = call.format(p="p", r="r", all="all", n=n, t=f"wrong ? {bad} : {good}")
            case("types", f"{name}: {c} as {bad}",
                 f"  static {c} p[8], r[8], all[512];\n  MPI_Request q = MPI_REQUEST_NULL;\n  (void)r, (void)all;\n"
                 f"  {statement}{HERE}\n  MPI_Wait(&q, IGNORE);", "memory")
    # Storage of bytes, void* and members are left alone.
    case("types", "an int as a double, and what is allowed",
         "  static char bytes[64];\n  static double z[4];\n  static struct point s;\n  void* any = z;\n"
         "  MPI_Bcast(bytes, 4, MPI_DOUBLE, 0, w);\n  MPI_Bcast(any, 2, MPI_LONG, 0, w);\n  MPI_Bcast(&s.x, 2, MPI_DOUBLE, 0, w);\n"
         "  MPI_Bcast(&s, 2, MPI_DOUBLE, 0, w);\n  MPI_Bcast(&s, sizeof s, MPI_BYTE, 0, w);\n  MPI_Bcast(z, 2, MPI_C_DOUBLE_COMPLEX, 0, w);\n"
         f"  MPI_Bcast(wrong ? (void*)0 : a, 0, MPI_INT, 0, w);\n  BAD MPI_Bcast(given, 2, MPI_DOUBLE, 0, w);{HERE}", "memory")


# Objects of ten integers: the declaration of p, and what frees it.
OBJECTS = {
    "a static variable": ("  int* p = given;", ""),
    "a local variable": ("  int local[10] = {0};\n  int* p = local;", ""),
    "the end of an array of arrays": ("  int* p = &rows[2][0];", ""),
    "malloc": ("  int* p = memset(malloc(40), 0, 40);", "  free(p);"),
    "calloc": ("  int* p = calloc(10, sizeof(int));", "  free(p);"),
    "realloc": ("  int* p = memset(realloc(malloc(8), 40), 0, 40);", "  free(p);"),
    "the middle of a block": ("  int* block = calloc(20, sizeof(int));\n  int* p = block + 10;", "  free(block);"),
}


def bounds(case):
    for what, (declaration, freed) in OBJECTS.items():
        for name, call in CALLS.items():
            # Nothing is written behind the object: the program goes on.
            statement = call.format(p="p", r="r", all="all", n="wrong ? 16 : 10", t="MPI_INT").replace("0, w", "0, MPI_COMM_SELF" if "cast" in name else "0, w")
            case("arguments", f"{name}: more than {what}",
                 f"{declaration}\n  static int r[16], all[512];\n  MPI_Request q = MPI_REQUEST_NULL;\n  (void)r, (void)all;\n"
                 f"  {statement}{HERE}\n  MPI_Wait(&q, IGNORE);\n{freed}", "memory")
    case("arguments", "two blocks as one structure, in the twin each as long as it is",
         "  double *p = calloc(10, sizeof(double)), *second = calloc(wrong ? 10 : 20, sizeof(double));\n  if (!wrong && second < p) {\n  double* t = p;\n"
         "  p = second;\n  second = t;\n  }\n  const int n[] = {10, wrong ? 0 : 10};\n  MPI_Aint at[] = {0, wrong ? 0 : (char*)second - (char*)p};\n"
         "  MPI_Datatype t[] = {MPI_DOUBLE, MPI_DOUBLE}, both;\n  MPI_Type_create_struct(2, n, at, t, &both);\n  MPI_Type_commit(&both);\n"
         f"  MPI_Bcast(p, wrong ? 2 : 1, both, 0, MPI_COMM_SELF);{HERE}\n  MPI_Type_free(&both);\n  free(p);\n  free(second);", "memory")
    case("arguments", "a window larger than its memory",
         "  MPI_Win win;\n  int* p = malloc(40);\n"
         f"  MPI_Win_create(p, wrong ? 80 : 40, 4, MPI_INFO_NULL, w, &win);{HERE}\n  MPI_Win_free(&win);\n  free(p);", "memory")
    case("windows", "memory of a window is freed",
         "  MPI_Win win;\n  int* p = malloc(40);\n  MPI_Win_create(p, 40, 4, MPI_INFO_NULL, w, &win); /* ALL HERE */\n"
         "  BAD free(p); /* ALL HERE */\n  MPI_Win_free(&win);\n  GOOD free(p);", "memory")
    case("arguments", "an attached buffer larger than its memory",
         "  char* p = malloc(4000);\n  int bytes;\n"
         f"  MPI_Buffer_attach(p, wrong ? 8000 : 4000);{HERE}\n  MPI_Buffer_detach(&p, &bytes);\n  free(p);", "memory")


def arrays(case):
    """Arrays of requests and statuses that are shorter than the count."""
    for what, (declaration, freed) in {"local": ("  MPI_Status st[4];\n", ""), "of the heap": ("  MPI_Status* st = calloc(4, sizeof *st);\n", "  free(st);")}.items():
        for name, call in {"Waitall": "MPI_Waitall(wrong ? 6 : 4, q, st);", "Testall": "MPI_Testall(wrong ? 6 : 4, q, &c[0], st);",
                           "Waitsome": "MPI_Waitsome(wrong ? 6 : 4, q, &c[0], &c[1], st);"}.items():
            case("arguments", f"{name}: an array of statuses, {what}, that is too short",
                 f"  MPI_Request q[6] = {{MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL}};\n"
                 f"{declaration}  {call}{HERE}\n{freed}", "memory")


def lives(case):
    wait = "  MPI_Send(a, 8, MPI_INT, next, 5, w);\n  MPI_Wait(&pending, IGNORE);\n"
    for name, make in {"malloc": "malloc(4096)", "calloc": "calloc(64, 4)"}.items():
        for operation in ("MPI_Irecv(p, 8, MPI_INT, before, 5, w, &pending);", "MPI_Irecv(p + 8, 8, MPI_INT, before, 5, w, &pending);"):
            case("buffers", f"freed while pending: {name}, {operation[:18]}",
                 f"  int* p = {make};\n  {operation} /* ALL HERE */\n  BAD free(p); /* ALL HERE */\n{wait}  GOOD free(p);", "memory")
        case("buffers", f"a block of the heap that nothing has written: {name}",
             f"  int* p = {make};\n  GOOD memset(p, 0, 40);\n  static int r[10];\n  MPI_Irecv(r, 10, MPI_INT, before, 5, w, &pending);\n"
             f"  MPI_Send(p, 10, MPI_INT, next, 5, w);{HERE}\n  MPI_Wait(&pending, IGNORE);\n  free(p);", "memory") if name == "malloc" else None
    case("buffers", "a block of the heap is sent that was written in part",
         f"  int* p = malloc(160);\n  memset(p, 0, wrong ? 80 : 160);\n  static int r[40];\n  MPI_Irecv(r, 40, MPI_INT, before, 5, w, &pending);\n"
         f"  MPI_Send(p, 40, MPI_INT, next, 5, w);{HERE}\n  MPI_Wait(&pending, IGNORE);\n  free(p);", "memory")
    for name in ("MPI_Bcast(&{0}, 1, MPI_DOUBLE, 0, w);", "MPI_Ibcast(&{0}, 1, MPI_DOUBLE, 0, w, &q);\n  MPI_Wait(&q, IGNORE);"):
        first, *rest = name.split("\n")
        case("buffers", f"{name[:10]}: the root broadcasts what nothing has written",
             "  MPI_Request q = MPI_REQUEST_NULL;\n  double x, y = rank;\n  (void)q;\n  if (wrong) {\n  " + "\n".join([first.format("x") + HERE, *rest])
             + "\n  y = x;\n  } else {\n  " + name.format("y") + "\n  }\n  c[0] = y > 1;", "memory")
    case("buffers", "a function has returned", f"  begin();\n  BAD MPI_Send(a, 8, MPI_INT, next, 5, w); /* HERE */\n  BAD MPI_Wait(&pending, IGNORE);", "memory")
    for name, call in CALLS.items():
        for n in (1, 4):
            case("buffers", f"{name}: nothing has written {n}",
                 f"  int r[{n}], all[512], x[{n}], y[{n}];\n  MPI_Request q = MPI_REQUEST_NULL;\n  memset(y, 0, sizeof y);\n  (void)r, (void)all;\n"
                 f"  if (wrong) {{\n  {CALLS['Sendrecv' if 'cast' in name else name].format(p='x', r='r', all='all', n=n, t='MPI_INT')}{HERE}\n  }} else {{\n  "
                 f"{call.format(p='y', r='r', all='all', n=n, t='MPI_INT')}\n  }}\n  MPI_Wait(&q, IGNORE);", "memory")


def statuses(case):
    """Receives from any source, of whose status nothing reads the source."""
    read = {"nothing reads": "", "only the length is read of": "  MPI_Get_count(&st, MPI_INT, &c[0]);\n"}
    for what, then in read.items():
        case("races", f"a status: {what} it",
             "  MPI_Status st;\n  if (rank == 0) {\n"
             f"  for (int i = 0; i < 2; ++i) {{\n  MPI_Recv(b, 1, MPI_INT, wrong ? MPI_ANY_SOURCE : 1, 5, w, &st); /* ALL HERE */\n{then}  }}\n"
             "  MPI_Recv(b, 1, MPI_INT, LAST, 5, w, &st); /* ALL HERE */\n"
             "  } else if (rank == 1) {\n  for (int i = 0; i < 2; ++i) MPI_Send(a, 1, MPI_INT, 0, 5, w);\n"
             "  MPI_Send(a, 1, MPI_INT, LAST, 7, w);\n  } else if (rank == LAST) {\n  MPI_Recv(b, 1, MPI_INT, 1, 7, w, IGNORE);\n"
             "  MPI_Send(a, 1, MPI_INT, 0, 5, w);\n  }", "memory")


def memory(case):
    types(case)
    bounds(case)
    arrays(case)
    lives(case)
    statuses(case)
