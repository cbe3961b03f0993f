"""Reads calls.table and checks it: the calls of MPI, their parameters, and which code answers them.

calls.table describes its format. read() returns the functions and their large-count twins. check() compares them with the
host's mpi.h, which may be that of another version of MPICH: a function that both have must have parameters of the same names
and C types. complete() adds the functions that only the table has.
"""

import os
import re
import sys
from dataclasses import dataclass, field

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "host", "generate"))
import header  # noqa: E402

ANSWERS = ("made", "collective", "direct", "hand", "identity", "host", "early", "instead", "pending")
OWNED = ("made", "collective", "direct", "hand", "identity")
FLAGS = ("unordered", "switches", "before_init", "codes", "only_4_0", "not_4_0")
ROLES = ("query local life send receive send_receive replace probe matched_probe matched_receive partitioned_send partitioned_receive"
         " partition start completion buffer request collective creation assembly release one_sided file service pack name").split()
CHECKS = ("object", "pointer", "count", "number", "rank", "tag", "root", "color", "info", "callee", "none")
ABI = ("handle", "handles", "status", "statuses", "constant", "code", "pointer", "function", "string", "plain")
SENTINELS = ("in_place", "proc_null", "any_source", "any_tag", "unweighted", "weights_empty", "argv_null",
             "argvs_null", "errcodes_ignore")
PAYLOAD_WORDS = "bytes sum own is_root in_place received_in_place others size".split()
PREFIXES = {"X_": "MPIX_", "I_": "MPII_"}


def fail(text):
    sys.exit(f"calls.table: error: {text}")


@dataclass
class Kind:
    name: str
    type: str  # without const: "MPI_Comm*"
    large: str  # in the large-count twin
    intent: str
    what: str
    check: str
    abi: str

    @property
    def object(self):
        """The kind of object behind a handle, for instance "comm"; "" for a parameter that is no handle."""
        words = self.what.split()
        return words[0] if words[1:2] == ["handle"] else ""

    @property
    def life(self):
        """The call's effect on the object behind a handle: "created", "freed", "borrowed", ..."""
        return self.what.split()[2] if self.object else ""


@dataclass
class Parameter:
    name: str
    kind: Kind
    check: str
    length: list = field(default_factory=list)
    sentinels: list = field(default_factory=list)

    @property
    def array(self):
        return bool(self.length) and self.kind.what != "" and "buffer" not in self.kind.name


@dataclass
class Call:
    name: str  # as in the table: Send, X_Comm_agree, I_Comm_get_attr
    large: bool  # this is the large-count twin
    parameters: list
    flags: list
    answer: str
    detail: str  # FUNCTION or FILE of the answer
    topic: str
    where: str
    role: str = "local"
    starts: str = "blocking"  # or nonblocking, persistent
    operation: str = ""  # the blocking call that does the same: Bcast, of Ibcast and Bcast_init
    sent: str = ""  # the payload of a collective, as the top of the table describes it
    received: str = ""

    @property
    def symbol(self):
        suffix = "_c" if self.large else ""
        for short, prefix in PREFIXES.items():
            if self.name.startswith(short):
                return prefix + self.name[2:] + suffix
        return "MPI_" + self.name + suffix

    @property
    def owned(self):
        return self.answer in OWNED

    def find(self, name):
        return next((p for p in self.parameters if p.name == name), None)


def read_kind(line, where):
    cells = [c.strip() for c in line.split("|")]
    if len(cells) != 6:
        fail(f"{where}: a kind has six cells, this one {len(cells)}")
    name, ctype, intent, what, check, abi = cells
    small, _, large = (t.strip() for t in ctype.partition("/"))
    if intent not in ("in", "out", "inout") or check not in CHECKS or abi not in ABI:
        fail(f"{where}: kind {name}: '{intent}', '{check}' or '{abi}' is not one of those that the top describes")
    return Kind(name, small, large or small, intent, what, check, abi)


def split_outside(text, separator):
    """Returns the items of a list, which may contain brackets."""
    parts, depth, begin = [], 0, 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if c == separator and depth == 0:
            parts.append(text[begin:i].strip())
            begin = i + 1
    parts.append(text[begin:].strip())
    return [p for p in parts if p]


