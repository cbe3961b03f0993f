! Attributes across languages (MPI-4.0 section 19.3.7): set from C, from Fortran by MPI_COMM_SET_ATTR (address-sized
! integers) and by MPI_ATTR_PUT (default integers), read by each of the others; predefined ones through mpi, mpi_f08,
! mpif.h and C. The C calls are the library's own, by name; handles are the same integers in C and Fortran.
module c_calls
  use iso_c_binding
  implicit none
  interface
    integer(c_int) function c_set_attr(comm, keyval, value) bind(c, name="PMPI_Comm_set_attr")
      import c_int, c_ptr
      integer(c_int), value :: comm, keyval
      type(c_ptr), value :: value
    end function
    integer(c_int) function c_get_attr(comm, keyval, value, flag) bind(c, name="PMPI_Comm_get_attr")
      import c_int, c_ptr
      integer(c_int), value :: comm, keyval
      type(c_ptr) :: value
      integer(c_int) :: flag
    end function
    integer(c_int) function c_attr_get(comm, keyval, value, flag) bind(c, name="PMPI_Attr_get")
      import c_int, c_ptr
      integer(c_int), value :: comm, keyval
      type(c_ptr) :: value
      integer(c_int) :: flag
    end function
    integer(c_int) function c_create_keyval(copy, remove, keyval, extra) bind(c, name="PMPI_Comm_create_keyval")
      import c_int, c_ptr, c_funptr
      type(c_funptr), value :: copy, remove
      integer(c_int) :: keyval
      type(c_ptr), value :: extra
    end function
  end interface
  integer :: c_copies = 0
contains
  ! Passes on what it gets, as a C function would: the address of an integer stays the integer.
  integer(c_int) function pass_on(comm, keyval, extra, in, out, flag) bind(c)
    integer(c_int), value :: comm, keyval
    type(c_ptr), value :: extra, in
    type(c_ptr) :: out
    integer(c_int) :: flag
    c_copies = c_copies + 1
    out = in
    flag = 1
    pass_on = 0
  end function
  subroutine check(ok, what)
    use mpi
    logical, intent(in) :: ok
    character(*), intent(in) :: what
    integer :: ierr
    if (ok) return
    print *, "wrong: ", what
    call MPI_ABORT(MPI_COMM_WORLD, 1, ierr)
  end subroutine
end module

module checks
  use mpi
  use c_calls
  implicit none
  integer(MPI_ADDRESS_KIND), parameter :: wide = -7_MPI_ADDRESS_KIND * 2_MPI_ADDRESS_KIND**33 - 12
