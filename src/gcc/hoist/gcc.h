// The headers of GCC 12 that the plugin uses, in the order in which they need each other.
#pragma once

#include <cctype>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

// clang-format off
#include "gcc-plugin.h"
#include "tree.h"
#include "tree-pass.h"
#include "context.h"
#include "basic-block.h"
#include "gimple.h"
#include "gimple-iterator.h"
#include "ssa.h"
#include "cgraph.h"
#include "cfgloop.h"
#include "cfganal.h"
#include "cfghooks.h"
#include "tree-cfg.h"
#include "except.h"
#include "tree-eh.h"
#include "tree-dfa.h"
#include "tree-into-ssa.h"
#include "gimple-walk.h"
#include "fold-const.h"
#include "stringpool.h"
#include "attribs.h"
#include "attr-fnspec.h"
#include "langhooks.h"
#include "diagnostic.h"
#include "intl.h"
#include "ssa-iterators.h"
#include "varasm.h"
#include "function.h"
#include "calls.h"
#include "gimplify.h"
// clang-format on
