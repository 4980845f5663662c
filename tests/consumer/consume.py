#!/usr/bin/env python3
"""Uses hiway from outside, in WORK, in one of the ways that docs/install.md names; CONFIGURE are arguments for cmake.

install SOURCE BUILD TYPE WORK               BUILD's installation, moved to WORK, names neither SOURCE nor BUILD
find_package SOURCE PREFIX WORK CONFIGURE... this folder's project on the installation in PREFIX
refused TEXT PREFIX WORK CONFIGURE...        the same, find_package() must fail and say TEXT (in it, PREFIX is PREFIX)
pkg_config COMPILER PACKAGE PREFIX WORK      one command line with pkg-config's flags (ends with 77 where there is none)
boost_without_a_file SOURCE WORK CONFIGURE...   hiway.pc where Boost::context is a target of which no file is known
subdirectory SOURCE WORK CONFIGURE...        SOURCE's library, without tests and applications, in a project's folder
fetch_content WORK CONFIGURE...              the same by FetchContent, which may fetch nothing, in subdirectory's WORK
recipes SOURCE VERSION                       Conan's and vcpkg's are of that version and name files that are there
deb SOURCE BUILD TYPE VERSION WORK CONFIGURE...   cpack's .deb of BUILD, unpacked: its control file, its program, and
                                             find_package on it (ends with 77 where Debian's tools are not)
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def run(*command, **how):
    print("+", *command, flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **how)
    print(done.stdout, end="", flush=True)
    return done


def must(*command, **how):
    done = run(*command, **how)
    if done.returncode != 0:
        sys.exit(f"consume.py: {command[0]} ended with {done.returncode}")
    return done


def fresh(work):
    work = pathlib.Path(work)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    return work


def runs(program, has_kernels):
    done = subprocess.run([program], stdout=subprocess.PIPE, text=True, timeout=60)
    if done.returncode != 0 or done.stdout != "333833500\n":
        sys.exit(f"consume.py: {program} ended with {done.returncode} and printed {done.stdout!r}, expected 333833500")
    # Without a GPU it runs on the emulated device, kernels or not; a stage compiled by nvcc carries that unit's name.
    if (b"NvccUnit" in program.read_bytes()) != has_kernels:
        sys.exit(f"consume.py: {program} has {'no ' if has_kernels else ''}kernels for a GPU")


def names_none_of(tree, paths, aside="", binaries=True):
    """No file of the tree holds one of the paths, once what lies in `aside` is put aside."""
    looked_at = 0
    for file in sorted(tree.rglob("*")):
        if not file.is_file():
            continue
        text = file.read_bytes()
        if not binaries and text.startswith((b"\x7fELF", b"!<arch>")):
            continue
        looked_at += 1
        if aside:
            text = text.replace(os.fsencode(aside), b"")
        for path in paths:
            if os.fsencode(path) in text:
                sys.exit(f"consume.py: {file} names {path}")
    if looked_at == 0:
        sys.exit(f"consume.py: nothing to look at in {tree}")


def install(source, build, build_type, work):
    prefix = fresh(work)
    first = prefix.with_name(prefix.name + "-first")
    shutil.rmtree(first, ignore_errors=True)
    must("cmake", "--install", build, "--config", build_type, "--prefix", str(first))
    prefix.rmdir()
    first.rename(prefix)
    # Debug information does name the sources, and should.
    names_none_of(prefix, [source, build, str(first)], binaries=build_type == "Release")


def configure(prefix, work, arguments):
    work = fresh(work)
    project = work / "project"
    project.mkdir()
    for name in ["CMakeLists.txt", "main.cpp", "version.cpp", "fourier.cpp"]:
        shutil.copy(HERE / name, project)
    return run("cmake", "-S", str(project), "-B", str(work / "build"), f"-DCMAKE_PREFIX_PATH={prefix}", *arguments)


def find_package(source, prefix, work, *arguments):
    if configure(prefix, work, arguments).returncode != 0:
        sys.exit("consume.py: the project does not configure")
    build = pathlib.Path(work) / "build"
    must("cmake", "--build", str(build))
    runs(build / "consumer", "-DHIWAY_COMPONENTS=cuda" in arguments)
    fourier = build / "fourier"  # where cuFFT is
    if fourier.exists() and run(str(fourier), timeout=60).returncode not in (0, 77):
        sys.exit("consume.py: fourier does not find its tones")
    # The prefix and WORK lie in the same folder of the build tree, which in turn may lie in the source tree. The list
    # of the headers that were read (.ninja_deps) is among the files.
    common = os.path.commonpath([prefix, work])
    names_none_of(build, [source], aside=common, binaries=False)


def refused(text, prefix, work, *arguments):
    done = configure(prefix, work, arguments)
    said = " ".join(done.stdout.split())  # cmake breaks lines where it likes
    text = text.replace("PREFIX", prefix)
    if done.returncode == 0 or text not in said:
        sys.exit(f"consume.py: find_package() must fail and say: {text}")


def pkg_config(compiler, package, prefix, work):
    if not shutil.which("pkg-config"):
        print("skipped: no pkg-config here (Debian: pkgconf)")
        sys.exit(77)
    work = fresh(work)
    shutil.copy(HERE / "main.cpp", work)
    (file,) = pathlib.Path(prefix).rglob(f"{package}.pc")
    environment = dict(os.environ, PKG_CONFIG_PATH=str(file.parent))
    line = f"{compiler} main.cpp -o consumer $(pkg-config --cflags --libs {package})"
    must("sh", "-c", line, cwd=work, env=environment)
    runs(work / "consumer", package == "hiway-cuda")


def boost_without_a_file(source, work, *arguments):
    work = fresh(work)
    (work / "BoostConfig.cmake").write_text(
        "add_library(Boost::context INTERFACE IMPORTED)\nset(Boost_context_FOUND TRUE)\n")
    for without in ["HIWAY_BUILD_TESTS", "HIWAY_BUILD_APPS", "HIWAY_CUDA"]:
        arguments += (f"-D{without}=OFF",)
    must("cmake", "-S", source, "-B", str(work / "build"), f"-DBoost_DIR={work}", *arguments)
    file = (work / "build" / "package" / "hiway.pc").read_text()
    if "\nLibs: -L${libdir} -lhiway -lboost_context -lpthread\n" not in file:
        sys.exit(f"consume.py: with such a Boost hiway.pc is\n{file}")


def below_a_project(project, build, arguments):
    """hiway's sources are part of the project in that folder, and change nothing else in it."""
    must("cmake", "-S", str(project), "-B", str(build), *arguments)
    # ccache sees paths from the project on: a build with CUDA and one without compile most of the library once.
    must("cmake", "--build", str(build), env={**os.environ, "CCACHE_BASEDIR": str(build.parent), "CCACHE_NOHASHDIR": "1"})
    runs(build / "consumer", "-DWITH_CUDA=ON" in arguments)
    tests = must("ctest", "-N", cwd=build).stdout
    if "Total Tests: 1\n" not in tests:
        sys.exit("consume.py: hiway's tests are among the project's")
    installed = fresh(f"{build}-installed")
    must("cmake", "--install", str(build), "--prefix", str(installed))
    installed = [file.name for file in installed.rglob("*")]
    if installed != ["consumer"]:
        sys.exit(f"consume.py: the project installs {installed}, not its program only")


