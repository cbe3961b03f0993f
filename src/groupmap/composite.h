// A group as a set plus a permutation (section 5 of the paper): for benchmarks, which pick the
// set's encoding, and for groups that share the set of another.
#pragma once

#include "groupmap/groupmap.h"

namespace fgmpi::groupmap {

/// Builds `permutation` (Encoding::wavelet or Encoding::permuted) over the set of `ranks` stored by
/// `set_strategy`. Errors: MPI_ERR_ARG when a named set encoding cannot hold the set, or a rank
/// occurs twice.
Status build_composite(Encoding permutation, std::span<const int32_t> ranks,
                       const Strategy& set_strategy, MapRef* out);

/// Stores `ranks`, the members of `parent` in another order, as a permutation (Encoding::permuted)
/// over the stored form that `parent` is or permutes: that object is shared, not copied. Errors:
/// MPI_ERR_ARG when the members differ. REQUIRES: parent is stored (not regular).
Status share_permuted(const MapRef& parent, std::span<const int32_t> ranks, MapRef* out);

}  // namespace fgmpi::groupmap
