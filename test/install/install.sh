#!/bin/bash
# What a user of an installation sees: installs the build tree, moves the prefix elsewhere (with a space in its
# path), and uses it there.   install.sh CMAKE BUILD_FOLDER WORK_FOLDER
set -u
cmake=$1 build=$2 work=$3
failed=0

# expect NAME STATUS PATTERN COMMAND...: the command ends with STATUS and its output has a line like PATTERN.
expect() {
  local name=$1 status=$2 pattern=$3 said got
  shift 3
  said=$(timeout 300 "$@" 2>&1 < /dev/null)
  got=$?
  if [ "$got" != "$status" ]; then
    echo "FAILED $name: status $got instead of $status: $*"
    echo "$said" | head -20
    failed=1
  elif ! grep -Eq -- "$pattern" <<< "$said"; then
    echo "FAILED $name: no line like '$pattern': $*"
    echo "$said" | head -20
    failed=1
  else
    echo "ok $name"
  fi
}

rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
"$cmake" --install "$build" --prefix "$work/first" > install.log || { cat install.log; exit 1; }
mv first "the prefix" && prefix="$work/the prefix" && bin="$prefix/bin"
unset LD_LIBRARY_PATH FGMPI_NFG FGMPI_RANKS
# lacks PART: the build was made without this optional part.
lacks() { "$bin/fgmpi-info" | grep -q "missing *$1:"; }

for file in bin/{mpicc,mpicxx,mpic++,mpicc_abi,mpicxx_abi,mpifort,mpif90,mpif77,mpiexec,mpirun,fgmpi-info} lib/libfgmpi-track.so include/{fgmpi,fgmpi_standard,mpi_abi/mpi}.h \
  share/man/man1/{mpiexec,mpicc,mpifort,fgmpi-info}.1 share/man/man3/MPIX_{Yield,Stats}.3 share/man/man7/fgmpi-{settings,hazards}.7 \
  share/gdb/fgmpi-gdb.py lib/{libmpich.so.12-gdb.py,libfgmpi_hydra.so,libmpich.so.12,libmpich.so,libmpi.so.12,libmpi.so,libmpi_abi.so.1,libmpi_abi.so.0,libmpi_abi.so,pkgconfig/fgmpi.pc,pkgconfig/fgmpi-abi.pc}; do
  [ -e "$prefix/$file" ] || { echo "FAILED layout: $file is missing"; failed=1; }
done

cat > hello.c << 'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("hello from %d of %d\n", rank, size);
  MPI_Finalize();
  return 0;
}
END
cat > hello.cc << 'END'
#include <mpi.h>
#include <iostream>
#include <string>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::cout << "hello from " + std::to_string(rank) + "\n";
  MPI_Finalize();
}
END
cat > hello.f90 << 'END'
program hello
  use mpi
  integer :: rank, error, vector, bytes
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Type_contiguous(3, MPI_DOUBLE_PRECISION, vector, error)
  call MPI_Type_commit(vector, error)
  call MPI_Type_size(vector, bytes, error)
  call MPI_Type_free(vector, error)
  print *, 'rank', rank, 'bytes', bytes
  call MPI_Finalize(error)
end program
END

expect "C" 0 "" "$bin/mpicc" hello.c -o hello
expect "C++" 0 "" "$bin/mpicxx" hello.cc -o hello_cc
expect "Fortran" 0 "" "$bin/mpifort" hello.f90 -o hello_f
expect "compile, then link" 0 "" bash -c '"$0/mpicc" -c hello.c -o hello.o && "$0/mpicc" hello.o -o hello_2' "$bin"
expect "a shared library" 0 "" "$bin/mpicc" -shared hello.c -o libhello.so
expect "compiler's version" 0 "(cc|gcc)" "$bin/mpicc" --version
expect "-show" 0 "-fPIC .*-pie hello.c .*-lmpich" "$bin/mpicc" -show hello.c
expect "-showme" 0 "-fPIC .*-pie hello.c .*-lmpich" "$bin/mpicc" -showme hello.c
expect "-static" 1 "^mpicc: -static: .* cannot be linked statically" "$bin/mpicc" -static hello.c -o hello_static
expect "-show compiling" 0 "-fPIC .*-c hello.c -I[^ ]*mpich -I[^ ]*" "$bin/mpicc" -show -c hello.c
expect "-compile_info" 0 "-I.*include" "$bin/mpicc" -compile_info
expect "-link_info" 0 '-Wl,"?-rpath,' "$bin/mpicc" -link_info
expect "FGMPI_CC" 0 "^my-cc " env FGMPI_CC=my-cc "$bin/mpicc" -show hello.c
ln -sf "$bin/mpicc" linked-mpicc
expect "a linked wrapper" 0 "the prefix/include" ./linked-mpicc -show -c hello.c

