"""The corpus of files (corpus.py): ranks 1 and LAST access the same bytes of a file, and nothing orders them."""

TOP = r"""
static MPI_File x;
static char name[64];
static MPI_Datatype view;
/* A file of all ranks, empty, which is deleted when it is closed. */
static void open_file(void) {
  int tag = (int)MPI_Wtime() * 1000 + getpid();
  MPI_Bcast(&tag, 1, MPI_INT, 0, w);
  sprintf(name, "corpus-file-%d", tag);
  MPI_File_open(w, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &x);
  MPI_File_set_view(x, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
}
static void set_view(MPI_Datatype filetype, int disp) {
  view = filetype;
  MPI_Type_commit(&view);
  MPI_File_set_view(x, disp, MPI_INT, view, "native", MPI_INFO_NULL);
}
static void close_file(void) {
  if (view != MPI_DATATYPE_NULL) MPI_Type_free(&view);
  MPI_File_close(&x);
}
"""

# {at}: the offset in integers, to which the pointer is set, too. All ranks make collective accesses, then with {n} elements.
CALLS = {
    "write_at": "MPI_File_write_at(x, {at}, a, {n}, MPI_INT, IGNORE);",
    "read_at": "MPI_File_read_at(x, {at}, a, {n}, MPI_INT, IGNORE);",
    "iwrite_at": "MPI_File_iwrite_at(x, {at}, a, {n}, MPI_INT, &q);",
    "iread_at": "MPI_File_iread_at(x, {at}, a, {n}, MPI_INT, &q);",
    "write": "MPI_File_write(x, a, {n}, MPI_INT, IGNORE);",
    "read": "MPI_File_read(x, a, {n}, MPI_INT, IGNORE);",
    "iwrite": "MPI_File_iwrite(x, a, {n}, MPI_INT, &q);",
    "iread": "MPI_File_iread(x, a, {n}, MPI_INT, &q);",
}
COLLECTIVE = {
    "write_at_all": "MPI_File_write_at_all(x, {at}, a, {n}, MPI_INT, IGNORE);",
    "write_all": "MPI_File_write_all(x, a, {n}, MPI_INT, IGNORE);",
    "write_at_all_begin": "MPI_File_write_at_all_begin(x, {at}, a, {n}, MPI_INT);",
    "write_all_begin": "MPI_File_write_all_begin(x, a, {n}, MPI_INT);",
    "iwrite_at_all": "MPI_File_iwrite_at_all(x, {at}, a, {n}, MPI_INT, &q);",
    "iwrite_all": "MPI_File_iwrite_all(x, a, {n}, MPI_INT, &q);",
    "read_at_all": "MPI_File_read_at_all(x, {at}, a, {n}, MPI_INT, IGNORE);",
    "read_all": "MPI_File_read_all(x, a, {n}, MPI_INT, IGNORE);",
}
HERE = " /* HERE */"
DECLARED = "  MPI_Request q = MPI_REQUEST_NULL;\n  MPI_Status status;\n  view = MPI_DATATYPE_NULL;\n  (void)q, (void)status;\n  open_file();\n"


def access(name, at, n="4"):
    """Returns a call, the statement that sets its pointer, and the one that completes it."""
    text = {**CALLS, **COLLECTIVE}[name].format(at=at, n=n)
    lines = [] if "_at" in name else [f"  MPI_File_seek(x, {at}, MPI_SEEK_SET);"]
    lines.append("  " + text + HERE)
    if name.endswith("_begin"):
        lines.append(f"  MPI_File_{name.replace('begin', 'end')}(x, a, &status);")
    if "&q" in text:
        lines.append("  MPI_Wait(&q, IGNORE);")
    return "\n".join(lines)


PAIRS = [("write_at", "write_at"), ("write_at", "read_at"), ("read_at", "write_at"), ("write", "write"), ("write", "read"),
         ("read", "write"), ("iwrite_at", "iwrite_at"), ("iwrite_at", "iread_at"), ("iread_at", "write_at"), ("iwrite", "iwrite"),
         ("iwrite", "iread"), ("write_at", "write"), ("read", "write_at"), ("iwrite", "read_at")]
# The difference that makes the twin correct: the offset of the second access, or statements of all ranks between the accesses.
SYNC = "  MPI_File_sync(x);\n"
ORDERS = {
    "other bytes": ("wrong ? 6 : 8", ""),
    "sync, barrier, sync": ("6", f"  GOOD MPI_File_sync(x);\n  MPI_Barrier(w);\n  GOOD MPI_File_sync(x);\n"),
    "atomic mode": ("6", None),
}
# Views: ranks see the file through types, which overlap in the wrong program.
VIEWS = {
    "vector": "MPI_Type_vector(2, 2, wrong ? 3 : 2 * size, MPI_INT, &t);\n  MPI_Type_create_resized(t, 0, (wrong ? 6 : 4 * size) * 4, &r);\n  MPI_Type_free(&t);|rank * 8",
    "contiguous": "MPI_Type_contiguous(4, MPI_INT, &r);|rank * (wrong ? 8 : 64)",
    "subarray": "int sizes[] = {8, 2 * size}, parts[] = {8, 2}, starts[] = {0, wrong ? rank / 2 : 2 * rank};\n"
                "  MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &r);|0",
    "indexed": "int lengths[] = {1, 3}, places[] = {0, wrong ? 2 : 4 * size};\n  MPI_Type_indexed(2, lengths, places, MPI_INT, &t);\n"
               "  MPI_Type_create_resized(t, 0, 256 * 4, &r);\n  MPI_Type_free(&t);|rank * (wrong ? 4 : 16)",
}


