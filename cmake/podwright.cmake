# The build's own functions: flags, the precompiled header, podwright_library(), podwright_proto(), podwright_test().

include(GNUInstallDirs)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF) # gnu++20 predefines the macro `linux`, which is a field name in CRI and core/v1.
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE OFF) # the flag itself is added below, the same for libraries and programs

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug (ASan and UBSan) or Release (assertions stay on)" FORCE)
endif()

# Release keeps assertions: an agent that continues after a broken invariant is worse than one that restarts.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")
set(CMAKE_C_FLAGS_RELEASE "-O2 -g1")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")
set(CMAKE_C_FLAGS_DEBUG "-O0 -g1")

# Definitions are global because every file shares one precompiled header, and clang refuses a header that was
# compiled under other macros.
add_compile_definitions(
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED BOOST_BEAST_SEPARATE_COMPILATION
  SPDLOG_COMPILED_LIB SPDLOG_FMT_EXTERNAL SPDLOG_SHARED_LIB
  PODWRIGHT_VERSION="${PROJECT_VERSION}")
add_compile_options(-Wall -Wextra -fno-omit-frame-pointer -fPIE)
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wno-deprecated-declarations>")
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}=. -fdebug-compilation-dir=.)
add_link_options(-fuse-ld=lld -pie)
include_directories(${CMAKE_SOURCE_DIR})
include_directories(SYSTEM ${CMAKE_BINARY_DIR}/generated)

add_library(podwright_sanitizers INTERFACE)
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  # Recycled coroutine frames and small blocks would hide a use after free from ASan.
  add_compile_definitions(BOOST_ASIO_DISABLE_AWAITABLE_FRAME_RECYCLING BOOST_ASIO_DISABLE_SMALL_BLOCK_RECYCLING)
  target_compile_options(podwright_sanitizers INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined
    -fno-sanitize=vptr)
  add_link_options(-fsanitize=address,undefined)
endif()

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(absl REQUIRED)
find_package(Protobuf REQUIRED)
find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)

# Who may use whom. Each line of arrows.txt is "folder: used used ..."; podwright_library() links from it, and the
# test `arrows` reads every #include against it.
set(PODWRIGHT_ARROWS_FILE ${CMAKE_SOURCE_DIR}/cmake/arrows.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PODWRIGHT_ARROWS_FILE})
file(STRINGS ${PODWRIGHT_ARROWS_FILE} arrow_lines REGEX "^[a-z]")
foreach(line IN LISTS arrow_lines)
  string(REGEX MATCH "^([^:]+):(.*)$" _ "${line}")
  set(folder "${CMAKE_MATCH_1}")
  separate_arguments(used UNIX_COMMAND "${CMAKE_MATCH_2}")
  set_property(GLOBAL PROPERTY "podwright_arrows_${folder}" "${used}")
  set_property(GLOBAL PROPERTY "podwright_has_arrows_${folder}" TRUE)
endforeach()

function(podwright_target_name folder out)
  string(REPLACE "/" "_" name "${folder}")
  set(${out} "pw_${name}" PARENT_SCOPE)
endfunction()

add_library(podwright_pch OBJECT ${CMAKE_SOURCE_DIR}/cmake/pch.cpp)
target_precompile_headers(podwright_pch PRIVATE ${CMAKE_SOURCE_DIR}/cmake/pch.h)
target_compile_options(podwright_pch PRIVATE -Werror)
target_link_libraries(podwright_pch PRIVATE podwright_sanitizers)
# The header holds the Kubernetes types, which api/CMakeLists.txt generates.
add_dependencies(podwright_pch proto_k8s_generated)

# Boost.Asio's own code, compiled once. The precompiled header refers to it, so everything links it.
add_library(podwright_asio STATIC ${CMAKE_SOURCE_DIR}/cmake/asio.cpp)
target_precompile_headers(podwright_asio REUSE_FROM podwright_pch)
target_link_libraries(podwright_asio PRIVATE podwright_sanitizers)

function(podwright_common target)
  target_precompile_headers(${target} REUSE_FROM podwright_pch)
  target_compile_options(${target} PRIVATE -Werror)
  target_link_libraries(${target} PRIVATE podwright_sanitizers podwright_asio proto_k8s absl::status absl::statusor spdlog fmt)
endfunction()