contains
  ! What Fortran set and C reads by address stays readable there while other attributes come and go.
  subroutine fortran_to_c(comm)
    integer, intent(in) :: comm
    integer :: wide_key, int_key, others(40), ierr, i
    integer(c_int) :: flag
    type(c_ptr) :: address, again
    integer(MPI_ADDRESS_KIND), pointer :: long_value
    integer(c_int), pointer :: int_value
    call MPI_COMM_CREATE_KEYVAL(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, wide_key, 0_MPI_ADDRESS_KIND, ierr)
    call MPI_KEYVAL_CREATE(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, int_key, 0, ierr)
    call MPI_COMM_SET_ATTR(comm, wide_key, wide, ierr)
    call MPI_ATTR_PUT(comm, int_key, -5, ierr)
    call check(c_get_attr(comm, wide_key, address, flag) == 0 .and. flag == 1, "C finds an address-sized integer")
    call c_f_pointer(address, long_value)
    call check(long_value == wide, "C reads an address-sized integer")
    call check(c_attr_get(comm, int_key, again, flag) == 0 .and. flag == 1, "C finds a default integer")
    call c_f_pointer(again, int_value)
    call check(int_value == -5, "C reads a default integer")
    do i = 1, size(others)
      call MPI_COMM_CREATE_KEYVAL(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, others(i), 0_MPI_ADDRESS_KIND, ierr)
      call MPI_COMM_SET_ATTR(comm, others(i), int(i, MPI_ADDRESS_KIND), ierr)
    end do
    call check(long_value == wide .and. int_value == -5, "addresses hold while others are set")
    do i = 1, size(others), 2
      call MPI_COMM_DELETE_ATTR(comm, others(i), ierr)
    end do
    call check(long_value == wide .and. int_value == -5, "addresses hold while others are deleted")
    call check(c_get_attr(comm, wide_key, again, flag) == 0 .and. c_associated(again, address), "the address is the same")
    call MPI_COMM_SET_ATTR(comm, wide_key, wide + 1, ierr)
    call check(c_get_attr(comm, wide_key, again, flag) == 0, "C reads again")
    call c_f_pointer(again, long_value)
    call check(long_value == wide + 1, "C reads a new value")
    do i = 2, size(others), 2
      call MPI_COMM_DELETE_ATTR(comm, others(i), ierr)
    end do
    do i = 1, size(others)
      call MPI_COMM_FREE_KEYVAL(others(i), ierr)
    end do
    call MPI_COMM_DELETE_ATTR(comm, wide_key, ierr)
    call MPI_ATTR_DELETE(comm, int_key, ierr)
    call MPI_COMM_FREE_KEYVAL(wide_key, ierr)
    call MPI_KEYVAL_FREE(int_key, ierr)
  end subroutine

  ! Between the two kinds of Fortran integers, and from C: a pointer is read as the address.
  subroutine to_fortran(comm)
    integer, intent(in) :: comm
    integer :: key, got, ierr
    integer(MPI_ADDRESS_KIND) :: got_wide
    integer(c_int), target :: cell
    logical :: found
    call MPI_COMM_CREATE_KEYVAL(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND, ierr)
    call MPI_COMM_GET_ATTR(comm, key, got_wide, found, ierr)
    call check(.not. found, "nothing is set")
    call MPI_ATTR_PUT(comm, key, -9, ierr)
    call MPI_COMM_GET_ATTR(comm, key, got_wide, found, ierr)
    call check(found .and. got_wide == -9, "a default integer is read with its sign")
    call MPI_ATTR_GET(comm, key, got, found, ierr)
    call check(found .and. got == -9, "a default integer is read back")
    call MPI_COMM_SET_ATTR(comm, key, wide, ierr)
    call MPI_COMM_GET_ATTR(comm, key, got_wide, found, ierr)
    call check(found .and. got_wide == wide, "an address-sized integer is read back")
    call MPI_ATTR_GET(comm, key, got, found, ierr)
    call check(found .and. got == -12, "MPI_ATTR_GET gives the low bits")
    call check(c_set_attr(comm, key, c_loc(cell)) == 0, "C sets a pointer")
    call MPI_COMM_GET_ATTR(comm, key, got_wide, found, ierr)
    call check(found .and. got_wide == transfer(c_loc(cell), got_wide), "Fortran reads a pointer as its address")
    call MPI_COMM_DELETE_ATTR(comm, key, ierr)
    call MPI_COMM_FREE_KEYVAL(key, ierr)
  end subroutine

  ! Copy functions of either language pass on integers as integers.
  subroutine copies(comm)
    integer, intent(in) :: comm
    integer :: c_key, dup_key, old_key, ierr, copy, got
    integer(c_int) :: flag
    integer(MPI_ADDRESS_KIND) :: got_wide
    integer(MPI_ADDRESS_KIND), pointer :: long_value
    type(c_ptr) :: address
    logical :: found
    call check(c_create_keyval(c_funloc(pass_on), c_null_funptr, c_key, c_null_ptr) == 0, "C makes a keyval")
    call MPI_COMM_CREATE_KEYVAL(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, dup_key, 0_MPI_ADDRESS_KIND, ierr)
    call MPI_KEYVAL_CREATE(MPI_DUP_FN, MPI_NULL_DELETE_FN, old_key, 0, ierr)
    call MPI_COMM_SET_ATTR(comm, c_key, wide, ierr)
    call MPI_COMM_SET_ATTR(comm, dup_key, wide - 1, ierr)
    call MPI_ATTR_PUT(comm, old_key, -3, ierr)
    call MPI_COMM_DUP(comm, copy, ierr)
    call check(c_copies == 1, "C's copy function was called")
    call MPI_COMM_DELETE_ATTR(comm, c_key, ierr)
    call MPI_COMM_GET_ATTR(copy, c_key, got_wide, found, ierr)
    call check(found .and. got_wide == wide, "C's copy function passed on an integer")
    call check(c_get_attr(copy, c_key, address, flag) == 0 .and. flag == 1, "C finds the copy")
    call c_f_pointer(address, long_value)
    call check(long_value == wide, "C reads the copy")
    call MPI_COMM_GET_ATTR(copy, dup_key, got_wide, found, ierr)
    call check(found .and. got_wide == wide - 1, "MPI_COMM_DUP_FN copies an address-sized integer")
    call MPI_ATTR_GET(copy, old_key, got, found, ierr)
    call check(found .and. got == -3, "MPI_DUP_FN copies a default integer")
    call MPI_COMM_DELETE_ATTR(comm, dup_key, ierr)
    call MPI_ATTR_DELETE(comm, old_key, ierr)
    call MPI_COMM_FREE(copy, ierr)
    call MPI_COMM_FREE_KEYVAL(c_key, ierr)
    call MPI_COMM_FREE_KEYVAL(dup_key, ierr)
    call MPI_KEYVAL_FREE(old_key, ierr)
  end subroutine

  ! C's keyvals of predefined attributes are one less than Fortran's and give the address of an int.
  integer function c_predefined(key)
    integer, intent(in) :: key
    integer(c_int) :: flag
    integer(c_int), pointer :: value
    type(c_ptr) :: address
    call check(c_get_attr(MPI_COMM_WORLD, key - 1, address, flag) == 0 .and. flag == 1, "C finds a predefined attribute")
    call c_f_pointer(address, value)
    c_predefined = value
  end function

  subroutine predefined()
    integer :: keys(5), i, old, ierr, class, world
    integer(MPI_ADDRESS_KIND) :: value(5), before, after
    logical :: found
    keys = [MPI_TAG_UB, MPI_HOST, MPI_IO, MPI_WTIME_IS_GLOBAL, MPI_LASTUSEDCODE]
    do i = 1, 5
      call MPI_COMM_GET_ATTR(MPI_COMM_WORLD, keys(i), value(i), found, ierr)
      call check(found, "a predefined attribute is there")
      call MPI_ATTR_GET(MPI_COMM_WORLD, keys(i), old, found, ierr)
      ! Error classes are the process's: another of its ranks may have added one since.
      if (keys(i) == MPI_LASTUSEDCODE) then
        call check(found .and. old >= value(i), "MPI_ATTR_GET does not go back")
        call check(c_predefined(keys(i)) >= old, "C does not go back")
        cycle
      end if
      call check(found .and. old == value(i), "MPI_ATTR_GET agrees")
      call check(c_predefined(keys(i)) == value(i), "C agrees")
    end do
    call check(value(1) >= 32767, "MPI_TAG_UB")
    call check(value(2) == MPI_PROC_NULL, "MPI_HOST")
    call check(value(3) == MPI_ANY_SOURCE, "MPI_IO")
    call check(value(4) == 0 .or. value(4) == 1, "MPI_WTIME_IS_GLOBAL")
    call check(value(5) >= MPI_ERR_LASTCODE, "MPI_LASTUSEDCODE")
    call MPI_COMM_SIZE(MPI_COMM_WORLD, world, ierr)
    call MPI_COMM_GET_ATTR(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, before, found, ierr)
    if (found) call check(before >= world, "MPI_UNIVERSE_SIZE")
    call MPI_COMM_GET_ATTR(MPI_COMM_WORLD, MPI_APPNUM, before, found, ierr)
    call check(found .and. before == 0, "MPI_APPNUM")
    call MPI_COMM_GET_ATTR(MPI_COMM_WORLD, MPI_LASTUSEDCODE, before, found, ierr)
    call MPI_ADD_ERROR_CLASS(class, ierr)
    call MPI_COMM_GET_ATTR(MPI_COMM_WORLD, MPI_LASTUSEDCODE, after, found, ierr)
    call check(after >= class .and. after >= before, "MPI_LASTUSEDCODE after a new class")
  end subroutine
