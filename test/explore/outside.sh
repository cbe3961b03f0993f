# mpiexec -explore on programs with windows, files, threads and other processes.
#   outside.sh BIN FOLDER
. "$(dirname "$0")/common.sh" "$1" "$2" outside
explored 0 24 5 window
grep -qx 9 out || fail "what the window holds"
explored 0 24 5 shared_window
grep -qx 9 out || fail "what the shared window holds"
explored 0 6 4 file
explored 0 6 4 threads
run 86 -explore -n 2 "$programs" spawn
grep -q "other processes have no part in an exploration; allowed are" out || fail "words of the refusal"
no_folder_left
echo "all numbers are right"
