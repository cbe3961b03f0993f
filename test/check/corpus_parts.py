"""The cases of the corpus about collectives whose buffers have a part for each rank. The parts may have types of their own
(MPI_Alltoallw and others), belong to neighbours, or have counts that differ by rank."""

TOP = r"""static MPI_Comm ring;
static int counts[64], displs[64];
static MPI_Aint places[64];
static MPI_Datatype types[64], pairs;
/* Two ints for each rank; of an odd one the second comes after a gap. The whole is 4 ints a rank. */
static void make_parts(void) {
  MPI_Type_vector(2, 1, 2, MPI_INT, &pairs);
  MPI_Type_commit(&pairs);
  for (int i = 0; i < 64; ++i) {
    types[i] = i % 2 ? pairs : MPI_INT;
    counts[i] = i % 2 ? 1 : 2;
    places[i] = displs[i] = 16 * i;
  }
}
/* Neighbours: both ways in a ring, the same as a graph, a line of ranks, one way. */
static int outs[2], ins[2], sent[2], taken[2];
static void make_grid(int periods) {
  int dims = size;
  MPI_Cart_create(w, 1, &dims, &periods, 0, &ring);
  outs[0] = ins[0] = periods || rank > 0 ? before : MPI_PROC_NULL;
  outs[1] = ins[1] = periods || rank < size - 1 ? next : MPI_PROC_NULL;
}
static void make_ring(void) { make_grid(1); }
static void make_line(void) { make_grid(0); }
static void make_graph(void) {
  int last[64], edges[128];
  for (int i = 0; i < size; ++i) {
    last[i] = 2 * i + 2;
    edges[2 * i] = (i + size - 1) % size, edges[2 * i + 1] = (i + 1) % size;
  }
  MPI_Graph_create(w, size, last, edges, 0, &ring);
  outs[0] = ins[0] = before, outs[1] = ins[1] = next;
}
static void make_directed(void) {
  MPI_Dist_graph_create_adjacent(w, 1, &before, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
  ins[0] = before, outs[0] = next;
}
/* One way in a ring, and an edge from the last rank to rank 1, at the ends that have it. */
static void make_edge(int at_sender, int at_taker) {
  int from[2] = {before, LAST}, to[2] = {next, 1};
  MPI_Dist_graph_create_adjacent(w, 1 + (at_taker && rank == 1), from, MPI_UNWEIGHTED, 1 + (at_sender && rank == LAST), to,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
  memcpy(ins, from, sizeof ins), memcpy(outs, to, sizeof outs);
}
/* What both ends of an edge know; in the v forms as many elements as it has. */
static int n_out, n_in, gathered[2];
static MPI_Datatype t_out, t_in, given[2], got[2];
static void make_counts(void) {
  n_out = n_in = 2, t_out = t_in = MPI_INT;
  for (int i = 0; i < 2; ++i) {
    sent[i] = 1 + (rank + outs[i] + size) % 3;
    taken[i] = 1 + (rank + ins[i] + size) % 3;
    displs[i] = 8 * i, places[i] = 32 * i, gathered[i] = 2, given[i] = got[i] = MPI_INT;
  }
}
/* What each rank gives each other and takes from it; of rank 0 as the root. */
static int sent_to[64], taken_of[64];
static MPI_Datatype given_to[64], got_of[64];
static void make_amounts(void) {
  n_out = n_in = 1 + rank % 3, t_out = t_in = MPI_INT;
  for (int i = 0; i < 64; ++i) {
    sent_to[i] = taken_of[i] = 1 + (rank + i) % 3;
    displs[i] = 8 * i, counts[i] = 32 * i, given_to[i] = got_of[i] = MPI_INT;
  }
}
static void spoil_amount(int how, int other) {
  if (how == 0) n_in += 2, taken_of[other] += 2;
  if (how == 1) --n_in, --taken_of[other];
  if (how == 2) --n_out, --sent_to[other];
  if (how == 3) t_out = given_to[other] = MPI_FLOAT;
  if (how == 4) t_in = got_of[other] = MPI_UNSIGNED;
}
static void spoil(int how) {
  if (how == 0) n_in += 2, gathered[0] += 2, taken[0] += 2;
  if (how == 1) --n_in, --gathered[0], --taken[0];
  if (how == 2) --n_out, --sent[0];
  if (how == 3) t_out = given[0] = MPI_FLOAT;
  if (how == 4) t_in = got[0] = MPI_UNSIGNED;
}
"""
HERE = " /* HERE */"
BOTH = " /* ALL HERE */"
FORMS = ("blocking", "nonblocking", "persistent")
# Arguments: FROM and TO are the buffers, SENT and TAKEN counts, OUT and IN displacements, GIVEN and GOT types.
WITH_TYPES = {
    "Alltoallw": "FROM, SENT, OUT, GIVEN, TO, TAKEN, IN, GOT, w",
    "Neighbor_alltoallw": "FROM, SENT, OUT, GIVEN, TO, TAKEN, IN, GOT, ring",
}


