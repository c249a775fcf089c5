"""Speed of shardgpt-prep beside Hugging Face tokenizers and tiktoken, in one run on one machine.

Usage: bench_tokenizer.py BUILD TOKENIZER TEXT [--rounds N] [--train-rounds N] [--train-megabytes N]
  BUILD is a build folder with bin/shardgpt-prep and tests/bench/bench_tokenizer, TOKENIZER a folder with vocab.json and
  merges.txt, TEXT English text in UTF-8. Python is that of `make check-hf`: build/tokenizer-venv/bin/python.

The programs take turns, and each figure is the median of the rounds. CPU time is what a program itself used, also on a
machine that others use at the same time; it is what one-thread speeds are compared by.
"""
import argparse
import importlib.metadata
import json
import os
import pathlib
import platform
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "hf"))
from gpt2_tokenizers import open_hugging_face, open_tiktoken, read_merges, train_hugging_face  # noqa: E402


class Timing:
    """Wall and CPU seconds of a block, with the processes that it ran."""

    def __enter__(self):
        self.wall, self.cpu = time.perf_counter(), self.cpu_now()
        return self

    def __exit__(self, *_):
        self.wall, self.cpu = time.perf_counter() - self.wall, self.cpu_now() - self.cpu

    @staticmethod
    def cpu_now():
        usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class Table:
    """Speeds by name, one a round."""

    def __init__(self, megabytes):
        self.megabytes, self.rows = megabytes, {}

    def add(self, name, wall, cpu):
        self.rows.setdefault(name, []).append((wall, cpu))

    def median(self, name, column):
        return self.megabytes / statistics.median(row[column] for row in self.rows[name])

    def print(self, title):
        print(f"\n{title}: {self.megabytes:.1f} MB, {len(next(iter(self.rows.values())))} rounds\n")
        print(f"{'':44} {'MB/s by CPU time':>17} {'MB/s by the clock':>18}")
        for name in self.rows:
            print(f"{name:44} {self.median(name, 1):17.1f} {self.median(name, 0):18.1f}")
        sys.stdout.flush()

    def ratio(self, fast, slow, column=1):
        return self.median(fast, column) / self.median(slow, column)


def run(*command, **environment):
    return subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE,
                          env={**os.environ, **environment}).stdout


def encode_once(build, tokenizer, text_file):
    """Seconds that BpeEncoder takes for the file with an empty cache, by bench_tokenizer."""
    result = json.loads(run(build / "tests/bench/bench_tokenizer", text_file, tokenizer,
                            "--benchmark_filter=encode/first_time", "--benchmark_format=json",
                            "--benchmark_min_time=0.2"))["benchmarks"][0]
    assert result["time_unit"] == "ns"
    return result["real_time"] * 1e-9, result["cpu_time"] * 1e-9


def bench_encoding(build, tokenizer, text_file, rounds):
    text = text_file.read_bytes().decode()
    # Each library gets what it is fastest with: articles, and for tiktoken also the text in one.
    articles = [part for part in re.split(r"(?m)(?=^ = [^=].* = \n)", text) if part]
    hugging_face, tiktoken = open_hugging_face(tokenizer), open_tiktoken(tokenizer)
    ways = {
        "tokenizers encode_batch_fast, by article": lambda: hugging_face.encode_batch_fast(articles),
        "tiktoken encode_ordinary, by article": lambda: [tiktoken.encode_ordinary(part) for part in articles],
        "tiktoken encode_ordinary, one text": lambda: tiktoken.encode_ordinary(text),
    }
    ours = "BpeEncoder, one text, empty cache"
    table = Table(text_file.stat().st_size * 1e-6)
    for _ in range(rounds):
        for name, encode in ways.items():
            with Timing() as timing:
                encode()
            table.add(name, timing.wall, timing.cpu)
        table.add(ours, *encode_once(build, tokenizer, text_file))
    table.print("Encoding, one thread")
    other, *others = ways
    print(f"\nBpeEncoder against tokenizers: {table.ratio(ours, other):.1f} times; "
          f"against tiktoken: {min(table.ratio(ours, name) for name in others):.1f} times (CPU time)")


