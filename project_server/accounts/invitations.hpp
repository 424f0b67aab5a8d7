// Invitations: a code that an administrator makes and gives to people: each makes one account
// with it. The database has a hash of a code, so neither a backup nor `dedloc invite list`
// tells one.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "project_server/accounts/throttle.hpp"
#include "project_server/database/database.hpp"

namespace dedloc::server {

/// Accounts that one code may make.
inline constexpr std::int64_t kMaxInvitationPlaces = 1'000'000;
/// Bytes of the administrator's note on a code.
inline constexpr std::size_t kMaxInvitationNote = 200;

/// Refused codes, counted by the client's address only: strangers cannot lock anyone out. A guess
/// succeeds with a chance of 2^-80, so the limit is about load.
inline constexpr ThrottleLimits kInvitationLimits{.pair = 20,
                                                  .address = 20,
                                                  .account = std::numeric_limits<int>::max(),
                                                  .window = std::chrono::minutes{15}};
/// What a Throttle counts refused codes for.
inline constexpr const char* kInvitationSubject = "invitation";
/// The sentence for a client over these limits.
inline constexpr const char* kTooManyInvitations =
    "Too many invitation codes were wrong. Try again in a quarter of an hour.";

/// A row of dedloc_invitation. Times in UTC seconds.
struct Invitation {
    std::int64_t id = 0;       ///< number by which it is revoked
    std::int64_t places = 1;   ///< accounts that it may make
    std::int64_t taken = 0;    ///< accounts that it has made
    std::int64_t created = 0;  ///< when it was made
    std::int64_t expires = 0;  ///< when it stops admitting accounts; 0: never
    std::int64_t revoked = 0;  ///< when an administrator has revoked it; 0: not
    std::string note{};        ///< the administrator's

    /// Why it makes no account now, a sentence for a visitor; nothing: it does.
    std::optional<std::string> fault(double now) const;
};

/// A new invitation.
struct MadeInvitation {
    std::int64_t id = 0;  ///< Invitation::id
    std::string code;     ///< shown once; the database has only its hash
};
/// Makes an invitation with `places`, `expires` and `note` of `wanted`. Errors: DatabaseError;
/// InputError for values out of range or a note that is not UTF-8 or too long.
MadeInvitation make_invitation(Database& database, const Invitation& wanted, double now);
/// All of them, the newest first. Errors: DatabaseError.
std::vector<Invitation> read_invitations(Database& database);
/// Ends an invitation; its accounts stay. False if there is none with this id. Errors:
/// DatabaseError.
bool revoke_invitation(Database& database, std::int64_t id, double now);

/// Whether a code that was typed makes an account.
struct InvitationCheck {
    std::int64_t id = 0;                 ///< the invitation; 0 if refused
    std::optional<std::string> refusal;  ///< why not, a sentence for the visitor
};
/// Looks a code up, which is compared in constant time. Errors: DatabaseError. Cost: one statement,
/// by a unique key.
InvitationCheck check_invitation(Database& database, std::string_view typed, double now);
/// Takes a place of an invitation, inside the transaction that makes the account: of two requests
/// for the last place one gets it, and a transaction that fails gives it back. Returns why there is
/// none, nothing when it is taken. Errors: DatabaseError.
std::optional<std::string> take_place(Database& database, std::int64_t id, double now);

}  // namespace dedloc::server