def filled(name, **given):
    at = "displs" if name == "Alltoallw" else "places"
    values = {"FROM": "a", "SENT": "counts", "OUT": at, "GIVEN": "types", "TO": "b", "TAKEN": "counts", "IN": at, "GOT": "types", **given}
    return ", ".join(values.get(word, word) for word in WITH_TYPES[name].split(", "))


def collective(name, form, between="", **given):
    """Returns the statements of a call in one of its forms, with the given statements between its start and its completion."""
    inside = filled(name, **given)
    if form == "blocking":
        return f"  MPI_{name}({inside});{HERE}"
    if form == "nonblocking":
        return f"  MPI_I{name[0].lower() + name[1:]}({inside}, &q);{HERE}\n{between}  MPI_Wait(&q, IGNORE);"
    return f"  MPI_{name}_init({inside}, MPI_INFO_NULL, &q);{HERE}\n  MPI_Start(&q);\n{between}  MPI_Wait(&q, IGNORE);\n  MPI_Request_free(&q);"


def with_types(case):
    for name in WITH_TYPES:
        at = "displs" if name == "Alltoallw" else "places"
        of_ring = name != "Alltoallw"
        array = "MPI_Aint" if of_ring else "int"
        # The last part of a rank, and one before it.
        last = "1" if of_ring else "LAST"
        for form in FORMS:
            def wrong(kind, what, before="", between="", after="", **given):
                q = "  MPI_Request q = MPI_REQUEST_NULL, r = MPI_REQUEST_NULL;\n" if form != "blocking" else ""
                case(kind, f"{name} {form}: {what}", q + "  make_parts();\n" + ("  make_ring();\n" if of_ring else "") + before
                     + collective(name, form, between, **given) + after + "\n  MPI_Type_free(&pairs);"
                     + ("\n  MPI_Comm_free(&ring);" if of_ring else ""), "parts")

            moved = f"  {array} moved[64];\n  memcpy(moved, {at}, sizeof moved);\n"
            wrong("arguments", "overlap", "  int* to = wrong ? a + 1 : b;\n", TO="to")
            # Each uses the gaps of the other.
            wrong("arguments", "overlap beside a gap", "  for (int i = 0; i < 64; ++i) types[i] = pairs, counts[i] = 1;\n"
                  "  int* to = wrong ? a + 2 : a + 1;\n", TO="to")
            wrong("arguments", "two parts overlap", moved + f"  moved[{last}] = wrong ? moved[0] + 4 : moved[{last}];\n", IN="moved")
            wrong("arguments", "a part in the gaps of another", moved + f"  types[0] = types[{last}] = pairs, counts[0] = counts[{last}] = 1;\n"
                  f"  moved[{last}] = wrong ? 8 : 4;\n", IN="moved")
            wrong("arguments", "a type is not committed", "  MPI_Datatype x;\n  MPI_Type_contiguous(2, MPI_INT, &x); /* HERE */\n  GOOD MPI_Type_commit(&x);\n"
                  "  for (int i = 0; i < 64; ++i) types[i] = x, counts[i] = 1;\n", after="\n  MPI_Type_free(&x);")
            other = "  int mine[64];\n  MPI_Datatype own[64];\n  memcpy(mine, counts, sizeof mine);\n  memcpy(own, types, sizeof own);\n"
            wrong("collectives", "a type", other + "  if (wrong && rank == LAST) own[0] = MPI_FLOAT;\n", GOT="own")
            wrong("collectives", "a count", other + "  if (wrong && rank == LAST) mine[0] = 1;\n", SENT="mine")
            if form == "blocking":
                continue
            wrong("buffers", "changed", between=f"  a[wrong ? 0 : 3] = 77;\n")
            wrong("buffers", "changed in a part with a gap", between=f"  a[wrong ? 6 : 5] = 77;\n")
            # Rank 1's part has a gap.
            receive = ("  MPI_Irecv(b + (wrong ? 6 : 5), 1, MPI_INT, before, 5, w, &r); /* HERE */\n"
                       "  MPI_Send(c, 1, MPI_INT, next, 5, w);\n")
            wrong("buffers", "a receive into its buffer", between=receive, after="\n  MPI_Wait(&r, IGNORE);")
            send = ("  MPI_Irecv(c + 9, 1, MPI_INT, before, 5, w, &r);\n"
                    "  MPI_Send(b + (wrong ? 4 : 5), 1, MPI_INT, next, 5, w); /* HERE */\n")
            wrong("buffers", "a send from what it receives", between=send, after="\n  MPI_Wait(&r, IGNORE);")


