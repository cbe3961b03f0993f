#!/usr/bin/env python3
"""Makes the corpus of the checker: programs that are wrong in one way each, with a correct twin for each.

  corpus.py FOLDER      writes FOLDER/corpus_KIND.c and FOLDER/corpus.txt

A case is a body of C in which `wrong ? a : b`, BAD and GOOD make the difference between the twins. The correct twin relies on
no buffering of messages (MPI-4.0 section 3.5), so that exploring it shows no deadlock either. Lines of the wrong twin end with
a comment HERE if a finding must name one of them, or ALL HERE if it must name all of them. All cases of a kind are functions of
one program, selected by their number; mpicc -check compiles the program with those of corpus_accesses.py:

  mpiexec -check ./corpus_leaks 17 wrong

A number may follow: the program then runs the correct twin that many times before, so that the checker has already seen nearly
all calls of the case.

corpus.txt has a line for each case: number, program, kind, name, and the lines of which a finding must name one (separated by
commas) or all (by +).
"""

import os
import sys

import corpus_accesses
import corpus_files
import corpus_groups
import corpus_lifecycles
import corpus_memory
import corpus_parts
import corpus_strands
import corpus_windows

TOP = r"""/* Made by test/check/corpus.py. Do not edit. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size, wrong, next, before;
static int a[256], b[256], c[256];
static double d[256];
static MPI_Comm w;
#define BAD if (wrong)
#define GOOD if (!wrong)
#define LAST (size - 1)
#define IGNORE MPI_STATUS_IGNORE
"""
MAIN = r"""
int main(int argc, char** argv) {
  const int number = atoi(argv[1]), times_before = argc > 3 ? atoi(argv[3]) : 0;
  MPI_Init(&argc, &argv);
  for (int i = 0; i <= times_before; ++i) {
    if (i) MPI_Barrier(MPI_COMM_WORLD);
    wrong = i == times_before && !strcmp(argv[2], "wrong");
    w = MPI_COMM_WORLD;
    MPI_Comm_rank(w, &rank);
    MPI_Comm_size(w, &size);
    next = (rank + 1) %% size;
    before = (rank + size - 1) %% size;
    switch (number) {
%s    }
  }
  MPI_Finalize();
  return 0;
}
"""

# The text in front of the cases of these programs: a finding must name every marked line.
TOPS = {"accesses": corpus_accesses.TOP, "windows": corpus_windows.TOP,
        "files": corpus_files.TOP, "strands": corpus_strands.TOP}
# The text in front of cases for which a finding must name one of the marked lines.
SINGLE_TOPS = {"groups": corpus_groups.TOP, "lifecycles": corpus_lifecycles.TOP, "memory": corpus_memory.TOP, "parts": corpus_parts.TOP}
cases = []  # (program, kind, name, body)


def case(kind, name, body, program=None):
    # The checker follows receives otherwise in programs with ready sends, so these have a program of their own.
    ready = "rsend" in body.lower()
    cases.append((program or ("ready" if ready else kind), kind, name, body.strip("\n")))


# ---- Collectives -----------------------------------------------------------------------------------------------------
# name: (sending count and type, receiving count and type, arguments after them); N stands for the number of elements,
# T for their type. The array forms have their counts in c, displacements in disp.
SHAPES = {
    "Bcast": "a, {n}, {t}, {root}, w",
    "Gather": "a, {n}, {t}, b, {n}, {t}, {root}, w",
    "Scatter": "a, {n}, {t}, b, {n}, {t}, {root}, w",
    "Allgather": "a, {n}, {t}, b, {n}, {t}, w",
    "Alltoall": "a, {n}, {t}, b, {n}, {t}, w",
    "Reduce": "a, b, {n}, {t}, {op}, {root}, w",
    "Allreduce": "a, b, {n}, {t}, {op}, w",
    "Scan": "a, b, {n}, {t}, {op}, w",
    "Exscan": "a, b, {n}, {t}, {op}, w",
    "Reduce_scatter_block": "a, b, {n}, {t}, {op}, w",
    "Reduce_scatter": "a, b, counts, {t}, {op}, w",
    "Gatherv": "a, {n}, {t}, b, counts, displs, {t}, {root}, w",
    "Scatterv": "a, counts, displs, {t}, b, {n}, {t}, {root}, w",
    "Allgatherv": "a, {n}, {t}, b, counts, displs, {t}, w",
    "Alltoallv": "a, counts, displs, {t}, b, counts, displs, {t}, w",
    "Barrier": "w",
}
ARRAYS = "  int counts[64], displs[64];\n  for (int i = 0; i < size; ++i) counts[i] = 2, displs[i] = 2 * i;\n"


def collective(name, form, note="", **given):
    """Returns the statements of a collective in one of its forms."""
    values = {"n": "2", "t": "MPI_INT", "root": "0", "op": "MPI_SUM", **given}
    inside = SHAPES[name].format(**values)
    if form == "blocking":
        return f"  MPI_{name}({inside});{note}"
    if form == "nonblocking":
        lower = "I" + name[0].lower() + name[1:]
        return f"  MPI_{lower}({inside}, &q);{note}\n  MPI_Wait(&q, IGNORE);"
    return (f"  MPI_{name}_init({inside}, MPI_INFO_NULL, &q);{note}\n  MPI_Start(&q);\n  MPI_Wait(&q, IGNORE);\n"
            f"  MPI_Request_free(&q);")


HERE = " /* HERE */"
FORMS = ("blocking", "nonblocking", "persistent")


def collectives():
    for name, shape in SHAPES.items():
        arrays = ARRAYS if "counts" in shape else ""
        for form in FORMS:
            q = "  MPI_Request q = MPI_REQUEST_NULL;\n" if form != "blocking" else ""

            def wrong(what, **given):
                case("collectives", f"{name} {form}: {what}", q + arrays + collective(name, form, HERE, **given))

            if "{root}" in shape:
                wrong("root", root="wrong && rank == LAST")
            if "{op}" in shape:
                wrong("operation", op="wrong && rank == LAST ? MPI_MAX : MPI_SUM")
            if "{n}" in shape:
                wrong("count", n="wrong && rank == LAST ? 1 : 2")
            if "{t}" in shape and name not in ("Alltoallv",):
                wrong("type", t="wrong && rank == LAST ? MPI_FLOAT : MPI_INT")
            other = "Allreduce" if name in ("Barrier", "Bcast") else "Barrier"
            case("collectives", f"{name} {form}: another call",
                 q + arrays + "  if (wrong && rank == LAST) {\n" + collective(other, form, HERE) + "\n  } else {\n"
                 + collective(name, form, HERE) + "\n  }")
            case("deadlock", f"{name} {form}: order", q + arrays + "  MPI_Comm x, y;\n  MPI_Comm_dup(w, &x);\n"
                 "  y = w;\n  if (wrong && rank == LAST) y = x, x = w;\n"
                 + collective(name, form, HERE).replace("w)", "y)").replace("w, MPI_INFO", "y, MPI_INFO").replace("w, &q", "y, &q")
                 + "\n" + collective("Bcast" if name != "Bcast" else "Barrier", form).replace("w)", "y)").replace("w, MPI_INFO", "y, MPI_INFO").replace("w, &q", "y, &q")
                 + "\n  if (wrong && rank == LAST) x = y, y = w;\n  MPI_Comm_free(&x);")
            if "a, b" in shape or ", b, " in shape:
                body = q + arrays + "  int* to = wrong ? a : b;\n" + collective(name, form, HERE).replace(" b, ", " to, ")
                case("arguments", f"{name} {form}: overlapping buffers", body)
            if form == "nonblocking":
                body = q + arrays + collective(name, form, HERE).replace("  MPI_Wait(&q, IGNORE);", "  GOOD MPI_Wait(&q, IGNORE);")
                case("leaks", f"{name} {form}: no wait", body)
            if form == "persistent":
                body = q + arrays + collective(name, form, HERE).replace("  MPI_Request_free", "  GOOD MPI_Request_free")
                case("leaks", f"{name} {form}: never freed", body)
                if "a, " in shape:  # the operation and the receive use one buffer at a time
                    for start in ("MPI_Start(&q)", "MPI_Startall(1, &q)"):
                        case("buffers", f"{name}: started while a receive is under way, {start[4:-4]}",
                             "  MPI_Request r;\n" + q + arrays + "  MPI_Irecv(wrong ? (void*)a : (void*)d, 2, MPI_INT, before, 5, w, &r);\n"
                             + collective(name, form).replace("  MPI_Start(&q);", f"  {start};{HERE}")
                             + "\n  MPI_Send(c, 2, MPI_INT, next, 5, w);\n  MPI_Wait(&r, IGNORE);")
            if "{t}" in shape and "{op}" not in shape and form == "blocking":
                case("arguments", f"{name}: type not committed",
                     arrays + "  MPI_Datatype t;\n  MPI_Type_contiguous(1, MPI_INT, &t); /* HERE */\n  GOOD MPI_Type_commit(&t);\n"
                     + collective(name, form, HERE, t="t") + "\n  MPI_Type_free(&t);")


