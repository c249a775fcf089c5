#pragma once

#include <filesystem>
#include <string_view>

namespace shardgpt {

/// Claims an output folder for one process while it writes a set there, by a file that stays behind where the
/// process is killed: so the next run knows that what lies there is its own unfinished work, and two runs at
/// a time cannot mix.
class FolderClaim {
 public:
  /// What the folder holds beside the claim.
  enum class State {
    empty,       ///< nothing of ours, or what a killed run has left
    replacing,   ///< an older set, whole until the new one is published
    publishing,  ///< the older set is going, or both are mixed
  };

  /// Throws InputError where another process is at work in the folder, Error where the file cannot be made.
  explicit FolderClaim(std::filesystem::path folder);
  FolderClaim(const FolderClaim&) = delete;
  FolderClaim& operator=(const FolderClaim&) = delete;
  /// Keeps the file where the state is `publishing`, else removes it.
  ~FolderClaim();

  /// Whether a run that did not get to its end has left its work here, to be thrown away.
  [[nodiscard]] bool has_leftovers() const { return has_leftovers_; }
  /// Recorded durably.
  void set(State state);
  /// Removes the file: the set is complete.
  void release();

 private:
  void open();
  [[nodiscard]] std::string_view recorded(char* buffer, std::size_t size) const;
  void remove() noexcept;

  std::filesystem::path path_;
  int file_ = -1;
  State state_ = State::empty;
  bool has_leftovers_ = false;
};

inline constexpr std::string_view claim_file_name = "dataset.json.unfinished";

}  // namespace shardgpt
