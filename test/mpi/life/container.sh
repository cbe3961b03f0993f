# In a container: an ordinary user, a root file system that is read-only, /dev/shm of 64 MiB, a filter of system calls as
# Docker's default, few processes, little memory, also by control groups. Jobs run, or one line says what to change.
set -u
bin=$1 programs=$2
here=$(cd "$(dirname "$0")" && pwd)
if [ -z "${FGMPI_CONTAINER_INSIDE:-}" ]; then
  [ "$(id -u)" = 0 ] || { echo "no namespaces without root"; exit 0; }
  unshare --mount --pid --fork --mount-proc true 2>/dev/null || { echo "no namespaces can be made here"; exit 0; }
  work=$(mktemp -d /tmp/container.XXXXXX)
  chmod 755 "$work"
  cc -Wall "$here/filter/withhold.c" -o "$work/withhold" || exit 1
  cat >"$work/job.c" <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
/* Small and large messages round the ranks, a file, a sum. */
int main(int argc, char** argv) {
  int rank, size, sum, n = 1 << 20;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char *out = malloc(n), *in = malloc(n);
  for (int bytes = 1; bytes <= n && size <= 16; bytes *= 32) {
    for (int i = 0; i < bytes; ++i) out[i] = (char)(rank + i);
    MPI_Sendrecv(out, bytes, MPI_CHAR, (rank + 1) % size, 0, in, bytes, MPI_CHAR, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < bytes; ++i)
      if (in[i] != (char)((rank + size - 1) % size + i)) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (argc > 1) {
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    MPI_File_set_errhandler(file, MPI_ERRORS_ARE_FATAL);
    MPI_File_write_at_all(file, rank * 4, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_read_at_all(file, (size - 1 - rank) * 4, &n, 1, MPI_INT, MPI_STATUS_IGNORE);
    if (n != size - 1 - rank) MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_File_close(&file);
  }
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, sum %d\n", size, sum);
  MPI_Finalize();
  return 0;
}
END
  "$bin/mpicc" -O1 "$work/job.c" -o "$work/job" || exit 1
  FGMPI_CONTAINER_INSIDE=$work unshare --mount --pid --fork --mount-proc bash "$0" "$@"
  status=$?
  rm -rf "$work"
  exit $status
fi

work=$FGMPI_CONTAINER_INSIDE
unset FGMPI_NFG FGMPI_RANKS XDG_RUNTIME_DIR
mount --make-rprivate /
mount -t tmpfs -o size=64m,mode=1777 none /dev/shm || exit 1
mkdir "$work/tmp" && mount -t tmpfs -o size=16m,mode=1777 none "$work/tmp" || exit 1

. "$here/../other_users.sh"
show_to_other_users "$(dirname "$bin")" "$work/build" || exit 1

out=$work/tmp/out
mount -o remount,bind,ro / 2>/dev/null || mount -o remount,ro / 2>/dev/null || echo "the root file system cannot be made read-only"
docker=io_uring_setup,io_uring_enter,io_uring_register,process_vm_readv,process_vm_writev,personality,ptrace,kcmp
docker+=,move_pages,mbind,set_mempolicy,get_mempolicy,perf_event_open,userfaultfd
failed=0
user=(setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/nonexistent "TMPDIR=$work/tmp")
runs() { # runs NAME RANKS COMMAND...
  local name=$1 ranks=$2
  shift 2
  timeout 100 "$@" </dev/null >"$out" 2>&1 && grep -q "^$ranks ranks, sum $((ranks * (ranks - 1) / 2))$" "$out" && return
  echo "FAILED $name"
  head -10 "$out"
  failed=1
}
says() { # says NAME PATTERN COMMAND...: fails with one line of this library's, like PATTERN
  local name=$1 pattern=$2
  shift 2
  if timeout 100 "$@" </dev/null >"$out" 2>&1 || [ "$(grep -cE '^(fgmpi|mpiexec): ' "$out")" != 1 ] || ! grep -qE "$pattern" "$out"; then
    echo "FAILED $name: not said in one line: $pattern"
    head -10 "$out"
    failed=1
  fi
}
for code in 1 38; do # EPERM, ENOSYS
  filter=("$work/withhold" $code "$docker")
  runs "processes, errno $code" 4 "${user[@]}" "${filter[@]}" "$bin/mpiexec" -n 4 -nfg 1 "$work/job" "$work/tmp/file"
  runs "proclets, errno $code" 6 "${user[@]}" "${filter[@]}" "$bin/mpiexec" -n 2 -nfg 3 "$work/job" "$work/tmp/file"
  runs "a thousand ranks, errno $code" 1000 "${user[@]}" "${filter[@]}" "$bin/mpiexec" -n 2 -nfg 500 "$work/job"
  runs "files in /dev/shm, errno $code" 4 "${user[@]}" "${filter[@]}" "$bin/mpiexec" -n 4 -nfg 1 -genv FGMPI_SHM_BACKING shm "$work/job"
done
# The shell that starts mpiexec, hydra, its proxy and two processes: a limit on processes counts those, not ranks.
runs "few processes" 1000 "${user[@]}" prlimit --nproc=40 "$bin/mpiexec" -n 2 -nfg 500 "$work/job"
says "little address space" 'would fit' "${user[@]}" prlimit --as=300000000 "$bin/mpiexec" -n 1 -nfg 20000 "$work/job"

# Control groups with little memory and few processes, where they can be made.
groups=
make_group() { # make_group CONTROLLER FILE VALUE: version 1 has a tree for each controller, version 2 one for all
  local folder=/sys/fs/cgroup/$1/fgmpi-test-$work_name
  [ -d "/sys/fs/cgroup/$1" ] || folder=/sys/fs/cgroup/fgmpi-test-$work_name
  mkdir -p "$folder" 2>/dev/null && echo "$3" 2>/dev/null >"$folder/$2" || { rmdir "$folder" 2>/dev/null; return 1; }
  case " $groups " in *" $folder "*) ;; *) groups+=" $folder" ;; esac
}
work_name=$(basename "$work")
memory_file=memory.max
[ -d /sys/fs/cgroup/memory ] && memory_file=memory.limit_in_bytes
if make_group memory $memory_file 256M && make_group pids pids.max 40; then
  confined=(bash -c 'for group in $0; do echo $$ >"$group/cgroup.procs"; done; exec "$@"' "$groups")
  runs "a control group" 1000 "${confined[@]}" "${user[@]}" "$bin/mpiexec" -n 2 -nfg 500 "$work/job"
  says "a control group's memory" 'would fit' "${confined[@]}" "${user[@]}" "$bin/mpiexec" -n 1 -nfg 100000 "$work/job"
else
  echo "no control groups can be made here"
fi
for group in $groups; do
  for try in 1 2 3 4 5 6 7 8 9 10; do rmdir "$group" 2>/dev/null && break || sleep 0.1; done
done
[ $failed = 0 ] && echo " No Errors"
exit $failed
