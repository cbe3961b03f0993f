// In a build without CRoaring: no group is stored as Roaring bitmaps.
#include "groupmap/codec.h"

namespace fgmpi::groupmap {

extern const EncodingInfo encoding_roaring =
    lacking_encoding(Encoding::roaring, "roaring", "CRoaring");

}  // namespace fgmpi::groupmap