# ---- Point to point --------------------------------------------------------------------------------------------------
SENDS = ["Send", "Ssend", "Bsend", "Rsend", "Isend", "Issend", "Ibsend", "Irsend", "Send_init", "Ssend_init", "Bsend_init",
         "Rsend_init"]


def exchange(send, dest="next", source="before", n="4", t="MPI_INT", rn="4", rt="MPI_INT", tag="5", rtag="5", note=HERE,
             rnote=HERE, between=""):
    """Messages in a ring. The receive is posted first, so that every mode is correct and no rank hangs."""
    lines = ["  MPI_Request r, q = MPI_REQUEST_NULL;"]
    if "b" in send.lower()[:2]:
        lines += ["  static char room[4096];", "  MPI_Buffer_attach(room, sizeof room);"]
    lines += [f"  MPI_Irecv(b, {rn}, {rt}, {source}, {rtag}, w, &r);{rnote}", "  MPI_Barrier(w);"]
    if send.endswith("_init"):
        lines += [f"  MPI_{send}(a, {n}, {t}, {dest}, {tag}, w, &q);{note}", "  MPI_Start(&q);", between, "  MPI_Wait(&q, IGNORE);",
                  "  MPI_Request_free(&q);"]
    elif send.startswith("I"):
        lines += [f"  MPI_{send}(a, {n}, {t}, {dest}, {tag}, w, &q);{note}", between, "  MPI_Wait(&q, IGNORE);"]
    else:
        lines += [f"  MPI_{send}(a, {n}, {t}, {dest}, {tag}, w);{note}"]
    lines += ["  MPI_Wait(&r, IGNORE);"]
    if "b" in send.lower()[:2]:
        lines += ["  void* out;", "  int bytes;", "  MPI_Buffer_detach(&out, &bytes);"]
    return "\n".join(line for line in lines if line)


