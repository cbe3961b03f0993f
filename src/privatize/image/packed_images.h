// Packed images: the memory of images of ranks whose stacks are packed (proclet-
// sched/coroutine/packing.h).
//
//   fresh    | code | constants | addresses moved | initial values | zeros |   made again, not kept
//   image    | code | constants | addresses moved |  v*lues  *     |  *    |   what the rank has
//   packed   offset, words | offset, words | ...                               where these differ
//
// Only copied images (whole_images.h) are packed: their ranks are many, and their programs small.
// The others share all pages with the file that they do not write.
//
// Thread rule: inside. Nothing here allocates after install_image_packing(), or switches.
#pragma once

namespace fgmpi::privatize {

/// From now on images are packed with the stacks of their ranks, where their layout allows it.
/// Called before ranks are created.
void install_image_packing();

}  // namespace fgmpi::privatize
