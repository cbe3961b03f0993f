#!/usr/bin/env python3
"""Writes the wrappers of checkpointed runs from src/mpi/calls.table.

  generate.py --include DIR --cc CC --calls calls.table --out FOLDER

Two files are written:
  checkpoint_calls.h      the list of wrapped functions, and struct Next, a pointer to each PMPI function
  checkpoint_wrappers.cc  MPI_* and PMPI_* of each wrapped function: it turns virtual handles into MPI's own, calls MPI, and gives
                          the objects that the call has made virtual handles. Of a call that makes a request, it also keeps the
                          arguments, and a function that makes the call again.
Calls in BY_HAND have their wrappers in the sources of this folder.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "watch"))
import wrappers  # noqa: E402

# The kinds of objects that have virtual handles (objects.h).
VIRTUAL = "comm group datatype errhandler op info keyval request message win file session".split()
# Handles of files are pointers in C: these calls have no more to do than C does.
CASTS = ["MPI_File_c2f", "MPI_File_toint"]
BY_HAND = """MPI_Init MPI_Init_thread MPI_Finalize
  MPI_Op_create MPI_Op_create_c MPIX_Op_create_x MPI_Op_free
  MPI_Comm_create_keyval MPI_Keyval_create MPI_Type_create_keyval MPI_Win_create_keyval
  MPI_Comm_free_keyval MPI_Keyval_free MPI_Type_free_keyval MPI_Win_free_keyval
  MPI_Comm_create_errhandler MPI_Errhandler_create MPIX_Comm_create_errhandler_x MPI_Win_create_errhandler
  MPIX_Win_create_errhandler_x MPI_File_create_errhandler MPIX_File_create_errhandler_x MPI_Session_create_errhandler
  MPIX_Session_create_errhandler_x MPI_Comm_get_errhandler MPI_Errhandler_get MPI_Win_get_errhandler MPI_File_get_errhandler
  MPI_Session_get_errhandler MPI_Errhandler_free
  MPI_Comm_get_parent MPI_Type_free MPI_Type_get_contents MPI_Type_get_contents_c
  MPI_Wait MPI_Waitall MPI_Waitany MPI_Waitsome MPI_Test MPI_Testall MPI_Testany MPI_Testsome MPI_Request_free MPI_Cancel
  MPI_File_open MPI_File_close MPI_File_get_amode MPI_Register_datarep MPI_Register_datarep_c
  MPI_Win_create MPI_Win_create_c MPI_Win_create_dynamic MPI_Win_allocate MPI_Win_allocate_c MPI_Win_allocate_shared
  MPI_Win_allocate_shared_c MPI_Win_free MPI_Win_get_attr MPI_Win_shared_query MPI_Win_shared_query_c
  MPI_Session_init MPI_Session_finalize MPI_Alloc_mem MPI_Free_mem
  MPI_Start MPI_Startall MPI_Mrecv MPI_Mrecv_c MPI_Imrecv MPI_Imrecv_c MPI_Grequest_complete
  MPI_Request_get_status_all MPI_Request_get_status_some""".split()
# What the layer remembers beside handles, behind a call that has succeeded. `window` and `file` are those of the call.
REMEMBERED = {"MPI_Type_commit": "if (VirtualType* found = self->types.find(*datatype)) found->committed = true;",
              "MPI_Type_dup": "copy_committed(*self, program_oldtype, *newtype);",
              "MPI_Buffer_attach": "self->buffer = {buffer, size};", "MPI_Buffer_detach": "self->buffer = {};",
              **{f"MPI_Comm_{name}": "self->other_jobs = true;" for name in ("accept", "connect", "join", "spawn", "spawn_multiple")},
              "MPI_Comm_attach_buffer": "self->comm_buffers = true;", "MPI_Session_attach_buffer": "self->session_buffers = true;",
              "MPI_File_set_view": "keep_hints(*self, file, program_info);", "MPI_File_set_info": "keep_hints(*self, file, program_info);",
              "MPI_Win_fence": "window->fenced = !(assert & MPI_MODE_NOSUCCEED);",
              "MPI_Win_start": "window->started = true;", "MPI_Win_complete": "window->started = false;",
              "MPI_Win_post": "window->exposed = true;", "MPI_Win_wait": "window->exposed = false;",
              "MPI_Win_test": "if (*flag) window->exposed = false;",
              "MPI_Win_lock": "if (rank != MPI_PROC_NULL) window->locks[rank] = {lock_type, assert};",
              "MPI_Win_unlock": "window->locks.erase(rank);",
              "MPI_Win_lock_all": "window->locked_all = true, window->lock_all_assertion = assert;",
              "MPI_Win_unlock_all": "window->locked_all = false;",
              "MPI_Win_attach": "window->attached.emplace_back(base, size);",
              "MPI_Win_detach": "std::erase_if(window->attached, [&](const auto& each) { return each.first == base; });",
              **{f"MPI_Add_error_{name}": "self->own_errors = true;" for name in ("class", "code", "string")}}
# What is called where the rank runs, not by its deputy (deputy.h): roles, and calls of other roles, all without their large forms.
HERE_ROLES = "query send receive send_receive replace probe matched_probe matched_receive start completion buffer".split()
CALLED_HERE = """MPI_Init MPI_Init_thread MPI_Finalize MPI_Abort MPI_Comm_rank MPI_Comm_size MPI_Comm_remote_size MPI_Comm_test_inter
  MPI_Get_count MPI_Get_elements MPI_Get_elements_x MPI_Type_size MPI_Type_size_x MPI_Type_get_extent MPI_Type_get_extent_x
  MPI_Type_get_true_extent MPI_Type_get_true_extent_x MPI_Type_extent MPI_Type_lb MPI_Type_ub MPI_Cancel MPI_Request_free
  MPI_Request_get_status MPI_Request_get_status_all MPI_Request_get_status_any MPI_Request_get_status_some
  MPI_Grequest_start MPI_Grequest_complete MPIX_Grequest_start MPIX_Grequest_class_allocate MPI_T_init_thread""".split()
# Collective calls of files that move no data.
TOGETHER = "set_size preallocate set_info set_view set_atomicity seek_shared sync".split()
# What the layer itself calls beside the functions that it wraps.
ALSO = """MPI_Query_thread MPI_Test_cancelled MPI_Get_count_c MPI_Status_set_elements_x MPI_Status_set_cancelled MPI_Error_class
  MPI_Error_string MPI_Remove_error_class MPI_Remove_error_code MPI_Remove_error_string MPI_File_delete MPI_Improbe MPI_Mrecv
  MPI_Type_get_envelope_c MPI_T_init_thread""".split()

# What is done with pending requests, by the roles of their calls: a receive is made again later, others are waited for. An
# exchange has a receive that cannot be withdrawn by itself.
# Roles whose calls have a stop point (stop.h) in front of them.
STOPS = """send receive send_receive replace probe matched_probe matched_receive partitioned_send partitioned_receive partition start
  completion buffer request collective creation assembly release one_sided file service""".split()
PENDING = {"send": "kAwaited", "receive": "kWithdrawn", "matched_receive": "kAwaited", "collective": "kAwaitedByAll",
           "creation": "kAwaitedByAll", "one_sided": "kAwaited", "file": "kAwaited"}


def virtual(kind):
    return kind.object in VIRTUAL


def object_of(kind):
    return "Object::k" + kind.object.capitalize()


def watches(call):
    if call.symbol.startswith("MPI_T_") or call.answer == "identity" or call.symbol in CASTS:
        return False
    if call.role == "query" and not any(virtual(p.kind) for p in call.parameters):
        return False
    return call.symbol.removesuffix("_c") in REMEMBERED or any(virtual(p.kind) for p in call.parameters)


def length_of(call, p):
    """Returns the number of handles in an array, as an expression of the wrapper."""
    length = p.length[0]
    expression = {"@size": "ranks_of(*self, comm)", "@in": "neighbors_of(*self, comm).first",
                  "@out": "neighbors_of(*self, comm).second"}.get(length, length)
    buffer = next((b for b in call.parameters if len(b.length) == 2 and b.length[1] == p.name), None)
    return f"{buffer.name} == MPI_IN_PLACE ? 0 : {expression}" if buffer and "in_place" in buffer.sentinels else expression


def comm_of(call):
    """Returns the name of the communicator that a collective call is about."""
    found = next((p for p in call.parameters if p.kind.object == "comm" and p.kind.life in ("borrowed", "freed")), None)
    return found.name if found else None


def twin(symbol):
    """Returns the nonblocking call that does the same as a blocking send or receive."""
    return "MPI_I" + symbol[4].lower() + symbol[5:]


def remembered(symbol):
    """Returns the statement behind a call that has succeeded, or None."""
    split = symbol.removesuffix("_c").removesuffix("_begin")
    if symbol.startswith("MPI_File_") and symbol.removesuffix("_c").endswith("_begin"):
        return f'file->split = "{split}_begin";'
    return "file->split = nullptr;" if symbol.startswith("MPI_File_") and symbol.endswith("_end") else REMEMBERED.get(symbol.removesuffix("_c"))


def is_together(call):
    """Do all members of a file or window make this call together, or begin it?"""
    name = call.symbol.removesuffix("_c").removesuffix("_begin")
    return name.startswith("MPI_File_") and (name.endswith(("_all", "_ordered")) or name.removeprefix("MPI_File_") in TOGETHER) or \
        name == "MPI_Win_fence"


class Wrapper:
    def __init__(self, call, function):
        self.call, self.function, self.symbol = call, function, call.symbol
        self.inside, self.names = wrappers.parameters_of(function)
        self.requests = [p for p in call.parameters if p.kind.object == "request" and p.kind.life == "created"]

    def translated(self, kept):
        """Returns the statements in front of MPI's function, the arguments that it gets, and the statements behind it."""
        before, passed, behind = [], {}, []
        for p in self.call.parameters:
            if not virtual(p.kind) or p in self.requests:
                continue
            object_, name = object_of(p.kind), p.name
            if p.kind.object == "file":
                before.append(f"{name} = real_file(*self, {name});")
                continue
            if p.kind.abi == "handles":
                before.append(f"RealHandles<{object_}> real_{name}(*self, {name}, {length_of(self.call, p)});")
                passed[name] = f"{kept}keep(real_{name})" if kept else f"real_{name}.data()"
            elif p.kind.life == "borrowed" and not p.kind.type.endswith("*"):
                before.append(f"{name} = {self.finder(p.kind.object)}(*self, {object_}, {name});")
            elif p.kind.life == "borrowed":
                before.append(f"RealHandles<{object_}> real_{name}(*self, {name}, 1);")
            elif p.kind.life == "created":
                made = f"add_comm(*self, *{name})" if p.kind.object == "comm" else f"add_object(*self, {object_}, *{name})"
                behind.append(f"*{name} = {made};")
            elif p.kind.life in ("freed", "changed"):
                before.append(f"auto real_{name} = {name} ? real_of(*self, {object_}, *{name}) : 0;")
                passed[name] = f"{name} ? &real_{name} : nullptr"
                if p.kind.life == "freed":
                    behind += [f"remove_object(*self, {object_}, *{name});", f"*{name} = real_{name};"]
        if line := remembered(self.symbol):
            for variable, finder, parameter in (("window", "find_win", "win"), ("file", "find_file", "fh")):
                if variable in line:
                    before.insert(0, f"auto* const {variable} = {finder}(*self, {parameter});")
                    line = f"if ({variable}) {{ {line} }}"
            if "program_info" in line:
                before.insert(0, "const MPI_Info program_info = info;")
            behind.append(line)
        if is_together(self.call):
            before.insert(0, "count_win_collective(*self, win);" if self.call.find("win") else "count_file_collective(*self, fh);")
        if self.symbol == "MPI_Type_dup":
            before.insert(0, "const MPI_Datatype program_oldtype = oldtype;")
        if self.is_collective() and self.call.starts != "nonblocking":
            before.insert(0, f"count_collective(*self, {comm_of(self.call)}, {self.blocks()});")
            if self.call.starts == "blocking":
                before.insert(0, f"before_collective(*self, {comm_of(self.call)});")
        return before, passed, behind

    def finder(self, object_):
        """Returns the function that finds MPI's object of a virtual handle: at home, or where the rank is."""
        return "real_of" if is_handed_over(self.call) or object_ not in ("comm", "datatype") else "g_real_here"

    def is_collective(self):
        return self.call.role in ("collective", "creation") and comm_of(self.call) is not None

    def may_wait(self):
        """May the rank have waited in the call for messages or for other ranks? Then it may go on in another process."""
        return self.call.role in ("send", "receive", "send_receive", "replace", "probe", "matched_probe", "collective") and \
            not self.requests and not self.call.find("flag")

    def blocks(self):
        return "true" if self.call.starts == "blocking" else "false"

    def stop_point(self):
        """Returns the statements of the stop point in front of the call."""
        if self.call.role not in STOPS:
            return []
        about = ""
        if self.is_collective():
            about = f", {{NextCollective::Begins::{'kBlocking' if self.blocks() == 'true' else 'kNonblocking'}, {comm_of(self.call)}}}"
        elif is_together(self.call):
            object_ = "find_win(*self, win)" if self.call.find("win") else "find_file(*self, fh)"
            about = f", next_of({object_})"
        elif self.call.role == "release":
            about = ", {NextCollective::Begins::kFree, comm ? *comm : MPI_COMM_NULL}"
        return [f'stop_point(*self, "{self.symbol}"{about});']

    def called(self, passed):
        return f"g_next.{self.symbol}({', '.join(passed.get(p.name, p.name) for p in self.function.parameters)})"

    def without_place(self, before, passed):
        """Returns the statements for a call that has no place for an object that it makes: MPI words the error."""
        places = [p.name for p in self.call.parameters if virtual(p.kind) and p.kind.life == "created" and p not in self.requests]
        if not places:
            return []
        handles = [line for line in before if not line.startswith(("count_", "before_collective", "const ", "auto* const "))]
        return [f"if ({' || '.join('!' + name for name in places)}) {{", *["  " + line for line in handles],
                f"  return {self.called(passed)};", "}"]

    def plain(self):
        before, passed, behind = self.translated("")
        refused = self.without_place(before, passed)
        stored, status, counted = self.messages()
        before = stored + status + before
        if status:
            passed["status"] = "told"
        if self.call.role == "matched_probe":
            behind.append("if (VirtualMessage* found = self->messages.find(*message)) found->comm = program_comm, found->status = *told;")
        lines = [f"static int checkpoint_{self.symbol}(const void*{', ' + self.inside if self.inside else ''}) {{",
                 "  LayerRank* self = current_rank();", f"  if (!self) return {self.called({})};",
                 *["  " + line for line in refused + self.stop_point() + before], f"  const int code = {self.called(passed)};",
                 *["  " + line for line in counted]]
        if behind:
            lines += ["  if (code == MPI_SUCCESS) {", *["    " + line for line in behind], "  }"]
        return [*lines, "  return code;", "}"]

    def messages(self):
        """Returns what stands in front of a call that may take a stored message, in front of one whose status is looked at, and
        behind one that sends or receives."""
        role, call = self.call.role, self.call
        # A handler of the program's may have made a success of an error.
        errors = ["const uint64_t errors = self->errors_handled;"]
        fine = "self->errors_handled == errors"
        own = [*errors, "MPI_Status own;", "MPI_Status* const told = status == MPI_STATUS_IGNORE ? &own : status;"]
        if role == "send":
            return errors, [], [f"if (code == MPI_SUCCESS && dest != MPI_PROC_NULL && {fine}) ++self->sent;"]
        if role in ("probe", "matched_probe"):
            flag = "flag" if call.find("flag") else "nullptr"
            stored = ["if (const StoredMessage* stored = find_stored(*self, comm, source, tag))",
                      f"  return tell_stored(*stored, {flag}, status);" if role == "probe" else
                      f"  return match_stored(*self, stored, {flag}, message, status);"]
            if not call.find("flag"):
                stored = ["do {", *["  " + line for line in stored],
                          f'}} while (!await_message(*self, "{self.symbol}", source, tag, g_real_here(*self, Object::kComm, comm)));']
            if role == "probe":
                return stored, [], []
            found = "*flag && " if call.find("flag") else ""
            return (["const MPI_Comm program_comm = comm;", *stored], own[1:],
                    [f"if (code == MPI_SUCCESS && {found}told->MPI_SOURCE != MPI_PROC_NULL) ++self->taken;"])
        return [], [], []

    def blocking(self):
        """Returns the function of a blocking send or receive, which waits for a nonblocking one: it can stop while it waits."""
        call, receives = self.call, self.call.role == "receive"
        begins = [p.name for p in self.function.parameters if p.name != "status"]
        start, names = twin(self.symbol), ", ".join(begins)
        wait = "const int ended = g_next.MPI_Wait(&made.real, told);"
        told = ["MPI_Status own;", "MPI_Status* const told = status == MPI_STATUS_IGNORE ? &own : status;"] if receives else []
        stored = ["if (const StoredMessage* stored = find_stored(*self, comm, source, tag))",
                  "  return deliver_stored(*self, stored, buf, count, datatype, status);"] if receives else []
        begun = ["made.receives = source != MPI_PROC_NULL;"] if receives else \
            ["made.sends = dest != MPI_PROC_NULL && self->errors_handled == errors;", "if (made.sends) ++self->sent;"]
        counted = ["if (made.receives && self->errors_handled == errors) count_taken(*self, ended, told);"] if receives else []
        if not receives:
            wait = wait.replace("told", "MPI_STATUS_IGNORE")
        return [f"static int checkpoint_{self.symbol}(const void*, {self.inside}) {{", "  LayerRank* self = current_rank();",
                f"  if (!self) return {self.called({})};",
                *["  " + line for line in [*self.stop_point(), *stored, *told, "const uint64_t errors = self->errors_handled;",
                                           "VirtualRequest made;", f"const int code = start_{start}(self, &made, {names});",
                                           "if (code != MPI_SUCCESS || made.real == MPI_REQUEST_NULL) return code;", *begun,
                                           f'if (is_awaited(*self, "{self.symbol}", true, 1, &made.real)) {{', "  " + wait,
                                           *["  " + line for line in counted], "  return ended;", "}",
                                           f"keep_words(&made, kCall_{start}, {{{', '.join(f'word({n})' for n in begins)}}}, false);",
                                           f'return wait_later(*self, "{self.symbol}", std::move(made), {"status" if receives else "MPI_STATUS_IGNORE"});']],
                "}"]

    def exchange(self):
        """Returns the function of MPI_Sendrecv or MPI_Sendrecv_replace, whose halves can stop apart."""
        suffix = "_c" if self.symbol.endswith("_c") else ""
        lines = [f"static int checkpoint_{self.symbol}(const void*, {self.inside}) {{", "  LayerRank* self = current_rank();",
                 f"  if (!self) return {self.called({})};"]
        if self.call.role == "replace":
            return [*lines, f'  return replace(*self, "{self.symbol}", {self.names});', "}"]
        return [*lines, "  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};",
                f"  int code = checkpoint_MPI_Irecv{suffix}(nullptr, recvbuf, recvcount, recvtype, source, recvtag, comm, &requests[0]);",
                "  if (code == MPI_SUCCESS)",
                f"    code = checkpoint_MPI_Isend{suffix}(nullptr, sendbuf, sendcount, sendtype, dest, sendtag, comm, &requests[1]);",
                f'  return wait_exchange(*self, "{self.symbol}", requests, code, status);', "}"]

    def kept_arrays(self):
        """Returns the statements that copy arrays of a persistent call, since the program may free them before the call is made
        again. They stand where handles are still the program's."""
        lines = []
        for i, p in enumerate(kept(self.call)):
            is_types = p.kind.abi == "handles" and p.kind.object == "datatype"
            if self.call.starts != "persistent" or not (is_types or p.kind.name in ("counts", "displs", "aints")):
                continue
            length = length_of(self.call, p)
            if p.name.startswith("s") and self.call.find("sendbuf") and "in_place" in self.call.find("sendbuf").sentinels:
                length = f"sendbuf == MPI_IN_PLACE ? 0 : {length}"
            if self.call.find("root"):
                length = f"is_root(*self, comm, root) ? {length} : 0"
            lines.append(f"made->keep_array({i}, {p.name}, {length}, {str(is_types).lower()});")
        return lines

    def starting(self):
        """Returns the functions of a call that makes a request."""
        call, symbol = self.call, self.symbol
        before, passed, behind = self.translated("started->")
        request = self.requests[0].name
        passed[request] = "started->place()"
        made = next((p.name for p in call.parameters if p.kind.object == "comm" and p.kind.life == "created"), None)
        if made:  # the handle is written when the operation ends
            passed[made], behind = f"{made} ? &started->made : nullptr", [line for line in behind if "add_comm" not in line]
            before.append(f"started->made_at = {made};")
        others = [p for p in self.function.parameters if p.name != request]
        inside = "".join(f", {p.declaration}" for p in others)
        words = ", ".join(f"word({p.name})" for p in others) or "0"
        count = [f"count_collective(*self, {comm_of(call)}, false);"] if self.is_collective() and call.starts == "nonblocking" else []
        # Those of messages stay in line, although they find their objects by a pointer.
        in_line = "[[gnu::always_inline]] inline " if call.role in ("send", "receive") and call.starts == "nonblocking" else ""
        lines = [f"{in_line}static int start_{symbol}([[maybe_unused]] LayerRank* self, VirtualRequest* started{inside}) {{",
                 *["  " + line for line in before if not line.startswith("count_")], f"  return {self.called(passed)};", "}"]
        lines += [f"static int remake_{symbol}([[maybe_unused]] LayerRank* self, VirtualRequest* started) {{",
                  f"  return start_again(start_{symbol}, self, started);", "}"]
        counted = [line for line in before if line.startswith("count_")] + count
        stored = []
        if call.role == "receive" and call.starts == "nonblocking":
            stored = ["  if (const StoredMessage* stored = find_stored(*self, comm, source, tag))",
                      f"    return start_with_stored(*self, stored, buf, count, datatype, kCall_{symbol}, {request});"]
        peers = {"send": "made->sends = dest != MPI_PROC_NULL;", "receive": "made->receives = source != MPI_PROC_NULL;"}
        sends = ["    if (made->sends) ++self->sent;"] if call.role == "send" and call.starts == "nonblocking" else []
        persistent = "true" if call.starts == "persistent" else "false"
        lines += [f"static int checkpoint_{symbol}(const void*{', ' + self.inside}) {{", "  LayerRank* self = current_rank();",
                  f"  if (!self) return {self.called({})};", f"  if (!{request}) {{  // MPI words the error", "    VirtualRequest none;",
                  "    none.has_place = false;", f"    return start_{symbol}(self, &none{''.join(', ' + p.name for p in others)});", "  }",
                  *["  " + line for line in self.stop_point() + counted], *stored,
                  "  auto made = std::make_unique<VirtualRequest>();",
                  f"  keep_words(made.get(), kCall_{symbol}, {{{words}}}, {persistent});",
                  f"  const int code = start_{symbol}(self, made.get(){''.join(', ' + p.name for p in others)});",
                  "  if (code == MPI_SUCCESS) {", *["    " + line for line in behind + self.kept_arrays()],
                  *(["    " + peers[call.role]] if call.role in peers else []), *sends,
                  f"    *{request} = add_request(*self, std::move(made));", "  }", "  return code;", "}"]
        return lines

    def text(self):
        if self.requests:
            lines = self.starting()
        elif self.call.role in ("send_receive", "replace"):
            lines = self.exchange()
        elif self.call.role == "receive" or (self.call.role == "send" and "Bsend" not in self.symbol):
            lines = self.blocking()
        else:
            lines = self.plain()
        exported = wrappers.exports("checkpoint", self.function, self.symbol, self.names, tools=True)
        if self.may_wait():
            exported = [line.replace("{ return ", "{ return ended(").replace("; }", "); }") for line in exported]
        return "\n".join([*lines, *exported])


