"""Writes unicode_ranges.cpp: the letters and numbers of one version of Unicode.

Usage: pip install unicodedata2==16.0.0 && python make_unicode_ranges.py > unicode_ranges.cpp
The version is that of the regular expression engines within Hugging Face tokenizers and tiktoken, which
`make check-hf` compares code point by code point.
"""
import unicodedata2

COLUMNS = 5


def ranges_of(category):
    """First and last code points of the runs of characters whose general category begins so."""
    runs = []
    for code_point in range(0x110000):
        if unicodedata2.category(chr(code_point))[0] == category:
            if runs and runs[-1][1] == code_point - 1:
                runs[-1][1] = code_point
            else:
                runs.append([code_point, code_point])
    return runs


def print_table(name, runs):
    print(f"\nconstexpr CodePointRange {name}[] = {{")
    for begin in range(0, len(runs), COLUMNS):
        print("    " + " ".join(f"{{0x{first:04x}, 0x{last:04x}}}," for first, last in runs[begin:begin + COLUMNS]))
    print("};")


print("// Written by make_unicode_ranges.py; do not edit.")
print('#include "data_prep/unicode_ranges.hpp"\n\nnamespace shardgpt {\nnamespace {\n\n// clang-format off')
print_table("letters", ranges_of("L"))
print_table("numbers", ranges_of("N"))
print("\n// clang-format on\n\n}  // namespace\n")
print(f'std::string_view unicode_version() {{\n  return "{unicodedata2.unidata_version}";\n}}\n')
print("std::span<const CodePointRange> letter_ranges() {\n  return letters;\n}\n")
print("std::span<const CodePointRange> number_ranges() {\n  return numbers;\n}\n")
print("}  // namespace shardgpt")
