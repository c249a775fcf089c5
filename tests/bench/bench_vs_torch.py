#!/usr/bin/env python3
"""Whole training steps of this program and of PyTorch, in turns, on the same cores.

usage: bench_vs_torch.py BUILD [--cases NAME,...] [--rounds N] [--steps N] [--torch PYTHON,... | none] [--output FILE]

Every round runs each case once with bench_train and once with each Python that has PyTorch; medians over the rounds are
printed. bench_train also measures the machine behind its steps: oneDNN's products at the model's shapes, weighted as the
model uses them (the matrix peak), and memory traffic. Share of peak = tokens/s * (6 P + 6 L C T) / peak, with P the
parameters, the tied table once, L blocks, width C and T tokens a sequence. All runs, with machine and versions, go to
BUILD/bench/DATE-vs-torch.json."""
import argparse
import datetime
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
GPT2 = {"layers": 12, "heads": 12, "embd": 768, "batch": 4, "seq-len": 512}
MEDIUM = {"layers": 24, "heads": 16, "embd": 1024, "batch": 2, "seq-len": 512}
SMALL = {"layers": 6, "heads": 4, "embd": 256, "batch": 16, "seq-len": 256}


class Case:
    """One model and precision on a number of ranks, all cores together, and what is wanted of it."""

    def __init__(self, model, precision="bf16", ranks=1, share=None, ratio=None, of=None, memory=None, repeat=1):
        self.model, self.precision, self.ranks = model, precision, ranks
        self.share, self.ratio = share, ratio  # least share of peak, least ratio to PyTorch
        self.of = of  # (case, share): least share of another case's tokens/s
        self.memory = memory  # largest part of PyTorch's resident memory
        self.repeat = repeat  # steps of a round: short ones need more


CASES = {
    "small": Case(SMALL, ratio=3.0, repeat=4),
    "124m": Case(GPT2, share=0.80, ratio=1.8, memory=0.5),
    "124m-2ranks": Case(GPT2, ranks=2, of=("124m", 0.92)),
    "124m-long": Case({**GPT2, "batch": 2, "seq-len": 1024}, share=0.75, ratio=2.0),
    "124m-fp32": Case(GPT2, precision="fp32", share=0.80, ratio=1.5),
    "355m-2ranks": Case(MEDIUM, ranks=2),
}


def flags(case, steps, threads):
    values = {**case.model, "precision": case.precision, "threads": threads, "steps": steps}
    return [text for name, value in values.items() for text in ("--" + name, str(value))]


def run(command, env=None):
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(env or {})}, check=False)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {result.returncode}:\n{result.stdout}{result.stderr}")
    return result.stdout