end module

! The binding mpif.h.
subroutine mpif_binding(tag_ub)
  implicit none
  include 'mpif.h'
  integer(MPI_ADDRESS_KIND), intent(out) :: tag_ub
  integer :: ierr
  logical :: found
  call MPI_COMM_GET_ATTR(MPI_COMM_WORLD, MPI_TAG_UB, tag_ub, found, ierr)
  if (.not. found) call MPI_ABORT(MPI_COMM_WORLD, 1, ierr)
end subroutine

! The binding mpi_f08; it has only address-sized integers.
subroutine f08_binding(tag_ub, same)
  use mpi_f08
  implicit none
  integer(MPI_ADDRESS_KIND), intent(out) :: tag_ub
  logical, intent(out) :: same
  integer(MPI_ADDRESS_KIND) :: got
  type(MPI_Comm) :: copy
  integer :: key
  logical :: found
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, tag_ub, found)
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(MPI_COMM_SELF, key, -77_MPI_ADDRESS_KIND)
  call MPI_Comm_dup(MPI_COMM_SELF, copy)
  call MPI_Comm_get_attr(copy, key, got, same)
  same = same .and. found .and. got == -77
  call MPI_Comm_delete_attr(MPI_COMM_SELF, key)
  call MPI_Comm_free(copy)
  call MPI_Comm_free_keyval(key)
end subroutine

program languages
  use checks
  implicit none
  integer :: ierr, rank, copy
  integer(MPI_ADDRESS_KIND) :: tag_ub, old, new
  logical :: found, same
  call MPI_INIT(ierr)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
  call MPI_COMM_DUP(MPI_COMM_WORLD, copy, ierr)
  call fortran_to_c(copy)
  call to_fortran(copy)
  call copies(copy)
  call MPI_COMM_FREE(copy, ierr)
  call predefined()
  call MPI_COMM_GET_ATTR(MPI_COMM_WORLD, MPI_TAG_UB, tag_ub, found, ierr)
  call mpif_binding(old)
  call f08_binding(new, same)
  call check(old == tag_ub .and. new == tag_ub .and. same, "the three bindings agree")
  call MPI_BARRIER(MPI_COMM_WORLD, ierr)
  if (rank == 0) print *, "No Errors"
  call MPI_FINALIZE(ierr)
end program
