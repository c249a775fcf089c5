"""Checks GPT-2's official sizes against Hugging Face transformers: names and shapes of all four, and for the smallest one
a checkpoint trained here from scratch, exported and opened there, whose logits must be ours.

Usage: check_official_sizes.py CONVERT TRAIN MAKE_CHECKPOINT PRINT_LOGITS (see run.sh)
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile
from array import array

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from hf_folders import open_model

CONVERT, TRAIN, MAKE_CHECKPOINT, PRINT_LOGITS = sys.argv[1:5]
# Layers, heads and width of the configurations that OpenAI released: 124M, 355M, 774M, 1.5B.
SIZES = {"gpt2": (12, 12, 768), "gpt2-medium": (24, 16, 1024), "gpt2-large": (36, 20, 1280), "gpt2-xl": (48, 25, 1600)}
TOLERANCE = 1e-4


def run(*arguments):
    return subprocess.run([str(argument) for argument in arguments], check=True, capture_output=True, text=True).stdout


def shapes_in_transformers(layers, heads, width):
    """Name -> shape, from the model's class itself, without memory for weights."""
    register = torch.nn.Module.register_parameter
    initializers = torch.nn.init.normal_, torch.Tensor.normal_

    def register_on_meta(module, name, parameter):
        register(module, name, parameter)
        if parameter is not None:
            module._parameters[name] = torch.nn.Parameter(parameter.to("meta"))

    torch.nn.Module.register_parameter = register_on_meta
    torch.nn.init.normal_ = lambda tensor, *_, **__: tensor
    torch.Tensor.normal_ = lambda tensor, *_, **__: tensor
    try:
        model = GPT2LMHeadModel(GPT2Config(n_layer=layers, n_head=heads, n_embd=width))
    finally:
        torch.nn.Module.register_parameter = register
        torch.nn.init.normal_, torch.Tensor.normal_ = initializers
    return {name: list(parameter.shape) for name, parameter in model.named_parameters() if name != "lm_head.weight"}


def check_names_and_shapes(work):
    for preset, (layers, heads, width) in SIZES.items():
        checkpoint = work / f"{preset}.h5"
        run(MAKE_CHECKPOINT, preset, checkpoint, "zeros")
        report = json.loads(run(CONVERT, "inspect", "--quick", "--json", checkpoint))
        checkpoint.unlink()
        found = {row["name"]: row["shape"] for row in report["tensors"]}
        wanted = shapes_in_transformers(layers, heads, width)
        assert len(wanted) == 4 + 12 * layers, len(wanted)
        assert found == wanted, set(found.items()) ^ set(wanted.items())
        assert report["config"]["heads"] == heads


def check_from_scratch(work):
    generator = random.Random(11)
    ids = [generator.randrange(50257) for _ in range(129)]
    header = array("i", [20240520, 1, len(ids)] + [0] * 253)
    (work / "tokens.bin").write_bytes(header.tobytes() + array("H", ids).tobytes())
    run(TRAIN, "--data", work / "tokens.bin", "--run-dir", work / "run", "--model", "gpt2", "--seq-len", 32, "--global-batch",
        2, "--steps", 2, "--lr", "1e-3", "--precision", "fp32")
    run(CONVERT, "to-hf", work / "run", "--output", work / "hf")
    run(CONVERT, "verify", work / "run", "--against", work / "hf")
    tokens = [50256, 0] + [generator.randrange(50257) for _ in range(30)]
    run(PRINT_LOGITS, work / "run", work / "logits", *tokens)
    ours = torch.tensor(array("f", (work / "logits").read_bytes())).view(len(tokens), 50257)
    model = open_model(work / "hf")
    with torch.no_grad():
        theirs = model(torch.tensor([tokens])).logits[0]
    error = float((ours - theirs).abs().max())
    print(f"124M trained from scratch: largest logit {float(theirs.abs().max()):.2f}, largest difference {error:.1e}")
    assert error < TOLERANCE
    # Logits of other weights are further away than that: the comparison can fail.
    with torch.no_grad():
        model.transformer.h[0].attn.c_proj.weight.t_()
        transposed = model(torch.tensor([tokens])).logits[0]
    assert float((ours - transposed).abs().max()) > 10 * TOLERANCE


def main():
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        check_names_and_shapes(work)
        check_from_scratch(work)
    print("2 passed, 0 failed")


main()
