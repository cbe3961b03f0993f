// Loops whose accesses are checked before they run.
#pragma once

namespace access_plugin {

/// Makes two loops of each loop (or nest) of the function whose accesses lie in ranges that can be
/// computed in front of it: one with the calls, which runs when an operation may own memory in the
/// ranges, and one without. Returns true where there was such a loop.
bool split_loops();

}  // namespace access_plugin
