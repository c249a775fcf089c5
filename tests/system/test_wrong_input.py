"""Wrong input: refused by all ranks within seconds, one message, exit code 2, nothing left behind."""
import json
import os
from pathlib import Path

from harness import REFERENCE, SystemTest, main, write_shard

TOKENS = json.loads((REFERENCE / "tiny-a" / "expected.json").read_text())["tokens"]
MODEL = ["--layers", 2, "--heads", 4, "--embd", 64, "--vocab", 512, "--positions", 64]


class WrongInput(SystemTest):
    def setUp(self):
        super().setUp()
        self.shard = self.folder / "tokens.bin"
        write_shard(self.shard, TOKENS)

    def refuse(self, words, *arguments, data=None, model=None, ranks=3):
        run_dir = self.folder / "run"
        result = self.succeed(ranks, "shardgpt-train", "--data", self.shard if data is None else data, "--run-dir",
                              run_dir, *(MODEL if model is None else model), "--seq-len", 64, "--global-batch", 4,
                              "--steps", 5, *arguments, code=2, timeout=60)
        self.assertEqual(len(result.errors()), 1, result.output)
        for word in words:
            self.assertIn(str(word), result.errors()[0])
        self.assertLess(result.seconds, 20)
        self.assertFalse((run_dir / "checkpoints").exists())
        self.assertFalse((run_dir / "metrics.jsonl").exists())

    def test_data(self):
        bad = self.folder / "bad.bin"
        good = self.shard.read_bytes()
        self.refuse(["missing.bin"], data=self.folder / "missing.bin")
        self.refuse(["no-match"], data=self.folder / "no-match-*.bin")
        (self.folder / "empty").mkdir()
        self.refuse(["empty"], data=self.folder / "empty")
        for content in (b"\x93NUMPY" + good[6:], b"\x1f\x8b" + good[2:]):
            bad.write_bytes(content)
            self.refuse(["bad.bin"], data=bad)
        for cut in (len(good) - 1, len(good) - 2, len(good) - 4096, 1024, 3, 0):
            bad.write_bytes(good[:cut])
            self.refuse(["bad.bin"], data=bad)
        bad.write_bytes(good + b"\0\0")
        self.refuse(["bad.bin", len(good)], data=bad)
        write_shard(bad, TOKENS, version=2)
        self.refuse(["bad.bin", "version"], data=bad)

    def test_token_ids(self):
        bad = self.folder / "bad.bin"
        for wrong in (512, 65535):
            write_shard(bad, TOKENS[:3000] + [wrong] + TOKENS[3001:])
            self.refuse(["bad.bin", wrong, 512, 3000], data=bad)

    def test_too_little_data(self):
        small = self.folder / "small.bin"
        write_shard(small, TOKENS[:256])  # one step needs 4 * 64 + 1
        self.refuse([256, 257], data=small)

    def test_model(self):
        self.refuse(["65", "64"], "--seq-len", 65)
        self.refuse(["64", "5"], model=["--layers", 2, "--heads", 5, "--embd", 64, "--vocab", 512])
        self.refuse(["gpt3"], model=["--model", "gpt3"])
        self.refuse(["--model"], model=["--layers", 2])
        self.refuse(["-1"], model=["--layers", -1, "--heads", 4, "--embd", 64])

    def test_options(self):
        self.refuse(["--nonsense"], "--nonsense", 3)
        self.refuse(["--epochs"], "--epochs", 2)
        self.refuse(["--warmup-steps"], "--warmup-steps", 50)
        self.refuse(["--lr"], "--lr", "fast")
        self.refuse(["--schedule"], "--schedule", "sine")
        self.refuse(["--min-lr"], "--min-lr", 1)
        self.refuse(["cuda"], "--device", "cuda")
        self.refuse(["--unshard-slots", 2000000000], "--unshard-slots", 2000000000)
        self.refuse(["--unshard-slots", "blocks"], "--unshard-slots", 3)
        self.refuse(["--steps"], "--steps", 99999999999999999999)
        self.refuse(["--global-batch"], "--global-batch", 9000000000000000000)
        self.refuse(["--threads"], "--threads", 2000000000)
        self.refuse(["--steps", "at least 1"], "--steps", 0)
        config = self.folder / "job.toml"
        config.write_text('seq-len = 64\nlearning-rate = 3\n')
        self.refuse([f"{config}:2", "learning-rate"], "--config", config)
        config.write_text('seed = 1\nlr = 1e-3\nseed = 2\n')
        self.refuse([f"{config}:3", "'seed'", "line 1"], "--config", config)
        config.write_text('lr = [1e-3, 2e-3]\n')
        self.refuse([f"{config}:1", "'lr'", "list"], "--config", config)
        self.refuse(["no-such.toml"], "--config", self.folder / "no-such.toml")

    def test_checkpoint(self):
        self.refuse(["no.h5"], "--init-from", self.folder / "no.h5")
        text = self.folder / "text.h5"
        text.write_text("this is not HDF5")
        self.refuse(["text.h5"], "--init-from", text)
        self.refuse(["text.h5"], "--resume", text)

    def test_run_folder(self):
        if os.geteuid() != 0:
            (self.folder / "run").mkdir(mode=0o500)
            self.refuse(["run"])
            os.chmod(self.folder / "run", 0o700)
        (self.folder / "file").write_text("")
        result = self.succeed(2, "shardgpt-train", "--data", self.shard, "--run-dir", self.folder / "file", *MODEL,
                              "--seq-len", 64, "--steps", 5, code=2)
        self.assertEqual(len(result.errors()), 1, result.output)

    def test_ranks_with_unlike_options(self):
        # Each rank is started by a script that gives rank 1 another value.
        script = self.folder / "start.sh"
        program = Path(os.environ["SHARDGPT_BIN"]) / "shardgpt-train"
        script.write_text(f'#!/bin/sh\nif [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then seed=2; else seed=1; fi\n'
                          f'exec {program} --seed $seed "$@"\n')
        script.chmod(0o755)
        result = self.succeed(3, script, "--data", self.shard, "--run-dir", self.folder / "run", *MODEL,
                              "--seq-len", 64, "--steps", 5, code=2)
        self.assertEqual(len(result.errors()), 1, result.output)
        self.assertIn("--seed", result.errors()[0])

    def test_configuration_file_on_one_rank_only(self):
        script = self.folder / "start.sh"
        config = self.folder / "job.toml"
        config.write_text("seed = 1\n")
        program = Path(os.environ["SHARDGPT_BIN"]) / "shardgpt-train"
        script.write_text(f'#!/bin/sh\nif [ "$OMPI_COMM_WORLD_RANK" = 0 ]; then c={config}; else c={config}.no; fi\n'
                          f'exec {program} --config $c "$@"\n')
        script.chmod(0o755)
        result = self.succeed(3, script, "--data", self.shard, "--run-dir", self.folder / "run", *MODEL,
                              "--seq-len", 64, "--steps", 5, code=2)
        self.assertEqual(len(result.errors()), 1, result.output)


if __name__ == "__main__":
    main()
