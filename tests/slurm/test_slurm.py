"""The scripts of slurm/ on a real Slurm: two nodes with two ranks each a job, CPU device. See cluster.py.

All scenarios share one controller and run side by side; each is one test method. Tiny models, so that what takes time
is Slurm's own waiting.
"""
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "system"))
from cluster import KILL_WAIT, NODES, Cluster, missing_programs  # noqa: E402
from harness import BIN, checkpoints, read_safetensors, training_rows, write_shard  # noqa: E402

SLURM = Path(os.environ["SHARDGPT_SLURM"])
SKIP = 77
SIDE_BY_SIDE = 4  # scenarios; each computes with up to four ranks, and mostly waits for Slurm
# Steps that take time, so that there are moments to stop them in, and next to no work: the machine is Slurm's.
MODEL = ["--layers", 1, "--heads", 1, "--embd", 16, "--vocab", 300, "--positions", 16, "--seq-len", 16,
         "--global-batch", 4, "--threads", 1]
TWO_BY_TWO = ["--nodes=2", "--ntasks-per-node=2", "--cpus-per-task=1"]


# Started first.
LONGEST = ("scenario_pipeline_with_requeues", "scenario_killed_tasks", "scenario_time_limit", "scenario_end_time")


class Scenarios:
    """Every scenario_* is run once; what it raises is a failure."""

    def __init__(self, cluster, folder):
        self.cluster, self.folder = cluster, Path(folder)
        (self.folder / "logs").mkdir()
        self.shard = self.folder / "tokens.bin"
        generator = random.Random(7)
        write_shard(self.shard, [generator.randrange(300) for _ in range(200_000)])
        self.environment = {"SHARDGPT_BIN": str(BIN), "OMP_NUM_THREADS": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
                            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                            "OMPI_MCA_hwloc_base_binding_policy": "none",
                            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_odls_base_sigkill_timeout": "3",
                            "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
                            "SHARDGPT_TEST_PRELOAD": os.environ["SHARDGPT_FAULT_SHIM"],
                            "SHARDGPT_FAULT_ROW_MS": "20"}

    # --- helpers ---------------------------------------------------------------------------------------------------

    def options(self, steps, *more):
        return ["--data", self.shard, *MODEL, "--steps", steps, "--log-every", 500, "--keep", 0, *more]

    def train(self, run, *options, sbatch=(), env=None):
        """Submits train.sbatch; returns the job id."""
        return self.cluster.submit(SLURM / "train.sbatch", run, *options, env={**self.environment, **(env or {})},
                                   options=[*TWO_BY_TWO, f"--output={self.log(run)}", "--time=10", *sbatch])

    def log(self, run):
        return self.folder / "logs" / f"{Path(run).name}.out"

    def log_text(self, run):
        return self.log(run).read_text(errors="replace") if self.log(run).exists() else "(no log yet)"

    def await_steps(self, job, run, steps, seconds=120):
        self.wait(job, {"RUNNING"})
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if (run / "metrics.jsonl").exists() and len(training_rows(run)) >= steps:
                return
            time.sleep(0.1)
        raise AssertionError(f"{run} does not reach step {steps}:\n{self.log_text(run)}")

    def await_true(self, condition, what, seconds=60):
        deadline = time.monotonic() + seconds
        while not condition():
            at_least(deadline, time.monotonic(), what)
            time.sleep(0.02)

    def wait(self, job, states=None, seconds=240):
        return self.cluster.wait(job, states, seconds)

    def weights(self, run):
        """Parameters and moments of the last checkpoint, name -> bytes."""
        out = self.folder / f"{run.name}.merged.safetensors"
        subprocess.run([BIN / "shardgpt-convert", "merge", checkpoints(run)[-1], "--output", out, "--optimizer"],
                       check=True, capture_output=True)
        return {name: values.tobytes() for name, values in read_safetensors(out).items()}

    def uninterrupted(self, name, steps):
        """Final weights of the same run without Slurm."""
        run = self.folder / f"{name}-plain"
        environment = {**os.environ, **self.environment}
        subprocess.run([os.environ.get("SHARDGPT_MPIEXEC", "mpiexec"), "-n", "4", str(BIN / "shardgpt-train"),
                        "--run-dir", str(run), *[str(option) for option in self.options(steps)]],
                       check=True, capture_output=True, env=environment, timeout=240)
        return self.weights(run)

    def check_finished(self, run, steps):
        equal((run / "status").read_text(), "finished\n")
        equal([row["step"] for row in training_rows(run)], list(range(1, steps + 1)))

    def check_requeued_to_the_end(self, job, run, steps):
        fields = self.wait(job, seconds=240)
        log = self.log_text(run)
        equal(fields["JobState"], "COMPLETED", log)
        at_least(int(fields["Restarts"]), 1, log)
        contains(log, "resumed from")
        self.check_finished(run, steps)

    def resubmit(self, run, steps, *options):
        """The same command again goes on to the end."""
        job = self.train(run, *self.options(steps, *options))
        equal(self.wait(job)["JobState"], "COMPLETED", self.log_text(run))
        self.check_finished(run, steps)

    def find_task(self, run, node):
        """Process ids of a run's tasks on one node."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and (entry / "comm").read_text().strip() == "shardgpt-train":
                    environment = (entry / "environ").read_bytes()
                    command = (entry / "cmdline").read_bytes()
                    if f"SLURMD_NODENAME={node}\0".encode() in environment and str(run).encode() in command:
                        found.append(int(entry.name))
            except OSError:
                continue
        return found

    # --- scenarios -------------------------------------------------------------------------------------------------

    def scenario_pipeline_with_requeues(self):
        """From text to a Hugging Face folder; training is told to save by --signal and requeues itself."""
        work = self.folder / "pipeline"
        text = self.folder / "text.txt"
        words = ["the", "cluster", "ran", "a", "step", "and", "saved", "its", "weights", "again"]
        generator = random.Random(3)
        text.write_text("\n".join(" ".join(generator.choices(words, k=12)) for _ in range(4000)) + "\n")
        tokenizer = self.folder / "tokenizer"
        subprocess.run([BIN / "shardgpt-prep", "train-bpe", "--vocab-size", "300", "--output", tokenizer, text],
                       check=True, capture_output=True)
        model = [option for pair in zip(MODEL[::2], MODEL[1::2]) if pair[0] != "--vocab" for option in pair]
        steps = 1500
        train = [*model, "--steps", steps, "--log-every", 500, "--keep", 0]
        # A signal may come up to a minute early: 55 s before the end of one minute is after a few seconds.
        output = self.cluster.call(
            SLURM / "pipeline.sh", "--text", text, "--tokenizer", tokenizer, "--work", work, "--val-fraction", "0.1",
            "--prep", "--document line", "--sbatch-all", "--time=5 --cpus-per-task=1",
            "--sbatch-train", " ".join([*TWO_BY_TWO, "--time=1", "--signal=B:USR1@50"]), "--", *train,
            env=self.environment)
        jobs = dict(line.split() for line in output.splitlines())
        self.wait(jobs["train"], {"RUNNING"})
        equal(self.cluster.state(jobs["convert"]), "PENDING")
        trained = self.wait(jobs["train"], seconds=300)
        log = (work / "logs" / f"shardgpt-train-{jobs['train']}.out").read_text()
        equal(trained["JobState"], "COMPLETED", log)
        at_least(int(trained["Restarts"]), 1, log)
        contains(log, "restart 0")
        contains(log, "restart 1")  # appended, and SLURM_RESTART_COUNT was seen
        contains(log, "resumed from")
        contains(log, "ranks 0-3 on")  # where they run
        self.check_finished(work / "run", steps)
        equal(self.wait(jobs["convert"])["JobState"], "COMPLETED")
        for name in ("config.json", "model.safetensors", "vocab.json", "merges.txt"):
            contains([path.name for path in (work / "model").iterdir()], name)
        # The same without Slurm and without interruption: bit for bit.
        plain = self.folder / "pipeline-plain"
        subprocess.run([os.environ.get("SHARDGPT_MPIEXEC", "mpiexec"), "-n", "4", str(BIN / "shardgpt-train"),
                        "--run-dir", str(plain), "--data", str(work / "data" / "train"), "--val-data",
                        str(work / "data" / "val"), *[str(option) for option in train]],
                       check=True, capture_output=True, env={**os.environ, **self.environment}, timeout=240)
        equal(self.weights(work / "run"), self.weights(plain), "weights differ")
        # Run again, everything is there already.
        again = self.cluster.submit(SLURM / "prep.sbatch", work / "data", tokenizer, text, env=self.environment,
                                    options=["--cpus-per-task=1", f"--output={self.folder}/logs/again.out"])
        equal(self.wait(again)["JobState"], "COMPLETED")

    def scenario_preemption(self):
        """A job of a higher partition takes the nodes: saved within the grace time, requeued by the script."""
        run = self.folder / "preempted"
        steps = 1500
        job = self.train(run, *self.options(steps), sbatch=["--partition=spot"])
        self.await_steps(job, run, 20)
        script = self.folder / "urgent.sh"
        script.write_text("#!/bin/sh\nsleep 3\n")
        urgent = self.cluster.submit(script, options=["--partition=urgent", "--nodes=2", "--exclusive",
                                                    f"--output={self.folder}/logs/urgent.out"])
        self.wait(urgent, seconds=200)
        self.check_requeued_to_the_end(job, run, steps)

    def scenario_time_limit(self):
        """No early signal, and the program is not told when the job ends: TERM, saved before the KILL, requeued."""
        run = self.folder / "timelimit"
        job = self.train(run, *self.options(1_000_000, "--checkpoint-every", 1000),
                         sbatch=["--time=1", "--signal=B:URG@1"], env={"SLURM_JOB_END_TIME": "32503680000"})
        deadline = time.monotonic() + 180
        while int(self.wait(job, {"RUNNING", "PENDING", "COMPLETING"})["Restarts"]) == 0:
            at_least(deadline, time.monotonic(), self.log_text(run))
            time.sleep(0.5)
        self.await_steps(job, run, len(training_rows(run)) + 20)
        self.cluster.call("scancel", job)
        equal(self.wait(job)["JobState"], "CANCELLED")
        log = self.log_text(run)
        contains(log, "TERM: saving")
        contains(log, "reason TimeLimit")
        contains(log, "resumed from")
        contains((run / "status").read_text(), "preempted")
        done = len(training_rows(run))
        equal(checkpoints(run)[-1].name, f"step_{done:08}.h5", log)
        self.resubmit(run, done + 20)

    def scenario_end_time(self):
        """The program knows the end of the job and stops in time by itself."""
        run = self.folder / "endtime"
        job = self.train(run, *self.options(1_000_000), sbatch=["--time=2", "--signal=B:URG@1"],
                         env={"SHARDGPT_REQUEUE": "0"})
        fields = self.wait(job, seconds=150)
        log = self.log_text(run)
        equal(fields["JobState"], "FAILED", log)
        contains(fields["ExitCode"], "75:0")
        equal((run / "status").read_text(), "preempted\n")
        contains(log, "the job ends")

    def scenario_scancel(self):
        """A user's scancel is no preemption: saved, and not requeued."""
        run = self.folder / "cancelled"
        job = self.train(run, *self.options(1_000_000))
        self.await_steps(job, run, 20)
        self.cluster.call("scancel", job)
        fields = self.wait(job)
        equal(fields["JobState"], "CANCELLED", self.log_text(run))
        time.sleep(2)
        equal(self.cluster.state(job), "CANCELLED")
        contains((run / "status").read_text(), "preempted")
        done = len(training_rows(run))
        equal(checkpoints(run)[-1].name, f"step_{done:08}.h5", self.log_text(run))
        self.resubmit(run, done + 20)

    def scenario_requeue_from_outside(self):
        run = self.folder / "requeued"
        steps = 1500
        job = self.train(run, *self.options(steps, "--checkpoint-every", 100))
        self.await_steps(job, run, 150)
        self.cluster.call("scontrol", "requeue", job)
        self.check_requeued_to_the_end(job, run, steps)

    def scenario_killed_tasks(self):
        """kill -9 of one task in a step, in a save, then at start: the job ends soon and not with 0; the next goes on."""
        run = self.folder / "killed"
        options = self.options(1_000_000, "--checkpoint-every", 50)

        def kill(job, task):
            os.kill(task, signal.SIGKILL)
            killed = time.monotonic()
            fields = self.wait(job, seconds=KILL_WAIT + 60)
            at_least(KILL_WAIT + 20, time.monotonic() - killed, self.log_text(run))
            equal(fields["JobState"], "FAILED", self.log_text(run))

        job = self.train(run, *options)
        self.await_steps(job, run, 120)
        kill(job, self.find_task(run, NODES[1])[0])
        contains(self.log_text(run), "Killed")
        contains(self.log_text(run), "task")
        job = self.train(run, *options)
        self.wait(job, {"RUNNING"})
        before = len(checkpoints(run))
        self.await_true(lambda: len(checkpoints(run)) > before and list((run / "checkpoints").glob("*.tmp")), "no save")
        kill(job, self.find_task(run, NODES[0])[0])
        job = self.train(run, *options)
        self.wait(job, {"RUNNING"})
        self.await_true(lambda: self.find_task(run, NODES[0]), "no task")  # before the first step
        kill(job, self.find_task(run, NODES[0])[0])
        done = int(checkpoints(run)[-1].stem.split("_")[1])
        self.resubmit(run, done + 20, "--checkpoint-every", 50)

    def scenario_mpirun_on_one_node(self):
        """Another launcher: USR1 to the batch shell becomes USR1 for mpirun."""
        run = self.folder / "mpirun"
        steps = 1500
        job = self.train(run, *self.options(steps), sbatch=["--nodes=1", "--ntasks-per-node=2"],
                         env={"SHARDGPT_LAUNCH": f"mpirun -n 2 -x LD_PRELOAD={os.environ['SHARDGPT_FAULT_SHIM']} --mca plm isolated "
                                            "--mca ras ^slurm"})
        self.await_steps(job, run, 20)
        self.cluster.call("scancel", "--signal=USR1", "--batch", job)
        self.check_requeued_to_the_end(job, run, steps)
        contains(self.log_text(run), "USR1: saving")

    def scenario_loop_guard(self):
        """A job that saves nothing new before it is stopped is not requeued for ever."""
        fake = self.folder / "fake"
        fake.mkdir()
        program = fake / "shardgpt-train"
        program.write_text("#!/bin/sh\n[ \"$1\" = --run-dir ] && mkdir -p \"$2\" && echo preempted > \"$2/status\"\n"
                           "exit 75\n")
        program.chmod(0o755)
        run = self.folder / "loop"
        job = self.train(run, env={"SHARDGPT_BIN": str(fake)})
        fields = self.wait(job, seconds=60)
        equal(fields["JobState"], "FAILED", self.log_text(run))
        equal(fields["Restarts"], "0")
        contains(self.log_text(run), "it would loop for ever")

    def scenario_sweep(self):
        lines = self.folder / "sweep.txt"
        lines.write_text("--lr 1e-3\n--lr 1e-4 --seed 3\n")
        runs = self.folder / "sweep"
        job = self.cluster.submit(SLURM / "sweep.sbatch", lines, runs, *self.options(30), env=self.environment,
                                  options=["--array=1-2", "--ntasks-per-node=2", "--cpus-per-task=1", "--time=5",
                                           f"--output={self.folder}/logs/sweep-%a.out"])
        for task in (1, 2):
            equal(self.wait(f"{job}_{task}", seconds=200)["JobState"], "COMPLETED")
            self.check_finished(runs / f"run_{task}", 30)
        not_equal(training_rows(runs / "run_1")[-1]["loss"], training_rows(runs / "run_2")[-1]["loss"])

    def scenario_convert_waits_for_the_end(self):
        run = self.folder / "unfinished"
        (run / "checkpoints").mkdir(parents=True)
        (run / "status").write_text("preempted\n")
        log = self.folder / "logs" / "unfinished.out"
        job = self.cluster.submit(SLURM / "convert.sbatch", run, self.folder / "never", env=self.environment,
                                  options=["--cpus-per-task=1", f"--output={log}"])
        equal(self.wait(job)["JobState"], "FAILED")
        contains(log.read_text(), "is not finished")
        equal((self.folder / "never").exists(), False)


