#!/usr/bin/env python3
"""Writes a Fortran program whose functions MPI calls, for one of the bindings.

  callbacks.py mpif|mpi|mpi_f08 [gnu]

Attributes are copied, deleted, and copied by MPI's own functions; error handlers of communicators, windows, files and sessions;
operations, also BIND(C) ones, which gfortran (gnu) accepts, and with large counts; generalized requests; a data representation.
"""
import sys

binding = sys.argv[1]
f08 = binding == "mpi_f08"
use = "" if binding == "mpif" else f"use {binding}"
include = "include 'mpif.h'" if binding == "mpif" else ""


def handle(kind):
    return f"type(MPI_{kind})" if f08 else "integer"


status = "type(MPI_Status)" if f08 else "integer"
status_shape = "" if f08 else "(MPI_STATUS_SIZE)"
source, tag = ("status%MPI_SOURCE", "status%MPI_TAG") if f08 else ("status(MPI_SOURCE)", "status(MPI_TAG)")
vectors = "type(c_ptr), value :: invec, inoutvec" if f08 else "integer :: invec(len), inoutvec(len)"
pointers = """integer, pointer :: in(:), inout(:)
    call c_f_pointer(invec, in, [len])
    call c_f_pointer(inoutvec, inout, [len])""" if f08 else ""
a, b = ("in", "inout") if f08 else ("invec", "inoutvec")


def attribute_functions(name, kind):
    return f"""
  subroutine {name}_copy(old, keyval, extra, value, made, flag, ierr)
    {handle(kind)} :: old
    integer :: keyval, ierr
    integer(MPI_ADDRESS_KIND) :: extra, value, made
    logical :: flag
    made = value + extra
    flag = value /= 77
    ierr = MPI_SUCCESS
  end subroutine
  subroutine {name}_delete(old, keyval, value, extra, ierr)
    {handle(kind)} :: old
    integer :: keyval, ierr
    integer(MPI_ADDRESS_KIND) :: value, extra
    deleted = deleted + int(value) + int(extra)
    ierr = MPI_SUCCESS
  end subroutine"""


def handler(name):
    return f"""
  subroutine {name.lower()}_handler(object, code)
    {handle(name)} :: object
    integer :: code, class, ierror
    handled = handled + 1
    call MPI_Error_class(code, class, ierror)
    last_class = class
    call note_{name.lower()}(object)
  end subroutine
  subroutine note_{name.lower()}(object)
    {handle(name)} :: object
    last_object = object{'%MPI_VAL' if f08 else ''}
  end subroutine"""


bind_c = f"""
  subroutine multiply(invec, inoutvec, len, datatype) {'bind(C)' if sys.argv[2:] == ['gnu'] else ''}
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: in(:), inout(:)
    call c_f_pointer(invec, in, [len])
    call c_f_pointer(inoutvec, inout, [len])
    inout = 2 * inout * in
  end subroutine
  subroutine add_many(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer(MPI_COUNT_KIND) :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: in(:), inout(:)
    call c_f_pointer(invec, in, [len])
    call c_f_pointer(inoutvec, inout, [len])
    inout = inout + in + 1
  end subroutine""" if f08 else ""
bind_c_calls = """
  call MPI_Op_create(multiply, .true., op, ierr)
  numbers = 1
  call MPI_Allreduce(MPI_IN_PLACE, numbers, 3, MPI_INTEGER, op, MPI_COMM_WORLD, ierr)
  call check(all(numbers == 2**(size - 1)), 'a BIND(C) operation')
  call MPI_Op_free(op, ierr)
  call MPI_Op_create_c(add_many, .true., op, ierr)
  numbers = rank
  call MPI_Allreduce(MPI_IN_PLACE, numbers, 3_MPI_COUNT_KIND, MPI_INTEGER, op, MPI_COMM_WORLD, ierr)
  call check(all(numbers == size * (size - 1) / 2 + size - 1), 'MPI_Op_create_c')
  call MPI_Op_free(op, ierr)""" if f08 else ""
conversion = "type(c_ptr), value :: userbuf, filebuf" if f08 else "integer :: userbuf(*), filebuf(*)"
old_calls = f"""
  call MPI_KEYVAL_CREATE(plain_copy, plain_delete, key, 5, ierr)
  call MPI_ATTR_PUT(comm, key, 100, ierr)
  call MPI_COMM_DUP(comm, other, ierr)
  call MPI_ATTR_GET(other, key, plain, flag, ierr)
  call check(flag .and. plain == 105, 'MPI_KEYVAL_CREATE')
  call MPI_ATTR_DELETE(comm, key, ierr)
  call check(deleted == 105, 'a deleted attribute of MPI-1')
  call MPI_COMM_FREE(other, ierr)
  call MPI_KEYVAL_FREE(key, ierr)
  call MPI_KEYVAL_CREATE(MPI_DUP_FN, MPI_NULL_DELETE_FN, key, 0, ierr)
  call MPI_ATTR_PUT(comm, key, -3, ierr)
  call MPI_COMM_DUP(comm, other, ierr)
  call MPI_ATTR_GET(other, key, plain, flag, ierr)
  call check(flag .and. plain == -3, 'MPI_DUP_FN')
  call MPI_COMM_FREE(other, ierr)
  call MPI_ATTR_DELETE(comm, key, ierr)
  call MPI_KEYVAL_FREE(key, ierr)
  call MPI_ATTR_GET(MPI_COMM_WORLD, MPI_TAG_UB, plain, flag, ierr)
  call check(flag .and. plain >= 32767, 'MPI_TAG_UB of MPI-1')
  deleted = 0""" if not f08 else ""
