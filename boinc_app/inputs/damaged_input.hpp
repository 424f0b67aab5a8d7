// An input file of a job that is not what the project made.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "peer/base/error.hpp"

namespace dedloc::inputs {

/// The file cannot be what the project made: it was damaged on this machine. BOINC's client checks
/// a downloaded file once, and would give the damaged one to each later job; if it is gone, the
/// client downloads it again.
class DamagedInput final : public InputError {
  public:
    DamagedInput(const std::string& sentence, std::filesystem::path file)
        : InputError(sentence), file_(std::move(file)) {}

    const std::filesystem::path& file() const { return file_; }

  private:
    std::filesystem::path file_;
};

}  // namespace dedloc::inputs
