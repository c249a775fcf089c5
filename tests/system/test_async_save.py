"""Saving beside training: the same checkpoints, whatever the disk does, and every failure is said."""
import json
import os
import shutil
import signal
import time

from harness import REFERENCE, SystemTest, checkpoints, children_of, launch, main, training_rows, write_shard

TOKENS = json.loads((REFERENCE / "tiny-a" / "expected.json").read_text())["tokens"]
MODEL = ["--layers", 2, "--heads", 4, "--embd", 64, "--vocab", 512, "--positions", 64]
SHIM = os.environ["SHARDGPT_FAULT_SHIM"]


def faults(**settings):
    """Environment of a run on a bad disk: see fault_shim.cpp."""
    return {"LD_PRELOAD": SHIM, **{f"SHARDGPT_FAULT_{name}": str(value) for name, value in settings.items()}}


def children_of_running(process):
    """Children of a launcher that may just have ended."""
    try:
        return children_of(process.pid)
    except OSError:
        return []


class AsyncSave(SystemTest):
    def setUp(self):
        super().setUp()
        self.shard = self.folder / "tokens.bin"
        write_shard(self.shard, TOKENS)
        self.run_dir = self.folder / "run"

    def arguments(self, *more, steps=12, run_dir=None):
        return ["--data", self.shard, "--run-dir", run_dir or self.run_dir, *MODEL, "--seq-len", 64, "--global-batch",
                4, "--steps", steps, "--lr", 1e-3, "--keep", 0, *more]

    def train(self, *more, ranks=2, code=0, env=None, **options):
        return self.succeed(ranks, "shardgpt-train", *self.arguments(*more, **options), code=code, env=env)

    def start(self, *more, ranks=2, env=None):
        """Starts an endless run."""
        process = launch(ranks, "shardgpt-train", self.arguments(*more, steps=1_000_000), env=env)
        self.addCleanup(process.kill)
        return process

    def wait_for(self, what, process):
        deadline = time.monotonic() + 30
        while not what():
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), deadline, "the run does not get there")
            time.sleep(0.01)

    def finish(self, process):
        output, _ = process.communicate(timeout=60)
        return process.returncode, output

    def names(self):
        return [path.name for path in checkpoints(self.run_dir)]

    def test_same_as_saving_while_training_waits(self):
        beside, waiting = self.folder / "async", self.folder / "sync"
        self.train("--checkpoint-every", 3, run_dir=beside)
        self.train("--checkpoint-every", 3, "--save", "sync", run_dir=waiting)
        self.assertEqual(training_rows(beside), training_rows(waiting))
        self.assertEqual(len(checkpoints(beside)), 4)
        for one, other in zip(checkpoints(beside), checkpoints(waiting)):
            self.assertTrue(self.merged(one) == self.merged(other), one.name)
        # Going on from a checkpoint that was written beside training:
        for path in checkpoints(beside)[2:]:
            path.unlink()
        result = self.train("--checkpoint-every", 3, run_dir=beside)
        self.assertIn("at step 6 of 12", result.output)
        self.assertEqual(training_rows(beside), training_rows(waiting))
        self.assertTrue(self.merged(checkpoints(beside)[-1]) == self.merged(checkpoints(waiting)[-1]))

    def test_training_goes_on_while_the_disk_is_slow(self):
        process = self.start("--checkpoint-every", 5, env=faults(FSYNC_MS=700))
        self.wait_for(lambda: self.names(), process)  # at least 1.4 s behind the border of step 5
        rows = len(training_rows(self.run_dir))
        process.send_signal(signal.SIGUSR1)
        code, output = self.finish(process)
        self.assertEqual(code, 75, output)
        self.assertGreaterEqual(rows, 9)  # to the next border, where the save in flight is waited for
        self.assertEqual(output.count("is still being written when the next save is due"), 1)
        self.assertEqual(output.count("suggested time between checkpoints"), 1)
        self.assertRegex(output, r"saved .*step_00000005.h5: training held up [0-9.]+ s, copied in [0-9.]+ s, "
                                 r"durable after [0-9.]+ s, [0-9.]+ MB/s")
        last = self.names()[-1]
        self.assertEqual(last, f"step_{len(training_rows(self.run_dir)):08}.h5")

    def test_all_ranks_leave_together(self):
        # Rank 0 alone brings the last checkpoint to a slow disk.
        process = launch(3, "shardgpt-train", self.arguments(steps=3), faults(FSYNC_MS=1500))
        self.addCleanup(process.kill)
        ranks, seen_last = {}, {}
        while process.poll() is None:
            for pid in children_of_running(process):
                ranks.setdefault(pid, time.monotonic())
                seen_last[pid] = time.monotonic()
            time.sleep(0.02)
        self.assertEqual(process.returncode, 0, process.stdout.read())
        self.assertEqual(len(ranks), 3)
        self.assertGreater(min(seen_last.values()) - max(ranks.values()), 1.5)  # all of them were there for the save
        self.assertLess(max(seen_last.values()) - min(seen_last.values()), 1)

    def test_signals_while_a_save_is_in_flight(self):
        process = self.start("--checkpoint-every", 20, "--max-seconds", 60, env=faults(FSYNC_MS=500))
        temporary = self.run_dir / "checkpoints" / "step_00000020.h5.tmp"
        self.wait_for(temporary.exists, process)
        for rank in children_of(process.pid):
            os.kill(rank, signal.SIGTERM)
        self.wait_for(lambda: not temporary.exists(), process)
        os.kill(children_of(process.pid)[0], signal.SIGTERM)  # and again, while the last one is written
        code, output = self.finish(process)
        self.assertEqual(code, 75, output)
        steps = len(training_rows(self.run_dir))
        self.assertGreater(steps, 20)
        self.assertIn("step_00000020.h5", self.names())
        self.assertEqual(self.names()[-1], f"step_{steps:08}.h5")
        self.assertEqual((self.run_dir / "status").read_text(), "preempted\n")

    def test_a_save_that_fails_ends_the_run(self):
        # No other save is due for long: all ranks learn of it from one another.
        result = self.train("--checkpoint-every", 10, "--max-seconds", 60, ranks=3, steps=1_000_000, code=1,
                            env=faults(FSYNC_ERROR="step_00000020"))
        self.assertEqual(len(result.errors()), 1, result.output)
        self.assertIn("step_00000020.h5.tmp", result.errors()[0])
        self.assertIn("sync", result.errors()[0])
        self.assertEqual(self.names(), ["step_00000010.h5"])
        self.assertFalse(list((self.run_dir / "checkpoints").glob("*.tmp")))
        self.assertIn("failed(", (self.run_dir / "status").read_text())

    def test_mpi_for_one_thread_at_a_time(self):
        result = self.train("--checkpoint-every", 4, env=faults(NO_THREAD_MULTIPLE=1))
        self.assertEqual(result.output.count("no MPI_THREAD_MULTIPLE"), 1)
        self.assertNotIn("copied in", result.output)
        self.assertNotIn("checkpoint staging", result.output)
        self.assertEqual(self.names(), ["step_00000004.h5", "step_00000008.h5", "step_00000012.h5"])
        shutil.rmtree(self.run_dir)
        result = self.train("--checkpoint-every", 4)
        self.assertNotIn("MPI_THREAD_MULTIPLE", result.output)
        self.assertIn("checkpoint staging", result.output)

    def test_by_the_clock(self):
        self.train("--checkpoint-minutes", 0.01, "--max-seconds", 3, steps=1_000_000, code=75)
        # Every 0.6 s, and one on the stop; one for each time only.
        self.assertLessEqual(len(self.names()), 6)
        self.assertGreaterEqual(len(self.names()), 3)

    def test_stop_file(self):
        process = self.start()
        self.wait_for(lambda: (self.run_dir / "metrics.jsonl").exists() and training_rows(self.run_dir), process)
        (self.run_dir / "stop").touch()
        code, output = self.finish(process)
        self.assertEqual(code, 75, output)
        self.assertIn("'stop'", output)
        self.assertFalse((self.run_dir / "stop").exists())
        step = len(training_rows(self.run_dir))
        self.assertEqual(self.names(), [f"step_{step:08}.h5"])
        (self.run_dir / "stop").touch()  # of an earlier job
        self.train("--max-steps-this-run", 3, steps=1_000_000, code=75)
        self.assertEqual(len(training_rows(self.run_dir)), step + 3)

    def test_milestones_stay(self):
        self.train("--checkpoint-every", 2, "--keep", 1, "--keep-every", 4, steps=10)
        self.assertEqual(self.names(), ["step_00000004.h5", "step_00000008.h5", "step_00000010.h5"])

    def test_too_many_steps_skipped(self):
        result = self.train("--lr", 1e38, "--max-skipped", 5, steps=100, code=1)
        self.assertEqual(len(result.errors()), 1, result.output)
        self.assertIn("--max-skipped", result.errors()[0])
        rows = training_rows(self.run_dir)
        self.assertEqual([row["skipped"] for row in rows[-7:]], [False] + 6 * [True])
        # The count goes on over a stop.
        shutil.rmtree(self.run_dir)
        arguments = ["--lr", 1e38, "--max-skipped", 5]
        applied = len(rows) - 6
        self.train(*arguments, "--max-steps-this-run", applied + 4, steps=100, code=75)
        self.train(*arguments, steps=100, code=1)
        self.assertEqual(len(training_rows(self.run_dir)), len(rows))
        broken = checkpoints(self.run_dir)[-1]
        result = self.train("--init-from", broken, steps=3, run_dir=self.folder / "other", code=1)
        self.assertIn("nothing was trained", result.errors()[0])


if __name__ == "__main__":
    main()
