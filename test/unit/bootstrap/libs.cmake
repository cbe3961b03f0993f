# The tests start this program under the real launcher.
add_executable(bootstrap_peer ${CMAKE_CURRENT_LIST_DIR}/peer.cc)
target_link_libraries(bootstrap_peer PRIVATE fgmpi_bootstrap)
add_library(bootstrap_test_settings INTERFACE)
target_compile_definitions(bootstrap_test_settings INTERFACE
  BOOTSTRAP_PEER="$<TARGET_FILE:bootstrap_peer>")
add_dependencies(bootstrap_test_settings bootstrap_peer)
set(UNIT_LIBS bootstrap_test_settings)