def point_to_point():
    for send in SENDS:
        for other in ("MPI_FLOAT", "MPI_UNSIGNED", "MPI_BYTE"):
            n = "wrong ? 16 : 4" if other == "MPI_BYTE" else "4"
            case("types", f"{send}: sent as {other}", exchange(send, n=n, t=f"wrong ? {other} : MPI_INT"))
            case("types", f"{send}: received as {other}", exchange(send, rn=n, rt=f"wrong ? {other} : MPI_INT"))
        case("types", f"{send}: derived type", "  MPI_Datatype t;\n  MPI_Type_contiguous(2, wrong ? MPI_FLOAT : MPI_INT, &t);\n"
             "  MPI_Type_commit(&t);\n" + exchange(send, n="2", t="t") + "\n  MPI_Type_free(&t);")
        twice = exchange(send).replace("  MPI_Wait(&r, IGNORE);", "  MPI_Wait(&r, IGNORE);\n"
                                       "  MPI_Request s = MPI_REQUEST_NULL;\n"
                                       "  GOOD MPI_Irecv(c, 4, MPI_INT, before, 6, w, &s);\n  MPI_Barrier(w);\n"
                                       "  MPI_Bsend(a, 4, MPI_INT, next, 6, w); /* HERE */\n  MPI_Wait(&s, IGNORE);",
                                       1).replace(HERE, "")
        twice = twice.replace("next, 6, w);", "next, 6, w); /* HERE */").replace("/* HERE */ /* HERE */", "/* HERE */")
        if "room" in twice:
            case("messages", f"{send}: a second message", twice)
        if send.startswith("I"):
            case("leaks", f"{send}: no wait", exchange(send, rnote="").replace("  MPI_Wait(&q, IGNORE);", "  GOOD MPI_Wait(&q, IGNORE);"))
            case("buffers", f"{send}: changed", exchange(send, rnote="", between="  BAD a[1] = 77;"))
        if send.endswith("_init"):
            case("leaks", f"{send}: never freed", exchange(send, rnote="").replace("  MPI_Request_free", "  GOOD MPI_Request_free"))
            case("buffers", f"{send}: changed", exchange(send, rnote="", between="  BAD a[1] = 77;"))
            case("buffers", f"{send}: two of one Startall, one buffer", "  MPI_Request q[2];\n"
                 + ("  static char room[4096];\n  MPI_Buffer_attach(room, sizeof room);\n" if send[0] == "B" else "")
                 + f"  MPI_Recv_init(b, 4, MPI_INT, before, 5, w, &q[0]);\n  MPI_{send}(wrong ? b + 3 : a, 4, MPI_INT, next, 5, w, &q[1]);\n"
                 + ("  MPI_Start(&q[0]);\n  MPI_Barrier(w);\n  MPI_Startall(1, q + 1); /* HERE */\n" if send[0] == "R" else "  MPI_Startall(2, q); /* HERE */\n")
                 + "  MPI_Waitall(2, q, MPI_STATUSES_IGNORE);\n  MPI_Request_free(&q[0]);\n  MPI_Request_free(&q[1]);"
                 + ("\n  void* out;\n  int bytes;\n  MPI_Buffer_detach(&out, &bytes);" if send[0] == "B" else ""))
            case("leaks", f"{send}: never started", "  MPI_Request q;\n"
                 f"  BAD MPI_{send}(a, 4, MPI_INT, next, 5, w, &q);{HERE}\n  GOOD q = MPI_REQUEST_NULL;")
    for standard in ("Send", "Isend", "Sendrecv"):
        if standard == "Sendrecv":
            case("arguments", "Sendrecv: overlap", "  MPI_Sendrecv(a, 4, MPI_INT, next, 5, wrong ? a + 2 : b, 4, MPI_INT, before, 5, w, IGNORE); /* HERE */")
            case("types", "Sendrecv: types", "  MPI_Sendrecv(a, 4, MPI_INT, next, 5, d, 4, wrong ? MPI_FLOAT : MPI_INT, before, 5, w, IGNORE); /* HERE */")
            continue
        case("messages", f"{standard}: never received", "  MPI_Request q = MPI_REQUEST_NULL, r = MPI_REQUEST_NULL;\n"
             "  GOOD MPI_Irecv(b, 4, MPI_INT, before, 5, w, &r);\n" +
             (f"  MPI_Send(a, 4, MPI_INT, next, 5, w);{HERE}\n" if standard == "Send" else
              f"  MPI_Isend(a, 4, MPI_INT, next, 5, w, &q);{HERE}\n  MPI_Wait(&q, IGNORE);\n") +
             "  MPI_Wait(&r, IGNORE);")
    for count in (1, 4, 100):
        for kind in ("Irecv", "Isend"):
            other = "Isend" if kind == "Irecv" else "Irecv"
            dest = {"Irecv": "before", "Isend": "next"}
            body = (f"  MPI_Request q[2];\n  MPI_{kind}(a, {count}, MPI_INT, {dest[kind]}, 5, w, &q[0]);{HERE}\n"
                    f"  MPI_{other}(wrong ? a : b, {count}, MPI_INT, {dest[other]}, 5, w, &q[1]);{HERE}\n  MPI_Waitall(2, q, MPI_STATUSES_IGNORE);")
            case("buffers", f"{kind} and {other} of {count} overlap", body)
        case("buffers", f"two receives of {count} overlap", f"  MPI_Request q[2];\n"
             f"  MPI_Irecv(a, {count}, MPI_INT, before, 5, w, &q[0]);{HERE}\n  MPI_Irecv(wrong ? a : b, {count}, MPI_INT, before, 6, w, &q[1]);{HERE}\n"
             f"  MPI_Send(c, {count}, MPI_INT, next, 5, w);\n  MPI_Send(c, {count}, MPI_INT, next, 6, w);\n  MPI_Waitall(2, q, MPI_STATUSES_IGNORE);")
    case("messages", "Mprobe without Mrecv", "  MPI_Message m;\n  MPI_Request q;\n  MPI_Isend(a, 1, MPI_INT, rank, 5, w, &q);\n"
         "  MPI_Mprobe(rank, 5, w, &m, IGNORE); /* HERE */\n  GOOD MPI_Mrecv(b, 1, MPI_INT, &m, IGNORE);\n  MPI_Wait(&q, IGNORE);")
    case("types", "Mrecv with another type", "  MPI_Message m;\n  MPI_Request q;\n  MPI_Isend(a, 1, MPI_INT, rank, 5, w, &q); /* HERE */\n"
         "  MPI_Mprobe(rank, 5, w, &m, IGNORE);\n  MPI_Mrecv(b, 1, wrong ? MPI_FLOAT : MPI_INT, &m, IGNORE); /* HERE */\n  MPI_Wait(&q, IGNORE);")
    case("deadlock", "two receives first", "  MPI_Request q = MPI_REQUEST_NULL;\n  BAD MPI_Recv(b, 1, MPI_INT, before, 5, w, IGNORE); /* HERE */\n"
         "  GOOD MPI_Irecv(b, 1, MPI_INT, before, 5, w, &q);\n  MPI_Send(a, 1, MPI_INT, next, 5, w);\n  MPI_Wait(&q, IGNORE);")
    case("deadlock", "synchronous sends first", "  MPI_Request q = MPI_REQUEST_NULL;\n  GOOD MPI_Irecv(b, 1, MPI_INT, before, 5, w, &q);\n"
         "  MPI_Ssend(a, 1, MPI_INT, next, 5, w); /* HERE */\n  BAD MPI_Recv(b, 1, MPI_INT, before, 5, w, IGNORE);\n  MPI_Wait(&q, IGNORE);")
    for what in ("tag", "source", "communicator"):
        call = {"tag": "MPI_Recv(b, 1, MPI_INT, before, wrong ? 6 : 5, w, IGNORE);",
                "source": "MPI_Recv(b, 1, MPI_INT, wrong ? rank : before, 5, w, IGNORE);",
                "communicator": "MPI_Recv(b, 1, MPI_INT, wrong ? 0 : before, 5, wrong ? MPI_COMM_SELF : w, IGNORE);"}[what]
        case("deadlock", f"wrong {what}", f"  MPI_Request q;\n  MPI_Isend(a, 1, MPI_INT, next, 5, w, &q);\n  {call} /* HERE */\n  MPI_Wait(&q, IGNORE);")
    for wait in ("Wait(&q, IGNORE)", "Waitall(1, &q, MPI_STATUSES_IGNORE)", "Waitany(1, &q, &c[0], IGNORE)",
                 "Waitsome(1, &q, &c[0], &c[1], MPI_STATUSES_IGNORE)"):
        case("deadlock", f"{wait.split('(')[0]} without a message", "  MPI_Request q;\n  MPI_Irecv(b, 1, MPI_INT, before, 5, w, &q);\n"
             f"  GOOD MPI_Send(a, 1, MPI_INT, next, 5, w);\n  MPI_{wait}; /* HERE */")


# ---- Races -----------------------------------------------------------------------------------------------------------
# The ways to receive a message: {s} and {t} are source and tag. The line that could match another message is marked.
TAKES = {
    "Recv": "MPI_Recv(b, 4, MPI_INT, {s}, {t}, w, IGNORE); /* HERE */",
    "Recv with a status": "MPI_Recv(b, 4, MPI_INT, {s}, {t}, w, &status); /* HERE */",
    "Irecv": "MPI_Irecv(b, 4, MPI_INT, {s}, {t}, w, &q); /* HERE */\n  MPI_Wait(&q, IGNORE);",
    "Recv_init": "MPI_Recv_init(b, 4, MPI_INT, {s}, {t}, w, &q); /* HERE */\n  MPI_Start(&q);\n  MPI_Wait(&q, IGNORE);\n"
                 "  MPI_Request_free(&q);",
    "Mprobe": "MPI_Mprobe({s}, {t}, w, &m, &status); /* HERE */\n  MPI_Mrecv(b, 4, MPI_INT, &m, IGNORE);",
    "Probe": "MPI_Probe({s}, {t}, w, &status); /* HERE */\n"
             "  MPI_Recv(b, 4, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, w, IGNORE);",
    "Sendrecv": "MPI_Sendrecv(a, 1, MPI_INT, MPI_PROC_NULL, 0, b, 4, MPI_INT, {s}, {t}, w, &status); /* HERE */",
}
# The difference that makes the twin correct: source and tag of the k-th receive, tag of the k-th sender, the statements of rank
# 0 after its first receive, of the second sender before it sends, and of the other ranks.
ORDERS = {
    "source": ("{k} ? LAST : 1", "5", "", "", ""),
    "tag": ("MPI_ANY_SOURCE", "5 + {k}", "", "", ""),
    "barrier": ("MPI_ANY_SOURCE", "5", "MPI_Barrier(w);", "MPI_Barrier(w);", "MPI_Barrier(w);"),
    "allreduce": ("MPI_ANY_SOURCE", "5", "MPI_Allreduce(a, c, 1, MPI_INT, MPI_SUM, w);",
                  "MPI_Allreduce(a, c, 1, MPI_INT, MPI_SUM, w);", "MPI_Allreduce(a, c, 1, MPI_INT, MPI_SUM, w);"),
    "message": ("MPI_ANY_SOURCE", "5", "MPI_Send(a, 1, MPI_INT, LAST, 9, w);", "MPI_Recv(c, 1, MPI_INT, 0, 9, w, IGNORE);", ""),
    "message through another": ("MPI_ANY_SOURCE", "5", "MPI_Send(a, 1, MPI_INT, 2 % size, 9, w);",
                                "MPI_Recv(c, 1, MPI_INT, 2 % size == LAST ? 0 : 2, 9, w, IGNORE);", ""),
}
# Statements around the case that order nothing.
AROUND = {"alone": ("", ""), "between barriers": ("  MPI_Barrier(w);\n", "  MPI_Barrier(w);\n"),
          "in a loop": ("  for (int i = 0; i < 3; ++i) {\n", "  MPI_Barrier(w);\n  }\n")}


