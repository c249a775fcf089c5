"""kill -9 at random moments of saves: the run goes on from a complete checkpoint as if nothing had happened.

SHARDGPT_KILL_MOMENTS is how many moments, SHARDGPT_KILL_SEED (printed) which ones.
"""
import json
import os
import random
import signal
import time

from harness import REFERENCE, SystemTest, checkpoints, children_of, launch, main, training_rows, write_shard

TOKENS = json.loads((REFERENCE / "tiny-a" / "expected.json").read_text())["tokens"]
MODEL = ["--layers", 2, "--heads", 4, "--embd", 64, "--vocab", 512, "--positions", 64]
RANKS = 3
MOMENTS = int(os.environ.get("SHARDGPT_KILL_MOMENTS", "4"))
SEED = int(os.environ.get("SHARDGPT_KILL_SEED", time.time_ns() % 1_000_000))
EVERY = 3  # steps between checkpoints
FSYNC_MS = 60  # a slow disk: a save takes some 0.2 s
SLOW_DISK = {"LD_PRELOAD": os.environ["SHARDGPT_FAULT_SHIM"], "SHARDGPT_FAULT_FSYNC_MS": str(FSYNC_MS)}


class KillSave(SystemTest):
    def setUp(self):
        super().setUp()
        self.shard = self.folder / "tokens.bin"
        write_shard(self.shard, TOKENS)
        self.run_dir = self.folder / "run"

    def arguments(self, run_dir, steps):
        return ["--data", self.shard, "--run-dir", run_dir, *MODEL, "--seq-len", 64, "--global-batch", 4, "--steps",
                steps, "--lr", 1e-3, "--checkpoint-every", EVERY, "--keep", 3]

    def temporaries(self):
        return {path.name for path in (self.run_dir / "checkpoints").glob("*.h5.tmp")}

    def wait_for_a_save(self, process, number):
        """Until the `number`th save of this start has begun."""
        stale, seen = self.temporaries(), set()
        deadline = time.monotonic() + 60
        while len(seen) < number:
            now = self.temporaries()
            stale &= now  # the start removes them
            seen |= now - stale
            self.assertIsNone(process.poll(), process.stdout.read() if process.poll() is not None else "")
            self.assertLess(time.monotonic(), deadline, "no save begins")
            time.sleep(0.002)

    def start_and_kill(self, steps, number, delay, victims):
        """Kills ranks during a save; says whether that cut it, and what the start said."""
        process = launch(RANKS, "shardgpt-train", self.arguments(self.run_dir, steps), env=SLOW_DISK)
        self.addCleanup(process.kill)
        self.wait_for_a_save(process, number)
        time.sleep(delay)
        ranks = children_of(process.pid)
        for victim in victims:
            os.kill(ranks[victim], signal.SIGKILL)
        begin = time.monotonic()
        output, _ = process.communicate(timeout=60)
        self.assertLess(time.monotonic() - begin, 30)
        self.assertNotIn(process.returncode, (0, 75), output)
        return bool(self.temporaries()), output

    def test_kills(self):
        print(f"SHARDGPT_KILL_SEED={SEED}")
        chance = random.Random(SEED)
        steps = 10 * MOMENTS + 4
        cut = 0
        for moment in range(MOMENTS):
            complete = checkpoints(self.run_dir)
            # The first one before any checkpoint is complete; one rank and all of them by turns.
            number, delay = (1, 0.0) if moment == 0 else (chance.randint(1, 2), chance.uniform(0, 0.25))
            victims = range(RANKS) if moment % 2 else [chance.randrange(RANKS)]
            was_cut, output = self.start_and_kill(steps, number, delay, victims)
            cut += was_cut
            self.check_start(output, complete)
        self.assertGreaterEqual(cut, max(1, MOMENTS // 3), "too few kills fell into a save")
        complete = checkpoints(self.run_dir)
        result = self.succeed(RANKS, "shardgpt-train", *self.arguments(self.run_dir, steps), timeout=240)
        self.check_start(result.output, complete)
        self.assertEqual(self.temporaries(), set())

        self.assertEqual([row["step"] for row in training_rows(self.run_dir)], list(range(1, steps + 1)))
        whole = self.folder / "whole"
        self.succeed(RANKS, "shardgpt-train", *self.arguments(whole, steps), "--checkpoint-every", 0, timeout=240)
        self.assertEqual(training_rows(self.run_dir), training_rows(whole))
        self.assertTrue(self.merged(checkpoints(self.run_dir)[-1]) == self.merged(checkpoints(whole)[-1]))
        print(f"{MOMENTS} kills, {cut} of them cut a save, {steps} steps")

    def check_start(self, output, complete):
        """The start went on from the newest of the checkpoints that were complete before it."""
        if complete:
            self.assertIn(f"resumed from {complete[-1]} ", output)
        else:
            self.assertNotIn("resumed from", output)
        self.assertNotIn("damaged", output)


if __name__ == "__main__":
    main()
