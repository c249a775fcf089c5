"""How training from scratch begins: initial weights and loss, and a step of the full GPT-2 124M on two ranks in BF16."""
import json
import math
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

    def test_initial_weights_and_loss_of_a_small_model(self):
        # Loss about ln V + width / 2 * 0.02^2; a vocabulary that is padded inside and one that is not.
        shard = self.folder / "tokens.bin"
        generator = random.Random(4)
        write_shard(shard, [generator.randrange(50257) for _ in range(16 * 64 + 1)])
        layers = 8
        for vocab in (50257, 50304):
            run_dir = self.folder / f"run-{vocab}"
            self.succeed(3, "shardgpt-train", "--data", shard, "--run-dir", run_dir, "--layers", layers, "--heads", 2,
                         "--embd", 64, "--positions", 64, "--vocab", vocab, "--seq-len", 64, "--global-batch", 16,
                         "--steps", 1, "--lr", 1e-12, "--precision", "fp32")
            self.assertAlmostEqual(read_metrics(run_dir)[0]["loss"], math.log(vocab) + 0.0128, delta=0.03)
        inspected = self.succeed(0, "shardgpt-convert", "inspect", "--json", run_dir).output
        for tensor in json.loads(inspected)["tensors"]:
            name, deviation = tensor["name"], 0.02
            if name.endswith(".bias"):
                deviation = 0
            elif "ln_" in name:
                self.assertAlmostEqual(tensor["mean"], 1, delta=1e-6, msg=name)
                deviation = 0
            elif name.endswith("c_proj.weight"):
                deviation = 0.02 / math.sqrt(2 * layers)
            self.assertAlmostEqual(tensor["std"], deviation, delta=0.05 * deviation + 1e-6, msg=name)


if __name__ == "__main__":
    main()
