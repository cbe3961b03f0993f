// Calls whose arrays have a length or a meaning that other arguments or results tell: the contents
// of datatypes, spawned programs, the elements of an event.

#include <mpi.h>

#include <algorithm>

#include "abi/convert.h"
#include "abi/library.h"
#include "mpi/abi_support.h"

namespace fgmpi::abi {
namespace {

/// Translates the integers of a type's contents that are constants (MPI 5.0 section 5.1.13).
/// `with_sizes`: the global sizes of a darray are among them; in the large form they are not.
void translate_integers(int combiner, int* integers, int64_t n, bool with_sizes) {
  if (combiner != MPI_COMBINER_SUBARRAY && combiner != MPI_COMBINER_DARRAY) return;
  if (n < 1) return;
  // size, rank, ndims, [gsizes,] distribs, dargs, psizes, order
  const int64_t dimensions = combiner == MPI_COMBINER_DARRAY && n >= 4 ? integers[2] : 0;
  const int64_t first = 3 + (with_sizes ? dimensions : 0);
  if (combiner == MPI_COMBINER_DARRAY && n != first + 3 * dimensions + 1) return;
  for (int64_t i = first; i < first + dimensions; ++i) {
    integers[i] = family_distribution_to_standard(integers[i]);
    integers[i + dimensions] = family_distribution_argument_to_standard(integers[i + dimensions]);
  }
  integers[n - 1] = family_order_to_standard(integers[n - 1]);  // of a subarray, too
}

/// Stores handles of datatypes that a call has set.
void store_types(ArgumentArray<MPI_Datatype>& mpich, int64_t n, Handle* standard) {
  for (int64_t i = 0; i < n; ++i) standard[i] = to_standard(mpich[static_cast<size_t>(i)]);
}

/// Translates the results of a spawn, whose number the library knows.
void store_results(int* codes) {
  if (!codes) return;
  for (int64_t i = fgmpi_abi_results_of_spawn(); i-- > 0;) codes[i] = code_to_standard(codes[i]);
}

bool is_rank(Handle comm, int root) {
  int rank = -1;
  return length_of(comm, ArrayOf::kSize) > 0 &&
         mpich().Comm_rank(to_mpich(comm), &rank) == MPI_SUCCESS && rank == root;
}

}  // namespace
}  // namespace fgmpi::abi

using namespace fgmpi::abi;

FGMPI_STANDARD(MPI_Type_get_contents, int, Type_get_contents,
               (Handle datatype, int max_integers, int max_addresses, int max_datatypes,
                int* integers, MPI_Aint* addresses, Handle* datatypes))
extern "C" int standard_Type_get_contents(Handle datatype, int max_integers, int max_addresses,
                                          int max_datatypes, int* integers, MPI_Aint* addresses,
                                          Handle* datatypes) {
  const MPI_Datatype type = to_mpich(datatype);
  ArgumentArray<MPI_Datatype> types(max_datatypes);
  const int code =
      mpich().Type_get_contents(type, max_integers, max_addresses, max_datatypes, integers,
                                addresses, datatypes ? types.data() : nullptr);
  if (code != MPI_SUCCESS) return code_to_standard(code);
  int n_integers, n_addresses, n_types, combiner;
  const int known = mpich().Type_get_envelope(type, &n_integers, &n_addresses, &n_types, &combiner);
  if (known != MPI_SUCCESS) return code_to_standard(known);
  translate_integers(combiner, integers, n_integers, true);
  store_types(types, n_types, datatypes);
  return 0;
}

FGMPI_STANDARD(MPI_Type_get_contents_c, int, Type_get_contents_c,
               (Handle datatype, MPI_Count max_integers, MPI_Count max_addresses,
                MPI_Count max_counts, MPI_Count max_datatypes, int* integers, MPI_Aint* addresses,
                MPI_Count* counts, Handle* datatypes))
