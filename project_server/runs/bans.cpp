// The backbones come first when something is banned: they close the links whether the database
// answers or not. When a ban is withdrawn they are told twice: first they drop what they keep for
// the database, then they read what it has.
#include "project_server/runs/bans.hpp"

#include <fmt/format.h>

#include <memory>

#include "peer/base/error.hpp"
#include "peer/base/markup.hpp"
#include "peer/platform/clock.hpp"
#include "project_server/accounts/lookup.hpp"
#include "project_server/database/host_blacklist.hpp"
#include "project_server/database/revocations.hpp"
#include "project_server/project/project.hpp"
#include "project_server/runs/control.hpp"
#include "project_server/settings.hpp"

namespace dedloc::runs {
namespace {

PeerKey key_of(const std::string& digits) {
    PeerKey key;
    if (!from_hex(digits, key.bytes)) {
        throw InputError(fmt::format("a key has 64 hex digits, not \"{}\"", digits));
    }
    return key;
}

std::int64_t found_id(server::Database& database, BanKind kind, const std::string& name) {
    return kind == BanKind::kUser ? server::find_user(database, name)
                                  : server::find_host(database, name);
}

void add(formats::Revocations& named, BanKind kind, std::int64_t id) {
    (kind == BanKind::kUser ? named.users : named.hosts).insert(static_cast<std::uint64_t>(id));
}

/// The project's database; null while it is away.
std::unique_ptr<project::ProjectDatabase> open_database(const std::filesystem::path& project) {
    try {
        return std::make_unique<project::ProjectDatabase>(project);
    } catch (const server::DatabaseError& error) {
        if (!error.is_away()) throw;
        return nullptr;
    }
}

/// What the options name. Without a database (null) only ids and keys can be named.
formats::Revocations named_by(const BanOptions& options, project::ProjectDatabase* access) {
    formats::Revocations named;
    for (const auto& name : options.names) {
        if (options.kind == BanKind::kKey) {
            named.peers.insert(key_of(name));
        } else if (access != nullptr) {
            add(named, options.kind, found_id(access->database(), options.kind, name));
        } else if (server::id_in(name) != 0) {
            add(named, options.kind, server::id_in(name));
        } else {
            throw IoError(
                fmt::format("the database is away, so {} cannot be looked up: give an id", name));
        }
    }
    return named;
}

control::Revocation as_message(const formats::Revocations& named) {
    return {.users = {named.users.begin(), named.users.end()},
            .hosts = {named.hosts.begin(), named.hosts.end()},
            .keys = {named.peers.begin(), named.peers.end()}};
}

std::vector<std::string> subjects_of(const formats::Revocations& named) {
    std::vector<std::string> subjects;
    for (const auto id : named.users) subjects.push_back(std::to_string(id));
    for (const auto id : named.hosts) subjects.push_back(std::to_string(id));
    for (const PeerKey& key : named.peers) subjects.push_back(key.hex());
    return subjects;
}

/// Tells an official BOINC server's scheduler; ours reads the bans themselves.
void tell_scheduler(const std::filesystem::path& project, server::Database& database) {
    if (server::is_official(project)) server::blacklist_banned_hosts(database);
}

void check_reason(const std::string& reason) {
    if (reason.size() > server::kMaxBanReason) {
        throw InputError(fmt::format("a reason has at most {} bytes", server::kMaxBanReason));
    }
    if (valid_text(reason) != reason || reason.find_first_of("\n\r\t") != reason.npos) {
        throw InputError("a reason is one line of valid UTF-8");
    }
}

}  // namespace

BanOutcome ban(const BanOptions& options) {
    check_reason(options.reason);
    const auto project = project::existing_project(options.project);
    const auto access = open_database(project);
    const auto named = named_by(options, access.get());
    BanOutcome outcome{.subjects = subjects_of(named)};
    const Told told = tell_backbones(
        project, {.command = control::Command::kRevoke, .revocation = as_message(named)});
    outcome.backbones = told.own + told.voters;
    outcome.is_in_database = access != nullptr;
    if (access != nullptr) {
        server::revoke(access->database(), named, platform::utc_now(), options.reason);
        tell_scheduler(project, access->database());
    } else if (told.own == 0 && leave_revocation(project, as_message(named)) == 0) {
        throw IoError("the database is away, and the project has no run that could keep this");
    }
    return outcome;
}

BanOutcome unban(const BanOptions& options) {
    const auto project = project::existing_project(options.project);
    project::ProjectDatabase access{project};
    const auto named = named_by(options, &access);
    const control::Request request{.command = control::Command::kForgive,
                                   .revocation = as_message(named)};
    (void)tell_backbones(project, request);
    if (server::forgive(access.database(), named) == 0) {
        throw InputError("nothing of this is banned");
    }
    tell_scheduler(project, access.database());
    const Told told = tell_backbones(project, request);
    return {.subjects = subjects_of(named), .backbones = told.own + told.voters};
}

}  // namespace dedloc::runs
