# Run by cpack on the tree that it is about to pack: the documents that Debian asks of every package.
if(CPACK_GENERATOR STREQUAL "DEB")
  set(folder "${CPACK_TEMPORARY_DIRECTORY}/usr/share/doc/${CPACK_DEBIAN_PACKAGE_NAME}")
  file(COPY "${CMAKE_CURRENT_LIST_DIR}/copyright" DESTINATION "${folder}")
  string(TIMESTAMP today "%a, %d %b %Y %H:%M:%S +0000" UTC)  # SOURCE_DATE_EPOCH makes it reproducible
  file(WRITE "${folder}/changelog" "${CPACK_DEBIAN_PACKAGE_NAME} (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * Built from hiway's sources, whose CHANGELOG.md tells what changed.

 -- ${CPACK_PACKAGE_CONTACT}  ${today}
")
  set(documents "${folder}/changelog")
  if(EXISTS "${CPACK_TEMPORARY_DIRECTORY}/usr/bin/hiway")
    set(manual "${CPACK_TEMPORARY_DIRECTORY}/usr/share/man/man1")
    file(COPY "${CMAKE_CURRENT_LIST_DIR}/hiway.1" DESTINATION "${manual}")
    list(APPEND documents "${manual}/hiway.1")
  endif()
  execute_process(COMMAND gzip -9nf ${documents} COMMAND_ERROR_IS_FATAL ANY)
  file(CHMOD_RECURSE "${CPACK_TEMPORARY_DIRECTORY}/usr/share"
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ
    DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
endif()