old_functions = """
  subroutine plain_copy(old, keyval, extra, value, made, flag, ierr)
    integer :: old, keyval, extra, value, made, ierr
    logical :: flag
    made = value + extra
    flag = .true.
    ierr = MPI_SUCCESS
  end subroutine
  subroutine plain_delete(old, keyval, value, extra, ierr)
    integer :: old, keyval, value, extra, ierr
    deleted = deleted + value + extra
    ierr = MPI_SUCCESS
  end subroutine""" if not f08 else ""


def attributes(name, object_, make_other, free_other):
    return f"""
  deleted = 0
  call MPI_{name}_create_keyval({name}_copy, {name}_delete, key, 5_MPI_ADDRESS_KIND, ierr)
  call MPI_{name}_create_keyval(MPI_{name}_DUP_FN, MPI_{name}_NULL_DELETE_FN, dup_key, 0_MPI_ADDRESS_KIND, ierr)
  call MPI_{name}_set_attr({object_}, key, big, ierr)
  call MPI_{name}_set_attr({object_}, dup_key, -big, ierr)
  {make_other}
  call MPI_{name}_get_attr({'other' if name == 'Comm' else 'other_type'}, key, value, flag, ierr)
  call check(flag .and. value == big + 5, '{name}: a copied attribute')
  call MPI_{name}_get_attr({'other' if name == 'Comm' else 'other_type'}, dup_key, value, flag, ierr)
  call check(flag .and. value == -big, '{name}: an attribute copied by MPI')
  call MPI_{name}_delete_attr({object_}, key, ierr)
  call check(deleted == int(big) + 5, '{name}: a deleted attribute')
  {free_other}
  call check(deleted == int(2 * big) + 15, '{name}: a freed object')
  call MPI_{name}_free_keyval(key, ierr)
  call MPI_{name}_free_keyval(dup_key, ierr)
"""


