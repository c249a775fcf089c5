"""Training steps of GPT-2 in PyTorch, to compare with: one process of a job, or the only one. Prints one JSON object.

The model is written here so that both programs do the same work: pre-layer-norm blocks, tied head, no dropout, AdamW,
gradient clipping. It uses what the installed PyTorch has: fused attention and a fused optimizer where there are any."""
import argparse
import json
import os
import resource
import time

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.attn_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.c_fc, self.mlp_proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attention(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
                   for part in self.c_attn(x).split(width, dim=2))
        if hasattr(functional, "scaled_dot_product_attention"):
            out = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(-2, -1) * (width // self.heads) ** -0.5
            mask = torch.ones(length, length, dtype=torch.bool).tril()
            out = scores.masked_fill(~mask, float("-inf")).softmax(-1).to(v.dtype) @ v
        return self.attn_proj(out.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        x = x + self.attention(self.ln_1(x))
        return x + self.mlp_proj(functional.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(args.vocab, args.embd), nn.Embedding(args.positions, args.embd)
        self.blocks = nn.ModuleList(Block(args.embd, args.heads) for _ in range(args.layers))
        self.ln_f = nn.LayerNorm(args.embd)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens, targets):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = functional.linear(self.ln_f(x), self.wte.weight)
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def make_optimizer(model):
    decayed = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    for extra in ({"fused": True}, {"foreach": True}, {}):  # the fastest that this version has on CPUs
        try:
            return torch.optim.AdamW(groups, lr=1e-5, betas=(0.9, 0.95), **extra)
        except (RuntimeError, TypeError):
            continue
    raise RuntimeError("no AdamW")


def main():
    parser = argparse.ArgumentParser()
    for name, default in (("layers", 12), ("heads", 12), ("embd", 768), ("vocab", 50257), ("positions", 1024),
                          ("batch", 4), ("seq-len", 512), ("threads", 1), ("steps", 2), ("warm-up", 1)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--precision", choices=["bf16", "fp32"], default="bf16")
    args = parser.parse_args()
    ranks, rank = int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("RANK", 0))
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    model = Gpt2(args)
    optimizer = make_optimizer(model)
    run = model
    if ranks > 1:
        torch.distributed.init_process_group("gloo")
        run = nn.parallel.DistributedDataParallel(model)
    batch = args.batch * (rank + 1) // ranks - args.batch * rank // ranks

    def step():
        data = torch.randint(args.vocab, (batch, args.seq_len + 1))
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=args.precision == "bf16"):
            loss = run(data[:, :-1].contiguous(), data[:, 1:].contiguous())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    for _ in range(args.warm_up):
        step()
    seconds = []
    for _ in range(args.steps):
        start = time.perf_counter()
        loss = step()
        seconds.append(time.perf_counter() - start)
    if rank == 0:
        print(json.dumps({
            "program": f"PyTorch {torch.__version__}", "ranks": ranks, "threads": args.threads, "loss": loss,
            "tokens_per_s": args.batch * args.seq_len / sorted(seconds)[len(seconds) // 2], "step_seconds": seconds,
            "peak_resident_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}), flush=True)
    if ranks > 1:
        torch.distributed.barrier()


if __name__ == "__main__":
    main()
