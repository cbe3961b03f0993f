# To be sourced: shm_files tells which files of ours are in /dev/shm that were not there before, after it gave them three
# seconds to vanish. Those of other jobs on the machine come and go.
shm_files() {
  local i files
  for ((i = 0; i < 30; i++)); do
    files=$(comm -13 <(echo "$shm_before") <(ls /dev/shm | grep '^fgmpi-' | sort))
    [ -z "$files" ] && return
    sleep 0.1
  done
  echo "$files"
}
shm_before=$(ls /dev/shm | grep '^fgmpi-' | sort)
