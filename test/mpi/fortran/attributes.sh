# Attributes that Fortran puts on datatypes and communicators, with an extra state that is an expression: the functions
# get its value, also when the caller's memory has long been used for something else. Attributes of predefined types are
# deleted in MPI_Finalize. Types that the program never frees cause no output.
set -u
bin=$1 programs=$2
work=$programs/attributes.dir
fail() { echo "attributes.sh: $*" >&2; cat "$work/out" >&2; exit 1; }
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
touch out

# source USE INCLUDE DATATYPE COMM: the program for one of the bindings.
source_of() {
  cat <<END
module functions
  use iso_c_binding
  interface
    integer(c_int) function say(fd, text, a, b, c) bind(c, name="dprintf")
      import
      integer(c_int), value :: fd
      character(c_char) :: text(*)
      integer(c_long), value :: a, b, c
    end function
  end interface
contains
  subroutine type_goes(oldtype, keyval, value, extra, ierr)
    $1
    implicit none
    $2
    $3 :: oldtype
    integer :: keyval, ierr, n
    integer(MPI_ADDRESS_KIND) :: value, extra
    n = say(1, "%ld: type, value %ld, extra %ld" // char(10) // char(0), modulo(value, 10_8), value / 10, extra)
    ierr = MPI_SUCCESS
  end subroutine
  subroutine comm_goes(oldcomm, keyval, value, extra, ierr)
    $1
    implicit none
    $2
    $4 :: oldcomm
    integer :: keyval, ierr, n
    integer(MPI_ADDRESS_KIND) :: value, extra
    n = say(1, "%ld: comm, value %ld, extra %ld" // char(10) // char(0), modulo(value, 10_8), value / 10, extra)
    ierr = MPI_SUCCESS
  end subroutine
  ! What the caller's memory holds now.
  recursive integer function overwrite(depth) result(sum)
    integer, intent(in) :: depth
    integer, volatile :: junk(100)
    junk = depth
    sum = junk(1 + modulo(depth, 100))
    if (depth > 0) sum = sum + overwrite(depth - 1)
  end function
end module

program attributes
  $1
  use functions
  implicit none
  $2
  $3 :: types(4)
  integer :: ierr, type_key, comm_key, rank, n
  integer(MPI_ADDRESS_KIND) :: wide
  call MPI_INIT(ierr)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
  wide = rank
  call MPI_TYPE_CREATE_KEYVAL(MPI_TYPE_NULL_COPY_FN, type_goes, type_key, 7000000000_8 + wide, ierr)
  call MPI_COMM_CREATE_KEYVAL(MPI_COMM_NULL_COPY_FN, comm_goes, comm_key, 8000000000_8 + wide, ierr)
  call MPI_TYPE_SET_ATTR(MPI_INTEGER, type_key, 120 + wide, ierr)
  call MPI_COMM_SET_ATTR(MPI_COMM_SELF, comm_key, 340 + wide, ierr)
  if (overwrite(20) /= 210) call MPI_ABORT(MPI_COMM_WORLD, 1, ierr)
  call MPI_TYPE_CONTIGUOUS(3, MPI_INTEGER, types(1), ierr)
  call MPI_TYPE_COMMIT(types(1), ierr)
  call MPI_TYPE_CREATE_F90_REAL(6, 30, types(2), ierr)
  call MPI_TYPE_CREATE_F90_INTEGER(9, types(3), ierr)
  call MPI_TYPE_CREATE_F90_COMPLEX(15, MPI_UNDEFINED, types(4), ierr)
  n = say(1, "%ld: to the end" // char(10) // char(0), wide, 0_8, 0_8)
  call MPI_FINALIZE(ierr)
  n = say(1, "%ld: at the end" // char(10) // char(0), wide, 0_8, 0_8)
end program
END
}

source_of "" "include 'mpif.h'" integer integer >mpif.f90
source_of "use mpi" "" integer integer >mpi.f90
source_of "use mpi_f08" "" "type(MPI_Datatype)" "type(MPI_Comm)" >mpi_f08.f90
for binding in mpif mpi mpi_f08; do
  "$bin/mpifort" -w -O1 -g $binding.f90 -o $binding >out 2>&1 || fail "mpifort, $binding"
  for shape in 1x1 3x1 1x3 2x2; do
    timeout 60 "$bin/mpiexec" -n ${shape#*x} -nfg ${shape%x*} ./$binding >out 2>&1 || fail "$binding at $shape: status $?"
    ranks=$((${shape#*x} * ${shape%x*}))
    for ((r = 0; r < ranks; ++r)); do
      printf '%s\n' "$r: to the end" "$r: comm, value 34, extra 800000000$r" "$r: type, value 12, extra 700000000$r" \
        "$r: at the end"
    done >expected
    sort -s -n out | cmp -s - expected || fail "$binding at $shape: not what is expected"
  done
done
