"""Data sets as jobs meet them: shards of any size on any number of ranks, other tokenizers, files that differ or change."""
import json
import os
import random
import time

from harness import BIN, REFERENCE, SystemTest, checkpoints, launch, main, run, training_rows, write_shard

CASE = REFERENCE / "tiny-a"
TOKENS = json.loads((CASE / "expected.json").read_text())["tokens"]
SIZES = ["--layers", 2, "--heads", 4, "--embd", 64, "--positions", 64]
MODEL = [*SIZES, "--vocab", 512]


class Data(SystemTest):
    def arguments(self, data, run_dir, *more, steps=3, model=MODEL):
        return ["--data", data, "--run-dir", self.folder / run_dir, *model, "--seq-len", 64, "--global-batch", 4, "--steps",
                steps, "--lr", 1e-3, *more]

    def train(self, ranks, data, run_dir, *more, code=0, **options):
        result = self.succeed(ranks, "shardgpt-train", *self.arguments(data, run_dir, *more, **options), code=code,
                              timeout=60)
        if code != 0:
            self.assertEqual(len(result.errors()), 1, result.output)
        return result

    def cut(self, name, sizes):
        """A folder of shards of these sizes, made of the same tokens one after the other; returns a pattern."""
        folder = self.folder / name
        folder.mkdir()
        begin = 0
        for number, size in enumerate(sizes):
            write_shard(folder / f"part_{number:03}.bin", TOKENS[begin:begin + size])
            begin += size
        return folder / "*.bin"

    def test_shards_of_unlike_sizes_are_one_stream_on_any_ranks(self):
        # D10: fewer shards than ranks, a shard of less than a window, sizes that no rank count divides.
        whole = self.cut("whole", [2020])
        for ranks, sizes in ((4, [2020]), (3, [1000, 1000, 20]), (2, [700, 20, 3, 800, 497])):
            steps = []
            for name, data in ((f"whole-{ranks}", whole), (f"cut-{ranks}", self.cut(f"shards-{ranks}", sizes))):
                # 31 windows, 4 a step: more than two epochs
                self.train(ranks, data, name, "--precision", "fp32", steps=17)
                steps.append(training_rows(self.folder / name))
            self.assertEqual([row["step"] for row in steps[0]], list(range(1, 18)))
            self.assertEqual(steps[0], steps[1])

    def test_ids_of_the_padding_are_outside_the_vocabulary(self):  # D06
        bad = self.folder / "bad.bin"
        for wrong in (500, 511):
            write_shard(bad, [token % 500 for token in TOKENS[:3000]] + [wrong] + [0] * 100)
            result = self.train(3, bad, "run", model=[*SIZES, "--vocab", 500], code=2)
            for word in ("bad.bin", "token 3000 ", f"id {wrong},", "500 entries"):
                self.assertIn(word, result.errors()[0])

    def on_each_rank(self, ranks, *arguments):
        """Starts the program in a folder of its own for each rank: rank0, rank1, ..."""
        script = self.folder / "start.sh"
        script.write_text(f'#!/bin/sh\ncd "{self.folder}/rank$OMPI_COMM_WORLD_RANK" && exec {BIN}/shardgpt-train "$@"\n')
        script.chmod(0o755)
        return run(ranks, script, *arguments, timeout=60)

    def test_ranks_that_see_other_files(self):
        # D15, S07: the same path and sizes, other bytes on rank 1; then no file there.
        for rank in range(3):
            (self.folder / f"rank{rank}").mkdir()
            tokens = TOKENS[:1000]
            tokens[-1] = 7 if rank == 1 else 8
            write_shard(self.folder / f"rank{rank}" / "tokens.bin", tokens)
        result = self.on_each_rank(3, *self.arguments("tokens.bin", "run"))
        self.assertEqual(result.code, 2, result.output)
        self.assertEqual(len(result.errors()), 1, result.output)
        self.assertIn("rank 1 sees other files than rank 0", result.errors()[0])
        (self.folder / "rank1" / "tokens.bin").unlink()
        result = self.on_each_rank(3, *self.arguments("tokens.bin", "run"))
        self.assertEqual(result.code, 2, result.output)
        self.assertEqual(len(result.errors()), 1, result.output)
        self.assertIn("tokens.bin", result.errors()[0])
        self.assertFalse((self.folder / "run").exists())

    def encode(self, name, words, vocab_size):
        """A data set of `words` with a vocabulary made of them."""
        text = self.folder / f"{name}.txt"
        generator = random.Random(5)
        text.write_text("\n".join(" ".join(generator.choices(words, k=12)) for _ in range(400)))
        bpe, data = self.folder / f"bpe-{name}", self.folder / f"data-{name}"
        self.succeed(0, "shardgpt-prep", "train-bpe", "--vocab-size", vocab_size, "--output", bpe, text)
        self.succeed(0, "shardgpt-prep", "encode", "--vocab", bpe / "vocab.json", "--merges", bpe / "merges.txt",
                     "--output", data, text)
        return data

    def test_other_tokenizers(self):
        # D12: same number of ids, other meaning.
        first = self.encode("first", ["alpha", "beta", "gamma", "delta", "epsilon"], 280)
        second = self.encode("second", ["one", "two", "three", "four", "five", "six", "seven"], 280)
        self.succeed(2, "shardgpt-train", *self.arguments(first, "run", "--max-steps-this-run", 1, model=SIZES), code=75)
        checkpoint = checkpoints(self.folder / "run")[-1]
        refused = [
            # in one stream
            (self.folder / "data-*" / "*.bin", "mixed", SIZES),
            # to go on with
            (second, "run", SIZES),
            # to validate on
            (first, "validated", [*SIZES, "--val-data", second]),
            # for weights that know others
            (second, "started", ["--init-from", checkpoint])]
        for data, run_dir, options in refused:
            with self.subTest(run_dir=run_dir):
                result = self.train(2, data, run_dir, model=options, code=2)
                self.assertIn("tokenizer", result.errors()[0])
                self.assertEqual((self.folder / run_dir).exists(), run_dir == "run")
        self.train(2, first, "again", model=["--init-from", checkpoint])
        # A vocabulary of another size than that of the model that is trained on.
        result = self.train(2, first, "hf", model=["--init-from", CASE], code=2)
        for word in ("280", "512", "tokenizers differ"):
            self.assertIn(word, result.errors()[0])

    def test_a_shard_cut_short_under_a_running_job(self):
        shard = self.folder / "tokens.bin"
        for size in (1024 + 2 * 5000, 1024 + 100, 0):  # within the last page of it; nearly all; all
            with self.subTest(size=size):
                write_shard(shard, TOKENS[:5000 + 65])
                name = f"run-{size}"
                process = launch(3, "shardgpt-train", self.arguments(shard, name, steps=1_000_000))
                self.addCleanup(process.kill)
                deadline = time.monotonic() + 30
                while not (self.folder / name / "metrics.jsonl").exists() or len(training_rows(self.folder / name)) < 3:
                    self.assertLess(time.monotonic(), deadline, "the run does not start")
                    time.sleep(0.02)
                os.truncate(shard, size)
                output, _ = process.communicate(timeout=30)
                self.assertEqual(process.returncode, 1, output)
                self.assertRegex(output, r"shardgpt-train rank \d: error: .*tokens.bin")
                self.assertIn("cut short while in use", output)


if __name__ == "__main__":
    main()
