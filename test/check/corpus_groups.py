"""The cases of the corpus about collectives of intercommunicators: on what the members of each group, and the two groups, must
agree."""

from corpus_parts import BOTH, FORMS, HERE

TOP = r"""static MPI_Comm both;
/* The group of this rank (0 or 1), its rank there, the sizes of its own and of the other group, and what it gives as the root:
   the last member of one group is it. */
static int group, mine, members, others, root, leaf;
static int counts[64], displs[64], shares[64];
/* how: 0: halves of the world, 1: even and odd ranks, 2: rank 0 and all others, of which the last is the root. */
static void make_groups(int how) {
  MPI_Comm local;
  group = how == 0 ? rank >= size / 2 : how == 1 ? rank % 2 : rank > 0;
  const int leader = group ? 0 : how == 0 ? size / 2 : 1;
  MPI_Comm_split(w, group, rank, &local);
  MPI_Intercomm_create(local, 0, w, leader, 9, &both);
  MPI_Comm_free(&local);
  MPI_Comm_rank(both, &mine);
  MPI_Comm_size(both, &members);
  MPI_Comm_remote_size(both, &others);
  leaf = group == (how == 2 ? 0 : 1);
  root = leaf ? others - 1 : mine == members - 1 ? MPI_ROOT : MPI_PROC_NULL;
  for (int i = 0; i < 64; ++i) counts[i] = 2, displs[i] = 4 * i, shares[i] = others;
}
"""
# N and T: number and type of the elements that a member sends; M and U: of those that it receives.
SHAPES = {
    "Barrier": "both",
    "Bcast": "a, N, T, root, both",
    "Gather": "a, N, T, b, M, U, root, both",
    "Gatherv": "a, N, T, b, counts, displs, U, root, both",
    "Scatter": "a, N, T, b, M, U, root, both",
    "Scatterv": "a, counts, displs, T, b, M, U, root, both",
    "Allgather": "a, N, T, b, M, U, both",
    "Allgatherv": "a, N, T, b, counts, displs, U, both",
    "Alltoall": "a, N, T, b, M, U, both",
    "Alltoallv": "a, counts, displs, T, b, counts, displs, U, both",
    "Reduce": "a, b, N, T, OP, root, both",
    "Allreduce": "a, b, N, T, OP, both",
    "Reduce_scatter_block": "a, b, N, T, OP, both",
    "Reduce_scatter": "a, b, shares, T, OP, both",
}
ROOTED = [name for name in SHAPES if "root" in SHAPES[name]]


def call(name, form, note=HERE, **given):
    n = "others" if name == "Reduce_scatter_block" else "2"
    values = {"N": n, "T": "MPI_INT", "M": n, "U": "MPI_INT", "OP": "MPI_SUM", **given}
    inside = ", ".join(values.get(word, word) for word in SHAPES[name].split(", "))
    if form == "blocking":
        return f"  MPI_{name}({inside});{note}"
    if form == "nonblocking":
        return f"  MPI_I{name[0].lower() + name[1:]}({inside}, &q);{note}\n  MPI_Wait(&q, IGNORE);"
    return (f"  MPI_{name}_init({inside}, MPI_INFO_NULL, &q);{note}\n  MPI_Start(&q);\n  MPI_Wait(&q, IGNORE);\n"
            "  MPI_Request_free(&q);")


