! Coarrays, static and allocatable: puts, gets and strided sections between images, atomics, locks, collectives.
program ring
  use iso_fortran_env
  implicit none
  integer :: fixed(10)[*]
  integer, allocatable :: grid(:, :)[:]
  integer(atomic_int_kind) :: counter[*]
  type(lock_type) :: guard[*]
  integer :: guarded[*]
  integer :: me, images, right, left, i, total, seen(3)

  me = this_image()
  images = num_images()
  right = merge(1, me + 1, me == images)
  left = merge(images, me - 1, me == 1)
  allocate (grid(6, 4)[*])

  fixed = 0
  grid = 0
  guarded = 0
  counter = 0
  sync all
  fixed(2:4)[right] = [me, 2*me, 3*me]
  grid(1:6:2, 3)[right] = [me, me + 1, me + 2]
  sync all
  if (any(fixed /= [0, left, 2*left, 3*left, 0, 0, 0, 0, 0, 0])) error stop 'fixed'
  if (any(grid(1:6:2, 3) /= [left, left + 1, left + 2])) error stop 'grid'
  if (sum(grid) /= 3*left + 3) error stop 'grid: elsewhere'
  seen = grid(1:6:2, 3)[right]
  if (any(seen /= [me, me + 1, me + 2])) error stop 'seen'

  do i = 1, 20
    call atomic_add(counter[1], 1)  ! OpenCoarrays 2.10.1 does not return what atomic_fetch_add fetched
    lock(guard[1])
    total = guarded[1]
    guarded[1] = total + 1
    unlock(guard[1])
  end do
  sync all
  call atomic_ref(total, counter[1])
  if (total /= 20*images) error stop 'counter'
  if (guarded[1] /= 20*images) error stop 'guarded'

  total = me
  call co_sum(total)
  if (total /= images*(images + 1)/2) error stop 'co_sum'
  total = merge(77, 0, me == images)
  call co_broadcast(total, images)
  if (total /= 77) error stop 'co_broadcast'
  if (me > 1) sync images(me - 1)
  if (me < images) sync images(me + 1)
  deallocate (grid)
  sync all
  if (me == 1) print *, 'No Errors'
end program ring