# ---- Extensions: the functions of fgmpi.h, which calls.table has not

HANDLES = {"MPI_Comm": "comm", "MPI_Datatype": "datatype", "MPI_Info": "info", "MPI_Op": "op"}


def extensions(calls):
    """Returns the functions of fgmpi.h with handles of the program. Tools call MPIX_Tool_* and ask for keys."""
    text = wrappers.header.preprocessed(calls.arguments, [os.path.join(HERE, "..", "..", "include", "fgmpi.h")])
    found = wrappers.header.parse_functions(text)
    return [f for symbol, f in sorted(found.items())
            if symbol.startswith("MPIX_") and symbol not in calls.all and not symbol.startswith(("MPIX_Tool_", "MPIX_Comm_key", "MPIX_Comm_map_bytes"))
            and any(type_of(p)[0] in HANDLES or type_of(p)[0] == "MPI_Request" for p in f.parameters)]


def type_of(parameter):
    """Returns a parameter's type without const and pointers, and whether it is a pointer or array."""
    text = parameter.type.replace("const", "").strip()
    return text.rstrip("*[] "), text.endswith(("*", "]"))


def extension(f):
    """Returns the wrapper of a function of fgmpi.h."""
    before, behind, passed = [], [], {}
    of_request = any(type_of(p)[0] == "MPI_Request" for p in f.parameters)
    for p in f.parameters:
        base, pointer = type_of(p)
        if base in HANDLES and not pointer:
            before.append(f"{p.name} = real_of(*self, Object::k{HANDLES[base].capitalize()}, {p.name});")
        elif base == "MPI_Datatype":
            before.append(f"RealHandles<Object::kDatatype> real_{p.name}(*self, {p.name}, n);")
            passed[p.name] = f"real_{p.name}.data()"
        elif base == "MPI_Comm" and of_request:
            before.append(f"made->made_at = {p.name};")
            passed[p.name] = "&made->made"
        elif base == "MPI_Comm":
            behind.append(f"*{p.name} = add_comm(*self, *{p.name});")
        elif base == "MPI_Request":
            before.insert(0, f"keep_words(made.get(), kCall_MPI_Comm_idup, {{0}}, false);")
            before.insert(0, "auto made = std::make_unique<VirtualRequest>();")
            passed[p.name] = "&made->real"
            behind.append(f"*{p.name} = add_request(*self, std::move(made));")
    if any(p.name == "comm" for p in f.parameters) and not f.symbol.endswith(("_info", "_compare")):
        # Groups of collectives are opened and closed by each member for itself.
        local = f.symbol.endswith(("_open_group", "_close_group"))
        blocks = "false" if of_request else "true"
        if not local:
            before.insert(0, f"count_collective(*self, comm, {blocks});")
        about = "" if local else f", {{NextCollective::Begins::{'kNonblocking' if of_request else 'kBlocking'}, comm}}"
        before.insert(0, f'stop_point(*self, "{f.symbol}"{about});')
    if any(type_of(p) == ("MPI_Datatype", True) for p in f.parameters):
        before.insert(0, "const int n = ranks_of(*self, comm);")
    for verb, change in {"_open_group": "++", "_close_group": "--"}.items():
        if f.symbol.endswith(verb):
            behind.append(f"{change}self->opened_groups;")
    called = f"g_extensions.{f.symbol}({', '.join(passed.get(p.name, p.name) for p in f.parameters)})"
    plain = f"g_extensions.{f.symbol}({', '.join(p.name for p in f.parameters)})"
    return "\n".join([f"EXPORT {f.signature(f.symbol)} {{", "  LayerRank* self = current_rank();", f"  if (!self) return {plain};",
                      *["  " + line for line in before], f"  const int code = {called};",
                      *(["  if (code == MPI_SUCCESS) {", *["    " + line for line in behind], "  }"] if behind else []), "  return code;", "}", ""])


