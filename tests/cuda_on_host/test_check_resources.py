#!/usr/bin/env python3
"""check_resources.py finds spills, local memory, missing architectures and exemptions that nobody needs."""

import unittest

import check_resources

REPORT = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'sound' for 'sm_80'
ptxas info    : Function properties for sound
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 14 registers, used 0 barriers, 256 bytes smem, 380 bytes cmem[0]
ptxas info    : Compiling entry function 'spills' for 'sm_90a'
ptxas info    : Function properties for spills
    40 bytes stack frame, 24 bytes spill stores, 32 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 388 bytes cmem[0]
"""


class CheckResources(unittest.TestCase):
    def faults(self, capabilities=(), allowed=None):
        kernels = check_resources.kernels_of(REPORT)
        return list(check_resources.faults_of(kernels, capabilities, allowed or {}, {}))

    def test_kernels_are_read(self):
        kernels = check_resources.kernels_of(REPORT)
        self.assertEqual(kernels["sound", "80"], {"memory": (0, 0, 0), "registers": 14})
        self.assertEqual(kernels["spills", "90a"], {"memory": (40, 24, 32), "registers": 255})

    def test_spills_are_a_fault(self):
        self.assertEqual(self.faults(), ["spills, sm_90a: 40 bytes of local memory, 24 bytes stored and 32 loaded by "
                                         "spills"])

    def test_local_memory_of_a_called_function_is_the_kernels(self):
        kernels = check_resources.kernels_of(REPORT.split("ptxas info    : Compiling entry function 'spills'")[0] +
                                             "ptxas info    : Function properties for helper\n"
                                             "    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n")
        self.assertEqual(kernels["sound", "80"]["memory"], (8, 0, 0))

    def test_every_kernel_is_compiled_for_every_capability(self):
        faults = self.faults(capabilities=("80",), allowed={"spills": "a reason"})
        self.assertEqual(faults, ["spills: not compiled for sm_80"])

    def test_exemptions(self):
        self.assertEqual(self.faults(allowed={"spills": "a reason"}), [])
        self.assertEqual(self.faults(allowed={"spills": "a reason", "gone": "a reason"}),
                         ['ALLOWED has "gone", which no kernel needs'])


if __name__ == "__main__":
    unittest.main()
