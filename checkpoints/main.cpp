#include <exception>
#include <iostream>

#include "checkpoints/options.hpp"
#include "core/error.hpp"
#include "core/log.hpp"

int main(int argc, char** argv) {
  using namespace shardgpt;
  set_log_prefix("shardgpt-convert");
  try {
    const ConvertRequest request = parse_convert_options(argc, argv);
    if (request.command) {
      request.command(std::cout);
    } else {
      std::cout << request.text;
    }
    std::cout.flush();
    if (!std::cout) {
      throw Error("cannot write to standard output");
    }
    return exit_done;
  } catch (const InputError& error) {
    log_error(error.what());
    return exit_bad_input;
  } catch (const std::exception& error) {
    log_error(error.what());
    return exit_error;
  }
}
