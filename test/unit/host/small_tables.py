"""The bindings that bindings.py generates from small tables, also wrong ones, and rules for those of the whole table.

  small_tables.py SOURCE_FOLDER HOST_INCLUDE CC
"""

import contextlib
import io
import os
import re
import sys
import tempfile
from types import SimpleNamespace

source, include, cc = sys.argv[1:]
for folder in ("src/mpi/generate", "src/host/generate"):
    sys.path.insert(0, os.path.join(source, folder))
sys.dont_write_bytecode = True

import bindings  # noqa: E402
import calls  # noqa: E402
import header  # noqa: E402

KINDS = """
kind comm | MPI_Comm | in | comm handle borrowed | object | handle
kind new_comm | MPI_Comm* | out | comm handle created | pointer | handle
kind free_comm | MPI_Comm* | inout | comm handle freed | object | handle
kind group | MPI_Group | in | group handle borrowed | object | handle
kind request | MPI_Request | in | request handle borrowed | object | handle
kind errhandler | MPI_Errhandler | in | errhandler handle borrowed | object | handle
kind out_int | int* | out | | pointer | plain
kind ints | int* | in | | pointer | plain
kind int | int | in | | none | plain
kind count | int / MPI_Count | in | | count | plain
kind rank | int | in | | rank | constant
kind tag | int | in | | tag | constant
kind root | int | in | | root | constant
topic small
"""
failures = []


def prototype(text):
    """Returns the function of a C prototype, as header.parse_functions() does for a whole mpi.h."""
    result, symbol, inside = re.fullmatch(r"(\w+ \*?)(MPIX?_\w+|MPII_\w+)\((.*)\)", text).groups()
    parameters = [header.parse_parameter(p, i) for i, p in enumerate(header.split_parameters(inside))]
    return header.Function(symbol, result.strip(), parameters)


def read_table(rows, *prototypes):
    """Reads a table of these rows, and checks it against the prototypes."""
    functions = {f.symbol: f for f in map(prototype, prototypes)}
    with tempfile.NamedTemporaryFile("w", suffix=".table") as file:
        file.write(KINDS + rows + "\n")
        file.flush()
        kinds, found = calls.read(file.name)
    calls.check(kinds, found, functions)
    return found, functions


def check(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}")


def generate(rows, *prototypes):
    """Returns the bindings of these rows, without their line breaks, and the declarations for calls.h."""
    found, functions = read_table(rows, *prototypes)
    with tempfile.TemporaryDirectory() as folder:
        bindings.write_topic("small", found, functions, folder)
        bindings.write_calls_header(found, functions, folder)
        with open(f"{folder}/bindings_small.cc") as file:
            text = file.read()
        with open(f"{folder}/calls.h") as file:
            declarations = file.read()
    return re.sub(r"\n {4,}", " ", text), declarations


def refuse(name, words, rows, *prototypes):
    try:
        generate(rows, *prototypes)
    except SystemExit as error:
        check(name, words in str(error.code), f"without '{words}': {error.code}")
    else:
        failures.append(f"{name}: accepted")


def expect_lines(name, text, *lines):
    """Checks that the lines are in the text, in this order."""
    at = 0
    for line in lines:
        found = text.find(line + "\n", at)
        if found < 0:
            failures.append(f"{name}: no '{line}' behind the lines before it in:\n{text}")
            return
        at = found + len(line)


# ---- Small tables ------------------------------------------------------------------------------------------------

SIZE = "int MPI_Comm_size(MPI_Comm comm, int *size)"
text, declared = generate("Comm_size (comm, size: out_int) made *size = comm->size()", SIZE)
expect_lines("an assignment", text, "FGMPI_EXPORT(MPI_Comm_size);", "int PMPI_Comm_size(MPI_Comm comm, int* size) {",
             "  comm::Comm* comm_object = comm::find(comm);",
             "  if (__builtin_expect(!comm_object, 0)) return bad_comm(kCall, comm);",
             '  FGMPI_RETURN_IF(kCall, comm_object, check_pointer(size, "size"));', "  *size = comm_object->size();",
             "  return MPI_SUCCESS;")
check("an assignment", "comm_size" not in declared, "declared in calls.h")
check("an assignment", "count_call" not in text, "counted as a call that switches")

text, declared = generate("Comm_size (comm, size: out_int) switches made", SIZE)
expect_lines("a function of ours", text, "  sched::count_call();", "  return done(kCall, comm_object, comm_size(comm_object, size));")
expect_lines("its declaration", declared, "/// MPI_Comm_size. May switch.", "Status comm_size(comm::Comm* comm, int* size);")

