# It drives up to 131,072 vertices: five times as fast as without optimization.
set_source_files_properties(${dir}/system_ranked_test.cc PROPERTIES COMPILE_OPTIONS -O2 SKIP_PRECOMPILE_HEADERS ON)