expect "a program without mpiexec" 0 "^hello from 0 of 1$" ./hello
expect "three ranks without mpiexec" 0 "^hello from 2 of 3$" env FGMPI_NFG=3 ./hello
expect "C++ under mpiexec" 0 "^hello from 5$" "$bin/mpiexec" -n 2 -nfg 3 ./hello_cc
expect "Fortran under mpirun" 0 "rank +1 bytes +24" "$bin/mpirun" -np 2 ./hello_f
expect "-ranks" 0 "^hello from 6 of 7$" "$bin/mpiexec" -n 2 -ranks 7 ./hello
expect "two programs" 0 "^hello from 4 of 5$" "$bin/mpiexec" -n 1 -nfg 3 ./hello : -n 2 ./hello
expect "exit status" 3 "" "$bin/mpiexec" -n 2 sh -c 'exit 3'
expect "bad -nfg" 1 "^mpiexec: -nfg 0: allowed is a number from 1 to " "$bin/mpiexec" -nfg 0 ./hello
expect "no program" 1 "^mpiexec: no program given" "$bin/mpiexec" -n 2
expect "a missing program" 127 "^mpiexec: \./none: no such program" "$bin/mpiexec" -n 2 ./none
expect "one that is not in PATH" 127 "^mpiexec: hello: no such program in PATH" "$bin/mpiexec" hello
touch plain.txt
expect "not executable" 126 "^mpiexec: \./plain.txt: may not be executed; " "$bin/mpiexec" ./plain.txt
expect "a folder" 126 "^mpiexec: \./lib.dir: is a folder; " bash -c 'mkdir -p lib.dir; exec "$0/mpiexec" ./lib.dir' "$bin"
expect "in another folder" 0 "^hello from 1 of 2$" "$bin/mpiexec" -wdir "$PWD" -nfg 2 ./hello
expect "missing there" 127 "^mpiexec: \./hello: no such" "$bin/mpiexec" -wdir "$PWD/lib.dir" -nfg 2 ./hello
printf '#!/bin/sh\nexport GREETED=yes\nexec ./hello "$@"\n' > script && chmod +x script
expect "a script around the program" 0 "^hello from 5 of 6$" "$bin/mpiexec" -n 2 -nfg 3 ./script
printf 'exec ./hello\n' > bare && chmod +x bare
expect "a script without an interpreter" 0 "^hello from 5 of 6$" "$bin/mpiexec" -n 2 -nfg 3 ./bare
expect "-track, by a script" 0 "^hello from 5 of 6$" "$bin/mpiexec" -track "a trace" -n 2 -nfg 3 ./script
if ! lacks OTF2; then
  expect "fgmpi-track-dump" 0 "^job [0-9a-f]+: 6 ranks$" "$bin/fgmpi-track-dump" "a trace"
  expect "its OTF2 file" 0 "" test -s "a trace/traces.otf2"
