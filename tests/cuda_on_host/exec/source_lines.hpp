#pragma once

#include <string>

namespace cuda_on_host {

/// "function at file:line" of an address in this program's code, innermost inlined function first, as
/// addr2line says; the bare address where there is no addr2line or no debug information. Starts a process.
std::string source_line(const void* code);

}  // namespace cuda_on_host
