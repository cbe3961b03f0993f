// How a function of a library that is preloaded to watch MPI calls is exported, and the address of
// its caller. Thread rule: none; macros only.
#pragma once

#define EXPORT extern "C" __attribute__((visibility("default")))
#define FROM __builtin_return_address(0)
