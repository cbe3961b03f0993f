// Loops whose accesses are checked before they run.
#pragma once

namespace access_plugin {

/// Makes two of each loop of the function (and of nests) whose accesses lie in ranges that are
/// known when it begins: one with the calls, which runs when an operation may own memory in the
/// ranges, and one without. Returns true where there was such a loop.
bool split_loops();

}  // namespace access_plugin