BOTH = " /* ALL HERE */"


def too_long():
    """Messages that are too long. The error ends the job: the finding names the send, too. S and T are the receive's source and
    tag."""
    receives = {
        "Recv": f"  MPI_Recv(b, 4, MPI_INT, S, T, w, IGNORE);{BOTH}",
        "Irecv and Wait": f"  MPI_Irecv(b, 4, MPI_INT, S, T, w, &q[0]);{BOTH}\n  MPI_Wait(&q[0], IGNORE);",
        "Irecv and Waitall": f"  MPI_Irecv(c, 4, MPI_INT, 0, 6, w, &q[0]);\n  MPI_Irecv(b, 4, MPI_INT, S, T, w, &q[1]);{BOTH}\n  MPI_Waitall(2, q, MPI_STATUSES_IGNORE);",
        "Irecv and Testall": f"  MPI_Irecv(c, 4, MPI_INT, 0, 6, w, &q[0]);\n  MPI_Irecv(b, 4, MPI_INT, S, T, w, &q[1]);{BOTH}\n"
                             "  for (int flag = 0; !flag;) MPI_Testall(2, q, &flag, MPI_STATUSES_IGNORE);",
        "Recv_init": f"  MPI_Recv_init(b, 4, MPI_INT, S, T, w, &q[0]);{BOTH}\n  MPI_Start(&q[0]);\n  MPI_Wait(&q[0], IGNORE);\n  MPI_Request_free(&q[0]);",
        "Sendrecv": f"  MPI_Sendrecv(a, 1, MPI_INT, MPI_PROC_NULL, 7, b, 4, MPI_INT, S, T, w, IGNORE);{BOTH}",
        "Recv after one that is posted": "  MPI_Irecv(c, 5, MPI_INT, 0, 5, w, &q[0]);\n  MPI_Recv(b, 4, MPI_INT, 0, 5, w, IGNORE);" + BOTH + "\n  MPI_Wait(&q[0], IGNORE);",
    }
    for send in ("MPI_Send(a, {n}, MPI_INT, 1, 5, w);", "MPI_Ssend(a, {n}, MPI_INT, 1, 5, w);", "MPI_Isend(a, {n}, MPI_INT, 1, 5, w, &q[1]);"):
        wait = "  MPI_Wait(&q[1], IGNORE);\n" if "Isend" in send else ""
        for name, receive in receives.items():
            first = ""
            if "Waitall" in name or "Testall" in name:
                first = "  MPI_Send(a, 4, MPI_INT, 1, 6, w);\n"
            if "posted" in name:
                first = "  MPI_Send(a, 4, MPI_INT, 1, 5, w);\n"
            for n in ("5", "200"):
                for source, tag in (("0", "5"), ("MPI_ANY_SOURCE", "5")):
                    if source != "0" and (n == "200" or "S, T" not in receive or first):
                        continue
                    case("types", f"too long, {n}: {send[4:9]}, {name} of {source}", "  MPI_Request q[2];\n  if (rank == 0) {\n" + first
                         + "  " + send.format(n=f"wrong ? {n} : 4") + BOTH + "\n" + wait + "  } else if (rank == 1) {\n"
                         + receive.replace("S, T", f"{source}, {tag}") + "\n  }")


def ready_sends():
    """A ready send whose receive has begun before, in every run or only in some; in both directions between two ranks."""
    ways = {
        "a barrier": ("  MPI_Barrier(w);", "  MPI_Barrier(w);"),
        "a reduction": ("  MPI_Allreduce(c, d, 1, MPI_INT, MPI_SUM, w);", "  MPI_Allreduce(c, d, 1, MPI_INT, MPI_SUM, w);"),
        "a message": ("  MPI_Send(c, 0, MPI_INT, FROM, 6, w);", "  MPI_Recv(c, 0, MPI_INT, TO, 6, w, IGNORE);"),
        "a broadcast": ("  MPI_Bcast(c, 1, MPI_INT, TO, w);", "  MPI_Bcast(c, 1, MPI_INT, TO, w);"),
    }
    sends = {"Rsend": "  MPI_Rsend(a, 2, MPI_INT, TO, 5, w);" + BOTH,
             "Irsend": "  MPI_Irsend(a, 2, MPI_INT, TO, 5, w, &q);" + BOTH + "\n  MPI_Wait(&q, IGNORE);",
             "Rsend_init": "  MPI_Rsend_init(a, 2, MPI_INT, TO, 5, w, &q);" + BOTH + "\n  MPI_Start(&q);\n  MPI_Wait(&q, IGNORE);\n"
                           "  MPI_Request_free(&q);"}
    receives = {"Irecv": ("  WHEN MPI_Irecv(b, 2, MPI_INT, FROM, 5, w, &q);" + BOTH, ""),
                "Recv_init": ("  WHEN MPI_Recv_init(b, 2, MPI_INT, FROM, 5, w, &q);" + BOTH + "\n  WHEN MPI_Start(&q);",
                              "\n  MPI_Request_free(&q);"),
                "Irecv of any source": ("  WHEN MPI_Irecv(b, 2, MPI_INT, MPI_ANY_SOURCE, 5, w, &q);" + BOTH, "")}
    for way, (tells, learns) in ways.items():
        for send, sends_it in sends.items():
            for receive, (begins, ends) in receives.items():
                for source, sink in (("0", "LAST"), ("LAST", "0")):
                    others = learns if "FROM" not in tells else ""
                    body = ("  MPI_Request q;\n  if (rank == TO) {\n" + begins.replace("WHEN", "GOOD").replace(BOTH, "") + f"\n{tells}\n" + begins.replace("WHEN", "BAD")
                            + f"\n  MPI_Wait(&q, IGNORE);{ends}\n  }} else if (rank == FROM) {{\n{learns}\n{sends_it}\n  }} else {{\n{others}\n  }}")
                    case("messages", f"{send} and {receive}: ordered by {way}, from {source}", body.replace("FROM", source).replace("TO", sink))


