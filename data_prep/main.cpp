#include <exception>
#include <iostream>
#include <variant>

#include "core/error.hpp"
#include "core/log.hpp"
#include "data_prep/commands.hpp"
#include "data_prep/prep_options.hpp"
#include "tokens/lost_pages.hpp"

namespace {

void run(const shardgpt::PrepCommand& command) {
  struct Runner {
    void operator()(const shardgpt::EncodeOptions& options) const {
      shardgpt::run_encode(options, std::cout);
    }
    void operator()(const shardgpt::TrainBpeOptions& options) const {
      shardgpt::run_train_bpe(options, std::cout);
    }
    void operator()(const shardgpt::DecodeOptions& options) const {
      shardgpt::run_decode(options, std::cout);
    }
    void operator()(const shardgpt::InspectOptions& options) const {
      shardgpt::run_inspect(options, std::cout);
    }
    void operator()(const shardgpt::VerifyOptions& options) const {
      shardgpt::run_verify(options, std::cout);
    }
    void operator()(const shardgpt::ImportOptions& options) const {
      shardgpt::run_import(options, std::cout);
    }
    void operator()(const shardgpt::ExportOptions& options) const {
      shardgpt::run_export(options, std::cout);
    }
  };
  if (command.text.empty()) {
    std::visit(Runner{}, command.options);
  } else {
    std::cout << command.text;
  }
  if (!std::cout.flush()) {
    throw shardgpt::Error("cannot write to standard output");
  }
}

}  // namespace

int main(int argc, char** argv) {
  shardgpt::set_log_prefix("shardgpt-prep");
  try {
    shardgpt::explain_lost_pages("shardgpt-prep");
    run(shardgpt::parse_prep_options(argc, argv));
    return shardgpt::exit_done;
  } catch (const shardgpt::InputError& error) {
    shardgpt::log_error(error.what());
    return shardgpt::exit_bad_input;
  } catch (const std::exception& error) {
    shardgpt::log_error(error.what());
    return shardgpt::exit_error;
  }
}