print(f"""
module functions
  {use}
  use iso_c_binding, only: c_ptr, c_f_pointer, c_loc
  implicit none
  {include}
  integer :: deleted = 0, handled = 0, last_object = 0, last_class = 0, queries = 0, frees = 0, cancels = 0
contains
{attribute_functions("Comm", "Comm")}
{attribute_functions("Type", "Datatype")}
{handler("Comm")}
{handler("Win")}
{handler("File")}
{handler("Session")}
{old_functions}
{bind_c}
  subroutine largest(invec, inoutvec, len, datatype)
    integer :: len
    {vectors}
    {handle("Datatype")} :: datatype
    {pointers}
    {b} = max({a}, {b}) + 1
  end subroutine
  subroutine query(extra, status, ierr)
    integer(MPI_ADDRESS_KIND) :: extra
    {status} :: status{status_shape}
    integer :: ierr
    queries = queries + int(extra)
    {source} = 41
    {tag} = 42
    ierr = MPI_SUCCESS
  end subroutine
  subroutine release(extra, ierr)
    integer(MPI_ADDRESS_KIND) :: extra
    integer :: ierr
    frees = frees + int(extra)
    ierr = MPI_SUCCESS
  end subroutine
  subroutine cancel(extra, complete, ierr)
    integer(MPI_ADDRESS_KIND) :: extra
    logical :: complete
    integer :: ierr
    if (.not. complete) cancels = cancels + int(extra)
    ierr = MPI_SUCCESS
  end subroutine
  subroutine convert(userbuf, datatype, count, filebuf, position, extra, ierr)
    {conversion}
    {handle("Datatype")} :: datatype
    integer :: count, ierr
    integer(MPI_OFFSET_KIND) :: position
    integer(MPI_ADDRESS_KIND) :: extra
    ierr = MPI_SUCCESS
  end subroutine
  subroutine extent_in_file(datatype, extent, extra, ierr)
    {handle("Datatype")} :: datatype
    integer(MPI_ADDRESS_KIND) :: extent, extra
    integer :: ierr
    extent = 4
    ierr = MPI_SUCCESS
  end subroutine
  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(*), intent(in) :: what
    integer :: ierror
    if (ok) return
    print *, 'wrong: ', what
    call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
  end subroutine
end module

program callbacks
  use functions
  implicit none
  integer :: ierr, rank, size, key, dup_key, numbers(3), plain, memory(4)
  integer(MPI_ADDRESS_KIND) :: big, value, extra
  logical :: flag
  {handle("Comm")} :: comm, other
  {handle("Datatype")} :: a_type, other_type
  {handle("Errhandler")} :: errhandler
  {handle("Win")} :: win
  {handle("File")} :: fh
  {handle("Op")} :: op
  {handle("Request")} :: request
  {handle("Session")} :: session
  {status} :: status{status_shape}
  character(len=40) :: name
  big = 3000000
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
{old_calls}
{attributes("Comm", "comm", "call MPI_Comm_dup(comm, other, ierr)", "call MPI_Comm_free(other, ierr)")}
  call MPI_Type_contiguous(3, MPI_INTEGER, a_type, ierr)
{attributes("Type", "a_type", "call MPI_Type_dup(a_type, other_type, ierr)", "call MPI_Type_free(other_type, ierr)")}
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierr)
  call check(flag .and. value >= 32767, 'MPI_TAG_UB')
  memory = rank
  call MPI_Win_create(memory, 16_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, comm, win, ierr)
  call MPI_Win_get_attr(win, MPI_WIN_SIZE, value, flag, ierr)
  call check(flag .and. value == 16, 'MPI_WIN_SIZE')
  call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, value, flag, ierr)
  call check(flag .and. value == 4, 'MPI_WIN_DISP_UNIT')

  call MPI_Comm_create_errhandler(comm_handler, errhandler, ierr)
  call MPI_Comm_set_errhandler(comm, errhandler, ierr)
  call MPI_Errhandler_free(errhandler, ierr)
  call MPI_Send(numbers, 1, MPI_INTEGER, size + 5, 0, comm, ierr)
  call check(handled == 1 .and. last_class == MPI_ERR_RANK .and. ierr /= MPI_SUCCESS, 'the handler of a communicator')
  call check(last_object == comm{'%MPI_VAL' if f08 else ''}, 'the communicator of a handler')
  call MPI_Win_create_errhandler(win_handler, errhandler, ierr)
  call MPI_Win_set_errhandler(win, errhandler, ierr)
  call MPI_Errhandler_free(errhandler, ierr)
  call MPI_Win_call_errhandler(win, MPI_ERR_ASSERT, ierr)
  call check(handled == 2 .and. last_class == MPI_ERR_ASSERT .and. last_object == win{'%MPI_VAL' if f08 else ''}, 'the handler of a window')
  call MPI_Win_free(win, ierr)
  write (name, '(a,i0)') 'callbacks.', rank
  call MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, fh, ierr)
  call check(ierr == MPI_SUCCESS, 'MPI_File_open')
  call MPI_File_create_errhandler(file_handler, errhandler, ierr)
  call MPI_File_set_errhandler(fh, errhandler, ierr)
  call MPI_Errhandler_free(errhandler, ierr)
  call MPI_File_call_errhandler(fh, MPI_ERR_AMODE, ierr)
  call check(handled == 3 .and. last_class == MPI_ERR_AMODE .and. last_object == fh{'%MPI_VAL' if f08 else ''}, 'the handler of a file')
  if (rank == 0) then
    extra = 9
    call MPI_Register_datarep('ours', convert, MPI_CONVERSION_FN_NULL, extent_in_file, extra, ierr)
    call check(ierr == MPI_SUCCESS, 'MPI_Register_datarep')
  end if
  call MPI_File_close(fh, ierr)
  call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session, ierr)
  call MPI_Session_create_errhandler(session_handler, errhandler, ierr)
  call MPI_Session_set_errhandler(session, errhandler, ierr)
  call MPI_Errhandler_free(errhandler, ierr)
  call MPI_Session_call_errhandler(session, MPI_ERR_OTHER, ierr)
  call check(handled == 4 .and. last_class == MPI_ERR_OTHER .and. last_object == session{'%MPI_VAL' if f08 else ''}, &
             'the handler of a session')
  call MPI_Session_finalize(session, ierr)

  call MPI_Op_create(largest, .true., op, ierr)
  numbers = 0
  call MPI_Allreduce(MPI_IN_PLACE, numbers, 3, MPI_INTEGER, op, MPI_COMM_WORLD, ierr)
  call check(all(numbers >= 1 .or. size == 1), 'an operation')
  call MPI_Op_free(op, ierr)
{bind_c_calls}

  extra = 7
  call MPI_Grequest_start(query, release, cancel, extra, request, ierr)
  call MPI_Cancel(request, ierr)
  call check(cancels == 7, 'the cancel function')
  call MPI_Grequest_complete(request, ierr)
  call MPI_Wait(request, status, ierr)
  call check(queries == 7 .and. frees == 7 .and. {source} == 41 .and. {tag} == 42, 'a generalized request')

  call MPI_Type_free(a_type, ierr)
  call MPI_Comm_free(comm, ierr)
  if (rank == 0) print '(a)', ' No Errors'
  call MPI_Finalize(ierr)
end program
""")
