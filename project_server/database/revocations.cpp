// All kinds are rows of one table, whose column `ends` is 0 for a ban and else the time at which
// the last ticket expires. The published list has a limit, so its order decides what is left out:
// voters come first, then bans, then temporary rows, the newest first in each. A ban replaces the
// end of a temporary row; a temporary row never changes a row that exists. Replaced and ended keys
// are found by insert-select statements, which read and write in one step.
#include "project_server/database/revocations.hpp"

#include <fmt/format.h>

#include <charconv>
#include <vector>

#include "peer/wire/limits.hpp"
#include "project_server/database/states.hpp"

namespace dedloc::server {
namespace {

constexpr const char* kUser = "user";
constexpr const char* kHost = "host";
constexpr const char* kPeer = "key";
constexpr const char* kVoter = "voter";        ///< a voter's key, whose ticket is valid for longer
constexpr const char* kReplaced = "replaced";  ///< a key whose job has another one since
constexpr const char* kEnded = "ended";        ///< a key whose job is over

struct Entry {
    const char* kind;
    std::string subject;
};

std::vector<Entry> entries_of(const formats::Revocations& revocations) {
    std::vector<Entry> entries;
    for (const auto id : revocations.users) entries.push_back({kUser, std::to_string(id)});
    for (const auto id : revocations.hosts) entries.push_back({kHost, std::to_string(id)});
    for (const PeerKey& key : revocations.peers) entries.push_back({kPeer, key.hex()});
    return entries;
}

void add(formats::Revocations& revocations, const std::string& kind, const std::string& subject) {
    if (kind == kPeer || kind == kVoter || kind == kReplaced || kind == kEnded) {
        PeerKey key;
        if (from_hex(subject, key.bytes)) revocations.peers.insert(key);
        return;
    }
    std::uint64_t id = 0;
    std::from_chars(subject.data(), subject.data() + subject.size(), id);
    (kind == kUser ? revocations.users : revocations.hosts).insert(id);
}

constexpr const char* kBanColumns =
    "select kind, subject, since, reason from dedloc_revocation where ";

Ban as_ban(const Row& row) {
    return {.kind = row.text("kind"),
            .subject = row.text("subject"),
            .since = row.integer("since"),
            .reason = row.text("reason")};
}

std::optional<Ban> first_ban(const std::optional<Row>& row) {
    return row ? std::optional{as_ban(*row)} : std::nullopt;
}

}  // namespace

formats::Revocations recent_revocations(Database& database, formats::UtcSeconds now) {
    formats::Revocations revocations{.as_of = now, .users = {}, .hosts = {}, .peers = {}};
    for (const Row& row :
         database.query("select kind, subject from dedloc_revocation where (since >= ? "
                        "or (kind = ? and since >= ?)) and (ends = 0 or ends > ?) "
                        "order by kind = ? desc, ends = 0 desc, since desc limit ?",
                        {(now - kTicketLife).time_since_epoch().count(), kVoter,
                         (now - kVoterTicketLife).time_since_epoch().count(),
                         now.time_since_epoch().count(), kVoter, wire::kMaxRevocations})) {
        add(revocations, row.text("kind"), row.text("subject"));
    }
    return revocations;
}

std::string sentence_of(const Ban& ban) {
    if (ban.kind == kReplaced) return "Another process of this job has asked for a ticket since.";
    if (ban.kind == kEnded) return "The job of this key is over.";
    const char* const what = ban.kind == kUser   ? "this account, so its computers get no tasks"
                             : ban.kind == kHost ? "this computer, so it gets no tasks"
                                                 : "this key";
    if (ban.reason.empty()) {
        return fmt::format("The project has banned {}; ask its administrator.", what);
    }
    return fmt::format("The project has banned {}: {}", what, ban.reason);
}

std::optional<Ban> ban_of(Database& database, const formats::Ticket& ticket) {
    return first_ban(database.query_one(
        std::string{kBanColumns} + "(kind = ? and subject = ?) or (kind = ? and subject = ?) or "
                                   "(kind in (?, ?, ?, ?) and subject = ?) order by since limit 1",
        {kUser, std::to_string(ticket.job.user), kHost, std::to_string(ticket.job.host), kPeer,
         kVoter, kReplaced, kEnded, ticket.peer.hex()}));
}

std::optional<Ban> ban_of(Database& database, std::int64_t user, std::int64_t host) {
    return first_ban(database.query_one(
        std::string{kBanColumns} +
            "(kind = ? and subject = ?) or (kind = ? and subject = ?) order by since limit 1",
        {kUser, std::to_string(user), kHost, std::to_string(host)}));
}

std::vector<Ban> bans(Database& database, const std::string& kind, int limit) {
    std::vector<Ban> list;
    for (const Row& row :
         database.query(std::string{kBanColumns} + "kind = ? order by since desc, subject limit ?",
                        {kind, limit})) {
        list.push_back(as_ban(row));
    }
    return list;
}

void revoke_voter(Database& database, const PeerKey& key, formats::UtcSeconds now) {
    database.execute("replace into dedloc_revocation (kind, subject, since) values (?, ?, ?)",
                     {kVoter, key.hex(), now.time_since_epoch().count()});
}

void revoke(Database& database, const formats::Revocations& revocations, formats::UtcSeconds now,
            const std::string& reason) {
    for (const Entry& entry : entries_of(revocations)) {
        database.execute(
            "insert into dedloc_revocation (kind, subject, since, reason) values (?, ?, ?, ?) "
            "on duplicate key update reason = if(values(reason) = '', reason, values(reason)), "
            "ends = 0",
            {entry.kind, entry.subject, now.time_since_epoch().count(), reason});
    }
}

void revoke_deleted_account(Database& database, std::int64_t user, formats::UtcSeconds now) {
    const std::int64_t seconds = now.time_since_epoch().count();
    const auto last = database.query_one(
        "select max(expires) as ends from dedloc_ticket where userid = ? and expires > ?",
        {user, seconds});
    if (!last || last->is_null("ends")) return;
    database.execute(
        "insert ignore into dedloc_revocation (kind, subject, since, reason, ends) "
        "values (?, ?, ?, 'the account was deleted', ?)",
        {kUser, std::to_string(user), seconds, last->integer("ends")});
}

void revoke_replaced(Database& database, const formats::Ticket& ticket) {
    const std::int64_t seconds = ticket.issued.time_since_epoch().count();
    database.execute(
        "insert ignore into dedloc_revocation (kind, subject, since, reason, ends) "
        "select ?, peer_key, ?, '', expires from dedloc_ticket "
        "where resultid = ? and peer_key <> ? and expires > ?",
        {kReplaced, seconds, static_cast<std::int64_t>(ticket.job.result), ticket.peer.hex(),
         seconds});
}

void revoke_ended(Database& database, const char* column, const Parameter& value,
                  std::uint64_t keep, formats::UtcSeconds now) {
    const std::int64_t seconds = now.time_since_epoch().count();
    database.execute(
        fmt::format("insert ignore into dedloc_revocation (kind, subject, since, reason, ends) "
                    "select ?, t.peer_key, ?, '', t.expires from dedloc_ticket t left join result "
                    "r on r.id = t.resultid where t.{} = ? and t.expires > ? and (r.id is null or "
                    "r.server_state <> ?) and not exists (select 1 from dedloc_revocation v where "
                    "v.kind in (?, ?) and v.subject = t.peer_key) order by t.issued desc, "
                    "t.peer_key limit ? offset ?",
                    column),
        {kEnded, seconds, value, seconds, ServerState::kInProgress, kReplaced, kEnded,
         wire::kMaxRevocations, keep});
}

std::uint64_t forgive(Database& database, const formats::Revocations& revocations) {
    std::uint64_t count = 0;
    for (const Entry& entry : entries_of(revocations)) {
        count += database.execute("delete from dedloc_revocation where kind = ? and subject = ?",
                                  {entry.kind, entry.subject});
    }
    for (const PeerKey& key : revocations.peers) {
        count += database.execute("delete from dedloc_revocation where kind = ? and subject = ?",
                                  {kVoter, key.hex()});
    }
    return count;
}

}  // namespace dedloc::server
