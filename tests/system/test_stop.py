"""Signals, limits, lost ranks and second jobs."""
import json
import os
import shutil
import signal
import subprocess
import time

from harness import REFERENCE, SystemTest, checkpoints, children_of, launch, main, training_rows, write_shard

TOKENS = json.loads((REFERENCE / "tiny-a" / "expected.json").read_text())["tokens"]
MODEL = ["--layers", 2, "--heads", 4, "--embd", 64, "--vocab", 512, "--positions", 64]


class Stop(SystemTest):
    def setUp(self):
        super().setUp()
        self.shard = self.folder / "tokens.bin"
        write_shard(self.shard, TOKENS)
        self.run_dir = self.folder / "run"

    def arguments(self, steps=100_000):
        return ["--data", self.shard, "--run-dir", self.run_dir, *MODEL, "--seq-len", 64, "--global-batch", 4,
                "--steps", steps, "--lr", 1e-3]

    def start(self, ranks, *more):
        """Starts an endless run and waits for its first steps."""
        process = launch(ranks, "shardgpt-train", [*self.arguments(), *more])
        self.addCleanup(process.kill)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if (self.run_dir / "metrics.jsonl").exists() and len(training_rows(self.run_dir)) >= 3:
                return process
            time.sleep(0.05)
        self.fail("the run does not start")

    def finish(self, process, timeout=30):
        output, _ = process.communicate(timeout=timeout)
        return process.returncode, output

    def check_saved(self, code, output):
        self.assertEqual(code, 75, output)
        self.assertEqual((self.run_dir / "status").read_text(), "preempted\n")
        step = len(training_rows(self.run_dir))
        self.assertEqual([path.name for path in checkpoints(self.run_dir)], [f"step_{step:08}.h5"])

    def test_usr1_to_the_launcher(self):
        process = self.start(2)
        process.send_signal(signal.SIGUSR1)
        self.check_saved(*self.finish(process))

    def test_signals_to_ranks(self):
        for number in (signal.SIGTERM, signal.SIGUSR1):
            with self.subTest(signal=number.name):
                shutil.rmtree(self.run_dir, ignore_errors=True)
                process = self.start(2)
                os.kill(children_of(process.pid)[-1], number)  # one rank alone: all stop at the same step
                os.kill(children_of(process.pid)[-1], number)  # and again, while saving
                self.check_saved(*self.finish(process))

    def test_time_limit(self):
        code, output = self.finish(launch(2, "shardgpt-train", [*self.arguments(), "--max-seconds", 2]))
        self.check_saved(code, output)

    def test_lost_rank_ends_the_job(self):
        process = self.start(3)
        os.kill(children_of(process.pid)[1], signal.SIGKILL)
        code, output = self.finish(process)
        self.assertNotIn(code, (0, 75), output)

    def test_silent_rank_ends_the_job(self):
        process = self.start(3, "--peer-timeout", 3)
        stopped = children_of(process.pid)[1]
        os.kill(stopped, signal.SIGSTOP)
        try:
            code, output = self.finish(process)
        finally:
            subprocess.run(["kill", "-KILL", str(stopped)], stderr=subprocess.DEVNULL, check=False)
        self.assertNotIn(code, (0, 75), output)
        self.assertIn("a rank is lost or stuck", output)
        self.assertIn("failed(", (self.run_dir / "status").read_text())

    def test_a_rank_that_throws_ends_the_job(self):
        # An id that appears in the mapped file only after the checks: the rank that reads it throws, alone.
        process = self.start(3)
        with open(self.shard, "r+b") as file:
            file.seek(1024)
            file.write(b"\xff\xff" * 64)
        code, output = self.finish(process)
        self.assertEqual(code, 1, output)
        self.assertIn("65535", output)
        self.assertIn("65535", (self.run_dir / "status").read_text())

    def test_second_job_in_the_same_folder_is_refused(self):
        process = self.start(2)
        second = self.succeed(2, "shardgpt-train", *self.arguments(), code=2)
        self.assertIn("another job is running", second.errors()[0])
        process.send_signal(signal.SIGUSR1)
        self.check_saved(*self.finish(process))

    def test_interrupt_stops_at_once_and_keeps_the_checkpoint(self):
        process = self.start(2, "--checkpoint-every", 2, "--keep", 0)
        while len(checkpoints(self.run_dir)) < 2:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        code, output = self.finish(process)
        self.assertNotIn(code, (0, 75), output)
        last = checkpoints(self.run_dir)[-1]
        self.succeed(0, "shardgpt-convert", "verify", last)

    def test_other_signals_to_the_launcher_leave_a_sound_checkpoint(self):
        # mpirun passes USR2 on; of TERM it gives ranks about a second, so that a save may be cut.
        for number in (signal.SIGTERM, signal.SIGUSR2):
            with self.subTest(signal=number.name):
                shutil.rmtree(self.run_dir, ignore_errors=True)
                process = self.start(2, "--checkpoint-every", 2)
                while len(checkpoints(self.run_dir)) < 2:
                    time.sleep(0.02)
                process.send_signal(number)
                code, output = self.finish(process)
                self.assertNotEqual(code, 0, output)
                self.succeed(0, "shardgpt-convert", "verify", self.run_dir)
                self.succeed(2, "shardgpt-train", *self.arguments(), "--max-steps-this-run", 2, code=75)
                steps = [row["step"] for row in training_rows(self.run_dir)]
                self.assertEqual(steps, list(range(1, len(steps) + 1)))

    def test_metrics_have_one_row_per_step_after_a_kill(self):
        process = self.start(2, "--checkpoint-every", 3)
        while not checkpoints(self.run_dir):
            time.sleep(0.02)
        os.kill(children_of(process.pid)[0], signal.SIGKILL)
        self.finish(process)
        done = len(training_rows(self.run_dir))
        self.succeed(2, "shardgpt-train", *self.arguments(), "--max-steps-this-run", 5, code=75,
                     env={"SLURM_RESTART_COUNT": "1"})
        steps = [row["step"] for row in training_rows(self.run_dir)]
        self.assertEqual(steps, list(range(1, len(steps) + 1)))
        self.assertGreaterEqual(done + 5, len(steps))


if __name__ == "__main__":
    main()
