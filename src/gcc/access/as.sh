#!/bin/sh
# The assembler that GCC finds under mpicc -check (gcc -B): puts the compare with the View (view.h) in front of each call of an
# entry point for a load or store, so that most accesses call nothing, and runs the assembler of PATH.
#
# The compare changes only rax and the flags, which GCC assumes that the call changes; rdi is the address. Code other than
# GCC's 64-bit code in AT&T syntax keeps its calls, which do the same check.
bits= before= input=
for argument do
  case $argument in --64) bits=64 ;; --32 | --x32) bits=32 ;; esac
  before=$input input=$argument
done
# gcc -pipe names no input: the last word is that of -o.
[ "$before" != -o ] || { set -- "$@" - && input=-; }
tab=$(printf '\t')
case $input in
  -) file=- ;;
  *.s) grep -q "^${tab}call${tab}__tsan_" -- "$input" 2> /dev/null && file=$input ;;
esac
[ "$bits" = 64 ] && [ -n "${file:-}" ] || exec as "$@"

count=$#
for argument do
  shift
  count=$((count - 1))
  [ $count -eq 0 ] || set -- "$@" "$argument"
done
# entry KIND LOW LENGTH: prints the sed command for reads or writes; LOW and LENGTH are the offsets of View::low and
# View::length.
entry() {
  printf '%s' "s/^\tcall\t(__tsan_(volatile_|unaligned_)?$1(1|2|4|8|16)(@PLT)?)\$/\tmovq\t%rdi, %rax\n" \
    "\tsubq\tfgmpi_access_view+$2(%rip), %rax\n\tcmpq\tfgmpi_access_view+$3(%rip), %rax\n\tjae\t7707f\n\tcall\t\1\n7707:/"
}
sed -E -e '/^[[:space:]]*\.intel_syntax/{:rest' -e 'n' -e 'b rest' -e '}' \
  -e "$(entry read 0 16)" -e "$(entry write 8 24)" -- "$file" | as "$@" -
