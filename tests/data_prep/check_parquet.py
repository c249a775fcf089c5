#!/usr/bin/env python3
"""Parquet input of a shardgpt-prep that is built with Arrow.

  check_parquet.py PROGRAM
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import pyarrow
import pyarrow.parquet as parquet

PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve())
TEXTS = ["one two", "", "thr\u00e9e\0 \u4f60 \n"]


class Parquet(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "x.txt").write_text("one two three four " * 200)
        self.run_program("train-bpe", "--vocab-size", "300", "--output", "bpe", "x.txt")

    def run_program(self, *arguments, code=0):
        done = subprocess.run([PROGRAM, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def write(self, array, name="a.parquet", column="text", **how):
        parquet.write_table(pyarrow.table({"id": pyarrow.array(range(len(array))), column: array}),
                            self.folder / name, **how)
        return name

    def encode(self, name, *more, code=0):
        done = self.run_program("encode", "--vocab", "bpe/vocab.json", "--merges", "bpe/merges.txt", "--output",
                                "set", "--overwrite", name, *more, code=code)
        if code == 0:
            (shard,) = sorted((self.folder / "set").glob("*.bin"))
            self.manifest = json.loads((self.folder / "set/dataset.json").read_text())
            return shard.read_bytes()[1024:]
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr

    def wanted(self, texts=None):
        lines = [json.dumps({"text": text}) + "\n" for text in (texts if texts is not None else TEXTS)]
        (self.folder / "same.jsonl").write_text("".join(lines))
        return self.encode("same.jsonl")

    def test_kinds_of_text(self):
        wanted = self.wanted()
        self.assertGreater(len(wanted), 10)
        for kind in (pyarrow.string(), pyarrow.large_string(), pyarrow.string_view()):
            with self.subTest(kind=kind):
                self.assertEqual(self.encode(self.write(pyarrow.array(TEXTS, kind))), wanted)
        for array in (pyarrow.array(TEXTS).dictionary_encode(),
                      pyarrow.array(TEXTS, pyarrow.large_string()).dictionary_encode()):
            self.assertEqual(self.encode(self.write(array)), wanted)
        self.assertEqual(self.manifest["documents"], 2)
        self.assertEqual(self.manifest["sources"], [{"file": "a.parquet", "format": "parquet",
                                                     "bytes": sum(len(text.encode()) for text in TEXTS)}])

    def test_nulls_are_counted_and_skipped(self):
        wanted = self.wanted()
        for array in (pyarrow.array([TEXTS[0], None, TEXTS[2]]),
                      pyarrow.array([TEXTS[0], None, TEXTS[2]]).dictionary_encode()):
            done = self.run_program("encode", "--vocab", "bpe/vocab.json", "--merges", "bpe/merges.txt", "--output",
                                    "set", "--overwrite", self.write(array))
            self.assertIn("1 row(s) without a value", done.stdout)
            self.assertEqual((self.folder / "set/tokens_000000.bin").read_bytes()[1024:], wanted)
        self.assertEqual(self.encode(self.write(pyarrow.array([None, None, None], pyarrow.string()))), b"")

    def test_empty(self):
        self.assertEqual(self.encode(self.write(pyarrow.array(["", "", ""]))), b"")
        self.assertEqual(self.encode(self.write(pyarrow.array([], pyarrow.string()))), b"")

    def test_column(self):
        wanted = self.wanted()
        name = self.write(pyarrow.array(TEXTS), column="body")
        message = self.encode(name, code=2)
        for part in (name, "no column 'text'", "id: int64", "body: string", "--text-column"):
            self.assertIn(part, message)
        self.assertEqual(self.encode(name, "--text-column", "body"), wanted)
        message = self.encode(self.write(pyarrow.array([1, 2, 3])), code=2)
        for part in ("int64", "wanted text", "text: int64"):
            self.assertIn(part, message)
        self.encode(self.write(pyarrow.array([["a"], ["b"], []])), code=2)

    def test_row_groups_and_codecs(self):
        texts = [f"{i} one two\n" * (i % 7) for i in range(5000)]
        wanted = self.wanted(texts)
        for codec in ("snappy", "zstd", "gzip", "none"):
            for rows in (7, 1000, 10_000):
                with self.subTest(codec=codec, rows=rows):
                    name = self.write(pyarrow.array(texts), compression=codec, row_group_size=rows)
                    self.assertEqual(self.encode(name, "--block-bytes", "5000"), wanted)

    def test_wikitext_rows_are_lines(self):
        text = " \n = First = \n \n it 's one \n = = Sec = = \n \n two \n \n = Second = \n \n x \n"
        (self.folder / "wiki.train.raw").write_text(text)
        wanted = self.encode("wiki.train.raw", "--document", "heading")
        # As Hugging Face's loader makes rows of the file.
        rows = ["" if line.strip() == "" else line for line in text.splitlines(keepends=True)]
        name = self.write(pyarrow.array(rows), row_group_size=3)
        self.assertEqual(self.encode(name, "--document", "heading"), wanted)
        self.assertEqual(self.manifest["documents"], 2)

    def test_damage(self):
        name = self.write(pyarrow.array(TEXTS * 1000))
        whole = (self.folder / name).read_bytes()
        for content in (whole[:-1], whole[: len(whole) // 2], b"PAR1", b"PAR1" + bytes(100)):
            (self.folder / name).write_bytes(content)
            self.assertIn(name, self.encode(name, code=2))
        done = subprocess.run([PROGRAM, "encode", "--vocab", "bpe/vocab.json", "--merges", "bpe/merges.txt",
                               "--output", "piped", "-"], cwd=self.folder, input=whole, capture_output=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"save it as a file", done.stderr)


if __name__ == "__main__":
    unittest.main()
