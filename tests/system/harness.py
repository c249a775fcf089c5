"""Runs the installed programs as a user does and looks at what they leave. Python's standard library only."""
import json
import math
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from array import array
from pathlib import Path

BIN = Path(os.environ["SHARDGPT_BIN"])
MPIEXEC = os.environ.get("SHARDGPT_MPIEXEC", "mpiexec")
REFERENCE = Path(os.environ["SHARDGPT_REFERENCE"])


class Result:
    def __init__(self, code, output, seconds):
        self.code, self.output, self.seconds = code, output, seconds

    def errors(self):
        return [line for line in self.output.splitlines() if "shardgpt" in line and ": error: " in line]


def launch(ranks, program, arguments, env=None):
    """Starts a program on `ranks` ranks; 0 ranks: without a launcher."""
    launcher = [] if ranks == 0 else [MPIEXEC, "-n", str(ranks)]
    command = launcher + [str(BIN / program)] + [str(argument) for argument in arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            env={**os.environ, **(env or {})})


def run(ranks, program, *arguments, env=None, timeout=120):
    start = time.monotonic()
    process = launch(ranks, program, arguments, env)
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        raise AssertionError(f"{program} did not end within {timeout} s:\n{output}")
    return Result(process.returncode, output, time.monotonic() - start)


def children_of(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def write_shard(path, tokens, magic=20240520, version=1, count=None):
    """A shard in llm.c's layout without a dataset.json."""
    header = array("i", [0] * 256)
    header[0], header[1], header[2] = magic, version, len(tokens) if count is None else count
    Path(path).write_bytes(header.tobytes() + array("H", tokens).tobytes())


def read_metrics(run_dir):
    return [json.loads(line) for line in (Path(run_dir) / "metrics.jsonl").read_text().splitlines()]


def training_rows(run_dir):
    """Training rows without what depends on the clock."""
    rows = [row for row in read_metrics(run_dir) if "loss" in row]
    for row in rows:
        del row["tokens_per_s"]
    return rows


def checkpoints(run_dir):
    return sorted((Path(run_dir) / "checkpoints").glob("step_*.h5"))


def safetensors_header(data):
    (header_bytes,) = struct.unpack("<Q", data[:8])
    return header_bytes, json.loads(data[8:8 + header_bytes])


def read_safetensors_metadata(path):
    return safetensors_header(Path(path).read_bytes())[1]["__metadata__"]


def read_safetensors(path):
    """Name -> list of numbers, for F32 and F64."""
    data = Path(path).read_bytes()
    header_bytes, header = safetensors_header(data)
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = (8 + header_bytes + offset for offset in entry["data_offsets"])
            tensors[name] = array({"F32": "f", "F64": "d"}[entry["dtype"]], data[begin:end])
    return tensors


def relative_difference(found, wanted):
    """Norm of the difference over norm."""
    difference = math.sqrt(sum((f - w) ** 2 for f, w in zip(found, wanted)))
    return difference / math.sqrt(sum(w * w for w in wanted))


class SystemTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="shardgpt-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def succeed(self, ranks, program, *arguments, code=0, **options):
        result = run(ranks, program, *arguments, **options)
        self.assertEqual(result.code, code, result.output)
        return result

    def merged(self, checkpoint):
        """All parameters and moments of a checkpoint, name -> bytes."""
        out = self.folder / f"merged-{time.monotonic_ns()}.safetensors"
        self.succeed(0, "shardgpt-convert", "merge", checkpoint, "--output", out, "--optimizer")
        tensors = {name: values.tobytes() for name, values in read_safetensors(out).items()}
        out.unlink()
        return tensors


def main():
    unittest.main(verbosity=2, argv=[sys.argv[0]] + sys.argv[1:])
