# Duplicates that complete in another order at each rank keep their keys: by broadcast and by context ids, on several shapes,
# under random schedules. On the system's MPICH at 2 to 16 processes the definitions are the same as ours.
. "$(dirname "$0")/begin.bash"

# looks NAME RANKS: in the trace NAME, messages of tag k go over the communicator called "idup k" at each rank.
looks() {
  "$dump" --check --quiet "$1" || fail "$1: the job's own unification is another one"
  "$dump" --comms "$1" >"$1.comms" || fail "$1: fgmpi-track-dump --comms"
  "$dump" --events --no-times "$1" >events || fail "$1: fgmpi-track-dump --events"
  for tag in 0 1 2 3 4 5; do
    comm=$(sed -n "s/^comm \([0-9]*\) group 0 parent 0 by MPI_Comm_idup \"idup $tag\"\$/\1/p" "$1.comms")
    [ "$(grep -c " MPI_Send comm $comm to [0-9]* tag $tag " events)" = "$2" ] || fail "$1: idup $tag: $(cat "$1.comms")"
    [ "$2" = 1 ] || [ "$(grep -c "by MPI_Comm_idup \"inter $tag\"" "$1.comms")" = 1 ] || fail "$1: inter $tag: $(cat "$1.comms")"
  done
  [ "$(grep -o 'created comm' events | wc -l)" = "$(grep -o 'freed comm' events | wc -l)" ] || fail "$1: $(grep -c 'freed comm' events) were freed"
}
# ours NAME SETTINGS C P
ours() {
  FGMPI_TRACK="files:raw;$2" timeout 100 "$bin/mpiexec" -track "$1" -n "$4" -nfg "$3" "$folder/orders" >out 2>&1 ||
    fail "$1: status $?: $(head -5 out)"
  looks "$1" $(($3 * $4))
}
for ranks in 2 5 16; do
  ours one.$ranks "" $ranks 1
  for way in "keys:broadcast" "keys:broadcast;groups:gather" "groups:gather"; do
    for seed in 3 4; do
      FGMPI_SCHED=random:$seed ours "$way.$ranks.$seed" "$way" $ranks 1
      diff "one.$ranks.comms" "$way.$ranks.$seed.comms" || fail "$way: other definitions at $ranks ranks"
    done
  done
done
ours processes "keys:broadcast" 4 4
diff one.16.comms processes.comms || fail "other definitions in 4 processes of 4"
ours many "keys:broadcast" 64 2

command -v mpicc.mpich >/dev/null && command -v mpiexec.hydra >/dev/null || { echo ok && exit; }
for program in orders pattern; do
  most=$([ $program = orders ] && echo 5 || echo 16)
  mpicc.mpich -w -O1 -g "$sources/$program.c" -o $program || fail "mpicc.mpich $program.c"
  for ranks in 2 $most; do
    FGMPI_TRACK="files:raw" FGMPI_TRACK_DIR=host.$program.$ranks timeout 250 mpiexec.hydra -n $ranks \
      env LD_PRELOAD="$library" ./$program >out 2>&1 || fail "$program on MPICH: status $?: $(head -5 out)"
    [ $program = orders ] && looks host.$program.$ranks $ranks
    rm -rf ours
    FGMPI_TRACK="files:raw" timeout 100 "$bin/mpiexec" -track ours -n 1 -nfg $ranks "$folder/$program" >out 2>&1 ||
      fail "$program: status $?: $(head -5 out)"
    "$dump" --comms ours >ours.comms && "$dump" --check --comms --quiet host.$program.$ranks >host.comms || fail "fgmpi-track-dump"
    grep -v '^definitions:' host.comms | diff ours.comms - || fail "$program on $ranks processes of MPICH: other definitions"
  done
done
echo ok