fi
expect "bad FGMPI_HYDRA" 1 "^mpiexec: FGMPI_HYDRA=/no: " env FGMPI_HYDRA=/no "$bin/mpiexec" ./hello
expect "mpiexec -version" 0 "Finegrain MPI" "$bin/mpiexec" -version
expect "fgmpi-info" 0 "^prefix +$prefix$" "$bin/fgmpi-info"
expect "fgmpi-info -v" 0 "^binding +processing units [0-9]" "$bin/fgmpi-info" -v
expect "its host" 0 "^host +[^ ]+, id [0-9a-f]{32}$" "$bin/fgmpi-info" -v
expect "fgmpi-info -v under mpiexec" 0 "^process +1 of 2, .* by pmi1$" "$bin/mpiexec" -n 2 "$bin/fgmpi-info" -v
expect "the transport of two processes" 0 "^transport +shm .*: to processes 1$" "$bin/mpiexec" -n 2 "$bin/fgmpi-info" -v
lacks LIBFABRIC || expect "another transport" 0 "^transport +ofi .*: to processes 0$" env FGMPI_TRANSPORT=ofi "$bin/mpiexec" -n 2 \
  "$bin/fgmpi-info" -v
expect "a process on one core" 0 "^cores +[0-9]+ of [0-9]+$" "$bin/mpiexec" -n 2 -bind-to core "$bin/fgmpi-info" -v
first_core=$(taskset -cp $$ | grep -oE '[0-9]+' | sed -n 2p)
expect "a bound process" 0 "^binding +processing units $first_core( |$)" taskset -c "$first_core" "$bin/fgmpi-info" -v
expect "no keys but the host's id" 0 "^1$" bash -c '"$0/fgmpi-info" -v | grep -oE "[0-9a-f]{32,}" | wc -l' "$bin"

# 1,000 ranks, each with its line.
timeout 300 "$bin/mpiexec" -n 4 -nfg 250 ./hello < /dev/null > thousand.txt
if diff <(seq 0 999 | sed 's/.*/hello from & of 1000/') <(sort -k3n thousand.txt) > thousand.diff; then
  echo "ok a thousand ranks"
else
  echo "FAILED a thousand ranks:"
  head thousand.diff
  failed=1
fi

# A static program brings its MPI library: here one of two functions. Built so that nothing is missing.
cat > static.c << 'END'
int MPI_Init(int* argc, char*** argv) { return !argc + !argv; }
int main(int argc, char** argv) { return MPI_Init(&argc, &argv); }
END
if cc -static static.c -o static 2> /dev/null; then
  expect "a static program" 0 "" "$bin/mpiexec" -n 2 ./static
  expect "its many ranks" 1 "^mpiexec: \./static: 3 ranks a process, but .* linked statically" "$bin/mpiexec" -nfg 3 ./static
fi

# Programs built with the host's own compiler wrapper run on us under our mpiexec.
if command -v mpicc.mpich > /dev/null; then
  expect "the host's wrapper" 0 "" mpicc.mpich hello.c -o hello_host
  host=$(dirname "$(ldconfig -p | sed -n 's/.*libmpich.so.12 .*=> //p' | head -1)")
  expect "one with an RPATH" 0 "" mpicc.mpich hello.c -o hello_rpath -Wl,--disable-new-dtags "-Wl,-rpath,$host"
  expect "which a path with a space cannot outdo" 1 "^mpiexec: \./hello_rpath: would load $host/" "$bin/mpiexec" ./hello_rpath
  expect "a program of the host's wrapper" 0 "^hello from 0 of 2$" "$bin/mpiexec" -n 2 ./hello_host
fi
if command -v mpifort.mpich > /dev/null; then
  expect "the host's Fortran wrapper" 0 "" mpifort.mpich hello.f90 -o hello_host_f
  expect "a program of the host's Fortran wrapper" 0 "rank +1 bytes +24" "$bin/mpiexec" -n 2 ./hello_host_f
  expect "its ranks in one process" 0 "rank +2 bytes +24" "$bin/mpiexec" -nfg 3 ./hello_host_f
fi
if command -v pkg-config > /dev/null; then
  expect "pkg-config" 0 "-lmpich" env PKG_CONFIG_PATH="$prefix/lib/pkgconfig" pkg-config --libs --cflags fgmpi
fi