def is_handed_over(call):
    """Does a rank's deputy call MPI's function, where the rank has one?"""
    return call.role not in HERE_ROLES and call.symbol.removesuffix("_c") not in CALLED_HERE


def handed_over(function, table, of_request, requests=()):
    """Returns the function that has a rank's deputy call one of MPI's, of this table. `of_request`: the parameter of the request
    that the call makes, or None. `requests`: parameters that are requests."""
    names = "".join(f", without_mark({p.name})" if p.name in requests else f", {p.name}" for p in function.parameters)
    called = f'by_deputy("{function.symbol}", {table}.{function.symbol}{names})'
    lines = [f"static {function.signature('hand_over_' + function.symbol)} {{"]
    if not of_request:
        return [*lines, f"  return {called};", "}"]
    return [*lines, f"  const int code = {called};", f"  if (code == MPI_SUCCESS) *{of_request} = with_mark(*{of_request});", "  return code;", "}"]


def deputies(calls, own):
    """Returns the functions that hand calls over, and hand_over_calls(). `own`: the functions of fgmpi.h."""
    symbols = [s for s in dict.fromkeys([*calls.symbols, *ALSO]) if is_handed_over(calls.all[s]) and calls.functions[s].result == "int"]
    lines = []
    for symbol in symbols:
        made = next((p.name for p in calls.all[symbol].parameters if p.kind.object == "request" and p.kind.life == "created"), None)
        given = [p.name for p in calls.all[symbol].parameters if p.kind.object == "request" and p.kind.type == "MPI_Request"]
        lines += handed_over(calls.functions[symbol], "g_mpi", made, given)
    for f in own:
        made = next((p.name for p in f.parameters if type_of(p) == ("MPI_Request", True)), None)
        lines += handed_over(f, "g_mpi_extensions", made)
    queries = [s for s in calls.symbols if s.startswith(("MPI_Comm_", "MPI_Type_")) and not is_handed_over(calls.all[s])
               and calls.functions[s].result == "int" and calls.all[s].role == "local"]
    for symbol in queries:
        lines += handed_over(calls.functions[symbol], "g_mpi", None)
    lines += ["void hand_over_queries(Next* home) {", *[f"  home->{s} = hand_over_{s};" for s in queries], "}"]
    return [*lines, "void hand_over_calls(Next* next, Extensions* extensions) {", *[f"  next->{s} = hand_over_{s};" for s in symbols],
            *[f"  extensions->{f.symbol} = hand_over_{f.symbol};" for f in own], "}\n"]


