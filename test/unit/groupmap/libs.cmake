# The test of the C interface is in C.
list(APPEND sources ${CMAKE_CURRENT_LIST_DIR}/c_api.c)
