// A code is found by the first 16 digits of its hash, which is unique by chance and by a key; the
// whole hash is then compared in constant time. The hash is a fast one: a code has 80 random bits,
// so its hash cannot be searched. A place is taken by one update that matches only a row with a
// free place, whose lock it holds until the account is made.
#include "project_server/accounts/invitations.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <array>

#include "peer/base/error.hpp"
#include "peer/base/utc_text.hpp"
#include "project_server/accounts/invitation_code.hpp"
#include "project_server/accounts/sessions.hpp"
#include "project_server/database/account_keys.hpp"

namespace dedloc::server {
namespace {

constexpr std::size_t kTagDigits = 16;
constexpr const char* kNoSuchInvitation = "The invitation code is not valid.";
constexpr const char* kInvitationColumns = "id, places, taken, created, expires, revoked, note";

std::string hash_of_code(const std::string& symbols) {
    return stored_secret("invitation", symbols);
}

Invitation invitation_in(const Row& row) {
    return {.id = row.integer("id"),
            .places = row.integer("places"),
            .taken = row.integer("taken"),
            .created = row.integer("created"),
            .expires = row.integer("expires"),
            .revoked = row.integer("revoked"),
            .note = row.text("note")};
}

}  // namespace

std::optional<std::string> Invitation::fault(double now) const {
    if (revoked != 0) return "The invitation has been withdrawn.";
    if (expires != 0 && now >= static_cast<double>(expires)) {
        return fmt::format("The invitation has expired ({} UTC).",
                           utc_text(expires, "%Y-%m-%d %H:%M"));
    }
    if (taken >= places) return "The invitation has been used up.";
    return std::nullopt;
}

MadeInvitation make_invitation(Database& database, const Invitation& wanted, double now) {
    if (wanted.places < 1 || wanted.places > kMaxInvitationPlaces) {
        throw InputError(
            fmt::format("an invitation is for 1 to {} accounts", kMaxInvitationPlaces));
    }
    if (wanted.expires != 0 && static_cast<double>(wanted.expires) <= now) {
        throw InputError("an invitation expires in the future");
    }
    if (wanted.note.size() > kMaxInvitationNote) {
        throw InputError(fmt::format("a note has at most {} bytes", kMaxInvitationNote));
    }
    std::array<std::byte, 10> random{};
    randombytes_buf(random.data(), random.size());
    const std::string symbols = invitation_symbols(random);
    const std::string hash = hash_of_code(symbols);
    try {
        database.execute(
            "insert into dedloc_invitation (tag, hash, places, created, expires, note) "
            "values (?, ?, ?, ?, ?, ?)",
            {hash.substr(0, kTagDigits), hash, wanted.places, static_cast<std::int64_t>(now),
             wanted.expires, wanted.note});
    } catch (const RefusedData&) {
        throw InputError("a note must be UTF-8");
    }
    return {.id = database.insert_id(), .code = write_invitation_code(symbols)};
}

std::vector<Invitation> read_invitations(Database& database) {
    std::vector<Invitation> all;
    for (const Row& row : database.query(fmt::format(
             "select {} from dedloc_invitation order by id desc", kInvitationColumns))) {
        all.push_back(invitation_in(row));
    }
    return all;
}

bool revoke_invitation(Database& database, std::int64_t id, double now) {
    return database.execute(
               "update dedloc_invitation set revoked = if(revoked = 0, ?, revoked) where id = ?",
               {static_cast<std::int64_t>(now), id}) > 0;
}

InvitationCheck check_invitation(Database& database, std::string_view typed, double now) {
    const auto symbols = read_invitation_code(typed);
    if (!symbols) return {.id = 0, .refusal = kNoSuchInvitation};
    const std::string hash = hash_of_code(*symbols);
    const auto row = database.query_one(
        fmt::format("select hash, {} from dedloc_invitation where tag = ?", kInvitationColumns),
        {hash.substr(0, kTagDigits)});
    if (!row || !is_same_secret(row->text("hash"), hash)) {
        return {.id = 0, .refusal = kNoSuchInvitation};
    }
    const Invitation found = invitation_in(*row);
    if (auto fault = found.fault(now)) return {.id = 0, .refusal = std::move(fault)};
    return {.id = found.id, .refusal = std::nullopt};
}

std::optional<std::string> take_place(Database& database, std::int64_t id, double now) {
    const auto seconds = static_cast<std::int64_t>(now);
    if (database.execute("update dedloc_invitation set taken = taken + 1 where id = ? and "
                         "taken < places and revoked = 0 and (expires = 0 or expires > ?)",
                         {id, seconds}) > 0) {
        return std::nullopt;
    }
    // A locking read: the transaction's snapshot may be older than what the update has seen.
    const auto row = database.query_one(
        fmt::format("select {} from dedloc_invitation where id = ? for update", kInvitationColumns),
        {id});
    if (!row) return kNoSuchInvitation;
    return invitation_in(*row).fault(now).value_or(kNoSuchInvitation);
}

}  // namespace dedloc::server