# Calls between neighbours; make_counts() and spoil() fill their arguments.
NEIGHBOURS = {
    "allgather": "a, n_out, t_out, b, n_in, t_in",
    "allgatherv": "a, n_out, t_out, b, gathered, displs, t_in",
    "alltoall": "a, n_out, t_out, b, n_in, t_in",
    "alltoallv": "a, sent, displs, t_out, b, taken, displs, t_in",
    "alltoallw": "a, sent, places, given, b, taken, places, got",
}
TOPOLOGIES = ("ring", "line", "graph", "directed")
SPOILED = ("more is taken", "less is taken", "less is sent", "sent as another type", "taken as another type")


# Calls in which all ranks are neighbours, or rank 0 is the only one; make_amounts() and spoil_amount() fill their arguments.
AMOUNTS = {
    "Gatherv": "a, n_out, t_out, b, taken_of, displs, t_in, 0, w",
    "Scatterv": "a, sent_to, displs, t_out, b, n_in, t_in, 0, w",
    "Alltoallv": "a, sent_to, displs, t_out, b, taken_of, displs, t_in, w",
    "Alltoallw": "a, sent_to, counts, given_to, b, taken_of, counts, got_of, w",
}
IN_PLACE = {
    "Gatherv": "rank ? a : MPI_IN_PLACE, n_out, t_out, b, taken_of, displs, t_in, 0, w",
    "Scatterv": "a, sent_to, displs, t_out, rank ? b : MPI_IN_PLACE, n_in, t_in, 0, w",
    "Alltoallv": "MPI_IN_PLACE, 0, 0, 0, b, taken_of, displs, t_in, w",
    "Alltoallw": "MPI_IN_PLACE, 0, 0, 0, b, taken_of, counts, got_of, w",
}


def in_form(form, name, inside):
    """Returns a call in one of its forms, and the statements after it."""
    if form == "blocking":
        return f"MPI_{name}({inside})", ""
    if form == "nonblocking":
        return f"MPI_I{name[0].lower() + name[1:]}({inside}, &q)", "  MPI_Wait(&q, IGNORE);\n"
    return f"MPI_{name}_init({inside}, MPI_INFO_NULL, &q)", "  MPI_Start(&q);\n  MPI_Wait(&q, IGNORE);\n  MPI_Request_free(&q);\n"


def spoiled_amounts(forms):
    """Returns for each case: name, call, statements after it, the rank that makes the mistake, and the wrong statement."""
    for name in AMOUNTS:
        for form in (*forms, "in place"):
            one, after = in_form("blocking" if form == "in place" else form, name, (IN_PLACE if form == "in place" else AMOUNTS)[name])
            for how, what in enumerate(SPOILED):
                takes = "taken" in what
                if form == "in place" and name.startswith("All") and not takes:
                    continue
                # In rooted collectives the root is one end of all edges.
                at_root = takes if name == "Gatherv" else not takes if name == "Scatterv" else False
                who, other = ("0", "LAST") if at_root else ("LAST", "0")
                yield f"{name} {form}: {what}", one, after, who, f"spoil_amount({how}, {other})"


