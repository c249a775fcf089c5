#!/usr/bin/env python3
"""Runs the kernels with planted faults and compares what is found with the table below.

  check_faults.py PROGRAM plain|race|asan    exit code 1 if anything differs

A finding is an exit code of PROGRAM (planted_faults.cpp) or a pattern in what it prints. "missed" stays in the table:
it says what a variant cannot do, and that the fault needs another one.
"""

import os
import re
import signal
import subprocess
import sys

ORDERS = ("ascending", "newest_first", "random")
RIGHT = 0
WRONG = 4
REPORTED = 3


def report(pattern):
    return REPORTED, "reported: .*" + pattern


def sanitizer(pattern):
    return None, "ERROR: AddressSanitizer: " + pattern


right = RIGHT, ""
wrong = WRONG, ""
crash = -signal.SIGSEGV, ""  # the processor refuses it
any_result = None, ""  # depends on what happens to lie in memory, or on chance

RULES = {
    "none_layer_norm": {"all": right},
    "none_product": {"all": right},
    "none_product_async": {"all": right},
    "none_warp_exchange": {"all": right},
    "skipped_barrier": {
        "all": report(r"32 have ended, 96 wait at a barrier.*waits at the barrier at example_kernels.cuh:\d+"),
        "race": report("race: 4 bytes are read|shared memory is read"),  # by the warp that goes on
    },
    "different_barriers": {"all": report(r"threads are at different barriers: .*example_kernels.cuh:\d+")},
    "missing_lanes": {"all": report(r"waits in the warp operation at example_kernels.cuh:\d+ for lanes 30 31;")},
    "missing_barrier": {
        "all": wrong,
        "race": report("shared memory is read that no thread|race: "),
    },
    "read_past_global": {
        "all": wrong,
        "race": report("no memory that kernels may use.*layer_norm_kernel"),
        "asan": sanitizer("heap-buffer-overflow"),
    },
    "read_past_shared": {
        "all": wrong,
        "race": report("no memory that kernels may use.*layer_norm_kernel"),
        "asan": sanitizer("use-after-poison"),
    },
    "local_array_overflow": {"all": any_result, "asan": (None, "index 2 out of bounds for type 'float \\[2\\]'|" +
                                                         "stack-buffer-overflow")},
    "blocks_write_one_place": {"all": wrong, "race": report(r"race: 4 bytes are written that thread 0 of block number")},
    "missing_second_barrier": {
        "ascending": right, "newest_first": wrong, "random": any_result,
        "race": report("race: 16 bytes are written .* has read.*product_kernel"),
    },
    "short_dynamic_shared": {
        "all": any_result,
        "race": report("no memory that kernels may use.*product_kernel"),
        "asan": sanitizer("use-after-poison"),
    },
    "misaligned_load": {"all": crash, "asan": (None, "misaligned address .* for type|AddressSanitizer")},
    "waits_one_group_short": {"all": wrong},
    "refill_without_barrier": {
        "ascending": right, "newest_first": wrong, "random": any_result,
        "race": report("race: 16 bytes are written .*has read.*cp_async16.*product_async_kernel"),
    },
    "no_barrier_after_wait": {"all": wrong, "race": report("race: |shared memory is read")},
    "copies_not_awaited": {
        "all": report(r"ends without waiting for its copy from example_kernels.cuh:\d+"),
    },
    "missing_warp_barrier": {"all": wrong, "race": report("race: |shared memory is read")},
    "plain_increment": {"all": right, "race": report("race: 4 bytes are written|race: 4 bytes are read")},
}


def expected(name, variant, order):
    rules = RULES[name]
    for key in (variant, order, "all"):
        if key in rules:
            return rules[key]
    raise KeyError(f"{name}: no rule for {variant}, {order}")


def main():
    program, variant = sys.argv[1:]
    names = subprocess.run([program, "--list"], check=True, capture_output=True, text=True).stdout.split()
    faults = []
    if sorted(names) != sorted(RULES):
        faults.append(f"the table and the program know different faults: {set(names) ^ set(RULES)}")
    runs = 0
    for name in names:
        for order in ORDERS:
            run = subprocess.run([program, name], capture_output=True, text=True, timeout=60,
                                 env=os.environ | {"SHARDGPT_CUDA_ON_HOST_ORDER": order})
            runs += 1
            code, pattern = expected(name, variant, order)
            output = run.stdout + run.stderr
            if (code is not None and run.returncode != code) or not re.search(pattern, output, re.DOTALL):
                faults.append(f"{name}, {variant}, {order}: exit code {run.returncode} and\n{output}"
                              f"wanted: exit code {code}, /{pattern}/")
    print("\n".join([*faults, f"{runs} runs, {len(faults)} faults"]))
    return 1 if faults or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