def many_pending():
    """Buffers of so many requests that the checker sorts them, and of fewer requests after some are complete."""
    for done in (0, 5, 12):
        case("buffers", f"one of 40 pending, {done} complete",
             "  MPI_Request q[40], r;\n  for (int i = 0; i < 40; ++i)\n    MPI_Irecv(b + 2 * (i * 7 % 40), 1, MPI_INT, before, i, w, &q[i]); /* ALL HERE */\n"
             f"  for (int i = 0; i < {done}; ++i) {{\n    MPI_Send(c, 1, MPI_INT, next, i, w);\n    MPI_Wait(&q[i], IGNORE);\n  }}\n"
             "  MPI_Irecv(b + 2 * (39 * 7 % 40) + !wrong, 1, MPI_INT, before, 50, w, &r); /* ALL HERE */\n"
             f"  for (int i = {done}; i < 40; ++i) MPI_Send(c, 1, MPI_INT, next, i, w);\n  MPI_Send(c, 1, MPI_INT, next, 50, w);\n"
             f"  MPI_Waitall(40 - {done}, q + {done}, MPI_STATUSES_IGNORE);\n  MPI_Wait(&r, IGNORE);")


def races():
    for take, receive in TAKES.items():
        for order, (source, tag, after, before, others) in ORDERS.items():
            for around, (begin, end) in AROUND.items():
                def received(k):
                    s = "wrong ? MPI_ANY_SOURCE : (" + source.format(k=k) + ")"
                    t = "wrong ? 5 : " + tag.format(k=k)
                    return receive.format(s=s, t=t)

                relay = ("  } else if (rank == 2) {\n  GOOD MPI_Recv(c, 1, MPI_INT, 0, 9, w, IGNORE);\n"
                         "  GOOD MPI_Send(a, 1, MPI_INT, LAST, 9, w);\n" if "through" in order else "")
                body = ("  MPI_Request q;\n  MPI_Message m;\n  MPI_Status status;\n  (void)q, (void)m, (void)status;\n" + begin
                        + "  if (rank == 0) {\n  " + received(0) + "\n"
                        + (f"  GOOD {after}\n" if after else "") + "  " + received(1) + "\n"
                        + f"  }} else if (rank == 1) {{\n  MPI_Send(a, 4, MPI_INT, 0, wrong ? 5 : {tag.format(k=0)}, w);\n"
                        + (f"  GOOD {others}\n" if others else "")
                        + "  } else if (rank == LAST) {\n" + (f"  GOOD {before}\n" if before else "")
                        + f"  MPI_Send(a, 4, MPI_INT, 0, wrong ? 5 : {tag.format(k=1)}, w);\n"
                        + relay + (f"  }} else {{\n  GOOD {others}\n" if others else "") + "  }\n" + end)
                case("races", f"{take}, in the twin ordered by {order}, {around}", body)
    for call in ("MPI_Waitany(2, q, &c[0], IGNORE);", "do MPI_Testany(2, q, &c[0], &c[1], IGNORE); while (!c[1]);"):
        case("races", f"{call[call.index('MPI_') + 4:].split('(')[0]} of two receives",
             "  MPI_Request q[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};\n  if (rank == 0) {\n  MPI_Irecv(a, 1, MPI_INT, 1, 5, w, &q[0]);\n"
             f"  BAD MPI_Irecv(b, 1, MPI_INT, LAST, 5, w, &q[1]);\n  {call} /* HERE */\n  GOOD MPI_Recv(b, 1, MPI_INT, LAST, 5, w, IGNORE);\n"
             "  MPI_Waitall(2, q, MPI_STATUSES_IGNORE);\n  }\n  if (rank == 1 || rank == LAST) MPI_Send(a, 1, MPI_INT, 0, 5, w);")
    # The message of rank 1 has arrived before the other one is sent, so that the run itself succeeds.
    for what, sent in (("of other types", "d, 1, MPI_DOUBLE"), ("of more elements", "c, 9, MPI_INT"), ("for a later receive", "c, 4, MPI_INT")):
        case("races", f"a message {what} could be taken",
             "  MPI_Request q = MPI_REQUEST_NULL;\n  if (rank == 0) MPI_Probe(1, 5, w, IGNORE);\n"
             "  if (rank == 1) MPI_Isend(a, 4, MPI_INT, 0, 5, w, &q);\n  MPI_Barrier(w);\n"
             f"  if (rank == LAST) MPI_Send({sent}, 0, 5, w);\n  if (rank == 0) {{\n  MPI_Recv(b, 4, MPI_INT, wrong ? MPI_ANY_SOURCE : 1, 5, w, IGNORE); /* HERE */\n"
             f"  MPI_Recv({sent}, LAST, 5, w, IGNORE);\n  }}\n  MPI_Wait(&q, IGNORE);")


# ---- Buffering -------------------------------------------------------------------------------------------------------
# The forms of a standard send: {to} and {t} are its destination and tag. The line that may wait for the receive is marked.
WAITING_SENDS = {
    "Send": "MPI_Send(a, 4, MPI_INT, {to}, {t}, w); /* HERE */",
    "Isend": "MPI_Isend(a, 4, MPI_INT, {to}, {t}, w, &q);\n  MPI_Wait(&q, IGNORE); /* HERE */",
    "Isend and Waitall": "MPI_Isend(a, 4, MPI_INT, {to}, {t}, w, &q);\n  MPI_Waitall(1, &q, MPI_STATUSES_IGNORE); /* HERE */",
    "Send_init": "MPI_Send_init(a, 4, MPI_INT, {to}, {t}, w, &q);\n  MPI_Start(&q);\n  MPI_Wait(&q, IGNORE); /* HERE */\n"
                 "  MPI_Request_free(&q);",
}
RECEIVE = "MPI_Recv(b, 4, MPI_INT, {of}, {t}, w, IGNORE);"
ORDERING = {"Barrier": "MPI_Barrier(w);", "Allreduce": "MPI_Allreduce(c, d, 1, MPI_INT, MPI_SUM, w);",
            "Bcast": "MPI_Bcast(c, 1, MPI_INT, 0, w);", "Alltoall": "MPI_Alltoall(c, 1, MPI_INT, d, 1, MPI_INT, w);",
            "Ibarrier": "MPI_Ibarrier(w, &r);\n  MPI_Wait(&r, IGNORE);",
            "Comm_dup": "MPI_Comm x;\n  MPI_Comm_dup(w, &x);\n  MPI_Comm_free(&x);"}