def amounts(case):
    """One rank sends other data than the other expects; the finding must name both."""
    for name, one, after, who, spoil in spoiled_amounts(FORMS):
        case("collectives", name, f"  MPI_Request q;\n  (void)q;\n  make_amounts();\n  if (wrong && rank == {who}) {spoil};\n"
             f"  if (wrong && rank == {who})\n    {one};{BOTH}\n  else\n    {one};{BOTH}\n{after}", "parts")


def single_ends(case):
    """An edge that only one of its ends has; the finding must name both."""
    for k, (name, inside) in enumerate(NEIGHBOURS.items()):
        for i, (what, who, edge) in enumerate((("the sender", "LAST", "1, !wrong"), ("the one who takes", "1", "!wrong, 1"))):
            for form in (FORMS if k == 0 else (FORMS[(k + i) % 3],)):
                one, after = in_form(form, "Neighbor_" + name, inside + ", ring")
                other = "1" if who == "LAST" else "LAST"
                case("collectives", f"Neighbor_{name} {form}: only {what} has an edge", f"  MPI_Request q;\n  (void)q;\n  make_edge({edge});\n  make_counts();\n"
                     f"  if (wrong && rank == {who})\n    {one};{BOTH}\n  else if (wrong && rank == {other})\n    {one};{BOTH}\n  else\n    {one};\n{after}  MPI_Comm_free(&ring);", "parts")


def neighbours(case):
    """One end of an edge sends other data than the other end expects."""
    for k, (name, inside) in enumerate(NEIGHBOURS.items()):
        for i, form in enumerate(FORMS):
            one, after = in_form(form, "Neighbor_" + name, inside + ", ring")
            # The wrong rank calls at another line: the finding must name both.
            call = f"  if (wrong && rank == LAST)\n    {one};{BOTH}\n  else\n    {one};{BOTH}\n{after}"
            for topology in TOPOLOGIES if form == "blocking" else (TOPOLOGIES[(k + i) % 4],):
                def wrong(what, before, after=""):
                    case("collectives", f"Neighbor_{name} {form}, {topology}: {what}", f"  MPI_Request q;\n  (void)q;\n  make_{topology}();\n"
                         f"  make_counts();\n{before}{call}{after}  MPI_Comm_free(&ring);", "parts")

                for how, what in enumerate(SPOILED):
                    wrong(what, f"  if (wrong && rank == LAST) spoil({how});\n")
                if name != "alltoallv" and name != "allgatherv":  # one element of a type with several of the sender's elements
                    n = "taken[0]" if name == "alltoallw" else "n_in"
                    wrong("a derived type is longer", f"  MPI_Type_contiguous({n} + (wrong && rank == LAST), MPI_INT, &pairs);\n  MPI_Type_commit(&pairs);\n"
                          f"  t_in = got[0] = pairs, n_in = taken[0] = 1;\n", "  MPI_Type_free(&pairs);\n")


# Calls in which a member passes another count, `n`, than the others.
COUNTED = {
    "Bcast": "a, n, MPI_INT, 0, w",
    "Reduce": "a, b, n, MPI_INT, MPI_SUM, 0, w",
    "Allreduce": "a, b, n, MPI_INT, MPI_SUM, w",
    "Scan": "a, b, n, MPI_INT, MPI_SUM, w",
    "Gather": "a, n, MPI_INT, b, rank ? n : 1, MPI_INT, 0, w",
    "Allgather": "a, n, MPI_INT, b, n, MPI_INT, w",
    "Alltoall": "a, n, MPI_INT, b, n, MPI_INT, w",
    "Gatherv": "a, n, MPI_INT, b, ones, displs, MPI_INT, 0, w",
    "Scatterv": "a, ones, displs, MPI_INT, b, n, MPI_INT, 0, w",
    "Alltoallv": "a, ns, displs, MPI_INT, b, ones, displs, MPI_INT, w",
    "Neighbor_alltoall": "a, n, MPI_INT, b, 1, MPI_INT, ring",
}


def counted(case, name, what, before, after, form="blocking", kind="collectives", between="", wait="  MPI_Wait(&q, IGNORE);\n"):
    call, _ = in_form(form, name, COUNTED[name])
    if form != "blocking":
        before, after = "  MPI_Request q, r = MPI_REQUEST_NULL;\n  (void)r;\n" + before, between + wait + after
    case(kind, f"{name} {form}: {what}" if form != "blocking" else f"{name}: {what}", f"  int n = 1, ns[64], ones[64];\n  make_parts();\n  make_ring();\n  for (int i = 0; i < 64; ++i) ns[i] = ones[i] = 1;\n"
         f"{before}  {call};{HERE}\n{after}  MPI_Type_free(&pairs);\n  MPI_Comm_free(&ring);", "parts")


