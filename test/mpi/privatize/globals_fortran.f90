! COMMON, SAVE, DATA, module variables and initialised locals: the result differs if any were shared.
! MPI_IN_PLACE and MPI_STATUS_IGNORE are objects that the binding knows by address: each rank's must be known.
module state
  implicit none
  integer :: counter = 100
  real(8), allocatable :: field(:)
  integer :: table(3) = (/ 1, 2, 3 /)
end module state

subroutine bump(n)
  implicit none
  integer, intent(out) :: n
  integer, save :: calls = 0
  calls = calls + 1
  n = calls
end subroutine bump

program globals_fortran
  use state
  implicit none
  include 'mpif.h'
  integer :: rank, nranks, ierr, i, n, shared_a, from_left, total
  real(8) :: shared_b, r
  common /block/ shared_b, shared_a
  integer :: from_data
  character(len=16) :: text
  integer, allocatable :: seed(:)
  data from_data /77/
  call MPI_INIT(ierr)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, nranks, ierr)
  counter = counter + rank
  shared_a = rank
  shared_b = 2.5d0 * rank
  from_data = from_data + rank
  table(2) = rank
  allocate(field(10))
  field = rank
  call random_seed(size=n)
  allocate(seed(n))
  seed = 12345 + rank
  call random_seed(put=seed)
  do i = 1, 4
    call MPI_SENDRECV(counter, 1, MPI_INTEGER, mod(rank + 1, nranks), 5, from_left, 1, MPI_INTEGER, &
                      mod(rank + nranks - 1, nranks), 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    if (from_left /= 100 + mod(rank + nranks - 1, nranks)) call fail('message')
    total = rank
    call MPI_ALLREDUCE(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    if (total /= nranks * (nranks - 1) / 2) call fail('MPI_IN_PLACE')
    call bump(n)
    if (n /= i) call fail('SAVE')
    if (counter /= 100 + rank) call fail('module variable')
    if (shared_a /= rank .or. shared_b /= 2.5d0 * rank) call fail('COMMON')
    if (from_data /= 77 + rank) call fail('DATA')
    if (table(2) /= rank .or. table(1) /= 1) call fail('module array')
    if (any(field /= rank)) call fail('allocatable')
    call random_number(r)
    write(text, '(i8)') rank
    read(text, *) n
    if (n /= rank) call fail('internal file')
  end do
  call check_random(r)
  call MPI_BARRIER(MPI_COMM_WORLD, ierr)
  if (rank == 0) print '(a)', ' No Errors'
  deallocate(seed)  ! so that a leak checker has nothing to say
  call MPI_FINALIZE(ierr)
contains
  subroutine fail(what)
    character(len=*), intent(in) :: what
    print *, 'rank', rank, ': wrong ', what
    call MPI_ABORT(MPI_COMM_WORLD, 1, ierr)
  end subroutine fail
  ! The fourth number after this seed, drawn without anybody in between, is the same.
  subroutine check_random(fourth)
    real(8), intent(in) :: fourth
    real(8) :: again
    integer :: k
    call random_seed(put=seed)
    do k = 1, 4
      call random_number(again)
    end do
    if (again /= fourth) call fail('random numbers')
  end subroutine check_random
end program globals_fortran
