#include "checkpoint/part_files.hpp"

#include <algorithm>
#include <iomanip>
#include <random>
#include <sstream>
#include <string_view>
#include <vector>

#include "checkpoint/layout.hpp"
#include "checkpoint/part_records.hpp"
#include "core/atomic_file.hpp"
#include "h5/h5_file.hpp"

namespace shardgpt {
namespace {

constexpr std::string_view infix = ".parts-";
constexpr std::string_view temporary_ending = ".tmp";
constexpr std::string_view index_ending = ".h5";
constexpr std::size_t id_digits = 16;

bool is_save_id(std::string_view text) {
  return text.size() == id_digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// "a" of "a.h5", which the folders of parts are named after.
std::string stem_of(const std::filesystem::path& index) {
  std::string name = index.filename().string();
  if (name.ends_with(index_ending)) {
    name.resize(name.size() - index_ending.size());
  }
  return name;
}

std::filesystem::path folder_of(const std::filesystem::path& index) {
  return index.has_parent_path() ? index.parent_path() : std::filesystem::path(".");
}

/// The ID of a finished folder of parts of `index`; empty for any other name.
std::string id_of(const std::filesystem::path& index, const std::string& name) {
  const std::string start = stem_of(index) + std::string(infix);
  return name.starts_with(start) && is_save_id(std::string_view(name).substr(start.size()))
             ? name.substr(start.size())
             : "";
}

/// The save that a file refers to; empty for a checkpoint in one file. Throws H5Error.
std::string referred_save(const std::filesystem::path& file) {
  const H5File index = H5File::open(file, H5File::Access::read);
  return index.contains(layout::part_save) ? read_save_id(index) : std::string();
}

}  // namespace

std::string new_save_id() {
  std::random_device random;
  std::ostringstream id;
  id << std::hex << std::setfill('0') << std::setw(8) << random() << std::setw(8) << random();
  return id.str();
}

std::filesystem::path parts_folder(const std::filesystem::path& index, const std::string& save_id) {
  return index.parent_path() / (stem_of(index) + std::string(infix) + save_id);
}

std::filesystem::path temporary_parts_folder(const std::filesystem::path& index, const std::string& save_id) {
  return parts_folder(index, save_id).string() + std::string(temporary_ending);
}

std::string part_file_name(std::int64_t part) {
  std::ostringstream name;
  name << "part_" << std::setfill('0') << std::setw(4) << part << index_ending;
  return name.str();
}

PartsFolder parts_folder_kind(const std::string& name) {
  std::string_view rest = name;
  const bool temporary = rest.ends_with(temporary_ending);
  if (temporary) {
    rest.remove_suffix(temporary_ending.size());
  }
  const std::size_t at = rest.rfind(infix);
  if (at == std::string_view::npos || !is_save_id(rest.substr(at + infix.size()))) {
    return PartsFolder::none;
  }
  return temporary ? PartsFolder::temporary : PartsFolder::finished;
}

std::filesystem::path index_of_parts(const std::filesystem::path& folder) {
  const std::string name = folder.filename().string();
  return folder.parent_path() / (name.substr(0, name.rfind(infix)) + std::string(index_ending));
}

void remove_checkpoint(const std::filesystem::path& index) {
  std::filesystem::remove(index);
  remove_orphan_parts(index);
}

void remove_orphan_parts(const std::filesystem::path& index) {
  std::vector<std::filesystem::path> folders;
  std::vector<std::filesystem::path> owners;
  const std::string name = index.filename().string();
  for (const auto& entry : std::filesystem::directory_iterator(folder_of(index))) {
    const std::string found = entry.path().filename().string();
    if (entry.is_directory() && !id_of(index, found).empty()) {
      folders.push_back(entry.path());
    } else if (entry.is_regular_file() && (found == name || found.starts_with(name + ".damaged"))) {
      owners.push_back(entry.path());
    }
  }
  if (folders.empty()) {
    return;
  }
  sync_folder(
      folder_of(index));  // an index that was removed or replaced must not come back without its parts
  std::vector<std::string> used;
  for (const auto& owner : owners) {
    try {
      used.push_back(referred_save(owner));
    } catch (const H5Error&) {
      return;
    }
  }
  for (const auto& folder : folders) {
    if (std::ranges::find(used, id_of(index, folder.filename().string())) == used.end()) {
      std::filesystem::remove_all(folder);
    }
  }
}

}  // namespace shardgpt
