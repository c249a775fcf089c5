"""Checks docs/checkpoint-format.md against a checkpoint, with h5py alone: runs its example, recomputes every
checksum, and reads a dataset as plain bytes of the file. Ends with 77 (skipped) without h5py.

Usage: check_format_doc.py PROGRAM REFERENCE_FOLDER DOCUMENT
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zlib

try:
    import h5py
    import numpy
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)

PROGRAM, REFERENCE, DOCUMENT = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
KINDS = ("param", "adam_m", "adam_v")
TABLE = ("name", "unit", "offset", "shape")


def check_example(checkpoint):
    example = re.search(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL).group(1)
    ran = subprocess.run([sys.executable, "-c", example, checkpoint], check=True, capture_output=True, text=True)
    assert ran.stdout.startswith("transformer.h.0.attn.c_attn.weight (64, 192)"), ran.stdout


def check_checksums(file):
    for text in ("config", "state"):
        assert zlib.crc32(file[text][()]) == file["checksums"][text][()]
        json.loads(file[text][()])
    table = b"".join(file["tensors"][column][()].tobytes() for column in TABLE)
    assert zlib.crc32(table) == file["checksums/table"][()]
    for row, unit in enumerate(file["tensors/unit"]):
        begin = file["tensors/offset"][row]
        size = numpy.prod([extent for extent in file["tensors/shape"][row] if extent > 0])
        for kind in KINDS:
            values = file["units"][unit.decode()][kind][begin : begin + size]
            assert values.dtype == numpy.dtype("<f4")
            assert zlib.crc32(values.tobytes()) == file["checksums"][kind][row]


def check_bytes(file, checkpoint):
    dataset = file["units/root/param"]
    assert dataset.chunks is None and dataset.compression is None
    mapped = numpy.memmap(checkpoint, dtype="<f4", mode="r", offset=dataset.id.get_offset(), shape=dataset.shape)
    assert numpy.array_equal(mapped, dataset[:])
    with open(checkpoint, "rb") as raw:
        start = raw.read(9)
    assert start[:8] == b"\x89HDF\r\n\x1a\n" and start[8] == 2, "superblock version 2"


def main():
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = folder + "/a.h5"
        subprocess.run([PROGRAM, "from-hf", REFERENCE, "--output", checkpoint], check=True)
        check_example(checkpoint)
        with h5py.File(checkpoint, "r") as file:
            described = set(re.findall(r"`(/[a-z_/]+)`", DOCUMENT.read_text()))
            assert {"/" + name for name in ("format", "config", "state", "tensors/name", "checksums/table")} <= described
            check_checksums(file)
            check_bytes(file, checkpoint)
    print("3 passed, 0 failed")


main()
