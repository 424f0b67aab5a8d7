#include "project_server/database/revocations.hpp"

#include <charconv>
#include <vector>

#include "peer/wire/limits.hpp"

namespace dedloc::server {
namespace {

constexpr const char* kUser = "user";
constexpr const char* kHost = "host";
constexpr const char* kPeer = "key";
constexpr const char* kVoter = "voter";  ///< a voter's key, whose ticket is valid for longer

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
    if (kind == kPeer || kind == kVoter) {
        PeerKey key;
        if (from_hex(subject, key.bytes)) revocations.peers.insert(key);
        return;
    }
    std::uint64_t id = 0;
    std::from_chars(subject.data(), subject.data() + subject.size(), id);
    (kind == kUser ? revocations.users : revocations.hosts).insert(id);
}

}  // namespace

formats::Revocations recent_revocations(Database& database, formats::UtcSeconds now) {
    formats::Revocations revocations{.as_of = now, .users = {}, .hosts = {}, .peers = {}};
    for (const Row& row :
         database.query("select kind, subject from dedloc_revocation where since >= ? "
                        "or (kind = ? and since >= ?) order by kind = ? desc, since desc limit ?",
                        {(now - kTicketLife).time_since_epoch().count(), kVoter,
                         (now - kVoterTicketLife).time_since_epoch().count(), kVoter,
                         wire::kMaxRevocations})) {
        add(revocations, row.text("kind"), row.text("subject"));
    }
    return revocations;
}

bool is_revoked(Database& database, const formats::Ticket& ticket) {
    const auto row = database.query_one(
        "select count(*) as n from dedloc_revocation where (kind = ? and subject = ?) "
        "or (kind = ? and subject = ?) or (kind in (?, ?) and subject = ?)",
        {kUser, std::to_string(ticket.seat.user), kHost, std::to_string(ticket.seat.host), kPeer,
         kVoter, ticket.peer.hex()});
    return row->integer("n") > 0;
}

bool is_revoked(Database& database, std::int64_t user, std::int64_t host) {
    const auto row = database.query_one(
        "select count(*) as n from dedloc_revocation where (kind = ? and subject = ?) "
        "or (kind = ? and subject = ?)",
        {kUser, std::to_string(user), kHost, std::to_string(host)});
    return row->integer("n") > 0;
}

void revoke_voter(Database& database, const PeerKey& key, formats::UtcSeconds now) {
    database.execute("replace into dedloc_revocation (kind, subject, since) values (?, ?, ?)",
                     {kVoter, key.hex(), now.time_since_epoch().count()});
}

void revoke(Database& database, const formats::Revocations& revocations, formats::UtcSeconds now) {
    for (const Entry& entry : entries_of(revocations)) {
        database.execute("replace into dedloc_revocation (kind, subject, since) values (?, ?, ?)",
                         {entry.kind, entry.subject, now.time_since_epoch().count()});
    }
}

void forgive(Database& database, const formats::Revocations& revocations) {
    for (const Entry& entry : entries_of(revocations)) {
        database.execute("delete from dedloc_revocation where kind = ? and subject = ?",
                         {entry.kind, entry.subject});
    }
    for (const PeerKey& key : revocations.peers) {
        database.execute("delete from dedloc_revocation where kind = ? and subject = ?",
                         {kVoter, key.hex()});
    }
}

}  // namespace dedloc::server
