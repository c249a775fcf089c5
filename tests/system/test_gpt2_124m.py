"""A step of the full GPT-2 124M on two ranks in BF16."""
import random

from harness import SystemTest, main, read_metrics, write_shard


class Gpt2(SystemTest):
    def test_untrained_loss_and_one_step(self):
        shard = self.folder / "tokens.bin"
        generator = random.Random(3)
        write_shard(shard, [generator.randrange(50257) for _ in range(4 * 256 + 1)])
        run_dir = self.folder / "run"
        self.succeed(2, "shardgpt-train", "--data", shard, "--run-dir", run_dir, "--model", "gpt2", "--seq-len", 256,
                     "--global-batch", 4, "--steps", 1, timeout=300)
        row = read_metrics(run_dir)[0]
        print(row)
        self.assertAlmostEqual(row["loss"], 10.98, delta=0.05)
        self.assertFalse(row["skipped"])


if __name__ == "__main__":
    main()
