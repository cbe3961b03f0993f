# Completion of mpiexec and mpirun in bash.

# The word behind an option that takes one; fails where the option takes none.
_fgmpi_mpiexec_value() {
  local units="numa socket core hwthread l1cache l2cache l3cache"
  case $1 in
    -bind-to | --bind-to) COMPREPLY=($(compgen -W "none rr machine user: $units" -- "$2")) ;;
    -map-by | --map-by) COMPREPLY=($(compgen -W "machine $units" -- "$2")) ;;
    -launcher | -bootstrap) COMPREPLY=($(compgen -W "ssh rsh fork slurm ll lsf sge manual persist" -- "$2")) ;;
    -initial-errhandler) COMPREPLY=($(compgen -W "mpi_errors_are_fatal mpi_errors_abort mpi_errors_return" -- "$2")) ;;
    -rmk) COMPREPLY=($(compgen -W "user slurm ll lsf sge pbs cobalt" -- "$2")) ;;
    -genv | -env) COMPREPLY=($(compgen -W "$(_fgmpi_settings)" -- "$2")) ;;
    -genvlist | -envlist) COMPREPLY=($(compgen -v -- "$2")) ;;
    -host | -hosts) COMPREPLY=($(compgen -A hostname -- "$2")) ;;
    -wdir | -wd | -track) COMPREPLY=($(compgen -d -- "$2")) ;;
    -f | -replay | -resume | -report | -check-report | -hostfile | -machinefile | -configfile | -outfile-pattern | -errfile-pattern) COMPREPLY=($(compgen -f -- "$2")) ;;
    -n | -np | -c | -nfg | -ranks | -fuzz | -explore-files | -ppn | -timeout | -usize | -path | -launcher-exec | -bootstrap-exec | -iface | \
      -x | -prepend-pattern | -nameserver) COMPREPLY=() ;;
    *) return 1 ;;
  esac
}

_fgmpi_settings() { fgmpi-info -s 2> /dev/null | sed -n 's/^ *\(FGMPI_[A-Z0-9_]*\) .*/\1/p'; }

_fgmpi_mpiexec() {
  local word=${COMP_WORDS[COMP_CWORD]} i=1 skip
  # Where does the program begin? Behind it, files are completed.
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case ${COMP_WORDS[i]} in
      :) ;;
      -genv | -env) ((i += 2)) ;;
      -*) if _fgmpi_mpiexec_value "${COMP_WORDS[i]}" ""; then ((i += 1)); fi ;;
      *)
        # Its arguments go up to the next ":".
        while ((i < COMP_CWORD)) && [ "${COMP_WORDS[i]}" != : ]; do ((i += 1)); done
        if ((i >= COMP_CWORD)); then
          COMPREPLY=($(compgen -f -- "$word"))
          return
        fi
        ;;
    esac
  done
  COMPREPLY=()
  if ((COMP_CWORD > 1)) && _fgmpi_mpiexec_value "${COMP_WORDS[COMP_CWORD - 1]}" "$word"; then return; fi
  case $word in
    -*)
      COMPREPLY=($(compgen -W "-n -np -nfg -ranks -ft -dry-run -track -check -check-report -explore -explore-files -fuzz -resume -replay -predict -record -record-inputs -rewind -balance -checkpoint -checkpoint-every -restart -restart-on-failure -resize -leave -events -call -partner -comm -goto -report -summary -progress -help -version -v -info -l -prepend-rank -f -hosts
        -ppn -genv -env -genvlist -envlist -genvall -envall -genvnone -envnone -wdir -bind-to -map-by -launcher
        -launcher-exec -rmk -iface -configfile -initial-errhandler -timeout -outfile-pattern -errfile-pattern -x --oversubscribe" -- "$word"))
      ;;
    *) COMPREPLY=($(compgen -c -- "$word") $(compgen -f -- "$word")) ;;
  esac
}

complete -o filenames -F _fgmpi_mpiexec mpiexec mpirun
