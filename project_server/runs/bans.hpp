// Bans: of accounts, of computers and of single keys, in the running swarms and in the database.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace dedloc::runs {

/// What is banned.
enum class BanKind : std::uint8_t {
    kUser,  ///< an account with all of its computers, also those that come later
    kHost,  ///< one computer
    kKey    ///< one peer
};

/// Arguments of ban() and unban().
struct BanOptions {
    std::filesystem::path project;   ///< the project's folder
    BanKind kind = BanKind::kUser;   ///< what the names are names of
    std::vector<std::string> names;  ///< as lookup.hpp takes them; keys as 64 hex digits
    std::string reason{};            ///< one line for the volunteer; empty: none
};
/// What ban() and unban() have done.
struct BanOutcome {
    std::vector<std::string> subjects;  ///< ids of accounts or computers, or keys
    std::size_t backbones = 0;          ///< backbones that have acted already
    bool is_in_database = true;  ///< false: it was away; the runs' folders keep the ban for it,
                                 ///< without the reason
};

/// Closes the links of these peers at every backbone of the project and refuses them from now on,
/// then writes the ban into the database, so the gateway and the scheduler refuse them, too. Works
/// without the database for ids and keys. Repeating it changes only the reason.
/// Errors: InputError (no such project, account or computer; a bad reason), IoError, DatabaseError.
BanOutcome ban(const BanOptions& options);

/// Withdraws a ban. Errors: InputError (also: it is not banned), IoError, DatabaseError.
BanOutcome unban(const BanOptions& options);

}  // namespace dedloc::runs
