// The runs of a project, as their folders have them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc::check {

/// PROJECT/runs/NAME.
struct RunFolder {
    std::filesystem::path folder;  ///< its name is the run's
    /// run.json with the sources that were added in mid-run; nothing if one of them cannot be used.
    std::optional<formats::RunFile> run;
    RunId id{};           ///< the run's id
    std::string failure;  ///< why it cannot be used

    /// The run's name by its folder.
    std::string name() const { return folder.filename().string(); }
    /// Its ledger file, which may be absent.
    std::filesystem::path ledger() const { return folder / "ledger"; }
};

/// All runs in `state`/runs, by name. Unfinished folders are left out. Errors: IoError.
std::vector<RunFolder> run_folders(const std::filesystem::path& state);

}  // namespace dedloc::check