# find_package(Finegrain), without wrappers.
mkdir -p own && cat > own/CMakeLists.txt << 'END'
cmake_minimum_required(VERSION 3.20)
project(own C)
find_package(Finegrain 0.1 REQUIRED)
add_executable(own ../hello.c)
target_link_libraries(own PRIVATE Finegrain::MPI_C)
message(STATUS "mpiexec is ${Finegrain_MPIEXEC}")
END
expect "find_package(Finegrain)" 0 "mpiexec is .*the prefix/bin/mpiexec" "$cmake" -S own -B own/build "-DCMAKE_PREFIX_PATH=$prefix"
expect "build with Finegrain::MPI_C" 0 "Built target own" "$cmake" --build own/build
expect "run it" 0 "hello from 7 of 8" "$bin/mpiexec" -n 2 -nfg 4 own/build/own
expect "module file" 0 "prepend-path PATH" grep -r prepend-path "$prefix/share/modulefiles/finegrain-mpi"
expect "bug report" 0 "ulimit -s" "$bin/fgmpi-info" -bug

# CMake's FindMPI with our wrappers.
mkdir -p project && cat > project/CMakeLists.txt << 'END'
cmake_minimum_required(VERSION 3.20)
project(hello C CXX Fortran)
find_package(MPI REQUIRED)
add_executable(cmake_hello ../hello.c)
target_link_libraries(cmake_hello PRIVATE MPI::MPI_C)
add_executable(cmake_hello_f ../hello.f90)
target_link_libraries(cmake_hello_f PRIVATE MPI::MPI_Fortran)
add_executable(cmake_cxx ../state.cc)
target_link_libraries(cmake_cxx PRIVATE MPI::MPI_CXX)
END
cat > state.cc << 'END'
// What FindMPI compiles without -fPIC: iostream objects, library exceptions, a global with a constructor.
#include <mpi.h>
#include <iostream>
#include <map>
#include <stdexcept>
std::map<int, int> seen{{-1, -1}};
int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  seen[rank] = rank;
  if (rank % 2) std::cout << std::hex;
  try {
    throw std::out_of_range(std::to_string(rank));
  } catch (const std::logic_error& e) {
    MPI_Barrier(MPI_COMM_WORLD);
    std::cout << rank + 10 << " caught " << e.what();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  std::cout << " with " << seen.size() << std::endl;
  MPI_Finalize();
}
END
expect "FindMPI" 0 "Found MPI" "$cmake" -S project -B project/build -DMPI_C_COMPILER="$bin/mpicc" \
  -DMPI_CXX_COMPILER="$bin/mpicxx" -DMPI_Fortran_COMPILER="$bin/mpifort" -DMPIEXEC_EXECUTABLE="$bin/mpiexec"
expect "a CMake project" 0 "" "$cmake" --build project/build
expect "its program" 0 "^hello from 3 of 4$" "$bin/mpiexec" -n 2 -nfg 2 project/build/cmake_hello
expect "its C++ program" 0 "^10 caught 0 with 2$" "$bin/mpiexec" -n 2 -nfg 3 project/build/cmake_cxx
expect "formats of its ranks" 0 "^d caught 3 with 2$" "$bin/mpiexec" -n 2 -nfg 3 project/build/cmake_cxx
expect "its C++ program in many ranks" 0 "^500$" bash -c '"$0/mpiexec" -n 2 -nfg 250 project/build/cmake_cxx |
  grep -cE "^[0-9a-f]+ caught [0-9]+ with 2$"' "$bin"
expect "bound at start" 0 "BIND_NOW" readelf -d project/build/cmake_cxx
expect "its Fortran program" 0 "rank +3 bytes +24" "$bin/mpiexec" -n 2 -nfg 2 project/build/cmake_hello_f

modules=/usr/share/modules/init/bash  # of environment-modules, where it is installed
[ ! -r $modules ] || expect "an environment module" 0 "^$bin/mpicc$" bash -c '. "$0"; module use "$1/share/modulefiles"
  module load finegrain-mpi; command -v mpicc' $modules "$prefix"

exit $failed
