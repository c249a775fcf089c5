#include "checkpoints/convert_command.hpp"
#include "checkpoints/model_report.hpp"
#include "core/error.hpp"

namespace shardgpt {

void inspect_model(const InspectOptions& options, std::ostream& out) {
  const ModelReport report(options.model, options.quick ? ReadValues::no : ReadValues::yes);
  if (options.json) {
    out << report.to_json().dump(2) << '\n';
  } else {
    report.print_text(out);
  }
  const std::string problems = report.problems();
  SHARDGPT_REQUIRE(problems.empty(), problems);
}

}  // namespace shardgpt
