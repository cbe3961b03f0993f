// The table of MPI functions by name: what they read and write, and which can be hoisted.

#include "mpi_calls.h"

namespace hoist {
namespace {

struct CallRow {
  const char* name;
  const char* roles;
  bool hoistable;
};
const CallRow kRows[] = {
    {"Bcast", "bctrm", true},
    {"Scatter", "bctbctrm", true},
    {"Scatterv", "bCDtbctrm", true},
    {"Allgatherv", "bctbCDtm", true},
    {"Alltoallw", "bCDTbCDTm", true},
    {"Gather", "bctbctrm", false},
    {"Gatherv", "bctbCDtrm", false},
    {"Allgather", "bctbctm", false},
    {"Alltoall", "bctbctm", false},
    {"Alltoallv", "bCDtbCDtm", false},
    {"Reduce", "bbctirm", false},
    {"Allreduce", "bbctim", false},
    {"Scan", "bbctim", false},
    {"Exscan", "bbctim", false},
    {"Reduce_scatter", "bbCtim", false},
    {"Reduce_scatter_block", "bbctim", false},
    {"Ibcast", "bctrmo", false},
    {"Iallreduce", "bbctimo", false},
    {"Barrier", "m", false},
    {"Send", "bctiim", false},
    {"Ssend", "bctiim", false},
    {"Bsend", "bctiim", false},
    {"Rsend", "bctiim", false},
    {"Isend", "bctiimo", false},
    {"Issend", "bctiimo", false},
    {"Irecv", "bctiimo", false},
    {"Recv", "bctiimo", false},
    {"Sendrecv", "bctiibctiimo", false},
    {"Sendrecv_replace", "bctiiiimo", false},
    {"Probe", "iimo", false},
    {"Iprobe", "iimoo", false},
    {"Get_count", "iio", false},
    {"Wait", "oo", false},
    {"Waitall", "ioo", false},
    {"Test", "ooo", false},
    {"Comm_rank", "mo", false},
    {"Comm_size", "mo", false},
    {"Abort", "mi", false},
    {"Wtime", "", false},
};

/// Returns `name` behind `beginning`; nullptr where it does not begin so.
const char* behind(const char* name, const char* beginning) {
  const size_t n = std::strlen(beginning);
  return std::strncmp(name, beginning, n) == 0 ? name + n : nullptr;
}

bool ends_with(const std::string& text, const char* end) {
  const size_t n = std::strlen(end);
  return text.size() > n && text.compare(text.size() - n, n, end) == 0;
}

/// Sets *name to "Bcast" for "mpi_bcast_" or "mpi_bcast_f08ts_". Returns false for symbols in other
/// forms: they are no MPI functions of Fortran.
bool fortran_name(const char* symbol, std::string* name) {
  const char* rest = behind(symbol, "mpi_");
  if (!rest) return false;
  *name = rest;
  for (const char* end : {"_f08ts_", "_f08_", "__", "_"})
    if (ends_with(*name, end)) {
      name->resize(name->size() - std::strlen(end));
      (*name)[0] = TOUPPER((*name)[0]);
      return true;
    }
  return false;
}

}  // namespace

bool find_mpi_call(tree function, MpiCall* out) {
  if (!function || !DECL_NAME(function) || !TREE_PUBLIC(function)) return false;
  const char* symbol = IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(function));
  if (*symbol == '*') ++symbol;
  const char* name = behind(symbol, "MPI_");
  if (!name) name = behind(symbol, "PMPI_");
  if (!name) name = behind(symbol, "MPIX_");
  *out = MpiCall();
  if (name)
    out->name = name;
  else if (fortran_name(symbol, &out->name))
    out->fortran = true;
  else
    return false;
  for (const CallRow& row : kRows)
    if (out->name == row.name) {
      out->roles = row.roles;
      out->arguments = static_cast<unsigned>(std::strlen(row.roles));
      // Calls by the profiling names, calls of MPIX_* and calls of a function that the program
      // itself defines stay as they are.
      out->hoistable =
          row.hoistable && symbol[0] != 'P' && symbol[3] != 'X' && DECL_EXTERNAL(function);
    }
  return true;
}

bool find_mpi_call(gimple* stmt, MpiCall* out) {
  if (!is_gimple_call(stmt) || !find_mpi_call(gimple_call_fndecl(stmt), out)) return false;
  if (out->roles && gimple_call_num_args(stmt) != out->arguments + (out->fortran ? 1 : 0)) {
    out->roles = nullptr;
    out->hoistable = false;
  }
  return true;
}

bool frees_communicators(const MpiCall& call) {
  for (const char* name : {"Comm_free", "Comm_disconnect", "Finalize", "Session_finalize"})
    if (call.name == name) return true;
  return false;
}

bool writes_argument(const MpiCall& call, gimple* stmt, unsigned i) {
  if (call.roles) {
    const char role = i < call.arguments ? call.roles[i] : 'o';  // Fortran: the error code
    return role == 'b' || role == 'o';
  }
  return has_pointer_to_variable(stmt, i);
}

bool has_pointer_to_variable(gimple* stmt, unsigned i) {
  tree parameters = TYPE_ARG_TYPES(gimple_call_fntype(stmt));
  for (unsigned k = 0; parameters && k < i; ++k) parameters = TREE_CHAIN(parameters);
  if (!parameters) return true;
  tree type = TREE_VALUE(parameters);
  return POINTER_TYPE_P(type) && !TYPE_READONLY(TREE_TYPE(type));
}

const char* words_of(char role) {
  switch (role) {
    case 'b':
      return "its buffer";
    case 'c':
      return "its count";
    case 't':
      return "its datatype";
    case 'r':
      return "its root";
    case 'm':
      return "its communicator";
    case 'C':
      return "its array of counts";
    case 'D':
      return "its array of displacements";
    case 'T':
      return "its array of datatypes";
  }
  return "an argument";
}

}  // namespace hoist
