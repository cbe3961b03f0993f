// In a build without BuDDy: no group is stored as decision diagrams.
#include "groupmap/codec.h"

namespace fgmpi::groupmap {

extern const EncodingInfo encoding_bdd = lacking_encoding(Encoding::bdd, "bdd", "BuDDy");

}  // namespace fgmpi::groupmap
