# keep_headers(TARGET): copies the headers of an imported target into the build folder, where they differ
# from those that are there, and lets the target be these.
#
# Where pip builds, packages that are required lie in a new folder each time, and whatever has its path among
# its flags would be compiled again.
function(keep_headers target)
  string(MAKE_C_IDENTIFIER ${target} name)
  set(kept ${CMAKE_BINARY_DIR}/headers/${name})
  get_target_property(folder ${target} INTERFACE_INCLUDE_DIRECTORIES)
  file(GLOB_RECURSE headers RELATIVE ${folder} ${folder}/*)
  foreach(header IN LISTS headers)
    cmake_path(GET header PARENT_PATH inner)
    file(MAKE_DIRECTORY ${kept}/${inner})
    file(COPY_FILE ${folder}/${header} ${kept}/${header} ONLY_IF_DIFFERENT)
  endforeach()
  set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${kept}
                                             INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${kept})
endfunction()
