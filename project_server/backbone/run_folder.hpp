// PROJECT/runs/NAME: what a run is made of on the project's disk.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "peer/base/digest.hpp"
#include "peer/wire/run_file.hpp"

namespace dedloc::backbone {

struct RunFolder {
    std::filesystem::path folder;
    wire::RunFile run;
    RunId id;
    KeyPair key;  ///< the backbone's
    /// The project's, if it lies here: then this backbone may sign generations.
    std::optional<KeyPair> project_key;

    std::filesystem::path ledger() const { return folder / "ledger"; }
    /// What the backbone has promised and voted for.
    std::filesystem::path voter() const { return folder / "voter"; }
    std::filesystem::path last_decision() const { return folder / "last_decision"; }
    std::filesystem::path checkpoints() const { return folder / "checkpoints"; }
    std::filesystem::path dht_nodes() const { return folder / "dht_nodes"; }
};

/// Reads run.json, backbone.key and, if it can be read, the project's keys/project.key. Throws
/// InputError (no such run, a file cannot be used, the key is another one).
RunFolder read_run_folder(const std::filesystem::path& project, const std::string& run_name);

}  // namespace dedloc::backbone
