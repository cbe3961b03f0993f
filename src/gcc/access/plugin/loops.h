// Loops whose accesses are looked at before they run.
#pragma once

namespace access_plugin {

/// Makes two of each loop of the function (and of nests) whose accesses lie in ranges that are
/// known when it begins: one with the calls, which runs when something in the ranges may be owned,
/// and one without. Returns whether there were any.
bool split_loops();

}  // namespace access_plugin
