"""hiway's recipe for Conan 2, on the sources around it: conan create packaging/conan -s compiler.cppstd=20.

How far it was tried: packaging/README.md.
"""
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

# What the library is built from, and its licence.
SOURCES = ["CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "lib/*", "monitors/*", "stencil/*"]


class Hiway(ConanFile):
    name = "hiway"
    description = "CPU-GPU pipelines of persistent stages"
    license = "Apache-2.0"
    package_type = "static-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"cuda": [True, False]}  # True: nvcc and its toolkit are the system's; Conan has no package of them
    default_options = {"cuda": False, "boost/*:without_context": False}

    def set_version(self):
        if not self.version:
            header = load(self, os.path.join(self.recipe_folder, "../../include/hiway/version.hpp"))
            self.version = ".".join(re.findall(r"_(?:MAJOR|MINOR|PATCH) (\d+)", header))

    def export_sources(self):
        for pattern in SOURCES:
            copy(self, pattern, os.path.join(self.recipe_folder, "../.."), self.export_sources_folder)

    def requirements(self):
        self.requires("boost/[>=1.74 <2]")  # Boost.Context, for the emulated device; no public header includes it

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["HIWAY_CUDA"] = "ON" if self.options.cuda else "OFF"
        toolchain.cache_variables["HIWAY_NODES"] = "OFF"
        toolchain.cache_variables["HIWAY_BUILD_TESTS"] = False
        toolchain.cache_variables["HIWAY_BUILD_APPS"] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        # For CMake hiway's own files, which also give the component cuda and hiway_cuda_sources().
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/hiway"]
        self.cpp_info.set_property("pkg_config_name", "hiway")
        self.cpp_info.libs = ["hiway"]
        self.cpp_info.requires = ["boost::context"]
        self.cpp_info.system_libs = ["pthread"]
