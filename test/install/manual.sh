# The manual pages are there and without faults.   manual.sh FOLDER (share/man)
set -u
man=$1
command -v mandoc >/dev/null || { echo "mandoc is not installed"; exit 77; }
for page in man1/{mpiexec,mpirun,mpicc,mpicxx,mpifort,fgmpi-info}.1 man7/fgmpi-{settings,hazards}.7; do
  [ -s "$man/$page" ] || { echo "FAILED: $page is missing"; exit 1; }
done
for name in $(grep -oE '\b(MPIX_[A-Za-z_]+|FGmpiexec)\(' "$2" | tr -d '(' | sort -u); do
  [ -s "$man/man3/$name.3" ] || { echo "FAILED: man3/$name.3 is missing"; exit 1; }
done
pages=$(grep -L '^\.so' "$man"/man?/*)
# Whether other pages are installed, and mandoc's index of them, is the system's matter.
faults=$(for page in $pages; do mandoc -T lint "$page"; done 2>&1 | grep -vE 'referenced manual not found|mandoc.db')
[ -z "$faults" ] || { echo "FAILED:"; echo "$faults" | head -20; exit 1; }
echo "$(wc -w <<<"$pages") pages without faults"