# podwright_library(FOLDER [LINK external...]): the library of one folder: every .cpp directly inside it, linked to
# exactly the folders that arrows.txt allows it, and to the external libraries named.
function(podwright_library folder)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  get_property(known GLOBAL PROPERTY "podwright_has_arrows_${folder}")
  if(NOT known)
    message(FATAL_ERROR "cmake/arrows.txt has no line for ${folder}: add what it may use")
  endif()
  get_property(used GLOBAL PROPERTY "podwright_arrows_${folder}")
  podwright_target_name(${folder} target)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  set(links "")
  foreach(other IN LISTS used)
    podwright_target_name(${other} other_target)
    list(APPEND links ${other_target})
  endforeach()
  if(sources)
    add_library(${target} STATIC ${sources})
    podwright_common(${target})
    target_link_libraries(${target} PUBLIC ${links} ${ARG_LINK})
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ${links} ${ARG_LINK})
  endif()
endfunction()

# podwright_proto(NAME FILES a.proto... [GRPC] [LINK other...]): one static library per contract, generated below
# ${CMAKE_BINARY_DIR}/generated from files under the one import root, api/proto. Generated code is never sanitized
# and has no debug information: with ASan it takes five times as long and adds nothing.
function(podwright_proto name)
  cmake_parse_arguments(ARG "GRPC" "" "FILES;LINK" ${ARGN})
  set(root ${CMAKE_SOURCE_DIR}/api/proto)
  set(out ${CMAKE_BINARY_DIR}/generated)
  file(MAKE_DIRECTORY ${out})
  set(generated "")
  set(headers "")
  foreach(file IN LISTS ARG_FILES)
    string(REGEX REPLACE "\\.proto$" "" stem "${file}")
    set(produced ${out}/${stem}.pb.cc ${out}/${stem}.pb.h)
    set(args --proto_path=${root} --cpp_out=${out})
    if(ARG_GRPC)
      list(APPEND produced ${out}/${stem}.grpc.pb.cc ${out}/${stem}.grpc.pb.h)
      list(APPEND args --grpc_out=${out} --plugin=protoc-gen-grpc=${GRPC_CPP_PLUGIN})
    endif()
    add_custom_command(OUTPUT ${produced}
      COMMAND protobuf::protoc ${args} ${file}
      WORKING_DIRECTORY ${root}
      DEPENDS ${root}/${file}
      COMMENT "Generating ${stem}"
      VERBATIM)
    list(APPEND generated ${produced})
  endforeach()
  set(headers ${generated})
  list(FILTER headers INCLUDE REGEX "\\.h$")
  add_custom_target(${name}_generated DEPENDS ${generated})
  add_library(${name} STATIC ${generated})
  target_compile_options(${name} PRIVATE -Os -g0 -w)
  target_include_directories(${name} SYSTEM PUBLIC ${out})
  target_link_libraries(${name} PUBLIC ${ARG_LINK} protobuf::libprotobuf)
  add_dependencies(${name} ${name}_generated)
  foreach(other IN LISTS ARG_LINK)
    if(TARGET ${other}_generated)
      add_dependencies(${name}_generated ${other}_generated)
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY podwright_generated ${name}_generated)
endfunction()

# podwright_program(NAME FOLDER main.cpp... LINK ...): a program of the product or of the tests.
function(podwright_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  podwright_common(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
endfunction()

# podwright_test(FOLDER [LINK folder...] [LABELS ...] [EXTERNAL lib...]): one doctest program for tests/FOLDER (every
# .cpp directly inside), linked to FOLDER itself where it is a library, and to the folders named.
function(podwright_test folder)
  cmake_parse_arguments(ARG "NO_SELF" "TIMEOUT" "LINK;LABELS;EXTERNAL" ${ARGN})
  string(REPLACE "/" "_" name "${folder}")
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${folder}/*.cpp)
  if(NOT sources)
    return()
  endif()
  set(links "")
  if(NOT ARG_NO_SELF)
    podwright_target_name(${folder} self)
    list(APPEND links ${self})
  endif()
  foreach(other IN LISTS ARG_LINK)
    podwright_target_name(${other} other_target)
    list(APPEND links ${other_target})
  endforeach()
  add_executable(test_${name} ${sources} $<TARGET_OBJECTS:podwright_doctest_main>)
  podwright_common(test_${name})
  target_compile_definitions(test_${name} PRIVATE)
  target_link_libraries(test_${name} PRIVATE ${links} ${ARG_EXTERNAL})
  set_target_properties(test_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${folder} COMMAND test_${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  set_tests_properties(${folder} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "unit;${ARG_LABELS}"
    ENVIRONMENT "PODWRIGHT_SOURCE_DIR=${CMAKE_SOURCE_DIR};ASAN_OPTIONS=detect_stack_use_after_return=1")
endfunction()