def groups(case):
    made = [0]

    def wrong(kind, what, body, how=None):
        how = made[0] % 3 if how is None else how
        made[0] += 1
        case(kind, what, f"  MPI_Request q = MPI_REQUEST_NULL, r = MPI_REQUEST_NULL;\n  make_groups({how});\n{body}\n  MPI_Comm_free(&both);",
             "groups")

    def of_each_group(name, form, one, other):
        """All members of one group pass another value; the finding must name both callers."""
        return ("  if (group) {\n" + call(name, form, BOTH, **one) + "\n  } else {\n" + call(name, form, BOTH, **other) + "\n  }")

    for name, shape in SHAPES.items():
        words = shape.split(", ")
        n = "others" if name == "Reduce_scatter_block" else "2"
        for form in FORMS:
            of = f"{name} of two groups, {form}: "
            another = "Barrier" if name != "Barrier" else "Bcast"
            wrong("collectives", of + "another call", "  if (wrong && rank == LAST) {\n" + call(another, form) + "\n  } else {\n"
                  + call(name, form) + "\n  }")
            wrong("collectives", of + "another call of a group", "  if (wrong && group) {\n" + call(another, form, BOTH)
                  + "\n  } else if (group) {\n" + call(name, form, "") + "\n  } else {\n" + call(name, form, BOTH) + "\n  }")
            if "T" in words:
                for t in ("MPI_FLOAT", "MPI_UNSIGNED"):
                    t = f"wrong && rank == LAST ? {t} : MPI_INT"
                    wrong("collectives", of + "a type of one", call(name, form, T=t, U=t))
                whole = {"T": "wrong ? MPI_FLOAT : MPI_INT", "U": "wrong ? MPI_FLOAT : MPI_INT"}
                wrong("collectives", of + "a type of a group", of_each_group(name, form, whole, {}))
            for word, change in (("N", f"wrong && rank == LAST ? {n} + 1 : {n}"), ("M", f"wrong && rank == LAST ? {n} - 1 : {n}")):
                # In collectives with a root, the last rank uses only one of the two counts.
                if word in words and name not in ("Gather", "Scatter", "Gatherv", "Scatterv"):
                    wrong("collectives", of + f"a count of one, {word}", call(name, form, **{word: change}))
            if name in ("Gatherv", "Scatterv"):
                whole = {"N" if name == "Gatherv" else "M": "wrong ? 3 : 2"}
                wrong("collectives", of + "a count of a group", of_each_group(name, form, whole, {}), made[0] % 2)
            elif "N" in words or "M" in words:
                whole = {"N": f"wrong ? {n} + 1 : {n}", "M": f"wrong ? {n} + 1 : {n}"}
                if name == "Allgather" or name == "Alltoall":
                    whole = {"N": f"wrong ? {n} + 1 : {n}"}
                wrong("collectives", of + "a count of a group", of_each_group(name, form, whole, {}))
            if name in ("Gather", "Scatter"):
                wrong("collectives", of + "the root's count", call(name, form, **{"N" if name == "Scatter" else "M":
                      "wrong && root == MPI_ROOT ? 3 : 2"}))
                wrong("collectives", of + "a count of one", call(name, form, **{"M" if name == "Scatter" else "N":
                      "wrong && leaf && mine == members - 1 ? 1 : 2"}))
            if name in ("Gatherv", "Scatterv", "Allgatherv", "Alltoallv"):
                spoiler = "rank == LAST" if name.startswith("All") else "root == MPI_ROOT"
                wrong("collectives", of + "an element of the counts", f"  if (wrong && {spoiler}) counts[others - 1] = 3;\n" + call(name, form))
            if name in ("Allgather", "Alltoall", "Allgatherv"):
                # The two groups may send different amounts.
                uneven = {"N": "group ? 3 : 2", "M": "group ? 2 : wrong ? 2 : 3"}
                wrong("collectives", of + "the groups give different amounts", "  if (!group && !wrong)\n  for (int i = 0; i < others; ++i) counts[i] = 3;\n"
                      + call(name, form, **uneven))
                none = {"N": "group ? 2 : 0", "M": "group ? wrong ? 2 : 0 : 2"}
                wrong("collectives", of + "one group gives nothing", "  if (group && !wrong)\n  for (int i = 0; i < others; ++i) counts[i] = 0;\n"
                      + call(name, form, **none))
            if name == "Reduce_scatter":
                wrong("collectives", of + "shares of one", "  if (wrong && rank == LAST) ++shares[0];\n" + call(name, form))
                wrong("collectives", of + "shares of a group", "  if (wrong && group) ++shares[0];\n" + of_each_group(name, form, {}, {}))
            if "OP" in words:
                wrong("collectives", of + "an operation of one", call(name, form, OP="wrong && rank == LAST ? MPI_MAX : MPI_SUM"))
                wrong("collectives", of + "an operation of a group", of_each_group(name, form, {"OP": "wrong ? MPI_MAX : MPI_SUM"}, {}))
            if name in ROOTED:
                wrong("collectives", of + "another root", "  if (wrong && leaf && mine == members - 1) --root;\n" + call(name, form))
                wrong("collectives", of + "another root of all", "  if (wrong && leaf) --root;\n" + of_each_group(name, form, {}, {}))
                wrong("collectives", of + "two roots", "  if (wrong && !leaf) root = MPI_ROOT;\n" + call(name, form))
                wrong("collectives", of + "no root", "  if (wrong && !leaf) root = MPI_PROC_NULL;\n" + of_each_group(name, form, {}, {}))
                wrong("collectives", of + "the root gives its rank", "  if (wrong && root == MPI_ROOT) root = mine ? 0 : others - 1;\n" + call(name, form))
                wrong("collectives", of + "one more root in the other group", "  if (wrong && leaf && mine == 0) root = MPI_ROOT;\n" + call(name, form))
            if "a, " in shape and "b, " in shape:
                swapped = call(name, form).replace(" b, ", " to, ").replace("(b, ", "(to, ")
                if name not in ROOTED:
                    wrong("arguments", of + "overlapping buffers", "  int* to = wrong ? a + 1 : b;\n" + swapped)
                wrong("buffers", of + "a receive under way",
                      "  MPI_Irecv(wrong ? b : c, 2, MPI_INT, before, 5, w, &r);" + HERE + "\n" + call(name, form, "" if name in ROOTED else HERE)
                      + "\n  MPI_Send(d, 2, MPI_INT, next, 5, w);\n  MPI_Wait(&r, IGNORE);")
            if form == "nonblocking":
                wrong("leaks", of + "no wait", call(name, form).replace("  MPI_Wait(&q", "  GOOD MPI_Wait(&q"))
    for name, made_by in {"Comm_dup": "MPI_Comm_dup(both, &x);", "Intercomm_merge": "MPI_Intercomm_merge(both, group, &x);"}.items():
        wrong("collectives", f"{name} of two groups: another call", f"  MPI_Comm x;\n  if (wrong && group) {{\n  MPI_Barrier(both);{BOTH}\n  }} else if (group) {{\n"
              f"  {made_by}\n  }} else {{\n  {made_by}{BOTH}\n  }}\n  MPI_Comm_free(&x);")

    # Creation: on what the members of a group, and the two leaders, must agree.
    for how in range(3):
        create = f"  MPI_Comm local, x;\n  MPI_Comm_split(w, group, rank, &local);\n  const int far = group ? 0 : {('size / 2', '1', '1')[how]};\n"
        free = "  MPI_Comm_free(&x);\n  MPI_Comm_free(&local);"
        wrong("collectives", f"Intercomm_create, tags of the leaders, groups {how}",
              create + "  if (group)\n" + f"  MPI_Intercomm_create(local, 0, w, far, wrong ? 4 : 3, &x);{BOTH}\n"
              + f"  else\n  MPI_Intercomm_create(local, 0, w, far, 3, &x);{BOTH}\n" + free, how)
        if how < 2:
            wrong("collectives", f"Intercomm_create, local leaders, groups {how}",
                  create + "  if (mine == members - 1)\n" + f"  MPI_Intercomm_create(local, wrong ? members - 1 : 0, w, far, 3, &x);{BOTH}\n"
                  + f"  else\n  MPI_Intercomm_create(local, 0, w, far, 3, &x);{BOTH}\n" + free, how)
            wrong("collectives", f"Intercomm_merge, values of high, groups {how}",
                  "  MPI_Comm x;\n  if (mine == members - 1)\n" + f"  MPI_Intercomm_merge(both, wrong ? !group : group, &x);{BOTH}\n"
                  + f"  else\n  MPI_Intercomm_merge(both, group ? 7 : 0, &x);{BOTH}\n  MPI_Comm_free(&x);", how)

    # A send that returns only if it is buffered: its receiver waits in a collective for the sender, a member of the other group.
    for name in SHAPES:
        for form in FORMS[:2]:
            if name in ("Gather", "Gatherv", "Reduce"):
                sender, receiver = "rank == LAST", "root == MPI_ROOT"
                to, of = "from_leaf", "LAST"
            elif name in ROOTED:
                sender, receiver = "root == MPI_ROOT", "rank == LAST"
                to, of = "LAST", "from_leaf"
            else:
                sender, receiver = "rank == 0", "rank == LAST"
                to, of = "LAST", "0"
            for how in range(2):
                # The rank in the world of the root: the last member of the first group.
                root = ("size / 2 - 1", "size - 2 + size % 2")[how]
                receive = f"MPI_Recv(c, 4, MPI_INT, {of}, 5, w, IGNORE);".replace("from_leaf", root)
                wrong("buffering", f"a send before {name} of two groups, {form}, groups {how}",
                      f"  if ({sender}) MPI_Send(a, 4, MPI_INT, {to.replace('from_leaf', root)}, 5, w);{HERE}\n"
                      f"  if (!wrong && {receiver}) {receive}\n" + call(name, form, "") + f"\n  if (wrong && {receiver}) {receive}", how)
