# cpack -G DEB, in the build tree: one package, libhiway-dev, of what `cmake --install` installs: headers, archives,
# what CMake and pkg-config look for, and the program.
include_guard()
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME hiway)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_CONTACT "hiway maintainers <maintainers@hiway.example>")
set(CPACK_STRIP_FILES ON)  # the program; the archives have no debug information unless the build asked for it
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_SOURCE_IGNORE_FILES "/build/;/[.]git/;/[.]git$;/[.]cache/")

set(CPACK_DEBIAN_PACKAGE_NAME libhiway-dev)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
# The archive needs Boost.Context to be linked; Debian has a package for each of its versions, and one for a default.
set(CPACK_DEBIAN_PACKAGE_DEPENDS libboost-context-dev)
if(Boost_VERSION_MAJOR)
  string(PREPEND CPACK_DEBIAN_PACKAGE_DEPENDS
    "libboost-context${Boost_VERSION_MAJOR}.${Boost_VERSION_MINOR}-dev | ")
endif()
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # what the program needs, by dpkg-shlibdeps
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "g++, cmake (>= 3.25), pkgconf")
set(hiway_device "In this build GPU stages run on an emulated device.")
if(HIWAY_WITH_CUDA)
  set(hiway_device "The component cuda needs nvcc and the CUDA toolkit 13, no Debian packages.")
endif()
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"Stages run at the same time on CPU threads and inside persistent GPU kernels;
tunnels carry single items between them. These are the headers, the static
library, the files for CMake and pkg-config, and the program hiway.
${hiway_device}")
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/packaging/debian/documents.cmake")
include(CPack)