def buffering():
    for name, send in WAITING_SENDS.items():
        declared = "  MPI_Request q = MPI_REQUEST_NULL, r = MPI_REQUEST_NULL;\n  (void)q, (void)r;\n"

        def wrong(what, body):
            case("buffering", f"{name}: {what}", declared + body)

        def sends(to, t="5"):
            return "  " + send.format(to=to, t=t) + "\n"

        def takes(of, t="5"):
            return "  " + RECEIVE.format(of=of, t=t) + "\n"

        either = "  if (wrong || rank % 2) {\n" + sends("{p}") + takes("{q}") + "  } else {\n" + takes("{q}") + sends("{p}") + "  }\n"
        wrong("ring", either.replace("{p}", "next").replace("{q}", "before"))
        wrong("ring in a loop", "  for (int i = 0; i < 300; ++i) {\n" + either.replace("{p}", "next").replace("{q}", "before") + "  }\n")
        wrong("head to head", "  if (rank < 2) {\n" + either.replace("{p}", "1 - rank").replace("{q}", "1 - rank") + "  }\n")
        wrong("head to head, and the end", "  if (rank == 0 || rank == LAST) {\n  const int to = rank ? 0 : LAST;\n"
              + either.replace("{p}", "to").replace("{q}", "to") + "  }\n  MPI_Barrier(w);")
        wrong("to itself", "  GOOD MPI_Irecv(b, 4, MPI_INT, rank, 5, w, &r);\n" + sends("rank") + "  BAD " + takes("rank")[2:]
              + "  MPI_Wait(&r, IGNORE);")
        wrong("receive posted", "  GOOD MPI_Irecv(b, 4, MPI_INT, before, 5, w, &r);\n" + sends("next") + "  BAD " + takes("before")[2:]
              + "  MPI_Wait(&r, IGNORE);")
        wrong("tags the other way round", "  if (rank == 0) {\n" + sends("1", "wrong ? 5 : 6") + sends("1", "wrong ? 6 : 5") + "  }\n  if (rank == 1) {\n"
              + takes("0", "6") + takes("0", "5") + "  }")
        wrong("through a third rank", "  if (rank == 0) {\n  GOOD MPI_Send(a, 4, MPI_INT, 2, 6, w);\n" + sends("1") + "  BAD MPI_Send(a, 4, MPI_INT, 2, 6, w);\n"
              "  } else if (rank == 1) {\n" + takes("2", "7") + takes("0") + "  } else if (rank == 2) {\n" + takes("0", "6")
              + "  MPI_Send(a, 4, MPI_INT, 1, 7, w);\n  }")
        wrong("any source", "  if (rank == 0) {\n" + takes("MPI_ANY_SOURCE") + takes("MPI_ANY_SOURCE") + "  } else if (rank < 3) {\n"
              + sends("0") + "  }\n  MPI_Barrier(w);\n  if (rank < 2) {\n" + either.replace("{p}", "1 - rank").replace("{q}", "1 - rank") + "  }")
        for of, collective in ORDERING.items():
            wrong(f"before {of}", "  if (rank == 0) {\n" + sends("LAST") + "  }\n  if (!wrong && rank == LAST) " + takes("0")[2:] + "  " + collective
                  + "\n  if (wrong && rank == LAST) " + takes("0")[2:])
    case("buffering", "Sendrecv", "  MPI_Sendrecv(a, 4, MPI_INT, next, 5, b, 4, MPI_INT, before, 5, w, IGNORE);\n  if (wrong || rank % 2) {\n"
         "  MPI_Send(a, 4, MPI_INT, next, 5, w); /* HERE */\n  MPI_Recv(b, 4, MPI_INT, before, 5, w, IGNORE);\n  } else {\n"
         "  MPI_Recv(b, 4, MPI_INT, before, 5, w, IGNORE);\n  MPI_Send(a, 4, MPI_INT, next, 5, w);\n  }")


# Collectives that a member leaves before others enter them, as this library makes them: its name, and whether that is the root.
EARLY = {"Scatter": True, "Scatterv": True}


def early():
    """Members that wait for what another member does after a collective, before they call it."""
    for name, of_root in EARLY.items():
        first, other = ("0", "LAST") if of_root else ("LAST", "0")
        arrays = ARRAYS if "counts" in SHAPES[name] else ""
        call = collective(name, "blocking", HERE)
        for what, sends, takes in (("a message", f"MPI_Send(c, 1, MPI_INT, {other}, 5, w);", f"MPI_Recv(c, 1, MPI_INT, {first}, 5, w, IGNORE);"),
                                   ("a message through others", "MPI_Send(c, 1, MPI_INT, 1, 5, w);", "MPI_Recv(c, 1, MPI_INT, 1, 5, w, IGNORE);")):
            between = ("" if what == "a message" else
                       f"  if (rank == 1) {{\n  MPI_Recv(c, 1, MPI_INT, {first}, 5, w, IGNORE);\n  MPI_Send(c, 1, MPI_INT, {other}, 5, w);\n  }}\n")
            for comms in (0, 6):
                make = ("" if not comms else f"  MPI_Comm x[{comms}];\n  for (int i = 0; i < {comms}; ++i) {{\n    MPI_Comm_dup(w, &x[i]);\n    MPI_Barrier(x[i]);\n  }}\n")
                free = "" if not comms else f"\n  for (int i = 0; i < {comms}; ++i) MPI_Comm_free(&x[i]);"
                case("buffering", f"{name} is left before {what}, beside {comms} communicators", arrays + make + f"  GOOD if (rank == {first}) {sends}\n" + between
                     + f"  if (rank == {other}) {takes}\n" + call + f"\n  BAD if (rank == {first}) {sends}{free}")
    # A send before a collective that its receiver has left by then.
    for name in ("Bcast", "Scatter"):
        for what, send, wait in (("MPI_Send", "MPI_Send(c, 1, MPI_INT, 0, 5, w);", ""),
                                 ("MPI_Isend", "MPI_Isend(c, 1, MPI_INT, 0, 5, w, &q);", "MPI_Wait(&q, IGNORE);")):
            declare = "  MPI_Request q = MPI_REQUEST_NULL;\n" if wait else ""
            early = f"  if (wrong && rank == 1) {{\n    {send} /* HERE */\n    {wait}\n  }}\n"
            late = f"  if (!wrong && rank == 1) {{\n    {send}\n    {wait}\n  }}\n"
            case("buffering", f"{what} before a {name} that its receiver has left",
                 f"{declare}{early}{collective(name, 'blocking', ' /* HERE */')}\n{late}  if (!rank) MPI_Recv(c, 1, MPI_INT, 1, 5, w, IGNORE);")


def in_place_of_some():
    """MPI_IN_PLACE that not all members give."""
    for name, text in SHAPES.items():
        if name not in ("Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Allreduce"):
            continue
        for form in ("blocking", "nonblocking"):
            q = "  MPI_Request q;\n" if form == "nonblocking" else ""
            call = collective(name, form, HERE).replace("(a,", "(wrong && rank ? (void*)c : MPI_IN_PLACE,", 1)
            case("collectives", f"{name} {form}: MPI_IN_PLACE by some", q + (ARRAYS if "counts" in text else "") + call + ("\n  MPI_Wait(&q, IGNORE);" if q else ""))


