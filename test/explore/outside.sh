# mpiexec -explore on programs with windows, files, threads and other processes.
#   outside.sh BIN FOLDER
. "$(dirname "$0")/common.sh" "$1" "$2" outside
explored 0 24 5 window
grep -qx 9 out || fail "what the window holds"
explored 0 24 5 shared_window
grep -qx 9 out || fail "what the shared window holds"
explored 0 6 4 file
explored 0 6 4 threads
# What is not decided is not claimed to be explored.
run 0 -explore -check=deadlock -n 2 "$programs" join
outside="executions?.*: not all executions explored: other processes and jobs have no part in it"
grep -qE "${outside}" out || fail "the last line after a socket was joined"
# Files of executions are private and compared, the working folder is left as it was; what is not asked for is its own.
mkdir -p work/made
cd work
echo 8 >../above
echo 7 >input
echo before | tee log >made/order
ln -s "$programs" app
run 86 -explore -explore-files 'made/*' -explore-files log -n 4 ./app results
grep -q "6 executions, 1 finding: all executions explored" out || fail "6 executions with files"
grep -q "outputs: 6 different outputs, files of the program among them" out || fail "6 different files"
grep -q "file made/order:" out && grep -q "file log:" out || fail "the files are not named"
[ "$(cat made/order log)" = "$(printf 'before\nbefore')" ] || fail "the working folder has changed"
witness=$(grep -l '^choice' ./app-*.witness | head -1)
run 0 -replay "$witness"
[ "$(cat log)" = "$(printf 'before\nonce')" ] || fail "replay writes the files of the working folder"
echo before >log
run 0 -explore=2 -explore-files log -n 4 ./app results
run 0 -resume app.exploration
grep -q " 6 executions, 0 findings: all executions explored" out || fail "what goes on with files"
[ "$(cat log)" = before ] || fail "-resume has changed the working folder"
run 86 -fuzz 20 -explore-files 'm?de/[no]*' -explore-files log -n 4 ./app results
grep -q "file made/order:" out || fail "-fuzz with files"
for bad in '' /tmp/x ../x a//b x/; do run 1 -explore -explore-files "$bad" -n 2 ./app results; done
run 1 -explore-files x -n 2 ./app results
cd ..
no_folder_left
echo "all numbers are right"
