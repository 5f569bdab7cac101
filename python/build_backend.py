"""Makes wheels of this package (PEP 517), for pip and for `make wheel`.

A wheel is one of three, by the setting "library" (`pip install . --config-settings library=...`, or CREDENCE_WHEEL):

    installed   Python only, for machines where libcredence is installed
    inside      with libcredence, which is built from the folder above
    all         with libcredence and the libraries that it needs, for machines that have none of them

Without the setting it is `installed` where a libcredence of this version is, else `inside`. A library inside finds the
others beside it by a RPATH of $ORIGIN (the target credence_wheel), which holds for what those need in turn, too.
"""

from __future__ import annotations

import base64
import ctypes
import hashlib
import os
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

from elf_names import Elf, own_name

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
HELPER = "credence-hdf5"  # what reads HDF5 files apart from the process of the user
# Part of every Linux, and shared by all of a process: these stay the machine's own.
SYSTEM = re.compile(r"^(linux-vdso|ld-linux.*|libc|libm|libdl|libpthread|librt|libresolv|libutil|libstdc\+\+|libgcc_s)\.so")


def version() -> str:
    """CMakeLists.txt says it, and nobody else."""
    found = re.search(r"project\(credence VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
    if found is None:
        raise RuntimeError(f"{ROOT}/CMakeLists.txt has no version")
    return found.group(1)


def soname() -> str:
    return "libcredence.so." + ".".join(version().split(".")[:2])


def installed() -> bool:
    """Is the library that this package is for installed?"""
    try:
        library = ctypes.CDLL(soname())
    except OSError:
        return False
    library.crd_version.restype = ctypes.c_char_p
    return library.crd_version().decode() == version() and hasattr(library, "crd_sink_memory")


def build_library(folder: Path) -> Path:
    """Compiles libcredence into a folder of its own, or into the build folder that CREDENCE_WHEEL_BUILD names."""
    ready = os.environ.get("CREDENCE_WHEEL_BUILD")
    if shutil.which("cmake") is None:
        raise RuntimeError("libcredence isn't installed and there is no cmake to build it: docs/INSTALL.md says how")
    if ready:
        folder = Path(ready)
    else:
        configure = ["cmake", "-S", str(ROOT), "-B", str(folder), "-DCMAKE_BUILD_TYPE=Release", "-DCREDENCE_WERROR=OFF"]
        subprocess.run(configure, check=True)
    jobs = os.environ.get("JOBS", str(os.cpu_count() or 2))
    command = ["cmake", "--build", str(folder), "--parallel", jobs, "--target", "credence_wheel", "credence_hdf5"]
    subprocess.run(command, check=True, stdout=sys.stderr)
    return folder / "wheel" / soname()


def needs(library: Path) -> dict[str, str]:
    """Names and places of all that a library needs, also of what those need."""
    said = subprocess.run(["ldd", str(library)], check=True, capture_output=True, text=True).stdout
    return dict(re.findall(r"^\s*(\S+) => (/\S+)", said, re.MULTILINE))


def gather(kind: str, folder: Path) -> list[tuple[str, bytes]]:
    """Libraries for a wheel, with their places in it."""
    if kind == "installed":
        return []
    library = build_library(folder / "build")
    others = {n: p for n, p in needs(library).items() if not SYSTEM.match(n)} if kind == "all" else {}
    names = set(others)
    files = [(f"credence/lib/{soname()}", Elf(library.read_bytes()).rename(names))]
    files.append((f"credence/lib/{HELPER}", (library.parent.parent / HELPER).read_bytes()))
    for name, path in sorted(others.items()):
        files.append((f"credence/lib/{own_name(name)}", Elf(Path(path).read_bytes()).rename(names)))
    return files


def platform_tag(kind: str) -> str:
    """A wheel with libraries runs where the C library is at least as new as here."""
    if kind == "installed":
        return "any"
    libc = (os.confstr("CS_GNU_LIBC_VERSION") or "").split()
    machine = sysconfig.get_platform().split("-")[-1]
    return f"manylinux_{libc[1].replace('.', '_')}_{machine}" if libc[:1] == ["glibc"] else f"linux_{machine}"


def wish(settings: dict[str, str] | None) -> str:
    kind = (settings or {}).get("library") or os.environ.get("CREDENCE_WHEEL") or ("installed" if installed() else "inside")
    if kind not in ("installed", "inside", "all"):
        raise RuntimeError(f"library={kind}: it is installed, inside or all")
    return kind


def metadata() -> str:
    lines = ["Metadata-Version: 2.1", "Name: credence", f"Version: {version()}"]
    lines += ["Summary: 3D segmentation of CT scans with credible uncertainty", "Requires-Python: >=3.9"]
    return "\n".join(lines + ["Requires-Dist: numpy", ""])


class Wheel:
    """A zip archive with a list of its files and their hashes, always the same bytes for the same files."""

    def __init__(self, path: Path) -> None:
        self._zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self._record: list[str] = []

    def add(self, name: str, data: bytes) -> None:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self._record.append(f"{name},sha256={digest},{len(data)}")
        info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        program = ".so" in name or name.endswith(HELPER)
        info.external_attr = (stat.S_IFREG | (0o755 if program else 0o644)) << 16  # pip believes only those of plain files
        self._zip.writestr(info, data, zipfile.ZIP_DEFLATED)

    def close(self, record: str) -> None:
        self._zip.writestr(zipfile.ZipInfo(record, (1980, 1, 1, 0, 0, 0)), "\n".join([*self._record, f"{record},,", ""]))
        self._zip.close()


def about_folder() -> str:
    return f"credence-{version()}.dist-info"


def write_wheel(directory: str, kind: str, package: bool) -> str:
    about = about_folder()
    platform = platform_tag(kind)
    name = f"credence-{version()}-py3-none-{platform}.whl"
    with tempfile.TemporaryDirectory() as folder:
        wheel = Wheel(Path(folder) / name)
        for source in sorted((HERE / "credence").glob("*.py*")) if package else []:
            if source.suffix in (".py", ".pyi") or source.name == "py.typed":
                wheel.add(f"credence/{source.name}", source.read_bytes())
        for place, data in gather(kind, Path(folder)) if package else []:
            wheel.add(place, data)
        if not package:  # what is installed for development looks here, and for the library as always
            wheel.add("credence.pth", f"{HERE}\n".encode())
        wheel.add(f"{about}/METADATA", metadata().encode())
        pure = "true" if kind == "installed" else "false"
        tag = f"Wheel-Version: 1.0\nGenerator: credence\nRoot-Is-Purelib: {pure}\nTag: py3-none-{platform}\n"
        wheel.add(f"{about}/WHEEL", tag.encode())
        wheel.add(f"{about}/LICENSE", (ROOT / "LICENSE").read_bytes())
        wheel.close(f"{about}/RECORD")
        shutil.move(Path(folder) / name, Path(directory) / name)
    return name


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: dict[str, str] | None = None) -> str:
    """Without this pip would build the whole library to learn what it is called."""
    about = Path(metadata_directory) / about_folder()
    about.mkdir()
    (about / "METADATA").write_text(metadata())
    return about.name


def build_wheel(wheel_directory: str, config_settings: dict[str, str] | None = None,
                metadata_directory: str | None = None) -> str:
    return write_wheel(wheel_directory, wish(config_settings), True)


def build_editable(wheel_directory: str, config_settings: dict[str, str] | None = None,
                   metadata_directory: str | None = None) -> str:
    return write_wheel(wheel_directory, "installed", False)


def build_sdist(sdist_directory: str, config_settings: dict[str, str] | None = None) -> str:
    raise RuntimeError("the source of the package is the whole project: take its archive, and pip install it from python/")


if __name__ == "__main__":
    print(write_wheel(sys.argv[1], wish(None), True))
