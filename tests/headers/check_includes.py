#!/usr/bin/env python3
"""Checks what compilers do not: who includes what, and where the preprocessor is used.

  check_includes.py ROOT      prints FILE:LINE: MESSAGE for each fault under ROOT; exit code 1 if there is one

The tables below are the rules; the edges are those of docs/architecture.md.
"""

import pathlib
import re
import sys

# Folder, or file prefix, under src (or at the top) -> what it may include from. The longest prefix that fits
# rules. A folder may always include from itself; "device" does not stand for "device/host".
EDGES = {
    "core": [],
    "device": ["core"],
    "device/host": ["core", "device"],
    "device/cuda": ["core", "device"],
    "dist": ["core", "device"],
    "dist/mpi": ["core", "device", "device/host", "dist"],
    "dist/nccl": ["core", "device", "device/cuda", "dist", "dist/mpi"],
    "tokens": ["core"],
    "h5": ["core"],
    "h5/h5_parallel": ["core", "dist/mpi", "h5"],
    "kernels": ["core", "device"],
    "kernels/reference": ["core", "device", "device/host", "kernels"],
    "kernels/cpu": ["core", "device", "device/host", "kernels", "kernels/cpu/vector"],
    "kernels/cpu/vector": ["core"],
    "kernels/cuda": ["core", "device", "device/cuda", "kernels"],
    "model/model_config": ["core"],
    "model/tensor_table": ["core", "model/model_config"],
    "model": ["core", "device", "kernels", "model/model_config", "model/tensor_table"],
    "optim": ["core", "device", "kernels"],
    "fsdp": ["core", "device", "dist"],
    "hf": ["core", "model/model_config", "model/tensor_table"],
    "checkpoint": ["core", "dist/mpi", "h5", "h5/h5_parallel", "model/model_config", "model/tensor_table"],
    "train": ["core", "device", "device/host", "device/cuda", "dist", "dist/mpi", "dist/nccl", "tokens", "kernels",
              "kernels/reference", "kernels/cpu", "kernels/cuda", "model", "model/model_config",
              "model/tensor_table", "optim", "fsdp", "hf", "checkpoint"],
    "data_prep": ["core", "tokens"],
    "checkpoints/llmc_format": ["core", "model/model_config", "model/tensor_table", "hf"],
    "checkpoints/llmc_model": ["core", "model/model_config", "model/tensor_table", "hf", "checkpoints/llmc_format"],
    "checkpoints/forward_pass": ["core", "device", "device/host", "model", "model/model_config",
                                 "model/tensor_table"],
    "checkpoints": ["core", "h5", "model/model_config", "model/tensor_table", "hf", "checkpoint",
                    "checkpoints/llmc_format", "checkpoints/llmc_model", "checkpoints/forward_pass"],
}

# Outside header (regular expression) -> the only folders or file prefixes that may include it.
OWNERS = {
    r"mpi\.h": ["dist/mpi"],
    r"nccl.*\.h": ["dist/nccl"],
    r"(H5.*|hdf5.*)\.h": ["h5"],
    r"(cuda|cublas|cudnn|nv).*\.h(pp)?": ["device/cuda", "kernels/cuda", "dist/nccl"],
    r"(oneapi/)?dnnl.*": ["kernels/cpu"],
    r"omp\.h": ["kernels/cpu", "device/host"],
    r"CLI/.*": ["train/train_options", "train/train_options_file", "data_prep/prep_options", "checkpoints/options"],
    r"immintrin\.h|arm_neon\.h": ["kernels/cpu/vector"],
    r"xxhash\.h": ["tokens", "data_prep"],
    r"libdeflate\.h": ["checkpoint/checksums"],
    r"zlib\.h": ["checkpoint", "data_prep/gzip_source"],
    r"zstd\.h": ["data_prep/zstd_source"],
    r"(arrow|parquet)/.*": ["data_prep/parquet_text_arrow"],
}

# The only files with #if: each turns a build option into something the rest of the code uses without it.
SWITCH_FILES = {
    "src/core/error.hpp",            # SHARDGPT_EXPECT
    "src/core/sanitizer.hpp",        # annotations for ThreadSanitizer
    "src/kernels/cpu/parallel.hpp",  # with and without OpenMP
    "src/device/host/host_device.cpp",  # OpenMP threads and their number
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
CONDITIONAL = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif)\b")
SOURCES = ("*.hpp", "*.cpp", "*.cuh", "*.cu")


def place_of(path):
    """The longest key of EDGES that `path` (without src/, with or without a suffix) lies under."""
    fitting = [key for key in EDGES if path == key or path.startswith(key + "/") or path.startswith(key + ".")]
    return max(fitting, key=len, default=None)


def lies_under(path, owners):
    return any(path.startswith((owner + "/", owner + ".")) for owner in owners)


def check_file(root, file):
    relative = file.relative_to(root).as_posix()
    path = relative.removeprefix("src/")
    own = place_of(path)
    faults = []
    if own is None:
        return [(1, "is in a folder that EDGES does not know: add it there and to docs/architecture.md")]
    lines = file.read_text(encoding="utf-8").splitlines()
    if file.suffix in (".hpp", ".cuh") and not any(line.strip() == "#pragma once" for line in lines):
        faults.append((1, "has no #pragma once"))
    for number, line in enumerate(lines, start=1):
        if CONDITIONAL.match(line) and relative not in SWITCH_FILES:
            faults.append((number, "conditional compilation outside the switch files: let CMake choose the source file"))
        found = INCLUDE.match(line)
        if not found:
            continue
        bracket, header = found.groups()
        if bracket == '"':
            other = place_of(header)
            if other is None:
                faults.append((number, f'"{header}" does not start with a folder of the project'))
            elif other != own and other not in EDGES[own]:
                faults.append((number, f"{own} may not include from {other}"))
        else:
            for pattern, owners in OWNERS.items():
                if re.fullmatch(pattern, header) and not lies_under(path, owners):
                    faults.append((number, f"<{header}> belongs to {', '.join(owners)}"))
    return faults


def check_readmes(root):
    for folder in sorted((root / "src").iterdir()):
        if folder.is_dir() and not (folder / "README.md").is_file():
            yield folder.relative_to(root).as_posix(), 1, "has no README.md"


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    root = pathlib.Path(sys.argv[1]).resolve()
    faults = list(check_readmes(root))
    checked = 0
    for top in ("src", "data_prep", "checkpoints"):
        for pattern in SOURCES:
            for file in sorted((root / top).rglob(pattern)):
                checked += 1
                faults += [(file.relative_to(root).as_posix(), *fault) for fault in check_file(root, file)]
    for file, line, message in sorted(faults):
        print(f"{file}:{line}: {message}")
    print(f"{checked} files checked, {len(faults)} faults")
    if checked == 0:
        print(f"nothing to check under {root}", file=sys.stderr)
        return 2
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
