#!/usr/bin/env bash
# Makes one tarball that runs on any x86-64 or aarch64 Linux whose glibc is not older than its name says, wherever it is unpacked.
#   packaging/portable.sh BUILD_FOLDER FOLDER      writes FOLDER/finegrain-mpi-VERSION-linux-PROCESSOR-glibcVERSION.tar.gz
#   packaging/portable.sh BUILD_FOLDER FOLDER --wheel      writes the same as a wheel of Python, with fgmpi-python and its libpython
# It is an ordinary installation, with these folders inside:
#   lib/fgmpi/host       the MPICH that is hosted: its library, headers, Fortran modules and hydra
#   lib/fgmpi/libraries  the libraries that it and this library need, but for those of glibc and of the compiler
#   lib/fgmpi/python     libpython, in the wheel alone
#   share/doc/fgmpi      README, which says what a system needs, and the licence of each file that is not the project's
# Left out are the plugins of GCC and, but for the wheel, fgmpi-python, which fit only the GCC and the Python of the build.
set -eu
build=$(cd "$1" && pwd) to=$(cd "$2" && pwd) wheel=${3:-}
here=$(cd "$(dirname -- "$0")/.." && pwd)
fail() { echo "scripts/package: $*" >&2; exit 1; }
for program in patchelf objdump dpkg-query; do
  command -v $program > /dev/null ||
    fail "--portable needs $program: install patchelf and binutils, on Debian, whose packages say the licences"
done
cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
system_library() { ldconfig -p | sed -n "s/^\t$1 .*=> //p" | head -n 1; }
version=$(cached CMAKE_PROJECT_VERSION)
hydra=$(command -v mpiexec.hydra) || fail "mpiexec.hydra is not in PATH: install mpich"
hydra=$(dirname "$(readlink -f "$hydra")")
# Libraries that processes load when they need them: no file names them. The build may be without them.
loaded=
for part in LIBFABRIC:libfabric.so.1 "SODIUM:libsodium.so.2[36]"; do
  grep -qF "(\"${part%:*}\", 1," "$build/generated/build_parts.def" || continue
  library=$(system_library "${part#*:}")
  [ -n "$library" ] || fail "${part#*:} is missing: run scripts/setup"
  loaded="$loaded $library"
done

work=$(mktemp -d "$to/portable.XXXXXX")
trap 'rm -rf "$work"' EXIT
top=$work/finegrain-mpi-$version
host=$top/lib/fgmpi/host libraries=$top/lib/fgmpi/libraries documents=$top/share/doc/fgmpi
cmake --install "$build" --strip --prefix "$top" > "$work/install.log" || fail "$(tail -n 5 "$work/install.log")"
strip --strip-debug "$top"/lib/*.a
rm -f "$top"/lib/fgmpi/fgmpi_{hoist,check}.so
if [ -z "$wheel" ]; then
  rm -f "$top/bin/fgmpi-python"
elif [ ! -x "$top/bin/fgmpi-python" ]; then
  fail "--wheel needs fgmpi-python: install libpython3-dev and build again"
fi
mkdir -p "$host"/{bin,include,lib} "$libraries" "$documents/licences"

# ---- What is copied, each file with the place that it is from ---------------------------------------------------------
copy() { # copy FILE TO: notes the file in the list from which licences are found
  cp -L --preserve=mode,timestamps "$1" "$2"
  if [ -d "$2" ]; then set -- "$1" "$2/$(basename "$1")"; fi
  printf '%s\t%s\n' "${2#"$top"/}" "$1" >> "$work/copied"
}
for program in mpiexec.hydra hydra_pmi_proxy hydra_nameserver; do copy "$hydra/$program" "$host/bin"; done
# Fortran's header and modules are Finegrain MPI's own.
for file in "$(cached FGMPI_HOST_INCLUDE)"/*; do
  case $file in *.mod | */mpif.h) ;; *) copy "$file" "$host/include" ;; esac
