# What other projects use: find_package(hiway [COMPONENTS cuda nodes]) gives hiway::hiway, hiway::cuda with
# hiway_cuda_sources(), hiway::nodes;
# pkg-config gives hiway and hiway-cuda. Every path in it starts from where the file itself lies: the tree can be moved.
include_guard()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(hiway_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/hiway")
set(hiway_pkg_config_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

install(DIRECTORY include/hiway DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS hiway EXPORT hiwayTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT hiwayTargets NAMESPACE hiway:: DESTINATION ${hiway_package_dir})
if(HIWAY_WITH_CUDA)
  install(TARGETS hiway_cuda EXPORT hiwayCudaTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT hiwayCudaTargets NAMESPACE hiway:: DESTINATION ${hiway_package_dir})
endif()
if(HIWAY_WITH_NODES)
  install(TARGETS hiway_nodes EXPORT hiwayNodesTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT hiwayNodesTargets NAMESPACE hiway:: DESTINATION ${hiway_package_dir})
endif()
if(TARGET hiway_program)
  install(TARGETS hiway_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

configure_package_config_file(cmake/hiwayConfig.cmake.in "${PROJECT_BINARY_DIR}/package/hiwayConfig.cmake"
  INSTALL_DESTINATION ${hiway_package_dir})
write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/hiwayConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/package/hiwayConfig.cmake" "${PROJECT_BINARY_DIR}/package/hiwayConfigVersion.cmake"
  cmake/HiwayCudaSources.cmake
  DESTINATION ${hiway_package_dir})

file(RELATIVE_PATH hiway_up "/${hiway_pkg_config_dir}" "/")
string(REGEX REPLACE "/$" "" hiway_up "${hiway_up}")
# Where the linker looks anyway is not named: there, shared or static, the user's Boost is as good as this one. Nor is
# what is not known: a package manager's Boost::context may be a target without a file.
set(hiway_link_boost "-lboost_context")
get_target_property(hiway_boost Boost::context LOCATION)
if(hiway_boost)
  cmake_path(GET hiway_boost PARENT_PATH hiway_boost)
  if(NOT hiway_boost IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
    string(PREPEND hiway_link_boost "-L${hiway_boost} ")
  endif()
endif()
set(hiway_pkg_configs hiway.pc)
if(HIWAY_WITH_CUDA)
  list(APPEND hiway_pkg_configs hiway-cuda.pc)
endif()
foreach(file IN LISTS hiway_pkg_configs)
  configure_file(cmake/${file}.in "${PROJECT_BINARY_DIR}/package/${file}" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/package/${file}" DESTINATION ${hiway_pkg_config_dir})
endforeach()
