#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace shardgpt {

/// What one document of a text is: the whole input, a line without its end, a WikiText article (from a
/// heading ` = Title = ` to the next), or what stands between separators. A JSONL line is always one, and so
/// is a row of a Parquet file, except by headings.
enum class DocumentPolicy { file, line, heading, separator };

/// Finds where documents end in a text that comes in pieces. The caller keeps the text that is not yet
/// consumed and appends to it.
class BoundaryFinder {
 public:
  struct Boundary {
    std::size_t end = 0;   ///< of the document
    std::size_t next = 0;  ///< begin of the next one
  };

  BoundaryFinder() = default;
  BoundaryFinder(const BoundaryFinder&) = delete;
  BoundaryFinder& operator=(const BoundaryFinder&) = delete;
  virtual ~BoundaryFinder() = default;

  /// The first boundary in `text`; the caller then consumes it up to `next`. `at_end`: nothing follows
  /// `text`.
  [[nodiscard]] virtual std::optional<Boundary> find(std::string_view text, bool at_end) = 0;
  /// After `find` gave none: how much of `text` belongs to the document for certain.
  [[nodiscard]] virtual std::size_t decided(std::string_view text) const = 0;
  /// `front` is taken off the text.
  virtual void consume(std::string_view front) = 0;
};

/// A finder for one input. `separator` is for DocumentPolicy::separator.
[[nodiscard]] std::unique_ptr<BoundaryFinder> make_boundary_finder(DocumentPolicy policy,
                                                                   const std::string& separator);

}  // namespace shardgpt
