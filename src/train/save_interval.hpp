#pragma once

#include <optional>
#include <string>

namespace shardgpt {

/// The time between checkpoints that loses least to saving and to repeated work together, by Young's
/// first-order formula sqrt(2 C M) with the cost C, the time that a save holds training up, and the mean time
/// between failures M, both in seconds (J. W. Young, Comm. ACM 17 (1974) 530; J. T. Daly, Future Gener.
/// Comput. Syst. 22 (2006) 303). For a save beside training C is the delay it causes, not its duration: the
/// latency does not move the optimum (N. H. Vaidya, IEEE Trans. Comput. 46 (1997) 942).
[[nodiscard]] double young_daly_interval(double cost_seconds, double mtbf_seconds);

/// What one save cost, and what is known of the run.
struct SaveCost {
  double held_up = 0;                  ///< seconds by which training came later
  double durable_after = 0;            ///< seconds from the border to the checkpoint's being on disk
  std::optional<double> step_seconds;  ///< of a step without a save, where one was seen
};

/// A line for the log: the suggested interval in steps and minutes and what it rests on. It is never shorter
/// than a save takes, as there is one in flight at most.
[[nodiscard]] std::string suggest_interval(const SaveCost& cost, double mtbf_hours);

}  // namespace shardgpt
