"""From a Hugging Face folder through training and back: shapes, ids and settings survive, on any number of ranks."""
import json
import shutil
import struct
from array import array

from harness import REFERENCE, SystemTest, main, read_safetensors, relative_difference, write_shard

CASE = REFERENCE / "tiny-a"
TOKENS = json.loads((CASE / "expected.json").read_text())["tokens"]


def read_shapes(folder):
    data = (folder / "model.safetensors").read_bytes()
    (header_bytes,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + header_bytes])
    return {name: entry["shape"] for name, entry in header.items() if name != "__metadata__"}


def gpt2_shapes(layers, embd, vocab, positions):
    shapes = {"wte.weight": [vocab, embd], "wpe.weight": [positions, embd], "ln_f.weight": [embd], "ln_f.bias": [embd]}
    for layer in range(layers):
        for name, inner, outer in (("attn.c_attn", embd, 3 * embd), ("attn.c_proj", embd, embd),
                                   ("mlp.c_fc", embd, 4 * embd), ("mlp.c_proj", 4 * embd, embd)):
            shapes[f"h.{layer}.{name}.weight"] = [inner, outer]
            shapes[f"h.{layer}.{name}.bias"] = [outer]
        for name in ("ln_1", "ln_2"):
            shapes[f"h.{layer}.{name}.weight"] = shapes[f"h.{layer}.{name}.bias"] = [embd]
    return {"transformer." + name: shape for name, shape in shapes.items()}


def write_hf_folder(folder, config, shapes):
    """A model of small repeating numbers."""
    pattern = [((i * 37) % 199 - 99) / 5000 for i in range(199)]
    header, at = {}, 0
    sizes = []
    for name, shape in shapes.items():
        size = shape[0] * (shape[1] if len(shape) == 2 else 1)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + 4 * size]}
        at += 4 * size
        sizes.append(size)
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    with open(folder / "model.safetensors", "wb") as file:
        text = json.dumps(header).encode()
        file.write(struct.pack("<Q", len(text)) + text)
        for size in sizes:
            array("f", pattern * (size // len(pattern) + 1))[:size].tofile(file)


class ImportExport(SystemTest):
    def setUp(self):
        super().setUp()
        self.shard = self.folder / "tokens.bin"
        write_shard(self.shard, TOKENS)

    def train(self, ranks, name, *arguments, code=0, shard=None, seq_len=64, steps=2):
        return self.succeed(ranks, "shardgpt-train", "--data", shard or self.shard, "--run-dir", self.folder / name,
                            "--seq-len", seq_len, "--global-batch", 3, "--steps", steps, "--lr", 1e-3,
                            "--precision", "fp32", *arguments, code=code)

    def export(self, name):
        out = self.folder / (name + "-hf")
        self.succeed(0, "shardgpt-convert", "to-hf", self.folder / name, "--output", out)
        self.succeed(0, "shardgpt-convert", "verify", self.folder / name, "--against", out)
        return out, json.loads((out / "config.json").read_text())

    def test_every_tensor_is_whole_whatever_the_ranks(self):
        # H18, and H07: a vocabulary that is padded inside.
        weights = []
        for ranks in (3, 1):
            name = f"ranks-{ranks}"
            self.train(ranks, name, "--layers", 12, "--heads", 2, "--embd", 24, "--vocab", 517, "--positions", 64)
            folder, config = self.export(name)
            shapes = read_shapes(folder)
            self.assertEqual(len(shapes), 148)
            self.assertEqual(shapes, gpt2_shapes(12, 24, 517, 64))
            self.assertEqual(config["vocab_size"], 517)
            weights.append(read_safetensors(folder / "model.safetensors"))
        for name, values in weights[1].items():
            self.assertTrue(any(values), name)
            self.assertLessEqual(relative_difference(weights[0][name], values), 1e-3, name)

    def test_sequences_longer_than_the_positions_are_refused(self):  # H21
        for seq_len in (64, 32):
            self.train(2, f"length-{seq_len}", "--init-from", CASE, seq_len=seq_len)
        self.assertEqual(read_shapes(self.export("length-32")[0])["transformer.wpe.weight"], [64, 64])
        for seq_len in (65, 128):
            result = self.train(2, f"length-{seq_len}", "--init-from", CASE, seq_len=seq_len, code=2)
            self.assertEqual(len(result.errors()), 1, result.output)
            self.assertIn(f"--seq-len is {seq_len}, the model has 64 positions", result.errors()[0])
            self.assertFalse((self.folder / f"length-{seq_len}").exists())

    def test_no_size_or_id_of_gpt2_is_taken_for_granted(self):  # H22; the sizes of BioMedLM's vocabulary
        source = self.folder / "source"
        config = {"model_type": "gpt2", "vocab_size": 28896, "n_positions": 48, "n_embd": 160, "n_head": 20, "n_layer": 1,
                  "bos_token_id": 28895, "eos_token_id": 28895}
        write_hf_folder(source, config, gpt2_shapes(1, 160, 28896, 48))
        shard = self.folder / "documents.bin"
        write_shard(shard, [28895 if i % 50 == 49 else (i * 7919) % 28895 for i in range(1000)])
        self.train(2, "bio", "--init-from", source, shard=shard, seq_len=48)
        folder, exported = self.export("bio")
        self.assertEqual(read_shapes(folder), gpt2_shapes(1, 160, 28896, 48))
        for name, value in config.items():
            self.assertEqual(exported[name], value, name)
        for heads in (7, 0):
            shutil.rmtree(source)
            write_hf_folder(source, {**config, "n_head": heads}, gpt2_shapes(1, 160, 28896, 48))
            result = self.train(2, "refused", "--init-from", source, shard=shard, seq_len=48, code=2)
            self.assertEqual(len(result.errors()), 1, result.output)
            self.assertIn("heads", result.errors()[0])

    def test_dropout_is_reported_once_and_kept(self):
        source = self.folder / "source"
        source.mkdir()
        shutil.copy(CASE / "model.safetensors", source)
        config = json.loads((CASE / "config.json").read_text())
        config.update(resid_pdrop=0.1, embd_pdrop=0.2, attn_pdrop=0.3)
        (source / "config.json").write_text(json.dumps(config))
        for limit, code in ((["--max-steps-this-run", 1], 75), ([], 0)):
            result = self.train(3, "run", "--init-from", source, *limit, code=code)
            told = [line for line in result.output.splitlines() if "dropout" in line]
            self.assertEqual(len(told), 1, result.output)
            self.assertIn("(resid_pdrop 0.1, embd_pdrop 0.2, attn_pdrop 0.3): training applies none", told[0])
        exported = self.export("run")[1]
        self.assertEqual([exported[name] for name in ("resid_pdrop", "embd_pdrop", "attn_pdrop")], [0.1, 0.2, 0.3])
        self.assertNotIn("dropout", self.train(2, "plain", "--init-from", CASE).output)


if __name__ == "__main__":
    main()