# ---- Objects ---------------------------------------------------------------------------------------------------------
OBJECTS = {  # declaration, statement that makes the object, statement that frees it
    "Comm_dup": ("MPI_Comm x;", "MPI_Comm_dup(w, &x);", "MPI_Comm_free(&x);"),
    "Comm_split": ("MPI_Comm x;", "MPI_Comm_split(w, 0, rank, &x);", "MPI_Comm_free(&x);"),
    "Comm_create": ("MPI_Comm x; MPI_Group g;", "MPI_Comm_group(w, &g);\n  MPI_Comm_create(w, g, &x); /* HERE */\n  MPI_Group_free(&g);", "MPI_Comm_free(&x);"),
    "Cart_create": ("MPI_Comm x; int dims = size, periods = 1;", "MPI_Cart_create(w, 1, &dims, &periods, 0, &x);", "MPI_Comm_free(&x);"),
    "Comm_idup": ("MPI_Comm x; MPI_Request q;", "MPI_Comm_idup(w, &x, &q); /* HERE */\n  MPI_Wait(&q, IGNORE);", "MPI_Comm_free(&x);"),
    "Comm_group": ("MPI_Group x;", "MPI_Comm_group(w, &x);", "MPI_Group_free(&x);"),
    "Group_incl": ("MPI_Group g, x; int one = 0;", "MPI_Comm_group(w, &g);\n  MPI_Group_incl(g, 1, &one, &x); /* HERE */\n  MPI_Group_free(&g);", "MPI_Group_free(&x);"),
    "Type_contiguous": ("MPI_Datatype x;", "MPI_Type_contiguous(2, MPI_INT, &x);", "MPI_Type_free(&x);"),
    "Type_vector": ("MPI_Datatype x;", "MPI_Type_vector(2, 1, 3, MPI_INT, &x);", "MPI_Type_free(&x);"),
    "Type_dup": ("MPI_Datatype x;", "MPI_Type_dup(MPI_INT, &x);", "MPI_Type_free(&x);"),
    "Op_create": ("MPI_Op x;", "MPI_Op_create(add, 1, &x);", "MPI_Op_free(&x);"),
    "Info_create": ("MPI_Info x;", "MPI_Info_create(&x);", "MPI_Info_free(&x);"),
    "Comm_create_errhandler": ("MPI_Errhandler x;", "MPI_Comm_create_errhandler(handle, &x);", "MPI_Errhandler_free(&x);"),
    "Comm_create_keyval": ("int x;", "MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &x, NULL);", "MPI_Comm_free_keyval(&x);"),
    "Win_create": ("MPI_Win x;", "MPI_Win_create(a, sizeof a, 1, MPI_INFO_NULL, w, &x);", "MPI_Win_free(&x);"),
    "Win_allocate": ("MPI_Win x; int* base;", "MPI_Win_allocate(64, 4, MPI_INFO_NULL, w, &base, &x);", "MPI_Win_free(&x);"),
    "File_open": ("MPI_File x;", 'MPI_File_open(w, "/dev/null", MPI_MODE_RDONLY, MPI_INFO_NULL, &x);', "MPI_File_close(&x);"),
}
USES = {"Comm": "MPI_Barrier(y);", "Datatype": "MPI_Type_size(y, &c[0]);", "Group": "MPI_Group_size(y, &c[0]);", "Info": "MPI_Info_get_nkeys(y, &c[0]);"}


def objects():
    for name, (declaration, make, free) in OBJECTS.items():
        marked = make if "HERE" in make else make + HERE
        case("leaks", f"{name}: never freed", f"  {declaration}\n  {marked}\n  GOOD {free}")
        case("leaks", f"{name}: not freed by one", f"  {declaration}\n  {marked}\n  if (!wrong || rank != LAST) {free}"
             if not name.startswith(("Comm_", "Cart", "Win", "File")) or name in ("Comm_group", "Comm_create_errhandler", "Comm_create_keyval")
             else f"  {declaration}\n  for (int i = 0; i < 3; ++i) {{\n  {marked}\n  if (!wrong || i != 1) {free}\n  }}")
        for k in (2, 3, 5):
            case("leaks", f"{name}: one of {k} not freed", f"  {declaration}\n  for (int i = 0; i < {k}; ++i) {{\n  {marked}\n"
                 f"  if (!wrong || i != {k - 1}) {free}\n  }}")
    # The array is longer than its contents, and the next element is the handle of a type.
    case("leaks", "Type_get_contents: never freed", "  MPI_Datatype t, x, d[4];\n  MPI_Aint e[4];\n  int n[8];\n"
         "  MPI_Type_contiguous(2, MPI_INT, &t);\n  MPI_Type_vector(2, 1, 3, t, &x);\n  for (int i = 0; i < 4; ++i) d[i] = x;\n"
         "  MPI_Type_get_contents(x, 8, 4, 4, n, e, d); /* HERE */\n  GOOD MPI_Type_free(&d[0]);\n  MPI_Type_free(&t);\n  MPI_Type_free(&x);")
    case("arguments", "a persistent request is started twice", "  MPI_Request q, r;\n  MPI_Recv_init(b, 1, MPI_INT, before, 5, w, &q);\n  MPI_Errhandler_set_return();\n"
         "  MPI_Start(&q);\n  BAD MPI_Start(&q); /* HERE */\n  MPI_Isend(a, 1, MPI_INT, next, 5, w, &r);\n  MPI_Wait(&r, IGNORE);\n  MPI_Wait(&q, IGNORE);\n  MPI_Request_free(&q);"
         .replace("MPI_Errhandler_set_return();", "MPI_Comm_set_errhandler(w, MPI_ERRORS_RETURN);"))
    case("arguments", "two results with one address", "  int x, y;\n  MPI_Comm_set_errhandler(w, MPI_ERRORS_RETURN);\n"
         "  int* p = wrong ? &x : &y;\n  MPI_Cart_shift_like();".replace("MPI_Cart_shift_like();",
         "MPI_Aint low, extent;\n  (void)p; (void)x; (void)y;\n  MPI_Type_get_extent(MPI_INT, &low, wrong ? &low : &extent); /* HERE */"))


# ---- Threads ---------------------------------------------------------------------------------------------------------
THREADS_TOP = r"""#include <pthread.h>
#include <unistd.h>
static MPI_Comm own;
static MPI_Request request;
static void* in_thread(void* f) {
  ((void (*)(void))f)();
  return NULL;
}
/* Runs `other` in a thread of its own while the rank does `mine`, or before. */
static void both(void (*other)(void), void (*mine)(void), int together) {
  pthread_t thread;
  pthread_create(&thread, NULL, in_thread, (void*)other);
  if (!together) pthread_join(thread, NULL);
  mine();
  if (together) pthread_join(thread, NULL);
}
static void nothing(void) {}
/* A session that is granted this level; the rank has it from then on. */
static void raise_level(const char* level, MPI_Session* session) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "thread_level", level);
  MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, session);
  MPI_Info_free(&info);
}
"""
SIMPLE_CALLS = {"Comm_size": "MPI_Comm_size(w, &c[0]);", "Type_size": "MPI_Type_size(MPI_INT, &c[0]);",
                "Send": "MPI_Send(a, 1, MPI_INT, MPI_PROC_NULL, 5, w);", "Iprobe": "MPI_Iprobe(0, 5, w, &c[0], IGNORE);"}
thread_levels = []


