# What `cmake --install` puts where: the programs, documents, man pages and shell completions; systemd/ installs its own.
# Included last, so that the targets exist.

foreach(program podwright)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()

install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/CHANGELOG.md ${CMAKE_SOURCE_DIR}/LICENSE
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
file(GLOB guides CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/*.md)
install(FILES ${guides} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs/samples DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)

install(FILES ${CMAKE_SOURCE_DIR}/docs/man/podwright.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)
install(FILES ${CMAKE_SOURCE_DIR}/docs/man/podwright.yaml.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)

install(FILES ${CMAKE_SOURCE_DIR}/docs/completions/podwright.bash RENAME podwright
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${CMAKE_SOURCE_DIR}/docs/completions/_podwright DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${CMAKE_SOURCE_DIR}/docs/completions/podwright.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