def while_others_do_not_call(case):
    """Mistakes that are reported although a rank of the same process never makes the call."""
    never = "  if (wrong && rank == LAST - 1) MPI_Recv(c, 1, MPI_INT, LAST, 99, w, IGNORE);\n"
    for name in COUNTED:
        counted(case, name, "another count, and a rank that never comes", f"  if (wrong && rank == LAST) n = 2, ns[0] = 2;\n{never}", "")


def in_loops(case):
    """Calls that were correct some times before."""
    loop, bad = "  for (int i = 0; i < 9; ++i) {\n", "wrong && rank == LAST && i == 6"
    for name in COUNTED:
        for form in ("blocking", "nonblocking"):
            counted(case, name, "another count in the seventh turn of a loop", f"{loop}    if ({bad}) n = 2, ns[0] = 2;\n", "  }\n", form)
        counted(case, name, "no wait in the seventh turn of a loop", loop, "  }\n", "nonblocking", "leaks", wait=f"  if (!({bad})) MPI_Wait(&q, IGNORE);\n")
        # Each rank but a root sends at least the first element.
        if name != "Scatterv":
            counted(case, name, "changed in the seventh turn of a loop", loop, "  }\n", "nonblocking", "buffers", f"  a[wrong && i == 6 ? 0 : 255] = i;\n"
                    if name != "Bcast" else f"  if (rank == 0) a[wrong && i == 6 ? 0 : 255] = i;\n")
        if name not in ("Bcast", "Reduce", "Gather", "Gatherv"):  # each rank receives into b
            counted(case, name, "a receive into its buffer in the seventh turn of a loop", loop, "  MPI_Wait(&r, IGNORE);\n  }\n", "nonblocking", "buffers",
                    f"  if (i == 6) MPI_Irecv(wrong ? b : b + 255, 1, MPI_INT, before, 5, w, &r);{HERE}\n  if (i == 6) MPI_Send(c, 1, MPI_INT, next, 5, w);\n")
    for name, one, after, who, spoil in spoiled_amounts(("blocking", "nonblocking")):
        case("collectives", f"{name} in the seventh turn of a loop", f"  MPI_Request q;\n  (void)q;\n  make_amounts();\n{loop}"
             f"    if (wrong && i == 6 && rank == {who}) {spoil};\n    {one};{HERE}\n{after}  }}", "parts")
    for k, (name, inside) in enumerate(NEIGHBOURS.items()):
        for form in ("blocking", "nonblocking"):
            one, after = in_form(form, "Neighbor_" + name, inside + ", ring")
            for how, what in enumerate(SPOILED):
                topology = TOPOLOGIES[(k + how) % 4]
                case("collectives", f"Neighbor_{name} {form}, {topology}: {what} in the seventh turn of a loop", f"  MPI_Request q;\n  (void)q;\n  make_{topology}();\n"
                     f"  make_counts();\n{loop}    if ({bad}) spoil({how});\n    {one};{HERE}\n{after}  }}\n  MPI_Comm_free(&ring);", "parts")
    for name, inside in (("Bcast", "a, 1, MPI_INT, i == 6 && wrong && rank == LAST, w"), ("Reduce", "a, b, 1, MPI_INT, MPI_SUM, i == 6 && wrong && rank == LAST, w")):
        case("collectives", f"{name}: another root in the seventh turn of a loop", f"  for (int i = 0; i < 9; ++i)\n    MPI_{name}({inside});{HERE}", "parts")
    case("collectives", "a barrier and an allreduce in the seventh turn of a loop", f"  for (int i = 0; i < 9; ++i)\n    if (i == 6 && wrong && rank == LAST)\n"
         f"      MPI_Allreduce(a, b, 1, MPI_INT, MPI_SUM, w);{HERE}\n    else\n      MPI_Barrier(w);{HERE}", "parts")


def parts(case):
    with_types(case)
    neighbours(case)
    amounts(case)
    single_ends(case)
    while_others_do_not_call(case)
    in_loops(case)
