// Making, copying and checking views.

#include "file/view.h"

#include <algorithm>
#include <limits>

#include "base/count_words.h"
#include "base/strings.h"
#include "datatype/constructors.h"
#include "datatype/type_handles.h"

namespace fgmpi::file {
namespace {

/// Makes a handle of a duplicate, as MPI_Type_dup does; a predefined type keeps its handle.
Status duplicate(const datatype::Type& type, MPI_Datatype* out) {
  *out = type.handle();
  if (!type.derived() || type.derived()->permanent()) return {};
  datatype::Type copy;
  FGMPI_TRY(datatype::make_duplicate(type, &copy));
  return datatype::make_handle(copy, true, out);
}

/// Checks what the standard requires of the displacements of both types (MPI-4.0 section 14.3). The
/// error class is MPICH's.
Status check_order(const char* argument, const datatype::TypeTree& tree, bool writable) {
  if (tree.size == 0) return {};
  if (tree.low() < 0)
    return error(MPI_ERR_IO,
                 "%s has a displacement of %lld bytes; allowed are ones that are not negative",
                 argument, static_cast<long long>(tree.low()));
  if (tree.root.node->descends)
    return error(MPI_ERR_IO,
                 "%s has displacements that descend; allowed are ones in ascending order",
                 argument);
  if (writable && !tree.root.node->ascends)
    return error(MPI_ERR_IO,
                 "%s has displacements that overlap; allowed in files that are written are ones "
                 "that ascend without overlapping",
                 argument);
  return {};
}

}  // namespace

int64_t View::offset_of(int64_t position) const {
  if (tree->contiguous()) return disp + tree->low() + position;
  datatype::TypeCursor at(*tree);
  at.seek(position);
  return disp + at.peek().offset;
}

int64_t View::data_before(int64_t offset) const {
  offset -= disp;
  if (offset <= tree->low()) return 0;
  if (tree->contiguous()) return offset - tree->low();
  if (!ascends) {
    // Counts whole filetypes that end before the offset, then run by run.
    const int64_t whole = std::max<int64_t>((offset - tree->high()) / tree->extent, 0);
    datatype::TypeCursor at(*tree);
    at.seek(whole * tree->size);
    for (;;) {
      const datatype::TypeRun run = at.peek();
      if (run.offset + run.bytes > offset)
        return at.position() + std::max<int64_t>(offset - run.offset, 0);
      at.next(run.bytes);
    }
  }
  // Counts whole filetypes, then the last one by bisection.
  int64_t low = 0, high = ((offset - tree->low()) / tree->extent + 1) * tree->size;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (offset_of(middle) - disp < offset)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

ViewPtr default_view() {
  static const ViewPtr* bytes = [] {
    auto* made = new ViewPtr;
    const Status status = make_view(0, MPI_BYTE, MPI_BYTE, "native", true, made);
    return status.ok() ? made : nullptr;
  }();
  return *bytes;
}

Status make_view(int64_t disp, MPI_Datatype etype, MPI_Datatype filetype, const char* datarep,
                 bool writable, ViewPtr* out) {
  auto view = std::make_shared<View>();
  if (disp < 0)
    return error(MPI_ERR_ARG, "disp is %lld; allowed is 0 or more", static_cast<long long>(disp));
  FGMPI_TRY(datatype::Type::of(etype, &view->etype));
  FGMPI_TRY(datatype::Type::of(filetype, &view->filetype));
  view->datarep = find_datarep(datarep);
  if (!view->datarep)
    return error(MPI_ERR_UNSUPPORTED_DATAREP,
                 "datarep is \"%s\"; allowed are \"native\", \"internal\", \"external32\" and what "
                 "MPI_Register_datarep was given",
                 datarep);
  datatype::TypeTreePtr etype_tree;
  FGMPI_TRY(tree_in_file(*view->datarep, view->etype, &etype_tree));
  FGMPI_TRY(tree_in_file(*view->datarep, view->filetype, &view->tree));
  view->etype_size = etype_tree->size;
  const datatype::TypeTree& tree = *view->tree;
  if (view->etype_size == 0)
    return error(MPI_ERR_ARG, "etype has no bytes; allowed is one that has some");
  if (tree.size % view->etype_size)
    return error(MPI_ERR_ARG, "filetype has %s; allowed is one that is made of etypes, of %s each",
                 count_words(static_cast<uint64_t>(tree.size), "byte").c_str(),
                 count_words(static_cast<uint64_t>(view->etype_size), "byte").c_str());
  FGMPI_TRY(check_order("etype", *etype_tree, writable));
  FGMPI_TRY(check_order("filetype", tree, writable));
  const bool repeats = tree.extent < tree.high() - tree.low();
  view->ascends = tree.size == 0 || (tree.root.node->ascends && !repeats);
  if (tree.extent <= 0 && tree.size > 0)
    return error(MPI_ERR_IO, "filetype has an extent of %lld bytes; allowed is more than 0",
                 static_cast<long long>(tree.extent));
  view->disp = disp;
  *out = view;
  return {};
}

Status copy_types(const View& view, MPI_Datatype* etype, MPI_Datatype* filetype) {
  FGMPI_TRY(duplicate(view.etype, etype));
  return duplicate(view.filetype, filetype);
}

}  // namespace fgmpi::file
