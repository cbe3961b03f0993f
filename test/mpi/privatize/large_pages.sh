# Programs whose files are laid out for pages of 64 KiB have private variables where the library lays out memory in such pages,
# with every way to map images.
set -u
bin=$1 work=$2/large_pages.dir sources=$(cd "$(dirname -- "$0")" && pwd)
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
for source in globals_c.c globals_cxx.cc; do
  case $source in *.c) compiler=mpicc ;; *) compiler=mpicxx ;; esac
  "$bin/$compiler" -g -O1 -I"$sources/.." -Wl,-z,max-page-size=65536 "$sources/$source" -o program || exit 1
  # The segments begin at whole pages of 64 KiB, as far as their distance in the file allows.
  readelf -lW program | awk '$1 == "LOAD" && $NF != "0x10000" { exit 1 }' ||
    { echo "large_pages.sh: the linker has not laid out $source for large pages" >&2; exit 1; }
  for layout in protected joined copied; do
    for shape in '1 -nfg 9' '2 -nfg 4'; do
      FGMPI_PAGE_SIZE=64k FGMPI_IMAGE_MAPPINGS=$layout timeout 60 "$bin/mpiexec" -n $shape ./program ||
        { echo "large_pages.sh: $source, $layout, -n $shape: failed" >&2; exit 1; }
    done
  done
done
