# Needs LIBFABRIC: processes of two hosts reach each other over the network only.
# Windows of processes that pass for ones of two hosts, with one and with several ranks in each.
bin=$1 programs=$2
failed=0
for program in errors atomics random_access; do
  for ranks in 1 3; do
    "$bin/mpiexec" -n 2 -nfg $ranks -env FGMPI_HOST_ID one "$programs/$program" : -n 2 -nfg $ranks -env FGMPI_HOST_ID two \
      "$programs/$program" 2>&1 | grep -q "No Errors" && continue
    echo "FAILED $program with $ranks ranks in each process"
    failed=1
  done
done
[ $failed = 0 ] && echo " No Errors"
exit $failed
