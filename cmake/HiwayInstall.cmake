# find_package(hiway [COMPONENTS cuda]) gives hiway::hiway, hiway::cuda and hiway_cuda_sources().
include_guard()
include(CMakePackageConfigHelpers)
set(hiway_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/hiway")

install(DIRECTORY include/hiway DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS hiway EXPORT hiwayTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT hiwayTargets NAMESPACE hiway:: DESTINATION ${hiway_package_dir})
if(HIWAY_WITH_CUDA)
  install(TARGETS hiway_cuda EXPORT hiwayCudaTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT hiwayCudaTargets NAMESPACE hiway:: DESTINATION ${hiway_package_dir})
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
