// Exists so that CMake has a target that compiles the precompiled header.