def read_parameter(text, kinds, where):
    match = re.fullmatch(r"(\w+)(?:: (\w+))?(?:\(([^)]*)\))?(?:!(\w+))?((?:\|\w+)*)", text)
    if not match:
        fail(f"{where}: '{text}' is not a parameter")
    name, kind, length, check, sentinels = match.groups()
    if (kind or name) not in kinds:
        fail(f"{where}: {name}: there is no kind {kind or name}")
    kind = kinds[kind or name]
    sentinels = [s for s in sentinels.split("|") if s]
    for word in sentinels:
        if word not in SENTINELS:
            fail(f"{where}: {name}: there is no sentinel {word}")
    if check and check not in CHECKS:
        fail(f"{where}: {name}: there is no check {check}")
    return Parameter(name, kind, check or kind.check, split_outside(length or "", ","), sentinels)


def check_lengths(call):
    names = {p.name for p in call.parameters}
    for p in call.parameters:
        for length in p.length:
            for word in re.split(r"\*", length):
                if word not in names and word not in ("1", "@size", "@in", "@out", "@dims", "@edges", "@spawned"):
                    fail(f"{call.where}: the length of {p.name} is {word}, which is no parameter")
        if p.kind.type.endswith("buffer") and len(p.length) != 2:
            fail(f"{call.where}: {p.name} needs a count and a datatype")


def read_role(text, where):
    """Returns role, starts and operation of "as nonblocking collective of Bcast"."""
    match = re.fullmatch(r"as (?:(nonblocking|persistent) )?(\w+)(?: of (\w+))?", text)
    if not match or match.group(2) not in ROLES:
        fail(f"{where}: '{text}' is no role: as [nonblocking|persistent] {'|'.join(ROLES)} [of OPERATION]")
    starts, role, operation = match.groups()
    return role, starts or "blocking", operation


def read_payload(line, where):
    cells = [c.strip() for c in line.split("|")]
    if len(cells) != 3 or not all(cells):
        fail(f"{where}: a payload has three cells: OPERATION | SENT | RECEIVED")
    return cells


def read_call(line, kinds, topic, where):
    match = re.fullmatch(r"(\w+)( \+c)? \((.*?)\)( as (?:nonblocking |persistent )?\w+(?: of \w+)?)? ((?:[a-z_0-9]+ )*?)(%s)( .+)?"
                         % "|".join(ANSWERS), line)
    if not match:
        fail(f"{where}: not a call, as the top of the file describes them: {line[:60]}")
    name, large, inside, role, flags, answer, detail = match.groups()
    topic, role_of_topic = topic
    role, starts, operation = read_role(role.strip() if role else "as " + role_of_topic, where)
    flags = flags.split()
    for flag in flags:
        if flag not in FLAGS:
            fail(f"{where}: there is no flag {flag}")
    detail = (detail or "").strip()
    if bool(detail) != (answer in ("direct", "hand")) and answer != "made":
        fail(f"{where}: '{answer}' is to be followed by {'a name' if not detail else 'nothing'}")
    parameters = [read_parameter(p, kinds, where) for p in split_outside(inside, ",")]
    calls = [Call(name, big, parameters, flags, answer, detail, topic, where, role, starts, operation or name.removesuffix("_c"))
             for big in (False, True)[: 1 + bool(large)]]
    for call in calls:
        check_lengths(call)
        made = any(p.kind.object == "request" and p.kind.life == "created" for p in parameters)
        if made != (starts != "blocking"):
            fail(f"{where}: {name} is {starts}, but it {'makes' if made else 'does not make'} a request")
    return calls


def read(path):
    """Reads the table. Returns the kinds by name and the calls by symbol."""
    kinds, calls, payloads, topic, line, first = {}, {}, {}, None, "", 0
    with open(path) as file:
        lines = file.read().split("\n") + [""]
    for number, text in enumerate(lines, 1):
        continued = text.startswith(" ") and text.strip()
        if continued and not text.strip().startswith("#"):
            line += " " + text.strip()
            continue
        if line:
            where = f"{os.path.basename(path)}:{first}"
            if line.startswith("kind "):
                kind = read_kind(line[5:], where)
                kinds[kind.name] = kind
            elif line.startswith("payload "):
                operation, *payload = read_payload(line[8:], where)
                payloads[operation] = payload
            elif line.startswith("topic "):
                name, _, role = line[6:].partition(" as ")
                topic = name.strip(), role.strip() or "local"
            else:
                for call in read_call(line, kinds, topic, where):
                    if call.symbol in calls:
                        fail(f"{where}: {call.symbol} is in {calls[call.symbol].where} already")
                    calls[call.symbol] = call
        line, first = text.split("#")[0].strip() if not text.startswith("#") else "", number
    for call in calls.values():
        if call.role == "collective":
            if call.operation not in payloads:
                fail(f"{call.where}: {call.name} is a collective, but there is no payload of {call.operation}")
            call.sent, call.received = payloads[call.operation]
            for word in re.findall(r"[a-z]\w*", call.sent + " " + call.received):
                if word not in PAYLOAD_WORDS and not call.find(word):
                    fail(f"{call.where}: {call.name}: in its payload, {word} is no parameter")
    return kinds, calls