extern "C" int standard_Type_get_contents_c(Handle datatype, MPI_Count max_integers,
                                            MPI_Count max_addresses, MPI_Count max_counts,
                                            MPI_Count max_datatypes, int* integers,
                                            MPI_Aint* addresses, MPI_Count* counts,
                                            Handle* datatypes) {
  const MPI_Datatype type = to_mpich(datatype);
  ArgumentArray<MPI_Datatype> types(max_datatypes);
  const int code =
      mpich().Type_get_contents_c(type, max_integers, max_addresses, max_counts, max_datatypes,
                                  integers, addresses, counts, datatypes ? types.data() : nullptr);
  if (code != MPI_SUCCESS) return code_to_standard(code);
  MPI_Count n_integers, n_addresses, n_counts, n_types;
  int combiner;
  const int known =
      mpich().Type_get_envelope_c(type, &n_integers, &n_addresses, &n_counts, &n_types, &combiner);
  if (known != MPI_SUCCESS) return code_to_standard(known);
  translate_integers(combiner, integers, n_integers, n_counts == 0);
  store_types(types, n_types, datatypes);
  return 0;
}

FGMPI_STANDARD(MPI_Comm_spawn, int, Comm_spawn,
               (const char* command, char** argv, int maxprocs, Handle info, int root, Handle comm,
                Handle* intercomm, int* errcodes))
extern "C" int standard_Comm_spawn(const char* command, char** argv, int maxprocs, Handle info,
                                   int root, Handle comm, Handle* intercomm, int* errcodes) {
  MPI_Comm made = MPI_COMM_NULL;
  const int code = mpich().Comm_spawn(command, argv, maxprocs, to_mpich(info), rank_to_mpich(root),
                                      to_mpich(comm), intercomm ? &made : nullptr, errcodes);
  if (intercomm) *intercomm = to_standard(made);
  store_results(errcodes);
  return code_to_standard(code);
}

FGMPI_STANDARD(MPI_Comm_spawn_multiple, int, Comm_spawn_multiple,
               (int count, char** commands, char*** argvs, const int* maxprocs, const Handle* infos,
                int root, Handle comm, Handle* intercomm, int* errcodes))
extern "C" int standard_Comm_spawn_multiple(int count, char** commands, char*** argvs,
                                            const int* maxprocs, const Handle* infos, int root,
                                            Handle comm, Handle* intercomm, int* errcodes) {
  const bool is_root = is_rank(comm, root);
  MPI_Comm made = MPI_COMM_NULL;
  const int code = mpich().Comm_spawn_multiple(
      count, commands, argvs, maxprocs, Handles(is_root ? infos : nullptr, count),
      rank_to_mpich(root), to_mpich(comm), intercomm ? &made : nullptr, errcodes);
  if (intercomm) *intercomm = to_standard(made);
  store_results(errcodes);
  return code_to_standard(code);
}

FGMPI_STANDARD(MPI_T_event_get_info, int, T_event_get_info,
               (int index, char* name, int* name_length, int* verbosity, Handle* datatypes,
                MPI_Aint* displacements, int* elements, Handle* enumtype, Handle* info,
                char* description, int* description_length, int* bind))
extern "C" int standard_T_event_get_info(int index, char* name, int* name_length, int* verbosity,
                                         Handle* datatypes, MPI_Aint* displacements, int* elements,
                                         Handle* enumtype, Handle* info, char* description,
                                         int* description_length, int* bind) {
  const int room = elements && datatypes ? *elements : 0;
  ArgumentArray<MPI_Datatype> types(room);
  MPI_Info made = 0;
  int mpich_verbosity = kUntouched, mpich_bind = kUntouched;
  const int code =
      mpich().T_event_get_info(index, name, name_length, verbosity ? &mpich_verbosity : nullptr,
                               datatypes ? types.data() : nullptr, displacements, elements,
                               reinterpret_cast<MPI_T_enum*>(enumtype), info ? &made : nullptr,
                               description, description_length, bind ? &mpich_bind : nullptr);
  if (code != MPI_SUCCESS) return code_to_standard(code);
  if (verbosity) *verbosity = family_verbosity_to_standard(mpich_verbosity);
  if (bind) *bind = family_binding_to_standard(mpich_bind);
  if (info) *info = to_standard(made);
  if (datatypes) store_types(types, std::min(room, *elements), datatypes);
  return 0;
}
