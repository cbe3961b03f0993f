// The headers of this project that most sources of src/comm and the layers above it include: the
// build parses them once. A source still includes what it uses; no header includes this one.
#pragma once
#include "comm/comm.h"
#include "comm/meeting.h"
#include "datatype/datatype.h"
#include "datatype/op.h"
#include "pt2pt/pt2pt.h"
