#!/usr/bin/env python3
"""Converts a checkpoint of GPT-2 XL (1.56 billion parameters, random weights, moments) in every way that
shardgpt-convert knows, and checks that each conversion stays within 600 MB resident memory and that what comes out is
the same model. Prints each one's speed beside that of cp and sync on the same disk, all from a cold cache.

Usage: convert_xl.py CONVERT MAKE_CHECKPOINT FOLDER [PRESET]
  FOLDER: where the files go, 45 GB at most; everything is removed at the end.
"""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import time

CONVERT, MAKE = sys.argv[1], sys.argv[2]
PRESET = sys.argv[4] if len(sys.argv) > 4 else "gpt2-xl"
LIMIT_BYTES = 600e6
SKIPPED = 77


def run(*command):
    """Wall and CPU seconds and peak resident bytes of one process."""
    start = time.monotonic()
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    pid = os.posix_spawn(command[0], [str(part) for part in command], os.environ, file_actions=quiet)
    _, status, usage = os.wait4(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, command
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def evict(folder):
    """Takes what lies below `folder` out of the page cache, so that everything is read from the disk."""
    for path in folder.rglob("*"):
        if path.is_file():
            with open(path, "rb") as file:
                os.fdatasync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def copy_rate(path, work):
    """Bytes a second of cp and sync."""
    evict(work)
    start = time.monotonic()
    subprocess.run(["cp", "--reflink=never", path, work / "copy"], check=True)
    subprocess.run(["sync", work / "copy"], check=True)
    seconds = time.monotonic() - start
    (work / "copy").unlink()
    return path.stat().st_size / seconds


def shapes_of(file):
    with open(file, "rb") as raw:
        (length,) = struct.unpack("<Q", raw.read(8))
        header = json.loads(raw.read(length))
    return {name: entry["shape"] for name, entry in header.items() if name != "__metadata__"}


class Conversions:
    def __init__(self, work):
        self.work, self.failed, self.rate = work, 0, None

    def step(self, name, moved_bytes, *arguments):
        """Runs a command that reads and writes `moved_bytes` together."""
        evict(self.work)
        seconds, cpu_seconds, peak = run(CONVERT, *arguments)
        within = peak <= LIMIT_BYTES
        self.failed += not within
        rate = moved_bytes / seconds
        print(f"{name:24} {seconds:6.1f} s, {cpu_seconds:6.1f} s of CPU  {rate / 1e6:7.0f} MB/s of reads and writes, {rate / (2 * self.rate):5.2f} of cp"
              f"  {peak / 1e6:5.0f} MB resident{'' if within else '  TOO MUCH'}", flush=True)

    def all(self):
        work = self.work
        first, second, folder, parts = work / "a.h5", work / "b.h5", work / "hf", work / "parts"
        run(MAKE, PRESET, first, "random")
        report = json.loads(subprocess.run([CONVERT, "inspect", "--quick", "--json", first], check=True,
                                           capture_output=True, text=True).stdout)
        weights = 4 * report["parameters"]
        wanted = {row["name"]: row["shape"] for row in report["tensors"]}

        run(CONVERT, "to-hf", first, "--output", folder, "--max-part-size", "1TB")
        self.rate = copy_rate(folder / "model.safetensors", work)
        print(f"{PRESET}: {report['parameters']} parameters; cp and sync: {self.rate / 1e6:.0f} MB/s; "
              f"load {os.getloadavg()[0]:.1f}", flush=True)
        assert shapes_of(folder / "model.safetensors") == wanted
        shutil.rmtree(folder)
        self.step("to-hf", 2 * weights, "to-hf", first, "--output", folder, "--max-part-size", "1TB")
        part_bytes = weights // 6
        self.step("to-hf bf16 in parts", 1.5 * weights, "to-hf", first, "--output", parts, "--dtype", "bf16",
                  "--max-part-size", part_bytes)
        index = json.loads((parts / "model.safetensors.index.json").read_text())
        assert set(index["weight_map"]) == set(wanted)
        found = {}
        for name in sorted(set(index["weight_map"].values())):
            assert (parts / name).stat().st_size <= 1.01 * part_bytes
            found.update(shapes_of(parts / name))
        assert found == wanted
        self.step("verify against parts", 4.5 * weights, "verify", first, "--against", parts)
        shutil.rmtree(parts)
        self.step("verify against folder", 5 * weights, "verify", first, "--against", folder)
        self.step("from-hf", 2 * weights, "from-hf", folder, "--output", second)
        self.step("verify of the import", 5 * weights, "verify", second, "--against", folder)
        second.unlink()
        shutil.rmtree(folder)
        for dtype, size in (("f32", weights), ("bf16", weights // 2)):
            model = work / f"{dtype}.bin"
            self.step(f"to-llmc {dtype}", weights + size, "to-llmc", first, "--output", model, "--dtype", dtype)
            self.step(f"from-llmc {dtype}", weights + size, "from-llmc", model, "--output", second)
            self.step("verify against it", 4 * weights + size, "verify", second, "--against", model)
            second.unlink()
            model.unlink()
        self.step("inspect", weights, "inspect", first)
        self.step("merge", 6 * weights, "merge", first, "--optimizer", "--output", work / "merged.safetensors")
        (work / "merged.safetensors").unlink()
        self.step("merge to h5", 2 * weights, "merge", first, "--output", work / "merged.h5")


def main():
    with tempfile.TemporaryDirectory(prefix="convert-", dir=sys.argv[3]) as name:
        if PRESET == "gpt2-xl" and shutil.disk_usage(name).free < 48e9:
            print("skipped: less than 48 GB of disk are free")
            return SKIPPED
        conversions = Conversions(pathlib.Path(name))
        conversions.all()
    print(f"{conversions.failed} conversions above {LIMIT_BYTES / 1e6:.0f} MB")
    return 1 if conversions.failed else 0


if __name__ == "__main__":
    sys.exit(main())
