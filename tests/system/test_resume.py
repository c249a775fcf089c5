"""Stopped and resumed is the same as never stopped, and any number of ranks can go on."""
import json
import random

from harness import (REFERENCE, SystemTest, checkpoints, main, read_metrics, read_safetensors_metadata, training_rows,
                     write_shard)

TOKENS = json.loads((REFERENCE / "tiny-a" / "expected.json").read_text())["tokens"]


class Resume(SystemTest):
    def setUp(self):
        super().setUp()
        self.shard = self.folder / "tokens.bin"
        write_shard(self.shard, TOKENS)  # 80 windows of 64 tokens

    def train(self, ranks, run_dir, *more, code=0, precision="fp32", steps=20):
        return self.succeed(
            ranks, "shardgpt-train", "--data", self.shard, "--run-dir", run_dir, "--layers", 2, "--heads", 4,
            "--embd", 64, "--vocab", 512, "--positions", 64, "--seq-len", 64, "--global-batch", 6, "--steps", steps,
            "--lr", 3e-3, "--warmup-steps", min(4, steps), "--val-data", self.shard, "--val-every", 10, "--val-windows", 9,
            "--precision", precision, *more, code=code)

    def compare(self, first, second):
        self.assertEqual(training_rows(first), training_rows(second))
        validation = lambda run_dir: [row for row in read_metrics(run_dir) if "val_loss" in row]
        self.assertEqual(validation(first), validation(second))
        tensors = self.merged(checkpoints(first)[-1])
        self.assertEqual(len(tensors), 3 * 28)
        self.assertTrue(tensors == self.merged(checkpoints(second)[-1]), "weights or moments differ")

    def test_same_ranks_bit_for_bit(self):
        # 80 windows, 6 a step: the epoch's border lies inside step 13 (0-based), 20 steps are 1.5 epochs.
        for precision in ("fp32", "bf16"):
            whole = self.folder / f"whole-{precision}"
            self.train(2, whole, precision=precision)
            for stops in ([7, 15], [13], [1, 14, 19]):
                with self.subTest(precision=precision, stops=stops):
                    parts = self.folder / f"parts-{precision}-{len(stops)}"
                    done = 0
                    for stop in stops:
                        self.train(2, parts, "--max-steps-this-run", stop - done, code=75, precision=precision)
                        self.assertEqual((parts / "status").read_text(), "preempted\n")
                        done = stop
                    result = self.train(2, parts, precision=precision)
                    self.assertIn(f"at step {stops[-1]} of 20", result.output)
                    self.assertEqual((parts / "status").read_text(), "finished\n")
                    self.compare(whole, parts)

    def test_saved_at_the_end_of_an_epoch(self):
        # 8 a step: an epoch is 10 steps.
        whole, parts = self.folder / "whole", self.folder / "parts"
        self.train(2, whole, "--global-batch", 8)
        self.train(2, parts, "--global-batch", 8, "--max-steps-this-run", 10, code=75)
        self.train(2, parts, "--global-batch", 8)
        self.compare(whole, parts)

    def test_other_rank_counts(self):
        for precision, first, later in (("fp32", 1e-6, 1e-6), ("bf16", 1e-4, 1e-2)):
            whole = self.folder / f"whole-{precision}"
            self.train(4, whole, precision=precision, steps=12)
            wanted = {row["step"]: row["loss"] for row in training_rows(whole)}
            for ranks in (1, 2, 3, 5, 8):
                with self.subTest(precision=precision, ranks=ranks):
                    parts = self.folder / f"parts-{precision}-{ranks}"
                    self.train(4, parts, "--max-steps-this-run", 9, code=75, precision=precision, steps=12)
                    self.train(ranks, parts, precision=precision, steps=12)
                    found = {row["step"]: row["loss"] for row in training_rows(parts)}
                    self.assertEqual(sorted(found), sorted(wanted))
                    for step in (10, 11, 12):
                        limit = first if step == 10 else later
                        self.assertLessEqual(abs(found[step] - wanted[step]) / wanted[step], limit, f"step {step}")

    def test_finished_run_says_so(self):
        run_dir = self.folder / "run"
        self.train(2, run_dir, steps=3)
        before = {path: path.stat().st_mtime_ns for path in checkpoints(run_dir)}
        result = self.train(2, run_dir, steps=3)
        self.assertIn("the run is finished", result.output)
        self.assertEqual({path: path.stat().st_mtime_ns for path in checkpoints(run_dir)}, before)
        self.assertEqual(len(training_rows(run_dir)), 3)

    def test_damaged_newest_checkpoint_falls_back(self):
        run_dir, whole = self.folder / "run", self.folder / "whole"
        self.train(2, whole, steps=12)
        self.train(2, run_dir, "--checkpoint-every", 4, "--max-steps-this-run", 8, code=75, steps=12)
        newest = checkpoints(run_dir)[-1]
        content = bytearray(newest.read_bytes())
        content[random.Random(5).randrange(len(content) // 2, len(content) - 4096)] ^= 0x10
        newest.write_bytes(content)
        result = self.train(2, run_dir, steps=12)
        self.assertIn(newest.name, result.output)
        self.assertIn("at step 4 of 12", result.output)
        self.compare(whole, run_dir)

    def test_other_data_order_is_refused(self):
        run_dir = self.folder / "run"
        self.train(2, run_dir, "--max-steps-this-run", 2, code=75)
        for option, value in (("--global-batch", 8), ("--seq-len", 32), ("--seed", 4), ("--order", "sequential")):
            with self.subTest(option=option):
                result = self.train(2, run_dir, option, value, code=2)
                self.assertEqual(len(result.errors()), 1, result.output)
                self.assertIn(option, result.errors()[0])
        other = self.folder / "other.bin"
        write_shard(other, TOKENS[::-1])
        result = self.train(2, run_dir, "--data", other, code=2)
        self.assertIn("fingerprint", result.errors()[0])

    def test_other_optimizer_is_said_aloud(self):
        # Moments and Adam's step count go on under new rates: nothing jumps.
        whole, run_dir = self.folder / "whole", self.folder / "run"
        self.train(2, whole)
        self.train(2, run_dir, "--max-steps-this-run", 10, code=75)
        result = self.train(2, run_dir, "--beta2", 0.999, "--lr", 2e-3)
        self.assertIn("changed since the checkpoint: --beta2 was 0.95, is 0.999", result.output)
        self.assertIn("changed since the checkpoint: --lr was 0.003, is 0.002", result.output)
        self.assertEqual(result.output.count("changed since"), 2)  # not what is of this start alone
        wanted, found = training_rows(whole), training_rows(run_dir)
        self.assertEqual([row["loss"] for row in found[:11]], [row["loss"] for row in wanted[:11]])
        self.assertAlmostEqual(found[10]["lr"] / wanted[10]["lr"], 2 / 3, places=12)
        self.assertNotEqual(found[11]["loss"], wanted[11]["loss"])
        for row, want in zip(found[11:], wanted[11:]):
            self.assertLess(abs(row["loss"] / want["loss"] - 1), 0.03, row)

    def test_state_says_where_the_run_is_and_what_made_it(self):
        run_dir = self.folder / "run"
        self.train(3, run_dir, "--max-steps-this-run", 15, code=75)
        out = self.folder / "merged.safetensors"
        self.succeed(0, "shardgpt-convert", "merge", checkpoints(run_dir)[-1], "--output", out)
        state = json.loads(read_safetensors_metadata(out)["shardgpt_state"])
        self.assertEqual((state["step"], state["adam_step"], state["skipped"], state["skipped_in_a_row"]), (15, 15, 0, 0))
        self.assertEqual(state["tokens"], 15 * 6 * 64)
        # 15 steps of 6 samples, 80 windows an epoch
        self.assertEqual(state["position"], {"sample": 90, "epoch": 1, "window": 10, "windows_per_epoch": 80})
        self.assertEqual(state["data"] | {"fingerprint": 0},
                         {"fingerprint": 0, "tokenizer_hash": "", "seq_len": 64, "global_batch": 6,
                          "order": "shuffled", "seed": 1337})
        self.assertEqual(state["schedule"], {"kind": "cosine", "lr": 3e-3, "min_lr": 0.0, "warmup_steps": 4,
                                             "decay_steps": 0, "total_steps": 20})
        self.assertEqual(state["options"]["precision"], "fp32")
        made_by = state["provenance"]
        self.assertEqual(made_by["ranks"], 3)
        self.assertIn("--max-steps-this-run 15", made_by["command_line"])
        for library in ("hdf5", "onednn"):
            self.assertRegex(made_by[library], r"^\d+\.\d+\.\d+$")
        self.assertTrue(made_by["mpi"] and made_by["version"].startswith("shardgpt "))
        manifest = json.loads((run_dir / "run.json").read_text())
        self.assertEqual({name: manifest[name] for name in made_by}, made_by)

    def test_fresh_start_in_a_used_folder_needs_a_word(self):
        run_dir = self.folder / "run"
        self.train(2, run_dir, steps=3)
        result = self.train(2, run_dir, "--resume", "never", code=2, steps=3)
        self.assertIn("--discard-run", result.errors()[0])
        self.assertEqual(len(checkpoints(run_dir)), 1)
        self.train(2, run_dir, "--resume", "never", "--discard-run", steps=2)
        self.assertEqual([path.name for path in checkpoints(run_dir)], ["step_00000002.h5"])

    def test_keep(self):
        run_dir = self.folder / "run"
        self.train(2, run_dir, "--checkpoint-every", 2, "--keep", 2, steps=9)
        self.assertEqual([path.name for path in checkpoints(run_dir)], ["step_00000008.h5", "step_00000009.h5"])


if __name__ == "__main__":
    main()
