# A copy of the sources with every planted defect of tests/mutants in it; an environment variable
# picks one when the program starts. For .ci/full mutants only.
if(EVENHAND_MUTANTS)
  if(SKBUILD)
    message(FATAL_ERROR "EVENHAND_MUTANTS plants defects: never in a wheel")
  endif()
  find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
  set(EVENHAND_SOURCES ${CMAKE_BINARY_DIR}/planted)
  execute_process(COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/../tests/mutants/plant.py cpp
                          ${EVENHAND_SOURCES} COMMAND_ERROR_IS_FATAL ANY)
else()
  set(EVENHAND_SOURCES ${CMAKE_CURRENT_LIST_DIR})
endif()
