"""The part of the corpus about collectives whose buffers have a part for each rank: parts with types of their own
(MPI_Alltoallw and its like), and what neighbours give and take."""

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
static void make_grid(int periods) {
  int dims = size;
  MPI_Cart_create(w, 1, &dims, &periods, 0, &ring);
}
static void make_ring(void) { make_grid(1); }
"""
HERE = " /* HERE */"
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
    """The statements of a call in one of its forms; what stands between start and end of it."""
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
        # The last part that a rank has, and one before it.
        last = "1" if of_ring else "LAST"
        for form in FORMS:
            def wrong(kind, what, before="", between="", after="", **given):
                q = "  MPI_Request q = MPI_REQUEST_NULL, r = MPI_REQUEST_NULL;\n" if form != "blocking" else ""
                case(kind, f"{name} {form}: {what}", q + "  make_parts();\n" + ("  make_ring();\n" if of_ring else "") + before
                     + collective(name, form, between, **given) + after + "\n  MPI_Type_free(&pairs);"
                     + ("\n  MPI_Comm_free(&ring);" if of_ring else ""), "parts")

            moved = f"  {array} moved[64];\n  memcpy(moved, {at}, sizeof moved);\n"
            wrong("arguments", "overlap", "  int* to = wrong ? a + 1 : b;\n", TO="to")
            # What one has in its gaps is the other's.
            wrong("arguments", "overlap beside a gap", "  for (int i = 0; i < 64; ++i) types[i] = pairs, counts[i] = 1;\n"
                  "  int* to = wrong ? a + 2 : a + 1;\n", TO="to")
            wrong("arguments", "two parts overlap", moved + f"  moved[{last}] = wrong ? moved[0] + 4 : moved[{last}];\n", IN="moved")
            wrong("arguments", "a part in the gaps of another", moved + f"  types[0] = types[{last}] = pairs, counts[0] = counts[{last}] = 1;\n"
                  f"  moved[{last}] = wrong ? 8 : 4;\n", IN="moved")
            wrong("arguments", "a type is not committed", "  MPI_Datatype x;\n  MPI_Type_contiguous(2, MPI_INT, &x); /* HERE */\n  GOOD MPI_Type_commit(&x);\n"
                  "  for (int i = 0; i < 64; ++i) types[i] = x, counts[i] = 1;\n", after="\n  MPI_Type_free(&x);")
            other = "  int mine[64];\n  MPI_Datatype own[64];\n  memcpy(mine, counts, sizeof mine);\n  memcpy(own, types, sizeof own);\n"
            if not of_ring:
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


def parts(case):
    with_types(case)