def extension_table(functions):
    """Returns the declaration of struct Extensions, and of the function that fills it."""
    return ["/// The functions of fgmpi.h.", "struct Extensions {", *[f"  decltype(&::{f.symbol}) {f.symbol};" for f in functions], "};",
            '[[gnu::visibility("hidden")]] extern Extensions g_extensions;', "template <class Find>",
            "void fill_extensions(Extensions* next, Find find) {",
            *[f'  next->{f.symbol} = reinterpret_cast<decltype(&::{f.symbol})>(find("{f.symbol}"));' for f in functions], "}\n"]


class Calls(wrappers.Calls):
    def can_watch(self, symbol):
        function = self.functions.get(symbol)
        return function is not None and not symbol.startswith("MPII_") and function.result in ("int", "MPI_Fint") and \
            not function.variadic and self.all[symbol].answer not in ("pending", "identity", "host", "early", "instead")


def kept(call):
    """Returns the parameters whose arguments are kept of a call's request."""
    return [p for p in call.parameters if not (p.kind.object == "request" and p.kind.life == "created")]


def position_of(call, object_):
    return next((i for i, p in enumerate(kept(call)) if p.kind.object == object_ and not p.kind.type.endswith("*")), -1)


def types_of(call):
    return sum(1 << i for i, p in enumerate(kept(call)) if p.kind.object == "datatype" and not p.kind.type.endswith("*"))


