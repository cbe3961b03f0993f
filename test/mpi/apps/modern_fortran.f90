! mpi_f08: struct types of derived-type arrays, attributes with Fortran copy functions, user operations, split and dup.
module rank_state
  use mpi_f08
  implicit none
  type(MPI_Comm) :: mine
  type, bind(c) :: particle
      real(8) :: x(3)
      integer :: id
  end type
contains
  subroutine keyval_copy(oldcomm, key, extra, in, out, flag, ierr)
      type(MPI_Comm) :: oldcomm
      integer :: key, ierr
      integer(MPI_ADDRESS_KIND) :: extra, in, out
      logical :: flag
      out = in + extra; flag = .true.; ierr = MPI_SUCCESS
  end subroutine
  subroutine userop(invec, inoutvec, len, datatype)
      use iso_c_binding
      type(c_ptr), value :: invec, inoutvec
      integer :: len
      type(MPI_Datatype) :: datatype
      integer, pointer :: a(:), b(:)
      integer :: i
      call c_f_pointer(invec, a, [len]); call c_f_pointer(inoutvec, b, [len])
      do i = 1, len
            b(i) = max(a(i), b(i))
      end do
  end subroutine
end module rank_state
program modern_fortran
  use rank_state
  implicit none
  integer :: r, n, i, key, nbr(2), color
  type(particle) :: p(5), q(5)
  type(MPI_Datatype) :: t, t2
  integer(MPI_ADDRESS_KIND) :: disp(2), base, val, ext
  type(MPI_Status) :: st
  type(MPI_Request) :: rq(2)
  type(MPI_Op) :: op
  logical :: flag
  integer, allocatable :: all(:)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, r); call MPI_Comm_size(MPI_COMM_WORLD, n)
  call MPI_Get_address(p(1)%x, disp(1)); call MPI_Get_address(p(1)%id, disp(2))
  base = disp(1); disp = disp - base
  call MPI_Type_create_struct(2, [3,1], disp, [MPI_DOUBLE_PRECISION, MPI_INTEGER], t2)
  call MPI_Get_address(p(2)%x, ext); ext = ext - base
  call MPI_Type_create_resized(t2, 0_MPI_ADDRESS_KIND, ext, t); call MPI_Type_commit(t)
  do i = 1, 5
      p(i)%x = r + 0.5*i; p(i)%id = r*10 + i
  end do
  call MPI_Irecv(q, 5, t, mod(r+n-1,n), 1, MPI_COMM_WORLD, rq(1))
  call MPI_Isend(p, 5, t, mod(r+1,n), 1, MPI_COMM_WORLD, rq(2))
  call MPI_Wait(rq(1), st); call MPI_Wait(rq(2), MPI_STATUS_IGNORE)
  call MPI_Get_count(st, t, i)
  if (i /= 5 .or. st%MPI_SOURCE /= mod(r+n-1,n)) call bad(1)
  do i = 1, 5
      if (q(i)%id /= mod(r+n-1,n)*10+i .or. q(i)%x(3) /= mod(r+n-1,n)+0.5*i) call bad(2)
  end do
  color = mod(r,3)
  call MPI_Comm_split(MPI_COMM_WORLD, color, -r, mine)
  call MPI_Comm_create_keyval(keyval_copy, MPI_COMM_NULL_DELETE_FN, key, 7_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(mine, key, int(r, MPI_ADDRESS_KIND))
  block
      type(MPI_Comm) :: d
      call MPI_Comm_dup(mine, d)
      call MPI_Comm_get_attr(d, key, val, flag)
      if (.not. flag .or. val /= r+7) call bad(3)
      call MPI_Comm_free(d)
  end block
  call MPI_Op_create(userop, .true., op)
  i = r
  call MPI_Allreduce(MPI_IN_PLACE, i, 1, MPI_INTEGER, op, MPI_COMM_WORLD)
  if (i /= n-1) call bad(4)
  allocate(all(n))
  call MPI_Allgather(r, 1, MPI_INTEGER, all, 1, MPI_INTEGER, MPI_COMM_WORLD)
  do i = 1, n
      if (all(i) /= i-1) call bad(5)
  end do
  call MPI_Comm_free_keyval(key)
  call MPI_Op_free(op); call MPI_Type_free(t); call MPI_Type_free(t2)
  call MPI_Comm_free(mine)
  if (r == 0) print *, ' No Errors'
  call MPI_Finalize()
contains
  subroutine bad(k)
    integer :: k
    print *, 'bad', k, 'at', r
    call MPI_Abort(MPI_COMM_WORLD, k)
  end subroutine
end program modern_fortran