def subdirectory(source, work, *arguments):
    work = fresh(work)
    project = work / "project"
    shutil.copytree(HERE / "subdirectory", project)
    shutil.copy(HERE / "main.cpp", project)
    (project / "hiway").mkdir()
    shutil.copy(f"{source}/CMakeLists.txt", project / "hiway")
    for room in ["cmake", "include", "lib", "monitors", "stencil"]:
        if os.path.isdir(f"{source}/{room}"):
            shutil.copytree(f"{source}/{room}", project / "hiway" / room)
    below_a_project(project, work / "build", arguments)


def fetch_content(work, *arguments):
    project = pathlib.Path(work) / "project"
    source = project / "hiway"
    # The project declares a folder and nobody may fetch; or it declares what cannot be had, and is given a folder.
    below_a_project(project, fresh(f"{work}/fetched"),
                    [*arguments, f"-DFETCH=SOURCE_DIR;{source}", "-DFETCHCONTENT_FULLY_DISCONNECTED=ON"])
    must("cmake", "-S", str(project), "-B", str(fresh(f"{work}/given")), *arguments,
         "-DFETCH=URL;file:///none/hiway.tar.gz", f"-DFETCHCONTENT_SOURCE_DIR_HIWAY={source}")


def recipes(source, version):
    packaging = pathlib.Path(source) / "packaging"
    port = json.loads((packaging / "vcpkg/ports/hiway/vcpkg.json").read_text())
    if (port["name"], port["version-semver"]) != ("hiway", version):
        sys.exit(f"consume.py: vcpkg's port is {port['name']} {port['version-semver']}, not hiway {version}")
    for file in packaging.glob("conan/**/conanfile.py"):
        compile(file.read_text(), file, "exec")
    text = (packaging / "conan/conanfile.py").read_text()
    for pattern in json.loads(re.search(r"^SOURCES = (.*)$", text, re.M)[1]):
        if not list(pathlib.Path(source).glob(pattern)):
            sys.exit(f"consume.py: Conan's recipe names {pattern}, which is not there")
    header = re.search(r'recipe_folder, "(.*version.hpp)"', text)[1]
    numbers = re.findall(r"_(?:MAJOR|MINOR|PATCH) (\d+)", (packaging / "conan" / header).read_text())
    if ".".join(numbers) != version:
        sys.exit(f"consume.py: Conan's recipe reads version {numbers} from {header}, not {version}")