def files(case):
    def wrong(name, body):
        case("files", name, DECLARED + body + "\n  close_file();")

    for first, second in PAIRS:
        for order, (at, between) in ORDERS.items():
            begin = "  GOOD MPI_File_set_atomicity(x, 1);\n" if between is None else ""
            wrong(f"{first} and {second}, {order}", begin + f"  if (rank == 1) {{\n{access(first, '4')}\n  }}\n{between or ''}"
                  f"  if (rank == LAST) {{\n{access(second, at)}\n  }}")
        for missing in ("the first sync", "the second sync"):
            syncs = [f"  {'GOOD ' if missing == 'the first sync' else ''}MPI_File_sync(x);\n", f"  {'GOOD ' if missing == 'the second sync' else ''}MPI_File_sync(x);\n"]
            wrong(f"{first} and {second} without {missing}", f"  if (rank == 1) {{\n{access(first, '4')}\n  }}\n{syncs[0]}  MPI_Barrier(w);\n{syncs[1]}"
                  f"  if (rank == LAST) {{\n{access(second, '4')}\n  }}")
    for name in COLLECTIVE:
        if name.startswith(("read",)):
            wrong(f"write_at and {name}", f"  if (rank == 1) {{\n{access('write_at', '4')}\n  }}\n  GOOD MPI_File_sync(x);\n  MPI_Barrier(w);\n  GOOD MPI_File_sync(x);\n{access(name, '4')}")
            continue
        wrong(f"{name} at one place", access(name, "wrong ? 4 : 4 * rank"))
        wrong(f"{name} of which parts meet", access(name, "rank * (wrong ? 3 : 4)"))
    for view, text in VIEWS.items():
        make, disp = text.split("|")
        for name in ("write_all", "write_at_all", "write_at", "write", "write_all_begin"):
            wrong(f"{name} through a view by {view}", f"  MPI_Datatype t, r;\n  (void)t;\n  {make}\n  set_view(r, {disp});\n{access(name, '0', '8')}")
            order = "  GOOD MPI_File_sync(x);\n  MPI_Barrier(w);\n  GOOD MPI_File_sync(x);\n"
            wrong(f"read_at after {name} through a view by {view}", f"  MPI_Datatype t, r;\n  (void)t;\n  {make.replace('wrong', '0')}\n  set_view(r, {disp.replace('wrong', '0')});\n"
                  f"{access(name, '0', '8')}\n{order}  MPI_File_set_view(x, 0, MPI_INT, MPI_INT, \"native\", MPI_INFO_NULL);\n  if (!rank) {{\n{access('read_at', '0', '64')}\n  }}")
    shared_pointers(wrong)


def shared_pointers(wrong):
    """Accesses by the shared pointer, whose offset is in no argument."""
    seek = "  MPI_File_seek_shared(x, 4, MPI_SEEK_SET);\n"
    waits = "  MPI_Wait(&q, IGNORE);\n"
    for name, other in (("write", "write_at"), ("iwrite", "read_at"), ("read", "iwrite_at"), ("iread", "write"), ("write", "read")):
        request = name.startswith("i")
        call = f"  MPI_File_{name}_shared(x, a, 4, MPI_INT, {'&q' if request else 'IGNORE'});{HERE}\n{waits if request else ''}"
        for order, (at, between) in ORDERS.items():
            begin = "  GOOD MPI_File_set_atomicity(x, 1);\n" if between is None else ""
            wrong(f"{name}_shared and {other}, {order}", f"{begin}{seek}  if (rank == 1) {{\n{call}  }}\n{between or ''}"
                  f"  if (rank == LAST) {{\n{access(other, at)}\n  }}")
        # Another access by the same pointer has another offset, and so has the next access of the same rank.
        wrong(f"two {name}_shared and {other}", f"{seek}  if (rank == 1) {{\n  MPI_File_read_shared(x, b, 3, MPI_INT, IGNORE);\n{call}  }}\n"
              f"  if (rank == LAST) {{\n{access(other, '(wrong ? 10 : 11)')}\n  }}")
    ordered = {"_ordered": "  MPI_File_{}_ordered(x, a, 4, MPI_INT, IGNORE);" + HERE,
               "_ordered_begin": "  MPI_File_{0}_ordered_begin(x, a, 4, MPI_INT);" + HERE + "\n  MPI_File_{0}_ordered_end(x, a, &status);"}
    for form, text in ordered.items():
        for kind, other in (("write", "write_at"), ("write", "read"), ("read", "iwrite_at")):
            wrong(f"{kind}{form} and {other}", f"{seek}{text.format(kind)}\n"
                  f"  if (rank == LAST) {{\n{access(other, '(wrong ? 6 : 4 + 4 * size)')}\n  }}")
        wrong(f"read{form} of what write{form} has written", f"{seek}{text.format('write')}\n  GOOD MPI_File_sync(x);\n  MPI_Barrier(w);\n"
              f"  GOOD MPI_File_sync(x);\n  MPI_File_seek_shared(x, 8, MPI_SEEK_SET);\n{text.format('read')}")
