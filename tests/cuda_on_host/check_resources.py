#!/usr/bin/env python3
"""Reads what ptxas said of every kernel: none may spill registers or keep anything in local memory.

  check_resources.py BUILD_FOLDER CAPABILITY...    prints a table and the faults; exit code 1 if there is one

The reports lie beside the object files (cmake/keep_resource_report.sh); which there must be is known from
compile_commands.json, so that neither a missing report nor a stale one misleads.
"""

import json
import pathlib
import re
import shlex
import subprocess
import sys

# Kernel name (regular expression) -> why it may keep values in local memory. One that no kernel needs is a fault.
ALLOWED = {}

ENTRY = re.compile(r"Compiling entry function '(?P<kernel>\w+)' for 'sm_(?P<capability>\w+)'")
PROPERTIES = re.compile(r"Function properties for (?P<function>\w+)")
MEMORY = re.compile(r"(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, "
                    r"(?P<loads>\d+) bytes spill loads")
USED = re.compile(r"Used (?P<registers>\d+) registers")


def kernels_of(report):
    """{(kernel, capability): {"memory": (stack, stores, loads), "registers": n}}; functions that a kernel calls count
    as their kernel's."""
    kernels = {}
    current = None
    for line in report.splitlines():
        if found := ENTRY.search(line):
            current = kernels.setdefault((found["kernel"], found["capability"]), {"memory": (0, 0, 0)})
        elif (found := MEMORY.search(line)) and current is not None:
            values = (int(found["stack"]), int(found["stores"]), int(found["loads"]))
            current["memory"] = tuple(map(max, current["memory"], values))
        elif (found := USED.search(line)) and current is not None:
            current["registers"] = int(found["registers"])
    return kernels


def faults_of(kernels, capabilities, allowed, names):
    used = set()
    for kernel, capability in sorted(kernels):
        entry = kernels[kernel, capability]
        name = names.get(kernel, kernel)
        reasons = [pattern for pattern in allowed if re.search(pattern, name)]
        if any(entry["memory"]):
            used.update(reasons)
            if not reasons:
                stack, stores, loads = entry["memory"]
                yield (f"{name}, sm_{capability}: {stack} bytes of local memory, {stores} bytes stored and {loads} "
                       "loaded by spills")
        if "registers" not in entry:
            yield f"{name}, sm_{capability}: the report has no count of registers"
    for kernel in sorted({kernel for kernel, _ in kernels}):
        for capability in capabilities:
            if (kernel, capability) not in kernels:
                yield f"{names.get(kernel, kernel)}: not compiled for sm_{capability}"
    for pattern in sorted(set(allowed) - used):
        yield f'ALLOWED has "{pattern}", which no kernel needs'


def objects_of(build):
    """The object file of each CUDA source."""
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        if entry["file"].endswith(".cu"):
            arguments = shlex.split(entry["command"])
            yield entry["file"], pathlib.Path(entry["directory"], arguments[arguments.index("-o") + 1])


def demangled(kernels):
    names = sorted(kernels)
    if not names:
        return {}
    filtered = subprocess.run(["c++filt", *names], check=True, capture_output=True, text=True)
    return dict(zip(names, filtered.stdout.splitlines()))


def main():
    build = pathlib.Path(sys.argv[1])
    kernels = {}
    faults = []
    for source, object_file in objects_of(build):
        report = pathlib.Path(f"{object_file}.resources.txt")
        if not report.is_file():
            faults.append(f"{source}: no resource report, {report}: is it built?")
            continue
        found = kernels_of(report.read_text(encoding="utf-8"))
        if not found:
            faults.append(f"{source}: no kernel in its resource report")
        kernels |= found
    names = demangled({kernel for kernel, _ in kernels})
    for kernel, capability in sorted(kernels):
        print(f"{kernels[kernel, capability].get('registers', 0):4} registers  sm_{capability:5} {names[kernel]}")
    faults += faults_of(kernels, sys.argv[2:], ALLOWED, names)
    print("\n".join([*faults, f"{len(kernels)} compiled kernels, {len(faults)} faults"]))
    return 1 if faults or not kernels else 0


if __name__ == "__main__":
    sys.exit(main())