def main():
    calls = Calls("checkpoint", watches, [])
    by_hand = set(BY_HAND)
    calls.by_hand = BY_HAND
    calls.symbols = [s for s, call in calls.all.items() if s in by_hand or (calls.can_watch(s) and watches(call))]
    starts = [c for c in calls.watched() if c.symbol not in by_hand and any(p.kind.object == "request" and p.kind.life == "created"
                                                                           for p in c.parameters)]
    declarations = ["struct LayerRank;", "struct VirtualRequest;", "/// Makes the call again of which a request has kept the arguments.",
                    "using Remaker = int (*)(LayerRank*, VirtualRequest*);", "extern const Remaker kRemakers[kCallCount];",
                    "/// The datatypes among these arguments, as bits.", "extern const uint32_t kTypeArguments[kCallCount];",
                    "/// The position of the communicator and of the operation among these arguments, or -1; is the call a collective?",
                    "extern const int8_t kCommArguments[kCallCount];", "extern const int8_t kOpArguments[kCallCount];",
                    "extern const bool kCollectives[kCallCount];",
                    "/// What is done with a call's pending request when a checkpoint is taken.",
                    "enum class Pending : uint8_t { kRefused, kWithdrawn, kAwaited, kAwaitedByAll };",
                    "extern const Pending kPending[kCallCount];",
                    "extern const char* const kCallNames[kCallCount];\n"]
    ending = ["constexpr Remaker kRemakers[kCallCount] = {",
              *[f"    {'remake_' + c.symbol if c in starts else 'nullptr'}," for c in calls.watched()], "};",
              "constexpr uint32_t kTypeArguments[kCallCount] = {", *[f"    {types_of(c)}," for c in calls.watched()], "};",
              "constexpr int8_t kCommArguments[kCallCount] = {", *[f"    {position_of(c, 'comm')}," for c in calls.watched()], "};",
              "constexpr int8_t kOpArguments[kCallCount] = {", *[f"    {position_of(c, 'op')}," for c in calls.watched()], "};",
              "constexpr bool kCollectives[kCallCount] = {",
              *[f"    {str(c.role in ('collective', 'creation')).lower()}," for c in calls.watched()], "};",
              "constexpr Pending kPending[kCallCount] = {", *[f"    Pending::{PENDING.get(c.role, 'kRefused')}," for c in calls.watched()],
              "};", "constexpr const char* kCallNames[kCallCount] = {", *[f'    "{c.symbol}",' for c in calls.watched()], "};\n"]
    own = extensions(calls)
    declarations += extension_table(own)
    wrapped = [f for f in own if f.symbol != "MPIX_Checkpoint"]  # checkpoint.cc
    ending += [extension(f) for f in wrapped]
    ending += deputies(calls, wrapped)
    last = [c for c in calls.watched() if c.symbol not in by_hand][-1].symbol

    def wrapper(call, function):
        text = Wrapper(call, function).text()
        return text + "\n" + "\n".join(ending) if call.symbol == last else text

    # What blocking calls need of nonblocking ones may stand behind them.
    ahead = []
    for c in starts:
        inside = "".join(f", {p.declaration}" for p in calls.functions[c.symbol].parameters)
        others = "".join(f", {p.declaration}" for p in calls.functions[c.symbol].parameters if p.name != "request")
        if c.role in ("send", "receive") and c.starts == "nonblocking":
            ahead += [f"[[gnu::always_inline]] inline static int start_{c.symbol}(LayerRank* self, VirtualRequest* started{others});",
                      f"static int checkpoint_{c.symbol}(const void*{inside});"]
    calls.write("checkpoint", ['#include <cstdint>\n\n#include "fgmpi.h"\n#include "host/internal.h"\n'], declarations, ALSO,
                ['#include "checkpoint/balance.h"\n#include "checkpoint/deputy.h"\n#include "checkpoint/here.h"\n#include "checkpoint/stop.h"\n#include "checkpoint/wrappers.h"\n'], ahead, wrapper)


main()
