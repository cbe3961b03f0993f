# The tests make images of this program itself, so it is linked as the wrappers link programs.
add_library(unit_privatize_flags INTERFACE)
target_compile_options(unit_privatize_flags INTERFACE -fPIC)
target_link_options(unit_privatize_flags INTERFACE -pie -Wl,-z,now)
set(UNIT_LIBS unit_privatize_flags)

# The choice of private libraries, in a program that is linked with small libraries: NAME, its definitions, the libraries that it
# needs.
function(choice_library name definitions)
  add_library(choice_${name} SHARED ${CMAKE_CURRENT_SOURCE_DIR}/unit/privatize/choice/libraries.c)
  target_compile_definitions(choice_${name} PRIVATE PART=${name} ${definitions})
  target_compile_options(choice_${name} PRIVATE -O1 -fno-sanitize=all)
  # The compiler's start files refer to __cxa_finalize(), which this program defines, unlike a program that is linked with MPI.
  target_link_options(choice_${name} PRIVATE -Wl,--no-as-needed -nostartfiles)
  target_link_libraries(choice_${name} PRIVATE ${ARGN})
  set_target_properties(choice_${name} PROPERTIES C_VISIBILITY_PRESET default
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test/choice)
endfunction()
choice_library(called "")
choice_library(used DEFINES_VARIABLE)
choice_library(mpi USES_MPI)
choice_library(constant STATELESS)
choice_library(user USES_VARIABLE choice_used choice_mpi)
choice_library(plain CALLS choice_called)
choice_library(refers USES_PROGRAM)
choice_library(idle "")
choice_library(blis "")
set_target_properties(choice_blis PROPERTIES OUTPUT_NAME blis-choice)
target_link_options(choice_refers PRIVATE -Wl,--unresolved-symbols=ignore-all)
add_executable(unit_privatize_choice ${CMAKE_CURRENT_SOURCE_DIR}/unit/privatize/choice/choice_test.cc)
target_link_options(unit_privatize_choice PRIVATE -Wl,--no-as-needed)
target_link_libraries(unit_privatize_choice PRIVATE choice_called choice_used choice_mpi choice_constant choice_user choice_plain
                      choice_refers choice_idle choice_blis fgmpi_privatize unit_privatize_flags GTest::gtest_main)
add_dependencies(unit_tests unit_privatize_choice)
add_test(NAME unit.privatize_choice COMMAND unit_privatize_choice)
set_tests_properties(unit.privatize_choice PROPERTIES LABELS unit TIMEOUT 900)