def equal(found, wanted, note=""):
    if found != wanted:
        raise AssertionError(f"found {str(found)[:300]}, wanted {str(wanted)[:300]}\n{note}")


def not_equal(found, unwanted):
    if found == unwanted:
        raise AssertionError(f"both are {found}")


def at_least(found, wanted, note=""):
    if found < wanted:
        raise AssertionError(f"{found} is less than {wanted}\n{note}")


def contains(text, part):
    if part not in text:
        raise AssertionError(f"no {part!r} in:\n{text}")


def main():
    missing = missing_programs()
    if missing:
        print(f"skipped: Slurm is not installed, there is no {', '.join(missing)} (make setup)")
        return SKIP
    wanted = sys.argv[1:]
    folder = tempfile.mkdtemp(prefix="shardgpt-slurm-")
    failures = 0
    try:
        (Path(folder) / "slurm").mkdir()
        try:
            cluster = Cluster(Path(folder) / "slurm")
        except (RuntimeError, OSError) as error:
            print(f"skipped: Slurm cannot be started here: {error}")
            return SKIP
        try:
            scenarios = Scenarios(cluster, folder)
            names = [name for name in dir(scenarios) if name.startswith("scenario_")]
            names.sort(key=lambda name: name not in LONGEST)
            names = [name for name in names if not wanted or name.removeprefix("scenario_") in wanted]
            start = time.monotonic()
            with ThreadPoolExecutor(max_workers=SIDE_BY_SIDE) as pool:
                futures = {name: pool.submit(getattr(scenarios, name)) for name in names}
            for name, future in futures.items():
                error = future.exception()
                failures += error is not None
                output = getattr(error, "output", None) or ""  # of a command that failed
                print(f"{name.removeprefix('scenario_')}: "
                      f"{'ok' if error is None else f'FAILED: {type(error).__name__}: {error} {output}'}")
            print(f"{len(names)} scenarios, {failures} failed, {time.monotonic() - start:.0f} s")
        finally:
            cluster.stop()
    finally:
        if failures and os.environ.get("SHARDGPT_KEEP"):
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