def run_ours(build, case, steps, cores):
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        # One rank takes all cores; several are bound to one each, as mpiexec does by default.
        binding = ["--bind-to", "none"] if case.ranks == 1 else ["--bind-to", "core", "--oversubscribe"]
        run(["mpiexec", "-n", str(case.ranks), *binding, build / "tests/bench/bench_train", "--output", report.name,
             *flags(case, steps * case.repeat, max(1, cores // case.ranks))],
            {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        return json.loads(Path(report.name).read_text())


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run_torch(python, case, steps, cores):
    threads = max(1, cores // case.ranks)
    command = [python, HERE / "torch_step.py", *flags(case, steps * case.repeat, threads)]
    port = free_port()
    processes = []
    for rank in range(case.ranks):
        env = {**os.environ, "OMP_NUM_THREADS": str(threads), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
               "RANK": str(rank), "WORLD_SIZE": str(case.ranks)}
        processes.append(subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True))
    outputs = [process.communicate()[0] for process in processes]
    if any(process.returncode != 0 for process in processes):
        sys.exit(f"{' '.join(map(str, command))} failed")
    return json.loads(outputs[0].splitlines()[-1])


def pythons_with_torch(wanted, build):
    """Debian's Python, and the one of a virtual environment in build/torch-venv with a newer PyTorch."""
    candidates = wanted.split(",") if wanted else ["/usr/bin/python3", str(build.parent / "torch-venv/bin/python")]
    found = {}
    for python in candidates:
        version = subprocess.run([python, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True,
                                 check=False) if Path(python).exists() else None
        if version and version.returncode == 0:
            found[python] = "PyTorch " + version.stdout.strip()
    return found


def median(runs, key):
    return statistics.median(run[key] for run in runs)


def print_parts(runs):
    def medians(group):
        return {part: statistics.median(run[group].get(part, 0) for run in runs) for part in runs[0][group]}
    step = 1e3 * statistics.median(seconds for run in runs for seconds in run["step_seconds"])
    compute = medians("compute_ms")
    print(f"    step {step:.1f} ms, on the compute threads:")
    for part, ms in sorted(compute.items(), key=lambda item: -item[1]):
        print(f"      {part:<20}{ms:>9.1f} ms {100 * ms / step:>6.1f} %")
    print("    beside them: " + ", ".join(f"{part} {ms:.1f} ms" for part, ms in medians("beside_compute_ms").items()))
    optimizer, update = median(runs, "optimizer_gb_per_s"), median(runs, "update_gb_per_s")
    print(f"    optimizer {optimizer:.1f} GB/s (28 bytes a parameter), {optimizer / update:.2f} of the {update:.1f} GB/s"
          f" that the same traffic reaches without arithmetic; reading alone {median(runs, 'read_gb_per_s'):.1f} GB/s")
    memory = runs[0]["memory"]
    print("    memory per rank, MiB: " + ", ".join(f"{name} {size / 2**20:.0f}" for name, size in memory.items())
          + f"; planned {sum(memory.values()) / 2**20:.0f}")
    state = memory["master weights"] + memory["Adam moments"] + memory["gradient shards"]
    print(f"    sharded state {state / (16 * runs[0]['parameters'] / runs[0]['ranks']):.4f} of 16 P / N bytes")


def verdict(name, found, wanted, least=True):
    good = found >= wanted if least else found <= wanted
    print(f"    {'ok    ' if good else 'MISSED'} {name} {found:.3f}, wanted {'at least' if least else 'at most'} {wanted}")


def report(names, runs, pythons):
    for name in names:
        case, ours = CASES[name], runs[name]["ours"]
        rate, share = median(ours, "tokens_per_s"), median(ours, "share_of_peak")
        print(f"\n{name}: {case.model}, {case.precision}, {case.ranks} rank(s)")
        print(f"  ours: {rate:.1f} tokens/s, {share:.3f} of the matrix peak {median(ours, 'matrix_peak_gflops'):.0f} GFLOP/s,"
              f" resident {median(ours, 'peak_resident_bytes') / 2**20:.0f} MiB a rank")
        print_parts(ours)
        if case.share:
            verdict("share of peak", share, case.share)
        if case.of and case.of[0] in runs:
            verdict(f"share of {case.of[0]}", rate / median(runs[case.of[0]]["ours"], "tokens_per_s"), case.of[1])
        for python, version in pythons.items():
            theirs = runs[name][python]
            ratio = rate / median(theirs, "tokens_per_s")
            memory = median(ours, "peak_resident_bytes") / median(theirs, "peak_resident_bytes")
            print(f"  {version}: {median(theirs, 'tokens_per_s'):.1f} tokens/s, ours is {ratio:.2f} times as fast;"
                  f" resident {median(theirs, 'peak_resident_bytes') / 2**20:.0f} MiB, ours takes {memory:.2f} of it")
            if case.ratio:
                verdict("ratio", ratio, case.ratio)
            if case.memory:
                verdict("memory", memory, case.memory, least=False)


def cpu_name():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--torch", default="")
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    names = args.cases.split(",")
    unknown = set(names) - set(CASES)
    if unknown:
        parser.error(f"no case {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    cores = len(os.sched_getaffinity(0))
    pythons = {} if args.torch == "none" else pythons_with_torch(args.torch, args.build.resolve())
    if not pythons and args.torch != "none":
        print("no Python with PyTorch (apt-get install python3-torch): measuring this program alone")
    runs = {name: {who: [] for who in ["ours", *pythons]} for name in names}
    for round_number in range(args.rounds):
        for name in names:
            runs[name]["ours"].append(run_ours(args.build, CASES[name], args.steps, cores))
            for python in pythons:
                runs[name][python].append(run_torch(python, CASES[name], args.steps, cores))
            rates = ", ".join(f"{who} {results[-1]['tokens_per_s']:.1f}" for who, results in runs[name].items())
            print(f"round {round_number + 1} {name}: {rates} tokens/s", flush=True)
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H%M%SZ")
    output = args.output or args.build / "bench" / f"{now}-vs-torch.json"
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps({"date": now, "cpu": cpu_name(), "cores": sorted(os.sched_getaffinity(0)),
                                  "kernel": platform.release(), "torch": list(pythons.values()), "runs": runs}, indent=1))
    report(names, runs, pythons)
    print(f"\nruns: {output}")


if __name__ == "__main__":
    main()