done
copy "$(cached FGMPI_HOST_LIBRARY)" "$host/lib/libmpich.so.12"
library=$(cached FGMPI_HOST_CXX_LIBRARY)
if [ -f "$library" ]; then
  soname=$(objdump -p "$library" | sed -n 's/^ *SONAME *//p')
  copy "$library" "$top/lib/$soname"
  ln -s "$soname" "$top/lib/${soname%.so.*}.so"
fi
mapfile -t binaries < <(find "$top/bin" "$top/lib" -type f \( -perm /111 -o -name '*.so*' \) \
  -exec sh -c 'objdump -p "$1" > /dev/null 2>&1' sh {} \; -print)
# What every system has: glibc, and the libraries of the compiler by which a program is built.
base='^(ld-linux.*|lib(c|m|dl|pthread|rt|resolv|util|stdc\+\+|gcc_s|gfortran|quadmath|mpich|mpi))\.so'
ldd "${binaries[@]}" $loaded | sed -n 's/^\t[^ ]* => \(\/[^ ]*\) .*/\1/p' | sort -u > "$work/needed"
for library in $loaded $(cat "$work/needed"); do
  name=$(basename "$library")
  case $name in
    # In a folder of its own, the last to be searched: that of the environment's interpreter comes first.
    libpython*) mkdir "$top/lib/fgmpi/python" && copy "$library" "$top/lib/fgmpi/python" ;;
    *) [[ $name =~ $base || -e $libraries/$name ]] || copy "$library" "$libraries/$name" ;;
  esac
done

# ---- Places inside, relative to each file ------------------------------------------------------------------------------
relative() { realpath --relative-to="$(dirname "$1")" "$2"; }
shopt -s nullglob
others=("$libraries"/* "$top"/lib/fgmpi/python/*)
for file in "${binaries[@]}" "${others[@]}"; do
  path='$ORIGIN/'$(relative "$file" "$libraries")
  # What names this library itself finds it, also without mpiexec, which sets LD_LIBRARY_PATH.
  if objdump -p "$file" | grep -qE '^ *NEEDED +libmpich\.so'; then path='$ORIGIN/'$(relative "$file" "$top/lib"):$path; fi
  case $file in
    "$libraries"/*) path='$ORIGIN' ;;
    */bin/fgmpi-python) path=$path:'$ORIGIN/'$(relative "$file" "$top/lib/fgmpi/python") ;;
    "$top"/lib/libmpichfort.* | "$top"/lib/libmpi*cxx.*) path='$ORIGIN' ;;
  esac
  patchelf --set-rpath "$path" "$file"
done
# The wrappers and the library look inside by themselves; these descriptions name the folder of the headers.
sed -i "s|$(cached FGMPI_HOST_INCLUDE)|\${prefix}/lib/fgmpi/host/include|" "$top/lib/pkgconfig/fgmpi.pc"
sed -i "s|$(cached FGMPI_HOST_INCLUDE)|\${Finegrain_PREFIX}/lib/fgmpi/host/include|" "$top/lib/cmake/Finegrain/FinegrainConfig.cmake"

# ---- Licences -----------------------------------------------------------------------------------------------------------
: > "$work/versions"
cp "$here/LICENSE" "$documents"
cp "$here/packaging/debian/copyright" "$documents/copyright"
# dpkg may know a file by its path before /lib became a link to /usr/lib.
cut -f2 "$work/copied" | xargs readlink -f | sed 'p;s|^/usr||' | xargs dpkg-query -S > "$work/owners" 2> /dev/null || true
while IFS=$'\t' read -r copied from; do
  real=$(readlink -f "$from")
  package=$(grep -m 1 -E ": (/usr)?${real#/usr}\$" "$work/owners" | sed 's/[,:].*//')
  [ -n "$package" ] || fail "$from belongs to no Debian package: its licence is not known"
  copyright=/usr/share/doc/$package/copyright
  [ -s "$copyright" ] || fail "$copyright, the licence of $from, is missing"
  cp -L "$copyright" "$documents/licences/$package"
  printf '%s\t%s\n' "$copied" "$(grep -m 1 "^$package"$'\t' "$work/versions" ||
    dpkg-query -W -f '${Package}\t${Version}\t${source:Package} ${source:Version}\n' "$package" | head -n 1 | tee -a "$work/versions")"