text, declared = generate("Comm_size (comm, size: out_int) codes made other", SIZE)
expect_lines("a named function", declared, "/// MPI_Comm_size. Never switches.", "int other(comm::Comm* comm, int* size);")
text, declared = generate("Comm_size (comm, size: out_int) made a::f(size, NAME, ..., x.comm, comm->size(), comms)", SIZE)
check("arguments", 'a::f(size, "MPI_Comm_size", comm_object, size, x.comm, comm_object->size(), comms)' in text, text)
check("arguments", "a::f" not in declared, "a function of another header is declared")

SPLIT = "int MPI_Comm_split(MPI_Comm comm, int color, MPI_Comm *newcomm)"
text, declared = generate("Comm_split (comm, color: int, newcomm: new_comm) made", SPLIT)
expect_lines("a new object", text, "  if (newcomm) *newcomm = MPI_COMM_NULL;", "  comm::Comm* comm_object = comm::find(comm);",
             "  comm::Comm* newcomm_made = nullptr;", "  Status status = comm_split(comm_object, color, &newcomm_made);",
             "  if (newcomm_made && status.ok()) *newcomm = newcomm_made->handle;", "  return done(kCall, comm_object, status);")
check("a new object", "Status comm_split(comm::Comm* comm, int color, comm::Comm** newcomm);" in declared, declared)

text, _ = generate("Comm_free (comm: free_comm) codes made", "int MPI_Comm_free(MPI_Comm *comm)")
expect_lines("a freed object", text, '  FGMPI_RETURN_IF(kCall, nullptr, check_pointer(comm, "comm"));',
             "  comm::Comm* comm_object = comm::find(*comm);", "  const MPI_Comm comm_freed = *comm;", "  int code = comm_free(comm_object);")
check("a freed object", "if (code == MPI_SUCCESS) { *comm = MPI_COMM_NULL; events::raise_comm_freed(comm_freed); return MPI_SUCCESS;" in text, text)

text, _ = generate("Send +c (count, dest: rank|proc_null, tag, list: ints(count), comm) made",
                   "int MPI_Send(int count, int dest, int tag, const int list[], MPI_Comm comm)",
                   "int MPI_Send_c(MPI_Count count, int dest, int tag, const int list[], MPI_Comm comm)")
check("a twin", "int PMPI_Send_c(MPI_Count count" in text and text.count("FGMPI_EXPORT(") == 2, text)
expect_lines("checks", text, "  comm::Comm* comm_object = comm::find(comm);", '  FGMPI_RETURN_IF(kCall, comm_object, check_count(count, "count"));',
             '  FGMPI_RETURN_IF(kCall, comm_object, check_rank(comm_object, dest, "dest", false));',
             "  FGMPI_RETURN_IF(kCall, comm_object, check_tag(tag, false));",
             '  FGMPI_RETURN_IF(kCall, comm_object, count > 0 ? check_pointer(list, "list") : Status());')
text, _ = generate("Probe (source: rank|proc_null|any_source, tag|any_tag, comm, list: ints(1)|unweighted, other: rank) made",
                   "int MPI_Probe(int source, int tag, MPI_Comm comm, const int list[], int other)")
for words in ('check_rank(comm_object, source, "source", true)', "check_tag(tag, true)", 'check_member(comm_object, other, "other")'):
    check("sentinels", words in text, text)
check("sentinels", "check_pointer(list" not in text, "a pointer that may be a sentinel is checked")

text, _ = generate("Query (flag: out_int) made", "int MPI_Query(int *flag)")
expect_lines("no object", text, "  FGMPI_NEED_INIT(kCall);", '  FGMPI_RETURN_IF(kCall, nullptr, check_pointer(flag, "flag"));')
text, _ = generate("Query (flag: out_int) before_init made", "int MPI_Query(int *flag)")
check("before MPI_Init", "FGMPI_NEED_INIT" not in text, text)
text, _ = generate("I_Comm_size (comm, size: out_int) made", "int MPII_Comm_size(MPI_Comm comm, int *size)")
expect_lines("an internal function", text, "FGMPI_EXPORT_INTERNAL(MPII_Comm_size);", "int MPII_Comm_size(MPI_Comm comm, int* size) try {")
check("an internal function", 'kCall = "MPI_Comm_size"' in text, "errors do not name the program's call")
text, _ = generate("Comm_size (comm, size: out_int) direct f<NAME>(..., 1)", SIZE)
check("direct", 'return f<"MPI_Comm_size">(comm, size, 1);' in text and "FGMPI_TAKE_TURN" in text, text)
check("direct", "find(" not in text, "the function checks its arguments itself")
text, _ = generate("Comm_size (comm, size: out_int) direct send<NAME>(...)", SIZE)
check("a fast path", "FGMPI_TAKE_TURN" not in text, text)
text, _ = generate("Barrier (comm) collective", "int MPI_Barrier(MPI_Comm comm)")
expect_lines("a collective", text, "  const events::CollectiveEvents event(comm, CollectiveKind::kBarrier);", '  return barrier("MPI_Barrier", comm);')
text, _ = generate("Comm_size (comm, size: out_int) pending", SIZE)
check("nothing to generate", "PMPI" not in text, text)

