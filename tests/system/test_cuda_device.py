"""shardgpt-train on CUDA devices, over the host implementation: the same program, whose kernels run on CPUs."""
import json
import os
import time

from harness import BIN, REFERENCE, SystemTest, checkpoints, main, run, training_rows, write_shard

CASE = REFERENCE / "tiny-a"
TOKENS = json.loads((CASE / "expected.json").read_text())["tokens"]
PROGRAM = "shardgpt-train-on-host"
# Of each rank, before MPI starts: what a launcher that binds devices or a faulty network would give it.
PER_RANK = 'rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; exec env "$(eval echo "$1")" "${@:2}"'


class CudaDevice(SystemTest):
    def setUp(self):
        super().setUp()
        self.shard = self.folder / "tokens.bin"
        write_shard(self.shard, TOKENS)

    def options(self, run_dir, precision="fp32", steps=6):
        # Few tokens, since a GPU's threads run one after the other here; odd sizes, and rows that ranks share unevenly.
        return ["--data", self.shard, "--run-dir", self.folder / run_dir, "--init-from", CASE, "--order", "sequential",
                "--seq-len", 17, "--global-batch", 5, "--micro-batch", 2, "--steps", steps, "--lr", 3e-3,
                "--warmup-steps", min(steps, 4), "--precision", precision]

    def train(self, ranks, run_dir, *more, program=PROGRAM, device="cuda", precision="fp32", steps=6, **options):
        result = self.succeed(ranks, program, *self.options(run_dir, precision, steps), "--device", device, *more,
                              **options)
        return result.output

    def rows(self, run_dir):
        return training_rows(self.folder / run_dir)

    def refused(self, ranks, *more, env=None, program=PROGRAM):
        result = run(ranks, program, *self.options("refused"), *more, env=env)
        self.assertEqual(result.code, 2, result.output)
        self.assertEqual(len(result.errors()), 1, result.output)
        self.assertFalse((self.folder / "refused").exists())
        return result.errors()[0]

    def test_50_steps_are_those_of_the_cpu(self):
        for precision, loss_limit, norm_limit in (("fp32", 5e-6, 5e-6), ("bf16", 5e-4, 1e-2)):
            self.train(1, f"cpu-{precision}", device="cpu", precision=precision, steps=50)
            wanted = self.rows(f"cpu-{precision}")
            for ranks in (1, 2, 3, 4):
                with self.subTest(precision=precision, ranks=ranks):
                    self.train(ranks, f"cuda-{precision}-{ranks}", precision=precision, steps=50)
                    found = self.rows(f"cuda-{precision}-{ranks}")
                    self.assertEqual(len(found), 50)
                    largest = lambda key: max(abs(f[key] - w[key]) / w[key] for f, w in zip(found, wanted))
                    loss, norm = largest("loss"), largest("grad_norm")
                    print(f"{precision} {ranks} ranks: loss {loss:.1e} norm {norm:.1e}")
                    self.assertLessEqual(loss, loss_limit)
                    self.assertLessEqual(norm, norm_limit)

    def test_delays_on_any_stream_change_nothing(self):
        self.train(2, "prompt", precision="bf16")
        wanted = self.rows("prompt")
        weights = self.merged(checkpoints(self.folder / "prompt")[-1])
        slow = [{"CUDA_ON_HOST_SLOW_STREAM": str(stream)} for stream in range(4)]
        for number, env in enumerate(slow + [{"CUDA_ON_HOST_DELAYS": "5", "NCCL_ON_HOST_LAUNCH_DELAY_US": "3000"}]):
            with self.subTest(env=env):
                self.train(2, f"late-{number}", precision="bf16", env=env)
                self.assertEqual(self.rows(f"late-{number}"), wanted)
                self.assertTrue(self.merged(checkpoints(self.folder / f"late-{number}")[-1]) == weights)

    def test_resume_is_bit_for_bit(self):
        # With the guard, a host that reads device memory in its own right dies.
        guard = {"CUDA_ON_HOST_GUARD": "1"}
        for save in ("sync", "async"):
            with self.subTest(save=save):
                more = ("--save", save, "--checkpoint-every", 2)
                self.train(2, f"whole-{save}", *more, precision="bf16", env=guard)
                self.train(2, f"parts-{save}", *more, "--max-steps-this-run", 3, precision="bf16", env=guard, code=75)
                self.train(2, f"parts-{save}", *more, precision="bf16", env=guard)
                self.assertEqual(self.rows(f"parts-{save}"), self.rows(f"whole-{save}"))
                whole, parts = (self.merged(checkpoints(self.folder / f"{kind}-{save}")[-1])
                                for kind in ("whole", "parts"))
                self.assertTrue(whole == parts, "weights or moments differ")

    def test_validation_is_that_of_the_cpu(self):
        losses = {}
        for device in ("cpu", "cuda"):
            self.train(2, device, "--val-data", self.shard, "--val-windows", 7, device=device, steps=2)
            rows = [json.loads(line) for line in (self.folder / device / "metrics.jsonl").read_text().splitlines()]
            losses[device] = [row["val_loss"] for row in rows if "val_loss" in row]
        self.assertEqual(len(losses["cuda"]), 1)
        self.assertLessEqual(abs(losses["cuda"][0] / losses["cpu"][0] - 1), 5e-6)

    def test_auto_takes_cuda_where_every_rank_has_a_device(self):
        self.assertIn("CUDA on host", self.train(2, "auto", device="auto", steps=1))

    def test_without_a_driver(self):
        env = {"CUDA_ON_HOST_DRIVER": "0"}
        self.assertIn("computing on CPUs: rank 0 on", self.train(2, "cpu", device="auto", steps=1, env=env))
        message = self.refused(2, "--device", "cuda", env=env)
        self.assertIn("--device cuda: rank 0 on", message)
        self.assertIn("cudaErrorInsufficientDriver", message)
        # The job was given devices: not to be run without them.
        message = self.refused(2, env={**env, "CUDA_VISIBLE_DEVICES": "0,1"})
        self.assertIn("given GPUs (CUDA_VISIBLE_DEVICES=0,1)", message)

    def test_the_program_of_users_without_a_driver(self):
        if os.path.exists("/proc/driver/nvidia/version"):
            self.skipTest("this machine has a driver")
        output = self.train(1, "cpu", program="shardgpt-train", device="auto", steps=1)
        if "computing on CPUs" not in output:
            self.skipTest("a build without CUDA")
        self.assertIn("--device cuda: rank 0 on", self.refused(1, "--device", "cuda", program="shardgpt-train"))

    def test_two_ranks_do_not_share_a_device(self):
        env = {"CUDA_ON_HOST_DEVICES": "1"}
        message = self.refused(2, "--device", "cuda", env=env)
        self.assertIn("ranks 0 and 1 on", message)
        self.assertIn("would share one device", message)
        self.assertIn("would share one device", self.refused(2, env={**env, "SLURM_JOB_GPUS": "0"}))

    def test_a_device_bound_to_each_rank(self):
        arguments = [*self.options("bound", steps=2), "--device", "cuda"]
        self.succeed(2, "/bin/bash", "-c", PER_RANK, "bash", "CUDA_VISIBLE_DEVICES=$rank", BIN / PROGRAM, *arguments)
        self.train(2, "free", steps=2)
        self.assertEqual(self.rows("bound"), self.rows("free"))

    def test_too_little_memory_is_said_at_the_start(self):
        # Not enough for the workspace of the products, and enough for that only.
        for mebibytes, message in (("4", "cannot allocate"), ("33", "CUDA on host, which has 33.00 MiB free")):
            with self.subTest(mebibytes=mebibytes):
                result = run(2, PROGRAM, *self.options("small"), "--device", "cuda",
                             env={"CUDA_ON_HOST_MEMORY_MIB": mebibytes})
                self.assertIn(result.code, (1, 2), result.output)
                self.assertEqual(len(result.errors()), 1, result.output)
                self.assertIn(message, result.errors()[0])
                self.assertNotIn("step 1/", result.output)

    def test_options_that_a_device_does_not_know(self):
        self.assertIn("--kernels reference", self.refused(1, "--device", "cuda", "--kernels", "reference"))

    def lost_peer(self, run_dir, *faults):
        """Rank 1's device answers no more within the second step; returns the seconds to the end and the output."""
        start = time.monotonic()
        arguments = [*self.options(run_dir, steps=500), "--device", "cuda", "--peer-timeout", 2]
        result = run(2, "/bin/bash", "-c", PER_RANK, "bash", "NCCL_ON_HOST_STUCK=$([ $rank = 1 ] && echo 20)",
                     BIN / PROGRAM, *arguments, env=dict(faults))
        self.assertEqual(result.code, 1, result.output)
        return time.monotonic() - start, result.output

    def test_a_peer_that_answers_no_more_ends_the_job(self):
        for name, faults in (("lost", ()), ("hangs", (("NCCL_ON_HOST_ABORT_HANGS", "1"),))):
            with self.subTest(name):
                seconds, output = self.lost_peer(name, *faults)
                self.assertIn("peers have not completed", output)
                self.assertIn("a rank is lost or stuck", output)
                self.assertLess(seconds, 20)
                print(f"{name}: over after {seconds:.1f} s with --peer-timeout 2")

    def test_an_error_that_nccl_reports_ends_the_job(self):
        result = run(2, PROGRAM, *self.options("error", steps=500), "--device", "cuda",
                     env={"NCCL_ON_HOST_ERROR": "30"})
        self.assertEqual(result.code, 1, result.output)
        self.assertIn("remote process exited or there was a network error", result.output)


if __name__ == "__main__":
    main()