done < "$work/copied" > "$work/licences"
{
  echo "The files below are Debian's, unchanged but for the place where they look for other libraries. The file of the package's"
  echo "name in this folder has their copyright and licence; common-licenses has the licences that it refers to. Debian has the"
  echo "sources, by the name and version in the last column."
  echo
  # Each column is as wide as its longest entry.
  { printf 'file\tpackage\tversion\tsource\n'; sort "$work/licences"; } | awk -F '\t' '
    { for (i = 1; i <= 4; ++i) { cell[NR, i] = $i; if (length($i) > width[i]) width[i] = length($i) } }
    END { for (n = 1; n <= NR; ++n) {
      line = ""
      for (i = 1; i <= 4; ++i) line = line sprintf("%-" width[i] + 2 "s", cell[n, i])
      sub(/ +$/, "", line)
      print line } }'
} > "$documents/licences/README"
mkdir "$documents/licences/common-licenses"
grep -rhoE '/usr/share/common-licenses/[A-Za-z0-9.+-]*[A-Za-z0-9]' "$documents" | sort -u | while IFS= read -r licence; do
  [ ! -f "$licence" ] || cp -L "$licence" "$documents/licences/common-licenses"
done

# ---- What a system must have --------------------------------------------------------------------------------------------
highest() { # highest NAME: the newest version of the names NAME_VERSION that any file wants
  objdump -T "${binaries[@]}" "${others[@]}" 2> /dev/null | grep -F '*UND*' | grep -oE "\b$1_[0-9.]+" | cut -d_ -f2 | sort -Vu | tail -n 1
}
glibc=$(highest GLIBC) cxx=$(highest GLIBCXX)
cat > "$documents/README" << README
Finegrain MPI $version for Linux on $(uname -m)

Unpack it anywhere; bin/mpicc and bin/mpiexec find the rest from their own place, also in a folder with spaces and after a move.

A system needs
  glibc $glibc or later
  libstdc++.so.6 with GLIBCXX_$cxx or later (GCC 11's), libgcc_s.so.1
A program in Fortran needs the libraries of its compiler. mpifort lets the compiler make the modules mpi and mpi_f08 when it needs
them for the first time, here or in the user's cache.

lib/fgmpi/host has the hosted MPICH and its hydra, lib/fgmpi/libraries what these and Finegrain MPI need. FGMPI_HOST_MPI and
FGMPI_HYDRA name others. To use a cluster's own libfabric, put the folder of its libfabric.so.1 into LD_LIBRARY_PATH; srun
--mpi=pmix uses the system's libpmix.so.2.

Not inside: fgmpi-python and the plugins of GCC (mpicc -fgmpi-hoist), which fit one Python and one GCC.
Licences: LICENSE and copyright, and for the files of others licences/README.
README

# Text files that were configured may name the build; debugging information is stripped.
# Paths of other projects may end like ours: "../src/include".
ours=$(printf '%s' "$build|$here" | sed 's/[].[*+?^$(){}\\]/\\&/g')
traces=$(grep -rlE -e "(^|[^[:alnum:]_./-])($ours)/" "$top" || true)
[ -z "$traces" ] || fail "these files name a folder of this machine: $traces"
if [ -n "$wheel" ]; then
  python3 "$here/packaging/python/wheel.py" "$top" "$to" "$glibc"
  exit
fi
file=$to/finegrain-mpi-$version-linux-$(uname -m)-glibc$glibc.tar.gz
tar -C "$work" --owner 0 --group 0 --sort name -czf "$file" "finegrain-mpi-$version"
echo "$file"
