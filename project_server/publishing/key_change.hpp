// Replaces the key that signs app versions.
//
// The new key and all that a change needs is first collected in keys/next. The change itself is one
// transaction: it writes the new signatures into all versions and the new key beside them, where
// the scheduler reads both. Before it everything is as it was; after it everything is new, and what
// remains is to put the new pair into keys/ for those who sign.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

#include "project_server/database/database.hpp"
#include "project_server/database/project_config.hpp"
#include "project_server/publishing/signing_request.hpp"

namespace dedloc::server {

/// Folder in keys/ that exists while a change is under way.
inline constexpr const char* kNextKeys = "next";

/// What has become of a change.
struct KeyChange {
    std::size_t versions = 0;      ///< app versions that were signed now
    std::size_t files = 0;         ///< files of them; each is counted once
    bool was_interrupted = false;  ///< it was begun by a process that did not complete it
    bool has_private_key = false;  ///< the new private key is in keys/
};

/// What another machine must sign for a change. Reads all files of all versions. Errors: InputError
/// (a file is absent or not what the present key has signed), IoError, DatabaseError.
SigningRequest signing_request(Database& database, const ProjectConfig& config);

/// Changes the key, or completes a change that was interrupted. With an empty `answer` the new pair
/// is made here, and the present private key must be here; else `answer` is the folder that
/// answer_signing_request() has written, and no private key stays here. `begins` is told each step.
///
/// Crash   at any moment: clients get either the former key with its signatures or the new one with
///         its own; call it again
/// Errors  InputError (no private key here, no signature of a file, a file that is absent or
///         altered), IoError (also when versions are added or a backup is made meanwhile),
///         DatabaseError
KeyChange change_key(Database& database, const ProjectConfig& config,
                     const std::filesystem::path& answer,
                     const std::function<void(const std::string&)>& begins);

}  // namespace dedloc::server
