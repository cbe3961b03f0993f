#!/bin/bash
# Configures the sources as others do: unpacked without git, and by a user who may write neither the sources nor a home.
#   configure.sh SOURCES CMAKE WORK_FOLDER
set -u
sources=$1 cmake=$2 work=$3
failed=0
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
if "$sources/scripts/package" --tarball --to "$work" > tarball.log 2>&1; then
  tar -xzf fgmpi-*.tar.gz && rm fgmpi-*.tar.gz && sources=$(echo "$work"/fgmpi-*)
  GIT_CEILING_DIRECTORIES=$work "$sources/scripts/package" --tarball --to "$work" > tarball.log 2>&1 && failed=1
  grep -q -- '--tarball needs git and a clone' tarball.log || { echo "FAILED a tarball of a tarball:"; cat tarball.log; failed=1; }
fi
# Another user than root where the test may choose one: nobody.
as=()
mkdir "a build"
if [ "$(id -u)" = 0 ]; then
  as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
  readable=$(mktemp -d /tmp/fgmpi-configure.XXXXXX) # the work folder may lie where only root may look
  trap 'rm -rf "$readable"' EXIT
  mkdir "$readable/sources" "$readable/a build" && tar -C "$sources" --exclude ./build --exclude __pycache__ -cf - . | tar -C "$readable/sources" -xf -
  sources=$readable/sources
  cd "$readable" && chmod 755 . && chown 65534 "a build" || exit 1
fi
# expect NAME STATUS PATTERN OPTION...: cmake with the options ends with the status, and its output has a line like the pattern.
expect() {
  local name=$1 status=$2 pattern=$3 said got
  shift 3
  said=$(HOME=/nowhere timeout 200 "${as[@]}" "$cmake" -S "$sources" -B "a build" -G Ninja "$@" 2>&1 < /dev/null)
  got=$?
  if [ "$got" = "$status" ] && tr '\n' ' ' <<< "$said" | tr -s ' ' | grep -Eq -- "$pattern"; then
    echo "ok $name"
  else
    echo "FAILED $name: status $got, wanted are $status and '$pattern':"
    tail -n 20 <<< "$said"
    failed=1
  fi
}
for flags in -fsanitize=address "-O1 -fsanitize=thread"; do
  expect "$flags" 1 "${flags#* } in CMAKE_C_FLAGS or CMAKE_CXX_FLAGS: allowed are -DFGMPI_SANITIZE=ON" "-DCMAKE_CXX_FLAGS=$flags"
done
expect "-DBUILD_TESTING=OFF" 0 "Build files have been written" -DCMAKE_CXX_FLAGS= -DBUILD_TESTING=OFF "-DCMAKE_INSTALL_PREFIX=$PWD/a prefix"
[ -e "a build/build.ninja" ] && ! grep -q unit_base "a build/build.ninja" || { echo "FAILED: there are tests"; failed=1; }
written=$(find "$sources" -newer "a build/CMakeCache.txt" -o -name __pycache__)
[ -z "$written" ] || { echo "FAILED: configuring wrote into the sources: $written"; failed=1; }
exit $failed
