"""What the suite says about the machine: processors, caches, memory, load, kernel, compiler, versions."""
import glob
import os
import platform
import re
import subprocess

from libraries import first_line


def text_of(path):
    """Returns a file's text, or "" where there is none."""
    try:
        with open(path, encoding="utf-8", errors="replace") as text:
            return text.read()
    except OSError:
        return ""


def caches():
    """Returns the caches of processor 0, each with the processors that share it."""
    lines = []
    for folder in sorted(glob.glob("/sys/devices/system/cpu/cpu0/cache/index*")):
        level, kind, size, shared = (text_of(f"{folder}/{name}").strip() for name in
                                     ("level", "type", "size", "shared_cpu_list"))
        lines.append(f"L{level} {kind.lower()} {size}, shared by processors {shared}")
    return lines


def memory():
    found = re.search(r"MemTotal: +(\d+) kB", text_of("/proc/meminfo"))
    return f"{int(found.group(1)) / 2**20:.1f} GiB" if found else ""


def system():
    found = re.search(r'^PRETTY_NAME="?([^"\n]*)', text_of("/etc/os-release"), re.M)
    return found.group(1) if found else platform.system()


def commit_of(folder):
    """Returns the commit of the sources, with a word where they have been changed since."""
    commit = first_line(["git", "-C", folder, "rev-parse", "--short=12", "HEAD"])
    changed = subprocess.run(["git", "-C", folder, "status", "--porcelain", "--untracked-files=no"], text=True,
                             capture_output=True, check=False).stdout if commit else ""
    return commit + (" with changes" if changed.strip() else "")


def load():
    return " ".join(f"{one:.2f}" for one in os.getloadavg())


def description():
    """Returns {what: value} for the page and the JSON file."""
    cpu = text_of("/proc/cpuinfo")
    model = re.search(r"model name\s*: (.*)", cpu)
    governor = text_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").strip()
    nodes = glob.glob("/sys/devices/system/node/node[0-9]*")
    return {
        "processor": model.group(1) if model else platform.machine(),
        "processors": str(os.cpu_count()),
        "processors that this run may use": str(len(os.sched_getaffinity(0))),
        "virtual machine": "yes" if re.search(r"^flags.*\bhypervisor\b", cpu, re.M) else "no",
        "NUMA nodes": str(len(nodes) or 1),
        "caches": caches(),
        "frequency governor": governor or "not shown",
        "memory": memory(),
        "load before (1, 5, 15 minutes)": load(),
        "system": system(),
        "kernel": platform.release(),
        "C library": " ".join(platform.libc_ver()),
        "compiler": first_line(["cc", "--version"]),
        "python": platform.python_version(),
    }
