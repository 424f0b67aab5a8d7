// What the gateway signs tickets with: the ticket key. The project's key, which also signs
// generations, pauses and revocations, is read only for runs whose run files name no ticket key.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "peer/base/digest.hpp"
#include "peer/base/error.hpp"
#include "peer/formats/ticket.hpp"
#include "project_server/database/database.hpp"

namespace dedloc::gateway {

/// A ticket of this run cannot be signed until the administrator has mended something.
class CannotSign : public Error {
  public:
    using Error::Error;
};

/// Signs the tickets of a project's runs. Thread: any, each with its own `database`.
class RunSigner {
  public:
    /// What a reply has a signature on.
    struct Signed {
        formats::SignedTicket ticket;        ///< signed with the run's ticket key, or the project's
        formats::SignedRevocations revoked;  ///< signed with the project's key
    };

    /// Reads keys/ticket.key in the folder that server::state_folder() names. Errors: InputError,
    /// IoError.
    explicit RunSigner(const std::filesystem::path& state);

    /// The ticket key.
    const KeyPair& key() const { return key_; }
    /// Signs a ticket of the run with this row. The revocations are those that the run's backbone
    /// has signed; for a run without a ticket key, those of the database.
    /// Errors: CannotSign, DatabaseError.
    Signed sign(server::Database& database, std::int64_t run, const formats::Ticket& ticket);

  private:
    /// What follows from a run's row, which never changes.
    struct KnownRun {
        std::string name;                ///< the name of its folder
        std::optional<KeyPair> project;  ///< the project's key, for a run without a ticket key
    };
    KnownRun known(server::Database& database, std::int64_t run);
    KnownRun read(server::Database& database, std::int64_t run) const;

    const std::filesystem::path state_;
    const KeyPair key_;
    std::mutex mutex_;
    std::map<std::int64_t, KnownRun> runs_;  ///< the rows seen so far; guarded by mutex_
};

}  // namespace dedloc::gateway
