#!/usr/bin/env python3
"""check_includes.py finds each kind of fault, at its file and line, and nothing else."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).with_name("check_includes.py")


def run(files):
    """The fault lines and the exit code for a tree of `files` (path -> text)."""
    with tempfile.TemporaryDirectory() as root:
        pathlib.Path(root, "src").mkdir()
        for path, text in files.items():
            file = pathlib.Path(root, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            readme = pathlib.Path(root, *file.relative_to(root).parts[:2], "README.md")
            if path.startswith("src/") and not readme.exists():
                readme.write_text("purpose", encoding="utf-8")
        done = subprocess.run([sys.executable, CHECK, root], capture_output=True, text=True, check=False)
        return done.stdout.splitlines()[:-1], done.returncode


class CheckIncludes(unittest.TestCase):
    def expect(self, path, text, *messages):
        faults, code = run({path: text})
        self.assertEqual(code, 1 if messages else 0)
        self.assertEqual(len(faults), len(messages), faults)
        for fault, message in zip(faults, messages):
            self.assertIn(message, fault)

    def test_sound_files(self):
        self.expect("src/core/a.hpp", "#pragma once\n#include <vector>\n")
        self.expect("src/dist/mpi/a.cpp", '#include "dist/mpi/a.hpp"\n#include <mpi.h>\n#include "core/e.hpp"\n')
        self.expect("checkpoints/options.cpp", "#include <CLI/CLI.hpp>\n")

    def test_edge_upwards(self):
        self.expect("src/core/a.cpp", '\n#include "train/plan.hpp"\n', "src/core/a.cpp:2: core may not include from train")

    def test_interface_may_not_use_its_implementation(self):
        self.expect("src/device/a.cpp", '#include "device/host/a.hpp"\n', ":1: device may not include from device/host")

    def test_model_table_is_apart_from_the_model(self):
        self.expect("src/model/tensor_table.cpp", '#include "kernels/ops.hpp"\n', "may not include from kernels")

    def test_converter_has_no_ranks(self):
        self.expect("checkpoints/a.cpp", '#include "dist/mpi/mpi_session.hpp"\n', "may not include from dist/mpi")

    def test_outside_headers(self):
        for header in ("mpi.h", "hdf5.h", "H5Cpp.h", "cuda.h", "cuda_runtime.h", "nccl.h", "CLI/CLI.hpp", "dnnl.hpp",
                       "oneapi/dnnl/dnnl.hpp", "immintrin.h"):
            self.expect("src/train/a.cpp", f"\n\n#  include  <{header}>\n", f"src/train/a.cpp:3: <{header}> belongs to")

    def test_unknown_include(self):
        self.expect("src/core/a.cpp", '#include "error.hpp"\n', "does not start with a folder")

    def test_unknown_folder(self):
        self.expect("src/novel/a.cpp", "", "src/novel/a.cpp:1: is in a folder that EDGES does not know")

    def test_conditional(self):
        self.expect("src/core/a.hpp", "#pragma once\n#ifdef X\n#endif\n", "src/core/a.hpp:2: conditional compilation")
        self.expect("src/core/error.hpp", "#pragma once\n#if X\n#endif\n")

    def test_pragma_once(self):
        self.expect("src/core/a.hpp", "int x;\n", "src/core/a.hpp:1: has no #pragma once")

    def test_readme(self):
        with tempfile.TemporaryDirectory() as root:
            folder = pathlib.Path(root, "src", "core")
            folder.mkdir(parents=True)
            (folder / "a.cpp").write_text("", encoding="utf-8")
            done = subprocess.run([sys.executable, CHECK, root], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("src/core:1: has no README.md", done.stdout)

    def test_empty_tree_is_no_success(self):
        with tempfile.TemporaryDirectory() as root:
            pathlib.Path(root, "src").mkdir()
            done = subprocess.run([sys.executable, CHECK, root], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main()
