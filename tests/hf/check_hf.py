"""Checks shardgpt-convert against Hugging Face transformers: what it exports opens there and computes what the
float64 reference says, and what transformers saves comes back bit for bit.

Usage: check_hf.py PROGRAM REFERENCE_FOLDER (see run.sh)
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer

from hf_folders import open_model

PROGRAM, REFERENCE = sys.argv[1], pathlib.Path(sys.argv[2])
EXPECTED = json.loads((REFERENCE / "expected.json").read_text())


def convert(*arguments):
    subprocess.run([PROGRAM, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def batch():
    rows, length = EXPECTED["rows"], json.loads((REFERENCE / "config.json").read_text())["n_positions"]
    tokens = torch.tensor(EXPECTED["tokens"][: rows * length + 1])
    return tokens[:-1].view(rows, length), tokens[1:].view(rows, length)


def forward(model):
    """Mean loss of batch 0 and the logits of row 0 at its last position."""
    inputs, targets = batch()
    with torch.no_grad():
        logits = model(inputs).logits
    loss = torch.nn.functional.cross_entropy(logits.double().flatten(0, 1), targets.flatten())
    return float(loss), logits[0, -1].double()


def logits_error(model):
    wanted = torch.tensor(EXPECTED["logits_row0_last"], dtype=torch.float64)
    return float((forward(model)[1] - wanted).abs().max())


def check_export(work, checkpoint):
    convert("to-hf", checkpoint, "--output", work / "hf")
    model = open_model(work / "hf")
    assert abs(forward(model)[0] - EXPECTED["loss"]) < 1e-5
    assert logits_error(model) < 1e-4
    double = model.double()
    assert abs(forward(double)[0] - EXPECTED["loss"]) < 1e-12
    assert logits_error(double) < 1e-10
    wanted, found = load_file(REFERENCE / "model.safetensors"), load_file(work / "hf" / "model.safetensors")
    assert wanted.keys() == found.keys() and all(torch.equal(wanted[k], found[k]) for k in wanted)
    with safe_open(work / "hf" / "model.safetensors", "pt") as file:
        assert file.metadata() == {"format": "pt"}


def check_trained_weights(work):
    """The weights after the reference's AdamW run, as a second set of values."""
    source = work / "trained"
    source.mkdir()
    shutil.copy(REFERENCE / "config.json", source)
    shutil.copy(REFERENCE / "final.safetensors", source / "model.safetensors")
    convert("from-hf", source, "--output", work / "trained.h5")
    convert("to-hf", work / "trained.h5", "--output", work / "trained-hf")
    loss = forward(open_model(work / "trained-hf").double())[0]
    assert abs(loss - EXPECTED["adamw"]["loss_batch0_after"]) < 1e-5, loss


def check_transposed_square(work):
    """A transposed square matrix has the right shape; the logits must tell."""
    source = work / "transposed"
    source.mkdir()
    shutil.copy(REFERENCE / "config.json", source)
    tensors = load_file(REFERENCE / "model.safetensors")
    name = "transformer.h.1.attn.c_proj.weight"
    tensors[name] = tensors[name].t().contiguous()
    save_file(tensors, source / "model.safetensors", metadata={"format": "pt"})
    convert("from-hf", source, "--output", work / "transposed.h5")
    convert("to-hf", work / "transposed.h5", "--output", work / "transposed-hf")
    assert logits_error(open_model(work / "transposed-hf")) > 1e-2
    verified = subprocess.run([PROGRAM, "verify", work / "transposed.h5", "--against", REFERENCE], capture_output=True,
                              text=True)
    assert verified.returncode == 1 and f"{name} is transposed" in verified.stderr, verified.stderr


def check_half_width(work, checkpoint):
    wanted = load_file(REFERENCE / "model.safetensors")
    for flag, dtype, tolerance in (("bf16", torch.bfloat16, 1e-2), ("f16", torch.float16, 1e-3)):
        folder = work / flag
        convert("to-hf", checkpoint, "--output", folder, "--dtype", flag)
        found = load_file(folder / "model.safetensors")
        assert all(torch.equal(found[k], wanted[k].to(dtype)) for k in wanted)
        assert open_model(folder, torch_dtype="auto").dtype == dtype
        model = open_model(folder, torch_dtype=torch.float32)
        assert abs(forward(model)[0] - EXPECTED["loss"]) < tolerance


def check_parts(work, checkpoint):
    convert("to-hf", checkpoint, "--output", work / "parts", "--max-part-size", "100KB")
    assert len(list((work / "parts").glob("model-*.safetensors"))) > 1
    assert abs(forward(open_model(work / "parts"))[0] - EXPECTED["loss"]) < 1e-5


def check_import_of_saved(work):
    """What transformers itself saves, whole and in parts, comes back bit for bit."""
    wanted = load_file(REFERENCE / "model.safetensors")
    model = open_model(work / "hf")
    for name, size in (("saved", "1GB"), ("saved-parts", "100KB")):
        model.save_pretrained(work / name, safe_serialization=True, max_shard_size=size)
        convert("from-hf", work / name, "--output", work / (name + ".h5"))
        convert("merge", work / (name + ".h5"), "--output", work / (name + ".safetensors"))
        convert("verify", work / (name + ".h5"), "--against", work / name)
        found = load_file(work / (name + ".safetensors"))
        assert all(torch.equal(found[k], wanted[k]) for k in wanted) and found.keys() == wanted.keys()


def check_tokenizer(work, checkpoint):
    source = work / "tokenizer"
    source.mkdir()
    vocab = {letter: i for i, letter in enumerate("abcdefgh")}
    vocab.update({"ab": 8, "<|endoftext|>": 511})
    (source / "vocab.json").write_text(json.dumps(vocab))
    (source / "merges.txt").write_text("#version: 0.2\na b\n")
    convert("to-hf", checkpoint, "--output", work / "with-tokenizer", "--tokenizer", source)
    tokenizer = AutoTokenizer.from_pretrained(work / "with-tokenizer")
    assert tokenizer("abc")["input_ids"] == [8, 2]
    assert tokenizer.eos_token_id == 511 and tokenizer.model_max_length == 64
    model = open_model(work / "with-tokenizer")
    text = model.generate(torch.tensor([[8, 2]]), max_new_tokens=3, do_sample=False, pad_token_id=511)
    assert 2 < text.shape[1] <= 5


def main():
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        checkpoint = work / "a.h5"
        convert("from-hf", REFERENCE, "--output", checkpoint)
        checks = [
            lambda: check_export(work, checkpoint),
            lambda: check_trained_weights(work),
            lambda: check_transposed_square(work),
            lambda: check_half_width(work, checkpoint),
            lambda: check_parts(work, checkpoint),
            lambda: check_import_of_saved(work),
            lambda: check_tokenizer(work, checkpoint),
        ]
        for check in checks:
            check()
        print(f"{len(checks)} passed, 0 failed")


main()
