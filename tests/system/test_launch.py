"""How the program is started: without a launcher that MPI knows, and with another job's variables about."""
import json
import signal
import time

from harness import REFERENCE, SystemTest, launch, main, training_rows, write_shard

TOKENS = json.loads((REFERENCE / "tiny-a" / "expected.json").read_text())["tokens"]


class Launch(SystemTest):
    def setUp(self):
        super().setUp()
        write_shard(self.folder / "tokens.bin", TOKENS)
        self.run_dir = self.folder / "run"
        self.arguments = ["--data", self.folder / "tokens.bin", "--run-dir", self.run_dir, "--layers", 2, "--heads", 4,
                          "--embd", 64, "--vocab", 512, "--positions", 64, "--seq-len", 64, "--global-batch", 4,
                          "--steps", 2, "--kernels", "reference"]

    def test_tasks_that_know_nothing_of_each_other_are_refused(self):  # S01
        tasks = [launch(0, "shardgpt-train", self.arguments,
                        {"SLURM_NTASKS": "4", "SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": str(task)})
                 for task in range(4)]
        for task in tasks:
            output, _ = task.communicate(timeout=30)
            self.assertEqual(task.returncode, 2, output)
            self.assertIn("--mpi=pmix", output)
            self.assertEqual(output.count("error:"), 1, output)
        self.assertFalse(self.run_dir.exists())

    def test_one_rank_within_an_allocation(self):
        slurm = {"SLURM_NTASKS": "4", "SLURM_JOB_ID": "1"}
        self.assertEqual(self.succeed(0, "shardgpt-train", *self.arguments, env=slurm, code=2).output.count("error:"), 1)
        self.succeed(0, "shardgpt-train", *self.arguments, "--allow-one-rank", env=slurm)
        self.assertEqual(len(training_rows(self.run_dir)), 2)
        # mpirun says that it started one
        again = self.succeed(1, "shardgpt-train", *self.arguments, env=slurm)
        self.assertEqual(again.output.count("warning: MPI sees 1 rank(s)"), 1, again.output)

    def test_left_over_variables_change_nothing(self):  # S11
        result = self.succeed(2, "shardgpt-train", *self.arguments,
                              env={"SLURM_NTASKS": "8", "SLURM_PROCID": "3", "SLURM_LOCALID": "3", "SLURM_JOB_ID": "1",
                                   "OMPI_COMM_WORLD_RANK": "5", "PMI_RANK": "7", "PMI_SIZE": "16"})
        self.assertEqual(result.output.count("MPI's count is used"), 1, result.output)
        self.assertIn("ranks 0-1 on", result.output)
        self.assertEqual(len(training_rows(self.run_dir)), 2)

    def start_without_a_peer(self, *options):
        """Rank 1 of 2 never calls MPI, so that rank 0 waits for it in MPI_Init."""
        peer = ["sh", "-c", "trap '' USR1; exec sleep 300"]
        return launch(1, "shardgpt-train", [*self.arguments, *options, ":", "-n", 1, *peer])

    def test_ranks_that_never_come_together(self):
        job = self.start_without_a_peer("--peer-timeout", 3)
        output, _ = job.communicate(timeout=60)
        self.assertNotEqual(job.returncode, 0, output)
        self.assertIn("--peer-timeout", output)
        self.assertFalse(self.run_dir.exists())

    def test_stop_signal_before_the_ranks_are_together(self):
        job = self.start_without_a_peer()
        time.sleep(2)
        job.send_signal(signal.SIGUSR1)  # mpirun passes it on
        output, _ = job.communicate(timeout=60)
        self.assertNotEqual(job.returncode, 0, output)
        self.assertIn("nothing has begun", output)
        self.assertFalse(self.run_dir.exists())

    def test_thread_count_that_is_none(self):
        result = self.succeed(2, "shardgpt-train", *self.arguments, env={"OMP_NUM_THREADS": "all"}, code=2)
        self.assertIn("OMP_NUM_THREADS is 'all'", result.errors()[0])
        self.assertFalse(self.run_dir.exists())


if __name__ == "__main__":
    main()
