"""Checkpoints as files: in one or in several, read by other tools, held by locks, on folders that are not shared."""
import fcntl
import json
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

from harness import BIN, MPIEXEC, REFERENCE, SystemTest, checkpoints, main, training_rows, write_shard

try:
    import h5py
except ImportError:
    h5py = None

TOKENS = json.loads((REFERENCE / "tiny-a" / "expected.json").read_text())["tokens"]
DOCUMENT = REFERENCE.parent.parent / "docs" / "checkpoint-format.md"
NODE_FILES = ("--checkpoint-files", "node", "--checkpoint-ranks-per-file", 1)


class CheckpointFiles(SystemTest):
    def setUp(self):
        super().setUp()
        self.shard = self.folder / "tokens.bin"
        write_shard(self.shard, TOKENS)
        self.run_dir = self.folder / "run"

    def options(self, run_dir, steps, embd=64):
        return [str(option) for option in (
            "--data", self.shard, "--run-dir", run_dir, "--layers", 2, "--heads", 4, "--embd", embd, "--vocab", 512,
            "--positions", 64, "--seq-len", 16, "--global-batch", 4, "--steps", steps, "--precision", "fp32")]

    def train(self, ranks, *more, steps=4, code=0, run_dir=None, embd=64, env=None):
        return self.succeed(ranks, "shardgpt-train", *self.options(run_dir or self.run_dir, steps, embd), *more,
                            code=code, env=env)

    def part_folders(self, run_dir=None):
        return sorted(((run_dir or self.run_dir) / "checkpoints").glob("step_*.parts-*"))

    def test_files_do_not_change_a_run(self):
        """Written as parts by 3 ranks, resumed by 2 into one file, resumed by 3 into parts: as never stopped."""
        whole = self.folder / "whole"
        self.train(2, steps=6, run_dir=whole)
        self.train(2, "--max-steps-this-run", 2, *NODE_FILES, steps=6, code=75)
        self.assertEqual(len(list(self.part_folders()[0].iterdir())), 2)
        result = self.train(2, "--max-steps-this-run", 2, steps=6, code=75)
        self.assertNotIn("changed since the checkpoint", result.output)
        self.train(2, *NODE_FILES, "--checkpoint-verify", "off", "--checkpoint-io", "independent",
                   "--checkpoint-hint", "cb_nodes=1", "--checkpoint-hint", "cb_buffer_size=4194304",
                   "--checkpoint-alignment", 65536, steps=6)
        self.assertEqual(training_rows(whole), training_rows(self.run_dir))
        self.assertEqual(self.merged(checkpoints(whole)[-1]), self.merged(self.run_dir))
        self.assertEqual(len(self.part_folders()), 2)
        manifest = json.loads((self.run_dir / "run.json").read_text())
        self.assertIn('"checkpoint-hint": ["cb_nodes=1", "cb_buffer_size=4194304"]',
                      re.sub(r"\s+(?=[\]\"])", " ", json.dumps(manifest)).replace("[ ", "["))

    def test_converter_takes_an_index(self):
        self.train(3, *NODE_FILES, steps=2)
        index = checkpoints(self.run_dir)[-1]
        convert = lambda *arguments, code=0: self.succeed(0, "shardgpt-convert", *arguments, code=code).output
        self.assertIn("is sound", convert("verify", self.run_dir))
        self.assertIn("index and 3 part(s)", convert("inspect", index))
        convert("to-hf", index, "--output", self.folder / "hf")
        convert("merge", index, "--output", self.folder / "merged.h5", "--optimizer")
        init = self.train(2, "--init-from", index, run_dir=self.folder / "other", steps=1)
        self.assertIn("weights from", init.output)
        part = sorted(self.part_folders()[0].iterdir())[1]
        self.assertIn("is one part of a checkpoint", convert("inspect", part, code=2))
        content = bytearray(part.read_bytes())
        content[len(content) - 100] ^= 4
        part.write_bytes(content)
        self.assertIn("is wrong", convert("verify", index, code=2))
        part.unlink()
        for command in (("verify", index), ("to-hf", index, "--output", self.folder / "hf2"),
                        ("merge", index, "--output", self.folder / "m.safetensors")):
            output = convert(*command, code=2)
            self.assertIn(part.name, output)
            self.assertIn("missing", output)

    @unittest.skipUnless(h5py, "no h5py")
    def test_examples_of_the_document_read_both_kinds(self):
        self.train(2, steps=2)
        self.train(2, *NODE_FILES, steps=3)
        one_file, index = checkpoints(self.run_dir)
        examples = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
        self.assertEqual(len(examples), 2)
        read = lambda example, file: subprocess.run([sys.executable, "-c", example, file], check=True,
                                                    capture_output=True, text=True).stdout
        self.assertIn("transformer.h.0.attn.c_attn.weight (64, 192)", read(examples[0], one_file))
        through_hdf5 = read(examples[0], index)
        self.assertIn("transformer.h.0.attn.c_attn.weight (64, 192)", through_hdf5)
        self.assertEqual(read(examples[1], index), through_hdf5)

    def test_objects_are_the_same_on_any_number_of_ranks(self):
        """P02: three saves on 16 ranks, of a model with fewer elements in a bias than ranks."""
        listings = []
        for ranks in (1, 4, 16):
            run_dir = self.folder / f"run-{ranks}"
            self.train(ranks, "--checkpoint-every", 1, "--keep", 0, run_dir=run_dir, steps=3, embd=8)
            self.assertEqual(len(checkpoints(run_dir)), 3)
            for file in checkpoints(run_dir):
                listing = subprocess.run(["h5ls", "-r", file], check=True, capture_output=True, text=True).stdout
                self.assertEqual(subprocess.run(["h5dump", "-H", file], capture_output=True).returncode, 0)
                listings.append(re.sub(r"/state .*", "/state", listing))
                self.succeed(0, "shardgpt-convert", "verify", file)
        self.assertGreater(len(listings[0].splitlines()), 20)
        self.assertEqual(len(set(listings)), 1)

    def test_held_by_a_lock(self):
        """P05. HDF5 1.10 locks files that it opens; the variable turns that off."""
        self.train(2, steps=2)
        file = checkpoints(self.run_dir)[-1]
        inspect = ("shardgpt-convert", "inspect", file)
        with open(file, "rb") as reader:  # a viewer
            fcntl.flock(reader, fcntl.LOCK_SH)
            self.succeed(0, *inspect)
        with open(file, "r+b") as holder:
            fcntl.flock(holder, fcntl.LOCK_EX)
            for locking in ("TRUE", "BEST_EFFORT"):
                env = {"HDF5_USE_FILE_LOCKING": locking}
                for result in (self.succeed(0, *inspect, code=1, env=env),
                               self.train(2, steps=4, code=1, env=env)):
                    self.assertEqual(len(set(result.errors())), 1, result.output)
                    for word in (file.name, "errno = 11", "HDF5_USE_FILE_LOCKING=FALSE"):
                        self.assertIn(word, result.errors()[0])
                    self.assertLess(result.seconds, 20)
            self.assertEqual(checkpoints(self.run_dir), [file])  # not called damaged
            before = file.read_bytes()
            self.succeed(0, *inspect, env={"HDF5_USE_FILE_LOCKING": "FALSE"})
            self.train(2, "--keep", 1, steps=4, env={"HDF5_USE_FILE_LOCKING": "FALSE"})
            self.assertEqual([path.name for path in checkpoints(self.run_dir)], ["step_00000004.h5"])
            holder.seek(0)
            self.assertEqual(holder.read(), before)  # whoever held it still has what it was

    def test_wrong_options(self):
        for words, arguments in ((("--checkpoint-hint", "KEY=VALUE"), ("--checkpoint-hint", "cb_nodes")),
                                 (("--checkpoint-hint",), ("--checkpoint-hint", "=1")),
                                 (("--checkpoint-hint", "at most 32"), ("--checkpoint-hint", "k" * 40 + "=1")),
                                 (("--checkpoint-files",), ("--checkpoint-files", "rank")),
                                 (("--checkpoint-io",), ("--checkpoint-io", "async")),
                                 (("--checkpoint-verify",), ("--checkpoint-verify", "maybe")),
                                 (("--checkpoint-alignment",), ("--checkpoint-alignment", 0)),
                                 (("--checkpoint-ranks-per-file", "node"), ("--checkpoint-ranks-per-file", 2))):
            with self.subTest(arguments=arguments):
                result = self.train(0, *arguments, code=2)
                self.assertEqual(len(result.errors()), 1, result.output)
                for word in words:
                    self.assertIn(word, result.errors()[0])
                self.assertFalse(self.run_dir.exists())

    def on_unlike_mounts(self, mount_point, program):
        """Rank 1 sees an empty file system of its own on `mount_point`."""
        mount_point.mkdir(exist_ok=True)
        script = f'mount -t tmpfs none "{mount_point}" && exec "$@"'
        if subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", "true"], capture_output=True).returncode != 0:
            self.skipTest("needs the right to make mount spaces")
        alone = ["unshare", "-m", "sh", "-c", script, "sh"]
        done = subprocess.run([MPIEXEC, "-n", "1", *program, ":", "-n", "1", *alone, *program], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
        return done.returncode, done.stdout

    def test_folders_that_are_not_shared(self):
        """P16."""
        program = [str(BIN / "shardgpt-train"), *self.options(self.run_dir, 2)]
        code, output = self.on_unlike_mounts(self.run_dir, program)
        self.assertEqual(code, 2, output)
        self.assertIn("rank 1 does not see the same run folder", output)
        self.assertIn("a file system that all nodes share", output)
        self.assertFalse((self.run_dir / "checkpoints").exists())
        data = self.folder / "data"
        data.mkdir()
        write_shard(data / "tokens.bin", TOKENS)
        program[program.index("--data") + 1] = str(data / "tokens.bin")
        code, output = self.on_unlike_mounts(data, program)
        self.assertEqual(code, 2, output)
        self.assertIn("tokens.bin", output)


if __name__ == "__main__":
    main()
