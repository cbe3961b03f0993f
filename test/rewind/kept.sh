# mpiexec -record -record-inputs: the run repeats when its inputs have changed, are gone or cannot be read. Without the option
# a line says which file differs.
. "$(dirname "$0")/common.sh"
reads=$programs/reads
mkdir temporary
export TMPDIR=$PWD/temporary
# same: the run repeats, and nothing is said of its inputs.
same() {
  repeated 0
  [ ! -s err.repeated ] || fail "words without a reason: $(cat err.repeated)"
}
# kept WORDS: the run repeats, and a line with these words says that kept contents are used.
kept() {
  repeated 0
  grep -q "^mpiexec: -rewind: $1: its contents in the recording are used$" err.repeated || fail "not said: $1: $(cat err.repeated)"
}
make_data() { awk 'BEGIN { for (i = 1; i <= 20000; ++i) print "line " i, i * i }' >data; }

make_data
bytes=$(stat -c %s data)
for ranks in 1 4 100; do
  make_data
  recorded 0 -record-inputs -ranks $ranks "$reads" data
  same
  # An equal file that is another one is the same input.
  cp data other && mv other data
  same
  sed -i 's/^line 9999 /line 9998 /' data
  kept "$PWD/data has other contents"
  truncate -s 300000 data
  kept "$PWD/data has 300000 bytes, $bytes in the recorded run"
  : >data
  kept "$PWD/data has 0 bytes, $bytes in the recorded run"
  rm data
  kept "$PWD/data is gone"
  mkdir data
  kept "$PWD/data is no file any more"
  rmdir data
done
# Many ranks: each block is kept once, so 100 ranks need little more than what their calls need.
[ "$(stat -c %s run.rec)" -lt $((250000 + 2 * bytes)) ] || fail "the file of 100 ranks has $(stat -c %s run.rec) bytes"
for way in "-events" "-check" "-report page.html"; do
  timeout 100 "$bin/mpiexec" -rewind run.rec $way >out.listed 2>err.repeated || fail "$way: $(cat err.repeated)"
done
echo "quit" | timeout 100 "$bin/mpiexec" -rewind run.rec -goto last >out.listed 2>err.repeated || fail "-goto: $(cat err.repeated)"

# What stands in for the inputs is gone when mpiexec is, also when it is killed.
mkfifo commands || fail mkfifo
timeout 100 "$bin/mpiexec" -rewind run.rec -goto last <commands >out.listed 2>err.repeated &
process=$!
exec 3>commands
for ((i = 0; i < 300; ++i)); do
  grep -q "^at " out.listed && break
  sleep 0.1
done
[ -n "$(ls temporary)" ] || fail "there is no folder of inputs: $(cat out.listed err.repeated)"
pkill -KILL -P $process
wait $process
exec 3>&-
for ((i = 0; i < 100; ++i)); do
  [ -z "$(ls temporary)" ] && break
  sleep 0.1
done
[ -z "$(ls temporary)" ] || fail "files are left: $(ls temporary)"

# A file without permission, for those who are not root.
make_data
recorded 0 -record-inputs -ranks 3 "$reads" data
chmod 000 data
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  chmod 755 . && chmod 644 run.rec && chmod 777 temporary
  timeout 60 setpriv --reuid 65534 --clear-groups "$bin/mpiexec" -rewind run.rec </dev/null >out.repeated 2>err.repeated ||
    fail "without permission: $(cat err.repeated)"
  cmp -s out.recorded out.repeated || fail "without permission: other output"
elif [ "$(id -u)" != 0 ]; then
  repeated 0
fi
[ "$(id -u)" = 0 ] && ! command -v setpriv >/dev/null ||
  grep -q "$PWD/data cannot be read (Permission denied): its contents in the recording are used" err.repeated || fail "without permission: $(cat err.repeated)"

# A large file, which is read in pieces: only these are kept.
make_data
truncate -s 20000000000 large
for place in 1 2 3; do
  head -c 1000000 data | dd of=large bs=1000000 seek=$((place * 100)) conv=notrunc status=none
done
recorded 0 -record-inputs -ranks 3 "$reads" data large
[ "$(stat -c %s run.rec)" -lt 6000000 ] || fail "large: the file has $(stat -c %s run.rec) bytes"
same
printf x | dd of=large bs=1 seek=200000005 conv=notrunc status=none
kept "$PWD/large has other contents"
rm large
kept "$PWD/large is gone"

# The folder in which the run was started is gone, too.
mkdir -p inputs/folder && cp data inputs/folder/data
(cd inputs/folder && timeout 60 "$bin/mpiexec" -record ../../run.rec -record-inputs -ranks 2 "$reads" data >../../out.recorded) || fail "a folder"
rm -r inputs
kept "$PWD/inputs/folder/data is gone"

# A file that others change while the run reads it, and that the run overwrites at last.
make_data
mkfifo go
timeout 60 "$bin/mpiexec" -record run.rec -record-inputs -ranks 2 "$reads" -changing data <go >out.recorded &
process=$!
exec 3>go
for ((i = 0; i < 600; ++i)); do
  grep -q before out.recorded && break
  sleep 0.1
done
sed 's/^line 10 /line 11 /' data >changed && cat changed >data
echo >&3
exec 3>&-
wait $process || fail "changed by others: status"
[ "$(sed -n 's/.*before: //p' out.recorded)" != "$(sed -n 's/.*behind: //p' out.recorded)" ] || fail "changed by others: nothing is seen"
kept "$PWD/data has [0-9]* bytes, $bytes in the recorded run"

# Many files, in a working folder that is gone: the first ones are named.
mkdir many
for ((i = 0; i < 10; ++i)); do echo "file $i" >many/$i; done
recorded 0 -record-inputs -ranks 20 "$reads" -many many
same
rm -r many
kept "$PWD/many/4 is gone"
[ "$(grep -c 'is gone' err.repeated)" = 5 ] || fail "many: not five lines"
grep -q "^mpiexec: -rewind: also for 5 other files$" err.repeated || fail "many: the others are not counted"

# Without the option a line says which file differs, and nothing is kept.
make_data
recorded 0 -ranks 2 "$reads" data
[ "$(stat -c %s run.rec)" -lt 150000 ] || fail "kept without being asked"
sed -i 's/^line 9999 /line 9998 /' data
repeats_not() {
  timeout 60 "$bin/mpiexec" -rewind run.rec </dev/null >out.repeated 2>err.repeated
  [ $? = 87 ] || fail "without the option: another status"
  grep -q "$1" err.repeated || fail "without the option: not named: $(cat err.repeated)"
}
repeats_not "data has other contents than in the recorded run"
truncate -s 300000 data
repeats_not "data has 300000 bytes, $bytes in the recorded run"
rm data
repeats_not "data cannot be opened"
"$bin/mpiexec" -record-inputs -ranks 2 "$reads" data 2>err.recorded && fail "-record-inputs alone is allowed"
grep -q "allowed with -record FILE" err.recorded || fail "-record-inputs alone: no words"

# Units of Fortran.
make_data
recorded 0 -record-inputs -ranks 4 "$programs/units"
same
rm data
kept "$PWD/data is gone"
[ -z "$(ls temporary)" ] || fail "files are left at the end: $(ls temporary)"
