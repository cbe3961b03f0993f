# scripts/skipped-tests names the tests of a small project that were skipped, with their reasons, and no others.
#   skipped_tests.sh SOURCES CMAKE CTEST FOLDER
set -u
sources=$1 cmake=$2 ctest=$3 work=$4
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
fail() { echo "FAILED: $*"; exit 1; }
cat > CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.21)
project(skipped NONE)
enable_testing()
add_test(NAME by_status COMMAND sh -c "echo before; echo 'skipped: <it> & \"that\"'; echo behind; exit 77")
set_tests_properties(by_status PROPERTIES SKIP_RETURN_CODE 77)
add_test(NAME by_words COMMAND sh -c "echo before; echo NWChem is not installed")
set_tests_properties(by_words PROPERTIES SKIP_REGULAR_EXPRESSION "is not installed")
add_test(NAME last_line COMMAND sh -c "echo before; echo the last line; exit 77")
set_tests_properties(last_line PROPERTIES SKIP_RETURN_CODE 77)
add_test(NAME silent COMMAND sh -c "exit 77")
set_tests_properties(silent PROPERTIES SKIP_RETURN_CODE 77)
add_test(NAME good COMMAND sh -c "echo skipped: not me")
add_test(NAME bad COMMAND sh -c "echo skipped: not me; exit 1")
add_test(NAME no_program COMMAND "${CMAKE_BINARY_DIR}/no-such-program")
END
"$cmake" -S . -B build > cmake.log 2>&1 || fail "$(cat cmake.log)"
"$ctest" --test-dir build --output-junit "$work/small.xml" > ctest.log 2>&1
expected='4 tests were skipped:
  by_status (small): skipped: <it> & "that"
  by_words (small): NWChem is not installed
  last_line (small): the last line
  silent (small): it printed nothing'
said=$("$sources/scripts/skipped-tests" small.xml) || fail "status $?: $said"
[ "$said" = "$expected" ] || fail "$said"
"$sources/scripts/skipped-tests" --none small.xml > /dev/null && fail "--none has status 0 although tests were skipped"
"$ctest" --test-dir build -R '^good$' --output-junit "$work/good.xml" > ctest.log 2>&1 || fail "$(cat ctest.log)"
said=$("$sources/scripts/skipped-tests" --none good.xml) || fail "status $?: $said"
[ "$said" = "no tests were skipped" ] || fail "$said"
"$sources/scripts/skipped-tests" small.xml no-such-file.xml > /dev/null 2>&1 && fail "no error about a missing file"
head -c 100 small.xml > broken.xml
"$sources/scripts/skipped-tests" broken.xml > /dev/null 2>&1 && fail "no error about a file that ends early"
echo "good"
