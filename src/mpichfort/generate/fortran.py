"""The calls of calls.table that Fortran has, and how Fortran sees their parameters: shared by procedures.py and modules.py.

A procedure of Fortran has the parameters of the C function, by reference, and an error code behind them. Exceptions:
argc and argv are absent, and each string has a length, passed by value behind all other arguments.
"""

import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "mpi", "generate"), os.path.join(HERE, "..", "..", "host", "generate")]

import calls as table  # noqa: E402
import header  # noqa: E402

BUFFERS = ("buffer", "out_buffer", "inout_buffer", "bytes", "out_bytes", "memory", "address")
STRINGS = ("string", "out_string", "strings", "string_lists")
# MPI-1's calls that MPI-3 removed, and MPI-2's deprecated ones: mpif.h and the module mpi have them, mpi_f08 does not.
NOT_F08 = ("Address Attr_delete Attr_get Attr_put Errhandler_create Errhandler_get Errhandler_set Keyval_create Keyval_free"
           " Type_extent Type_hindexed Type_hvector Type_lb Type_struct Type_ub").split()
# In these, addresses are default integers.
PLAIN_ADDRESSES = "Address Type_extent Type_hindexed Type_hvector Type_lb Type_struct Type_ub".split()
# Extensions of MPICH that its Fortran library has.
EXTENSIONS = """X_Comm_revoke X_Comm_shrink X_Comm_failure_ack X_Comm_failure_get_acked X_Comm_agree X_Comm_get_failed
    X_Comm_ack_failed X_Comm_is_revoked X_Comm_iagree X_Comm_ishrink X_Delete_error_class X_Delete_error_code
    X_Delete_error_string""".split()
# Calls that C has alone.
ABSENT = "Status_c2f Status_c2f08 Status_f082c Status_f2c Status_f082f Status_f2f08 File_f2c File_c2f File_fromint File_toint".split()
FUNCTIONS = {"Wtime": "double", "Wtick": "double", "Aint_add": "aint", "Aint_diff": "aint"}
# Calls of the module mpi whose address may also be a C_PTR: generic names with a second procedure MPI_NAME_CPTR (section 9.2).
C_POINTERS = "Alloc_mem Win_allocate Win_allocate_shared Win_shared_query".split()
LOGICALS = ("flag", "periods", "reorder", "remain_dims", "commute", "high", "weighted")
# Large-count procedures whose names end in _c, since no argument tells them from the others (MPI-4.0 section 19.2).
NAMED_LARGE = ("Op_create", "Register_datarep")


def base_name(call):
    """Returns a call's name; some large-count twins have rows of their own in calls.table."""
    return call.name.removesuffix("_c")


def is_large(call):
    return call.large or call.name.endswith("_c")


def fortran_calls(path):
    """Returns the calls that Fortran has, in the order of the table."""
    _, found = table.read(path)
    return found, [call for call in found.values() if call.topic not in ("tools", "handles") and call.name not in ABSENT
                   and (not call.name.startswith(("X_", "I_")) or call.name in EXTENSIONS)]


def parameters(call):
    """Returns the parameters that Fortran has, too."""
    if call.name in ("Init", "Init_thread", "Info_create_env"):
        return [p for p in call.parameters if p.name not in ("argc", "argv")]
    return call.parameters


def is_logical(call, p):
    if p.kind.name in ("logical", "out_logical"):  # the program's own value, which C gets by its address
        return True
    return p.name in LOGICALS and p.kind.type in ("int", "int*") and call.name not in ("X_Comm_agree", "X_Comm_iagree")


def ctype(call, p):
    return p.kind.large if call.large else p.kind.type


def choice_buffers(call):
    return [p for p in call.parameters if p.kind.name in BUFFERS]


def has_error(call):
    return call.name not in FUNCTIONS and call.name != "Pcontrol"


def lower(call):
    """Returns the name as mpi_f08 has it, without MPI_: send, type_size_c."""
    return re.sub(r"^x_", "", call.name.lower()) + ("_c" if call.large else "")


def prefix(call):
    return "mpix" if call.name.startswith("X_") else "mpi"
