// The database may take seconds to fail, so it is used without mutex_, which revoke() needs.
#include "project_server/backbone/revocation_watch.hpp"

#include <algorithm>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "project_server/backbone/pending_revocations.hpp"

namespace dedloc::backbone {
namespace {

using control::Revocation;

void write_to(server::Database& database, const Revocation& named, formats::UtcSeconds now) {
    formats::Revocations revocations;
    revocations.users.insert(named.users.begin(), named.users.end());
    revocations.hosts.insert(named.hosts.begin(), named.hosts.end());
    revocations.peers.insert(named.keys.begin(), named.keys.end());
    server::revoke(database, revocations, now);
    for (const PeerKey& voter : named.voters) server::revoke_voter(database, voter, now);
}

}  // namespace

RevocationWatch::RevocationWatch(RevocationOptions options)
    : options_(std::move(options)), pending_(read_pending(options_.pending)) {}

/// Requires mutex_.
void RevocationWatch::publish(formats::UtcSeconds now) {
    latest_ = std::max(latest_, now);
    formats::Revocations all = known_;
    all.as_of = latest_;
    all.users.insert(pending_.users.begin(), pending_.users.end());
    all.hosts.insert(pending_.hosts.begin(), pending_.hosts.end());
    all.peers.insert(pending_.keys.begin(), pending_.keys.end());
    all.peers.insert(pending_.voters.begin(), pending_.voters.end());
    options_.publish(all);
}

void RevocationWatch::poll(formats::UtcSeconds now) {
    const std::lock_guard database_lock{database_mutex_};
    if (!options_.database) {
        const std::lock_guard lock{mutex_};
        return publish(now);
    }
    const auto pending = [this] {
        const std::lock_guard lock{mutex_};
        return pending_;
    }();
    try {
        if (!database_) database_ = std::make_unique<server::Database>(*options_.database);
        if (!is_empty(pending)) write_to(*database_, pending, now);
        formats::Revocations known = server::recent_revocations(*database_, now);
        is_away_ = false;
        const std::lock_guard lock{mutex_};
        known_ = std::move(known);
        if (!is_empty(pending)) {
            remove(pending_, pending);
            write_pending(options_.pending, pending_);
        }
        publish(now);
    } catch (const server::DatabaseError& error) {
        if (!std::exchange(is_away_, true)) {
            log_warning("cannot read the project's revocations: {}", error.what());
        }
        database_.reset();
    } catch (const server::RefusedData& error) {
        // What is pending stays in force here and in its file.
        if (!std::exchange(is_away_, true)) {
            log_error("cannot store revocations: {}", error.what());
        }
    }
}

void RevocationWatch::hear(const formats::Revocations& list, formats::UtcSeconds now) {
    const std::lock_guard lock{mutex_};
    if (list.as_of < known_.as_of) return;
    known_ = list;
    // The project has these now; only it withdraws them.
    Revocation listed;
    listed.users.assign(list.users.begin(), list.users.end());
    listed.hosts.assign(list.hosts.begin(), list.hosts.end());
    listed.keys.assign(list.peers.begin(), list.peers.end());
    listed.voters = listed.keys;
    Revocation pending = pending_;
    remove(pending, listed);
    if (pending != pending_) {
        pending_ = std::move(pending);
        write_pending(options_.pending, pending_);
    }
    publish(now);
}

void RevocationWatch::revoke(const Revocation& named, formats::UtcSeconds now) {
    const std::lock_guard lock{mutex_};
    Revocation pending = pending_;
    add(pending, named);
    const Revocation former = std::exchange(pending_, std::move(pending));
    try {
        write_pending(options_.pending, pending_);
    } catch (...) {
        pending_ = former;
        throw;
    }
    publish(now);
}

void RevocationWatch::forgive(const Revocation& named, formats::UtcSeconds now) {
    {
        // Waits until poll() is not writing what is pending to the database.
        const std::lock_guard database_lock{database_mutex_};
        const std::lock_guard lock{mutex_};
        Revocation pending = pending_;
        remove(pending, named);
        if (pending != pending_) {
            pending_ = std::move(pending);
            write_pending(options_.pending, pending_);
        }
    }
    poll(now);
}

}  // namespace dedloc::backbone
