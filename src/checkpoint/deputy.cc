// Calls by deputies.
#include "checkpoint/deputy.h"

namespace fgmpi::checkpoint {

bool g_deputies = false;

}  // namespace fgmpi::checkpoint