def bench_program(build, tokenizer, text_file, rounds, folder):
    big = folder / "big.txt"
    with big.open("wb") as out:
        for _ in range(max(1, 1_000_000_000 // text_file.stat().st_size)):
            out.write(text_file.read_bytes())
    table = Table(big.stat().st_size * 1e-6)
    for _ in range(rounds):
        for threads in (1, 2):
            with Timing() as timing:
                run(build / "bin/shardgpt-prep", "encode", "--threads", threads, "--vocab", tokenizer / "vocab.json",
                    "--merges", tokenizer / "merges.txt", "--overwrite", "--output", folder / "set", big)
            table.add(f"shardgpt-prep encode --threads {threads}", timing.wall, timing.cpu)
    table.print("The whole program, the text repeated, files written and checked")
    names = list(table.rows)
    print(f"\ntwo threads against one: {table.ratio(names[1], names[0], 0):.2f} times by the clock, "
          f"{1 / table.ratio(names[1], names[0], 1):.2f} times the CPU time")


def write_words(path, megabytes):
    """English-like words, 400,000 different ones, frequency about 1 / rank, in lines."""
    source = random.Random(1)
    syllables = ("the in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha ou le ve co me de hi ri ro "
                 "ic ne ea ra ce li ch ll be ma si om ur").split()
    words = sorted({"".join(source.choice(syllables) for _ in range(1 + min(6, int(source.expovariate(0.45)))))
                    for _ in range(900_000)}, key=lambda word: (len(word) + source.random() * 6, word))[:400_000]
    weights, total = [], 0.0
    for rank in range(len(words)):
        total += 1 / (rank + 2.7)
        weights.append(total)
    ends = [" "] * 17 + [", ", ". ", ".\n"]
    with path.open("w") as out:
        while out.tell() < megabytes * 1_000_000:
            chosen = source.choices(words, cum_weights=weights, k=100_000)
            out.write("".join(word + end for word, end in zip(chosen, source.choices(ends, k=len(chosen)))))


def bench_training(build, megabytes, rounds, folder):
    text_file = folder / "words.txt"
    write_words(text_file, megabytes)
    table = Table(text_file.stat().st_size * 1e-6)
    for _ in range(rounds):
        for threads in (1, 2):
            with Timing() as timing:  # in a process of its own: its number of threads is set at the start
                run(sys.executable, __file__, "--train-hugging-face", text_file, folder / "merges.json",
                    RAYON_NUM_THREADS=str(threads), TOKENIZERS_PARALLELISM="true")
            table.add(f"tokenizers, {threads} thread(s)", timing.wall, timing.cpu)
            with Timing() as timing:
                run(build / "bin/shardgpt-prep", "train-bpe", "--vocab-size", 32_000, "--threads", threads,
                    "--overwrite", "--output", folder / "trained", text_file)
            table.add(f"shardgpt-prep train-bpe --threads {threads}", timing.wall, timing.cpu)
    table.print("Training a vocabulary of 32,000")
    same = [list(pair) for pair in read_merges(folder / "trained")] == json.loads((folder / "merges.json").read_text())
    print(f"\nmerges: {'the same' if same else 'NOT the same'}")
    names = list(table.rows)
    for threads in (0, 1):
        theirs, ours = names[2 * threads:2 * threads + 2]
        print(f"{ours} against tokenizers: {table.ratio(ours, theirs):.1f} times by CPU time, "
              f"{table.ratio(ours, theirs, 0):.1f} by the clock")


def print_machine():
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    print(f"$ {' '.join(sys.argv)}")
    print(f"{time.strftime('%Y-%m-%d')}, {model.group(1) if model else platform.machine()}, {os.cpu_count()} CPUs, "
          f"load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}, "
          + ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("tokenizers", "tiktoken")))


def main():
    if sys.argv[1:2] == ["--train-hugging-face"]:
        text_file, merges_file = map(pathlib.Path, sys.argv[2:])
        # Lines are what it is fastest with; none of these ends in two white-space characters, which would be cut.
        lines = text_file.read_bytes().decode().splitlines(keepends=True)
        merges_file.write_text(json.dumps(train_hugging_face(lines, 32_000)))
        return
    parser = argparse.ArgumentParser()
    for name in ("build", "tokenizer", "text"):
        parser.add_argument(name, type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--train-rounds", type=int, default=5)
    parser.add_argument("--train-megabytes", type=int, default=100)
    options = parser.parse_args()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    print_machine()
    bench_encoding(options.build, options.tokenizer, options.text, options.rounds)
    with tempfile.TemporaryDirectory() as folder:
        bench_program(options.build, options.tokenizer, options.text, options.rounds, pathlib.Path(folder))
        bench_training(options.build, options.train_megabytes, options.train_rounds, pathlib.Path(folder))
    print(f"\nload at the end {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
