# What `cmake --install` puts where: the programs, the units, documents, man pages and shell completions. Included last,
# so that the targets exist.

foreach(program podwright)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()

# systemd reads lib/systemd/system below /usr and /usr/local, never a lib/ARCHITECTURE of Debian's kind.
install(FILES ${CMAKE_BINARY_DIR}/systemd/podwright.service DESTINATION lib/systemd/system)
install(FILES ${CMAKE_BINARY_DIR}/systemd/10-kubeadm.conf DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)

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