def threads():
    def wrong(level, what, functions, body):
        """Adds a case. Its functions have the names f and g in `functions`, to which the number of the case is appended."""
        thread_levels.append(level)
        number = len(thread_levels)
        helpers = functions.replace("f(", f"f{number}(").replace("g(", f"g{number}(")
        case("threads", what, helpers + "\nSPLIT\n" + body.replace("@f", f"f{number}").replace("@g", f"g{number}"))

    for level in ("MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED"):
        for name, call in SIMPLE_CALLS.items():
            wrong(level, f"{name} in another thread at {level}", f"static void f(void) {{\n  {call} /* HERE */\n}}",
                  "  if (wrong) both(@f, nothing, 0);\n  else @f();")
    # Any thread may use infos at any time.
    wrong("MPI_THREAD_FUNNELED", "in another thread, in the twin infos", "static void f(void) {\n  MPI_Info info;\n  MPI_Info_create(&info);\n"
          "  MPI_Info_set(info, \"key\", \"value\");\n  BAD MPI_Comm_size(w, &c[0]); /* HERE */\n  MPI_Info_free(&info);\n}", "  both(@f, nothing, 0);")
    for name, call in SIMPLE_CALLS.items():
        # The receive waits for the last message of the thread.
        wrong("MPI_THREAD_SERIALIZED", f"{name} beside a receive",
              f"static void f(void) {{\n  for (int i = 0; i < 300; ++i) {{\n  {call} /* HERE */\n  usleep(wrong ? 1000 : 0);\n  }}\n"
              "  BAD MPI_Send(a, 1, MPI_INT, rank, 6, w);\n  else MPI_Isend(a, 1, MPI_INT, rank, 6, w, &request);\n}\n"
              "static void g(void) {\n  MPI_Recv(b, 1, MPI_INT, rank, 6, w, IGNORE);\n  GOOD MPI_Wait(&request, IGNORE);\n}",
              "  both(@f, @g, wrong);")
    for name, call in {"Barrier": "MPI_Barrier({c});", "Bcast": "MPI_Bcast(c, 1, MPI_INT, 0, {c});",
                       "Allreduce": "MPI_Allreduce(c, d, 1, MPI_INT, MPI_SUM, {c});"}.items():
        # Rank 0 arrives late, so that both threads of the other ranks are inside.
        if name == "Bcast":
            call = call.replace("c, 1", "c + {k}, 1")
        if name == "Allreduce":
            call = call.replace("c, d", "c, d + {k}")
        wrong("MPI_THREAD_MULTIPLE", f"{name} of two threads",
              f"static void f(void) {{\n  if (rank == 0) usleep(300000);\n  {call.format(c='own', k=1)} /* HERE */\n}}\n"
              f"static void g(void) {{\n  if (rank == 0) usleep(300000);\n  {call.format(c='w', k=0)} /* HERE */\n}}",
              "  if (wrong) own = w;\n  else MPI_Comm_dup(w, &own);\n  both(@f, @g, 1);\n  GOOD MPI_Comm_free(&own);")
        # The others are in a call, and some of their requests complete, when a session raises the level of the last rank.
        wrong("MPI_THREAD_SINGLE", f"{name} of two threads, the level raised by sessions",
              f"static void f(void) {{\n  if (rank == 0) usleep(300000);\n  {call.format(c='own', k=1)} /* HERE */\n}}\n"
              f"static void g(void) {{\n  if (rank == 0) usleep(300000);\n  {call.format(c='w', k=0)} /* HERE */\n}}",
              "  MPI_Session session;\n  MPI_Request q[2];\n  MPI_Comm x;\n  if (rank == LAST) {\n  raise_level(\"MPI_THREAD_MULTIPLE\", &session);\n"
              "  for (int i = 0; i < LAST; ++i) MPI_Send(a, 1, MPI_INT, i, 5, w);\n  for (int i = 0; i < LAST; ++i) MPI_Send(a, 1, MPI_INT, i, 6, w);\n"
              "  } else {\n  MPI_Irecv(c + 8, 1, MPI_INT, LAST, 5, w, &q[0]);\n  MPI_Irecv(c + 9, 1, MPI_INT, LAST, 6, w, &q[1]);\n"
              "  MPI_Waitall(2, q, MPI_STATUSES_IGNORE);\n  raise_level(\"MPI_THREAD_MULTIPLE\", &session);\n  }\n  MPI_Comm_dup(w, &x);\n  MPI_Comm_free(&x);\n"
              "  if (wrong) own = w;\n  else MPI_Comm_dup(w, &own);\n  both(@f, @g, 1);\n  GOOD MPI_Comm_free(&own);\n  MPI_Session_finalize(&session);")
    for name, call in SIMPLE_CALLS.items():
        # If a session was granted MPI_THREAD_SERIALIZED, other threads may call MPI.
        wrong("MPI_THREAD_SINGLE", f"{name} in another thread, in the twin after a session",
              f"static void f(void) {{\n  {call} /* HERE */\n}}", "  MPI_Session session;\n  GOOD raise_level(\"MPI_THREAD_SERIALIZED\", &session);\n"
              "  both(@f, nothing, 0);\n  GOOD MPI_Session_finalize(&session);")


def on_other_communicators():
    """Collectives and messages on a duplicate of the world, and on a communicator of its members in reverse order."""
    for program, kind, name, body in list(cases):
        if kind in ("races", "threads") or program == "strands" or not ("w)" in body or "w, " in body) or "Comm" in body or "Win_" in body or "File_" in body:
            continue
        made = ("MPI_Comm_dup(MPI_COMM_WORLD, &w);" if len(name) % 2 else
                "MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &w);\n  rank = size - 1 - rank, next = (rank + 1) % size, before = (rank + size - 1) % size;")
        case(kind, name + (", on a duplicate" if len(name) % 2 else ", in reverse order"), f"  {made}\n{body}\n  MPI_Comm_free(&w);", program)


def main_of(program):
    if program == "strands":
        return MAIN.replace("  MPI_Init(&argc, &argv);", "  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &c[0]);")
    if program != "threads":
        return MAIN
    levels = ", ".join(thread_levels)
    return MAIN.replace("  MPI_Init(&argc, &argv);",
                        f"  const int levels[] = {{{levels}}};\n  MPI_Init_thread(&argc, &argv, levels[number - 1], &c[0]);")


def main():
    out = sys.argv[1]
    collectives()
    point_to_point()
    too_long()
    ready_sends()
    many_pending()
    races()
    buffering()
    early()
    in_place_of_some()
    objects()
    threads()
    corpus_accesses.accesses(case)
    corpus_windows.windows(case)
    corpus_files.files(case)
    corpus_lifecycles.lifecycles(case)
    corpus_memory.memory(case)
    corpus_parts.parts(case)
    corpus_strands.strands(case)
    corpus_groups.groups(case)
    on_other_communicators()
    programs = sorted({program for program, _, _, _ in cases})
    os.makedirs(out, exist_ok=True)
    index = []
    for program in programs:
        text = TOP + (THREADS_TOP if program == "threads" else TOPS.get(program, SINGLE_TOPS.get(program, ""))) + ("static void add(void* in, void* out, int* n, MPI_Datatype* t) {\n  (void)in, (void)out, (void)n, (void)t;\n}\n"
                      "static void handle(MPI_Comm* comm, int* code, ...) {\n  (void)comm, (void)code;\n}\n" if program == "leaks" else "")
        switch = ""
        number = 0
        for of, kind, name, body in cases:
            if of != program:
                continue
            number += 1
            first = text.count("\n")
            functions, _, body = body.rpartition("\nSPLIT\n")
            whole = (functions + "\n" if functions else "") + f"static void case_{number}(void) {{  /* {name} */\n{body}\n}}\n"
            lines = [first + 1 + i for i, line in enumerate(whole.split("\n")) if "HERE" in line]
            text += whole
            switch += f"      case {number}: case_{number}(); break;\n"
            joined = ("+" if program in TOPS or "ALL HERE" in whole else ",").join(map(str, lines))
            index.append(f"{number}\tcorpus_{program}\t{kind}\t{name}\t{joined}")
        with open(f"{out}/corpus_{program}.c", "w") as file:
            file.write(text + main_of(program) % switch)
    with open(f"{out}/corpus.txt", "w") as file:
        file.write("\n".join(index) + "\n")


main()
