! Collectives from Fortran: MPI_IN_PLACE and MPI_BOTTOM, pairs, logical and complex numbers, and a user's operation that
! is an internal procedure with variables of its host (it is called by way of code on the rank's stack).
program fortran
  use mpi_f08
  implicit none
  integer :: rank, size, i, one, last
  integer, allocatable :: ranks(:), mine(:), counts(:), places(:)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  last = size - 1
  ranks = [(i, i = 0, last)]
  counts = [(1, i = 0, last)]
  places = ranks
  call in_place()
  call rooted_in_place()
  call bottom()
  call types()
  call internal_operation(rank + 1, size)
  call MPI_Barrier(MPI_COMM_WORLD)
  if (rank == 0) print *, 'No Errors'
  call MPI_Finalize()

contains
  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    print *, 'rank', rank, 'wrong: ', what
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine

  ! Everything as it was, -1, but what this rank brings.
  subroutine only_mine()
    mine = [(-1, i = 0, last)]
    mine(rank + 1) = rank
  end subroutine

  subroutine in_place()
    type(MPI_Request) :: request
    call only_mine()
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, mine, 1, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(mine == ranks), 'allgather')
    mine = rank * 1000 + ranks
    call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, mine, 1, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(mine == ranks * 1000 + rank), 'alltoall')
    mine = rank
    call MPI_Allreduce(MPI_IN_PLACE, mine, size, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check(all(mine == size * last / 2), 'allreduce')
    mine = rank
    call MPI_Iallreduce(MPI_IN_PLACE, mine, size, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(mine == last), 'iallreduce')
    call only_mine()
    call MPI_Allgather_init(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, mine, 1, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, &
                            request)
    call MPI_Start(request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(mine == ranks), 'allgather_init')
    call MPI_Request_free(request)
  end subroutine

  subroutine rooted_in_place()
    one = rank
    call only_mine()
    if (rank == last) then
      call MPI_Gatherv(MPI_IN_PLACE, 1, MPI_INTEGER, mine, counts, places, MPI_INTEGER, last, MPI_COMM_WORLD)
      call check(all(mine == ranks), 'gatherv')
      call MPI_Scatter(ranks, 1, MPI_INTEGER, MPI_IN_PLACE, 1, MPI_INTEGER, last, MPI_COMM_WORLD)
      mine = rank
      call MPI_Reduce(MPI_IN_PLACE, mine, size, MPI_INTEGER, MPI_SUM, last, MPI_COMM_WORLD)
      call check(all(mine == size * last / 2), 'reduce')
    else
      call MPI_Gatherv(one, 1, MPI_INTEGER, mine, counts, places, MPI_INTEGER, last, MPI_COMM_WORLD)
      one = -1
      call MPI_Scatter(ranks, 1, MPI_INTEGER, one, 1, MPI_INTEGER, last, MPI_COMM_WORLD)
      call check(one == rank, 'scatter')
      mine = rank
      call MPI_Reduce(mine, one, size, MPI_INTEGER, MPI_SUM, last, MPI_COMM_WORLD)
    end if
  end subroutine

  subroutine bottom()
    integer(MPI_ADDRESS_KIND) :: address(1)
    type(MPI_Datatype) :: there
    integer, allocatable, asynchronous :: data(:)
    data = rank + ranks
    call MPI_Get_address(data, address(1))
    call MPI_Type_create_hindexed_block(1, size, address, MPI_INTEGER, there)
    call MPI_Type_commit(there)
    call MPI_Bcast(MPI_BOTTOM, 1, there, last, MPI_COMM_WORLD)
    call check(all(data == last + ranks), 'bcast from MPI_BOTTOM')
    call MPI_Type_free(there)
  end subroutine

  subroutine types()
    double precision :: pair(2), best(2)
    complex(kind(1d0)) :: z, sum
    logical :: mine_too, everybody
    pair = [dble(mod(rank * 3, 4)), dble(rank)]
    call MPI_Allreduce(pair, best, 1, MPI_2DOUBLE_PRECISION, MPI_MINLOC, MPI_COMM_WORLD)
    call check(best(1) == 0 .and. best(2) == 0, 'minloc')
    z = cmplx(1, rank, kind(1d0))
    call MPI_Allreduce(z, sum, 1, MPI_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD)
    call check(sum == cmplx(size, size * last / 2, kind(1d0)), 'complex sum')
    mine_too = rank /= last
    call MPI_Allreduce(mine_too, everybody, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD)
    call check(.not. everybody, 'logical and')
  end subroutine
end program

! Operands must ascend in rank order, and the last is the result.
subroutine internal_operation(brought, size)
  use mpi_f08
  implicit none
  integer, intent(in) :: brought, size
  integer :: calls, highest
  type(MPI_Op) :: op
  type(MPI_Request) :: request
  calls = 0
  call MPI_Op_create(last_of_ascending, .false., op)
  call MPI_Allreduce(brought, highest, 1, MPI_INTEGER, op, MPI_COMM_WORLD)
  if (highest /= size) calls = -1000000000
  call MPI_Iscan(brought, highest, 1, MPI_INTEGER, op, MPI_COMM_WORLD, request)
  call MPI_Op_free(op)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  if (calls >= 0 .and. highest == brought) return
  print *, 'wrong: operation in rank order, its variables the caller''s', calls, highest
  call MPI_Abort(MPI_COMM_WORLD, 1)

contains
  subroutine last_of_ascending(left, right, length, datatype)
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: left, right
    integer :: length
    type(MPI_Datatype) :: datatype
    integer, pointer :: in(:), inout(:)
    call c_f_pointer(left, in, [length])
    call c_f_pointer(right, inout, [length])
    calls = calls + 1
    if (datatype /= MPI_INTEGER .or. any(inout <= in)) calls = -1000000000
  end subroutine
end subroutine
