#!/usr/bin/env bash
# Runs the tarball of packaging/portable.sh in empty roots of Debian 12, 13 and sid, in a folder with spaces: programs that were
# compiled outside, and programs that GCC of sid compiles there.      packaging/test-portable.sh BUILD_FOLDER TARBALL
set -eu
build=$1 tarball=$2
fail() { echo "scripts/package: FAILED: $*" >&2; exit 1; }
command -v mmdebstrap > /dev/null || { echo "scripts/package: mmdebstrap is not installed"; exit 77; }
work=$(mktemp -d /var/tmp/fgmpi-roots.XXXXXX)
trap 'rm -rf "$work"' EXIT
cat > "$work/hello.c" << 'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Datatype columns; /* the hosted MPICH makes it */
  MPI_Type_vector(2, 1, 2, MPI_INT, &columns);
  MPI_Type_commit(&columns);
  MPI_Type_free(&columns);
  printf("rank %d of %d\n", rank, size);
  MPI_Finalize();
  return 0;
}
END
"$build/bin/mpicc" "$work/hello.c" -o "$work/hello" || fail "hello.c is not compiled"

# inside WORD...: runs a command in the root, where nothing of this machine is seen. The mounts end with it.
inside() {
  unshare --mount --propagation private --pid --fork sh -c '
    root=$1; shift
    mount -t proc proc "$root/proc" && mount -t sysfs sysfs "$root/sys" && mount --rbind /dev "$root/dev" &&
      mount -t tmpfs tmpfs "$root/dev/shm" || exit 1
    exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/nowhere "$@"' sh "$root" "$@"
}
for release in bookworm trixie sid; do
  root=$work/$release
  included=
  [ $release != sid ] || included=--include=gcc,libc6-dev
  mmdebstrap --quiet --variant=minbase --aptopt='Acquire::Check-Valid-Until "false"' $included $release "$root" || exit 77
  printf '127.0.0.1 localhost\n127.0.1.1 %s\n' "$(uname -n)" > "$root/etc/hosts"  # hydra connects to this host by its name
  mkdir "$root/opt/a folder"
  tar -xzf "$tarball" -C "$root/opt/a folder"
  cp "$work"/hello* "$root/tmp"
  bin="/opt/a folder/$(basename "$(echo "$root/opt/a folder"/*)")/bin"
  ! inside sh -c 'command -v mpiexec.hydra || ls /usr/lib/*/libmpich.so.12' > /dev/null 2>&1 || fail "$release: the root has an MPICH"
  inside "$bin/mpiexec" -n 2 -nfg 50 /tmp/hello > "$work/run.log" 2>&1 || { tail "$work/run.log"; fail "$release: hello"; }
  [ "$(grep -c 'of 100' "$work/run.log")" = 100 ] || { tail "$work/run.log"; fail "$release: not 100 ranks"; }
  [ $release != sid ] || inside sh -c 'cd /tmp && "$0/mpicc" hello.c -o made && "$0/mpiexec" -n 2 -nfg 2 ./made && FGMPI_NFG=2 ./made' \
    "$bin" > "$work/run.log" 2>&1 || { tail "$work/run.log"; fail "$release: compiled there"; }
  echo "$release: $(inside ldd --version | sed -n '1s/.* //p') runs it"
  rm -rf "$root"
done