def deb(source, build, build_type, version, work, *arguments):
    for tool in ["dpkg-deb", "dpkg-shlibdeps", "file"]:
        if not shutil.which(tool):
            print(f"skipped: no {tool} here (Debian: dpkg, dpkg-dev, file)")
            sys.exit(77)
    work = fresh(work)
    must("cpack", "-G", "DEB", "-C", build_type, "--config", f"{build}/CPackConfig.cmake", "-B", str(work / "made"))
    (package,) = (work / "made").glob("*.deb")
    control = must("dpkg-deb", "--field", str(package)).stdout
    for field in ["Package: libhiway-dev", f"Version: {version}", "Section: libdevel", "Depends: .*libboost-context"]:
        if not re.search(f"^{field}", control, re.M):
            sys.exit(f"consume.py: the control file of {package.name} has no '{field}'")
    root = work / "root"
    must("dpkg-deb", "--extract", str(package), str(root))
    names_none_of(root, [source, build, str(work)], binaries=build_type == "Release")
    for name in ["copyright", "changelog.gz"]:
        if not (root / "usr/share/doc/libhiway-dev" / name).is_file():
            sys.exit(f"consume.py: {package.name} has no {name}")
    program = root / "usr/bin/hiway"
    if program.exists() and must(str(program), "--version").stdout != f"hiway {version}\n":
        sys.exit(f"consume.py: the program is not that of version {version}")
    find_package(source, str(root / "usr"), str(work / "consumer"), *arguments)


WAYS = {way.__name__: way for way in [install, find_package, refused, pkg_config, boost_without_a_file, subdirectory,
                                      fetch_content, recipes, deb]}
if len(sys.argv) < 2 or sys.argv[1] not in WAYS:
    sys.exit(__doc__)
WAYS[sys.argv[1]](*sys.argv[2:])
