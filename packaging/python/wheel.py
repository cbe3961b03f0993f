"""Makes a wheel of the package finegrain_mpi with a whole installation of Finegrain MPI inside.

    wheel.py TREE FOLDER GLIBC      writes FOLDER/finegrain_mpi-VERSION-cpXY-cpXY-manylinux_*.whl

TREE is the installation that packaging/portable.sh makes, with fgmpi-python and its libpython. It
becomes the wheel's data, which pip copies into the environment itself: bin/, lib/, include/ and
share/ beside Python's own, where mpi4py looks for lib/libmpi.so.12. The licences become those of
the wheel. A wheel is a zip file that holds no symbolic links, so TREE loses its own first: see
replace_links. The standard library suffices; the compiler links libraries that stand for others."""

import base64
import configparser
import hashlib
import os
import re
import shutil
import stat
import subprocess
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
# A program of this size or less is copied where a link leads to it: the wrappers of compilers.
SMALL = 1 << 14


def fail(text):
    sys.exit("scripts/package: " + text)


def files_below(folder):
    """The paths of all files and links below, relative to the folder, in one order everywhere."""
    found = []
    for place, folders, names in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(place, name))]
        found += [os.path.relpath(os.path.join(place, name), folder) for name in names + links]
    return sorted(found)


def replace_links(tree):
    """Puts a file in the place of each symbolic link. What is loaded or linked by one of several
    names stays one library:

    libX.so        a script for the linker, which names the library (compilers read it, not programs)
    libX.so.N      a library without code, a filter: the dynamic linker loads the other library in
                   front of it, where programs that name libX.so.N expect that
    a program      a script that executes the other one in its place: signals and status are its own
    other files    a copy: wrappers of compilers, and scripts of gdb"""
    for name in files_below(tree):
        path = os.path.join(tree, name)
        if not os.path.islink(path):
            continue
        target = os.path.realpath(path)
        if not os.path.isfile(target):
            fail("%s is a link to %s, which is no file" % (name, target))
        folder, other = os.path.dirname(path), os.path.relpath(target, os.path.dirname(path))
        os.unlink(path)
        if re.search(r"\.so$", name):
            write_text(path, "/* For the linker: programs load %s. */\nINPUT(%s)\n" % (other, other))
        elif re.search(r"\.so\.[0-9]+$", name):
            subprocess.run(["cc", "-shared", "-nostdlib", "-o", path, "-x", "c", os.devnull, "-x", "none",
                            "-Wl,-soname=" + os.path.basename(name), "-Wl,--filter=" + other, "-Wl,-rpath,$ORIGIN",
                            "-Wl,-z,noexecstack", "-Wl,--build-id=none", "-s", "-Wl,--no-as-needed", target], check=True)
            os.chmod(path, 0o644)
        elif os.path.getsize(target) > SMALL and os.access(target, os.X_OK):
            write_text(path, '#!/bin/sh\nexec "$(dirname -- "$(readlink -f -- "$0")")/%s" "$@"\n' % other, 0o755)
        else:
            shutil.copy(target, os.path.join(folder, os.path.basename(path)))


def write_text(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def python_version(tree):
    """The version of the libpython that fgmpi-python needs, as a pair of numbers."""
    program = os.path.join(tree, "bin", "fgmpi-python")
    needed = subprocess.run(["objdump", "-p", program], check=True, capture_output=True, text=True).stdout
    found = re.search(r"NEEDED +libpython(\d+)\.(\d+)\.so", needed)
    if not found:
        fail("fgmpi-python needs no libpythonX.Y.so: only interpreters of that kind are supported")
    return found.group(1), found.group(2)


class Wheel:
    """A wheel that is being written. Files of equal content give equal wheels: they have no time."""

    def __init__(self, path):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.record = []

    def add(self, name, content, executable=False):
        entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (stat.S_IFREG | (0o755 if executable else 0o644)) << 16
        self.zip.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.record.append('%s,sha256=%s,%d' % (quoted(name), digest, len(content)))

    def add_folder(self, prefix, folder, wanted=lambda name: True):
        for name in files_below(folder):
            if wanted(name):
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    self.add(prefix + "/" + name, file.read(), os.access(path, os.X_OK))

    def close(self, info):
        """Writes the list of all files, which has no checksum of itself."""
        name = info + "/RECORD"
        self.record.append(name + ",,")
        entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (stat.S_IFREG | 0o644) << 16
        self.zip.writestr(entry, "\n".join(self.record) + "\n")
        self.zip.close()


def quoted(name):
    """A field of a file of comma-separated values."""
    return '"%s"' % name.replace('"', '""') if re.search('[",]', name) else name


def metadata(settings, licences):
    """The text of METADATA, from setup.cfg and the page of the package."""
    about = settings["metadata"]
    lines = ["Metadata-Version: 2.1", "Name: " + about["name"], "Version: " + about["version"], "Summary: " + about["description"],
             "License: %s; libraries inside have their own, see the folder licenses" % about["license"]]
    lines += ["Classifier: " + word for word in about["classifiers"].strip().splitlines()]
    lines += ["Requires-Python: " + settings["options"]["python_requires"]]
    for extra, wanted in settings["options.extras_require"].items():
        lines.append("Provides-Extra: " + extra)
        lines += ['Requires-Dist: %s ; extra == "%s"' % (package, extra) for package in wanted.strip().splitlines()]
    lines += ["License-File: " + name for name in licences]
    lines += ["Description-Content-Type: " + about["long_description_content_type"], ""]
    with open(os.path.join(HERE, "README.md"), encoding="utf-8") as page:
        return "\n".join(lines) + "\n" + page.read()


def main():
    tree, folder, glibc = sys.argv[1:]
    settings = configparser.ConfigParser()
    settings.read(os.path.join(HERE, "setup.cfg"), encoding="utf-8")
    name = "%s-%s" % (settings["metadata"]["name"], settings["metadata"]["version"])
    python = "cp%s%s" % python_version(tree)
    tag = "%s-%s-manylinux_%s_%s" % (python, python, glibc.replace(".", "_"), os.uname().machine)
    replace_links(tree)
    # Licences have a place of their own in wheels.
    documents = os.path.join(tree, "share", "doc", "fgmpi")
    licences = os.path.join(os.path.dirname(tree), "licenses")
    shutil.move(documents, licences)

    info = name + ".dist-info"
    path = os.path.join(folder, "%s-%s.whl" % (name, tag))
    wheel = Wheel(path)
    source = os.path.join(HERE, settings["options"]["package_dir"].split("=")[1].strip(), settings["options"]["packages"])
    wheel.add_folder(settings["options"]["packages"], source, lambda name: name.endswith(".py"))
    wheel.add_folder(name + ".data/data", tree)
    wheel.add_folder(info + "/licenses", licences)
    points = "".join("[%s]\n%s\n\n" % (group, entries.strip()) for group, entries in settings["options.entry_points"].items())
    wheel.add(info + "/entry_points.txt", points.encode())
    about = "Wheel-Version: 1.0\nGenerator: scripts/package --wheel\nRoot-Is-Purelib: false\nTag: %s\n"
    wheel.add(info + "/WHEEL", (about % tag).encode())
    wheel.add(info + "/METADATA", metadata(settings, files_below(licences)).encode())
    wheel.close(info)
    print(path)


main()
