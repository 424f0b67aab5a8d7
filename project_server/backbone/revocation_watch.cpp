// The database may take seconds to fail, so it is used without mutex_, which revoke() needs. The
// file holds a control message: the command that would revoke what is pending.
#include "project_server/backbone/revocation_watch.hpp"

#include <algorithm>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/platform/files.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::backbone {
namespace {

using control::Revocation;

bool is_empty(const Revocation& named) {
    return named == Revocation{};
}

/// Calls f(members of a, members of b) for each kind of entry.
template <class A, class B, class Function>
void for_each_kind(A& a, B& b, const Function& f) {
    f(a.users, b.users);
    f(a.hosts, b.hosts);
    f(a.keys, b.keys);
    f(a.voters, b.voters);
}

void add(Revocation& to, const Revocation& more) {
    for_each_kind(to, more, [](auto& list, const auto& added) {
        for (const auto& entry : added) {
            if (std::ranges::find(list, entry) == list.end()) list.push_back(entry);
        }
    });
}

void remove(Revocation& from, const Revocation& named) {
    for_each_kind(from, named, [](auto& list, const auto& gone) {
        std::erase_if(
            list, [&](const auto& entry) { return std::ranges::find(gone, entry) != gone.end(); });
    });
}

std::size_t size_of(const Revocation& named) {
    return named.users.size() + named.hosts.size() + named.keys.size() + named.voters.size();
}

Revocation read_pending(const std::filesystem::path& file) {
    if (!std::filesystem::exists(file)) return {};
    return control::read_request(platform::read_text(file, control::kMaxMessageBytes)).revocation;
}

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

void RevocationWatch::write_pending() const {
    if (is_empty(pending_)) {
        std::filesystem::remove(options_.pending);
        return platform::sync_folder_of(options_.pending);
    }
    platform::replace_file(options_.pending,
                           control::write(control::Request{.command = control::Command::kRevoke,
                                                           .revocation = pending_}) +
                               "\n",
                           platform::kSecretFile);
}

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
            write_pending();
        }
        publish(now);
    } catch (const server::DatabaseError& error) {
        if (!std::exchange(is_away_, true)) {
            log_warning("cannot read the project's revocations: {}", error.what());
        }
        database_.reset();
    }
}

void RevocationWatch::hear(const formats::Revocations& list, formats::UtcSeconds now) {
    const std::lock_guard lock{mutex_};
    if (list.as_of < known_.as_of) return;
    known_ = list;
    publish(now);
}

void RevocationWatch::revoke(const Revocation& named, formats::UtcSeconds now) {
    const std::lock_guard lock{mutex_};
    Revocation pending = pending_;
    add(pending, named);
    if (size_of(pending) > wire::kMaxRevocations) {
        throw InputError("too many revocations wait for the database");
    }
    const Revocation former = std::exchange(pending_, std::move(pending));
    try {
        write_pending();
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
            write_pending();
        }
    }
    poll(now);
}

}  // namespace dedloc::backbone