def plain_type(text):
    """Returns a C type without const, and with pointers for arrays: const int [] -> int*"""
    text = re.sub(r"\bconst\b", "", text)
    text = re.sub(r"\[\]\[3\]", "(*)[3]", text.replace(" [", "["))
    text = text.replace("[]", "*")
    return re.sub(r"\s+", "", text)


def complete(calls, functions):
    """Adds the functions of the table that this mpi.h lacks, but for pending ones, whose types it may lack, too."""
    for symbol, call in calls.items():
        if symbol in functions or call.answer == "pending":
            continue
        parameters = []
        for p in call.parameters:
            ctype = p.kind.large if call.large else p.kind.type
            if ctype == "function" or "[" in ctype:
                fail(f"{call.where}: {symbol} is not in mpi.h, and the table does not say what {p.name} is in C")
            # MPI has const where a pointer's target is only read: arrays of handles, buffers, statuses.
            const = "const " if p.kind.intent == "in" and ctype.endswith("*") and p.kind.abi in ("handles", "pointer", "status") else ""
            parameters.append(header.Parameter(f"{const}{ctype} {p.name}", const + ctype, p.name))
        made = re.fullmatch(r"MPI_(\w+)_(?:fromint|f2c)", symbol)  # a handle
        result = "MPI_" + {"Type": "Datatype"}.get(made.group(1), made.group(1)) if made else "int"
        functions[symbol] = header.Function(symbol, result, parameters, declared=False)
    for call in calls.values():
        if call.answer == "identity" and len(call.parameters) != 1:
            fail(f"{call.where}: {call.symbol} is an identity, which has one parameter")


def check(kinds, calls, functions):
    """Compares the table with mpi.h. `functions`: those of mpi.h by symbol (src/host/generate/header.py)."""
    for symbol, call in calls.items():
        if symbol not in functions:
            if not {"only_4_0", "not_4_0"} & set(call.flags):
                fail(f"{call.where}: {symbol} is not in mpi.h")
            continue
        declared = functions[symbol].parameters
        if [p.name for p in declared] != [p.name for p in call.parameters]:
            fail(f"{call.where}: {symbol} has the parameters {', '.join(p.name for p in declared)} in mpi.h")
        for p, c in zip(call.parameters, declared):
            wanted = p.kind.large if call.large else p.kind.type
            if wanted != "function" and plain_type(wanted) != plain_type(c.type):
                fail(f"{call.where}: {symbol}: {p.name} is {c.type} in mpi.h, and {wanted} as {p.kind.name}")
            read_only = "const" in c.type
            if read_only and p.kind.intent != "in":
                fail(f"{call.where}: {symbol}: {p.name} is const in mpi.h, but {p.kind.name} is {p.kind.intent}")


def check_rules(calls, forwarded):
    """Compares the table with forward.txt. `forwarded`: symbol -> kind of its rule there."""
    for symbol, call in calls.items():
        says = {"host": "forward"}.get(call.answer, call.answer)
        rule = forwarded.get(symbol)
        if rule is None and says in ("forward", "early", "instead"):
            fail(f"{call.where}: {symbol} is the host's, but forward.txt has no rule for it")
        if rule is not None and rule != says:
            fail(f"{call.where}: {symbol} is '{call.answer}', but forward.txt has a rule '{rule}' for it")


def check_files(calls, folder):
    """Checks that the sources export exactly the calls that the table marks `hand`, each in the file that the table names."""
    found = {}
    sources = {name: os.path.join(at, name) for at, _, names in os.walk(folder) for name in names if name.endswith(".cc")}
    for name, path in sorted(sources.items()):
        with open(path) as file:
            text = re.sub(r"//[^\n]*", "", file.read())
        for symbol in re.findall(r"^FGMPI_EXPORT(?:_INTERNAL)?\((\w+)\);", text, re.M):
            if symbol in found:
                fail(f"{name}: {symbol} is exported in {found[symbol]} too")
            found[symbol] = name
    for symbol, call in calls.items():
        if call.answer == "hand" and found.get(symbol) != call.detail:
            fail(f"{call.where}: {symbol} is not exported in {call.detail} (FGMPI_EXPORT), but in {found.get(symbol)}")
    for symbol, name in found.items():
        if symbol not in calls or calls[symbol].answer != "hand":
            fail(f"{name}: {symbol} is exported by hand, but the table does not say 'hand {name}'")
