// The library that plugins.c loads.
#pragma GCC visibility push(default)
int g_calls;

int call(int round) { return g_calls += round + 1; }