# ---- Wrong tables ------------------------------------------------------------------------------------------------

refuse("an object without a search", "request: objects of kind request are not looked up here yet", "Wait (request) made",
       "int MPI_Wait(MPI_Request request)")
refuse("a call without a prototype", "is not in mpi.h", "Comm_size (comm, size: out_int) made\nComm_width (comm) made", SIZE)
refuse("another order", "has the parameters comm, size", "Comm_size (size: out_int, comm) made", SIZE)
refuse("another type", "size is int * in mpi.h, and int as int", "Comm_size (comm, size: int) made", SIZE)
refuse("an output that is read only", "is const in mpi.h", "Comm_size (comm, size: out_int) made",
       "int MPI_Comm_size(MPI_Comm comm, const int *size)")
refuse("a twin with small counts", "and MPI_Count as count", "Send +c (count) made", "int MPI_Send(int count)", "int MPI_Send_c(int count)")
refuse("a kind of five cells", "has six cells", "kind other | int | in | | none\nComm_size (comm, size: out_int) made", SIZE)
refuse("a kind with another check", "is not one of those", "kind other | int | in | | maybe | plain", SIZE)

# ---- The whole table ---------------------------------------------------------------------------------------------

kinds, found = calls.read(os.path.join(source, "src/mpi/calls.table"))
functions = header.parse_functions(header.preprocessed(SimpleNamespace(cc=cc, include=include)))
calls.complete(found, functions)
with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
    sys.argv = ["bindings.py", "--include", include, "--cc", cc, "--calls", os.path.join(source, "src/mpi/calls.table"), "--out", folder]
    bindings.main()
    texts = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name)) as file:
            texts[name] = file.read()
topics = {call.topic for call in found.values()}
check("files", set(texts) == {"calls.h"} | {f"bindings_{topic}.cc" for topic in topics}, sorted(texts))
generated = {symbol: call for symbol, call in found.items() if call.answer in bindings.MAKERS}
exported = re.findall(r"^FGMPI_EXPORT(?:_INTERNAL)?\((\w+)\);", "".join(texts.values()), re.M)
check("exports", sorted(exported) == sorted(generated), set(exported) ^ set(generated))
for name, text in texts.items():
    check("brackets", all(text.count(a) == text.count(b) for a, b in ("()", "{}", "[]")), name)
    long = [line for line in text.splitlines() if len(line) > 120 and "," in line[4:110]]
    check("long lines", not long, f"{name}: {long[:1]}")
for symbol, call in generated.items():
    body = re.sub(r"\n {4,}", " ", bindings.MAKERS[call.answer](call, functions[symbol]))
    check("its file", bindings.MAKERS[call.answer](call, functions[symbol]) in texts[f"bindings_{call.topic}.cc"], symbol)
    if call.answer != "made":
        continue
    # Each object is looked up once, before any other argument is checked and before the function is called.
    objects = [p for p in call.parameters if p.check == "object" and p.kind.object in bindings.OBJECTS]
    others = [body.find(words) for words in (", check_count(", ", check_rank(", ", check_tag(", ", check_root(") if words in body]
    for p in objects:
        search = f"* {p.name}_object = "
        check("objects", body.count(search) == 1, f"{symbol}: {p.name}")
        check("objects", all(body.find(search) < other for other in others), f"{symbol}: {p.name} is looked up late")
    for p in call.parameters:
        if p.check in ("count", "rank", "tag", "root"):
            check("checks", len(re.findall(rf"check_\w+\((?:\w+, )?{p.name}\b", body)) == 1, f"{symbol}: {p.name}")
    check("returns", re.search(r"return (done\(kCall, .*|MPI_SUCCESS);\n}", body), symbol)

for failure in failures:
    print(failure)
print(f"{len(generated)} bindings of the whole table")
sys.exit(1 if failures else 0)
