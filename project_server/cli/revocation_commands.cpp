#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/platform/clock.hpp"
#include "project_server/cli/commands.hpp"
#include "project_server/cli/project.hpp"
#include "project_server/cli/run_control.hpp"
#include "project_server/database/revocations.hpp"

namespace dedloc::cli {
namespace {

struct Named {
    std::filesystem::path project;
    std::vector<std::uint64_t> users;
    std::vector<std::uint64_t> hosts;
    std::vector<std::string> keys;
    bool prints_json = false;
};

control::Revocation named(const Named& who) {
    control::Revocation named{.users = who.users, .hosts = who.hosts};
    for (const std::string& digits : who.keys) {
        PeerKey key;
        if (!from_hex(digits, key.bytes)) {
            throw InputError(fmt::format("--key wants 64 hex digits, not \"{}\"", digits));
        }
        named.keys.push_back(key);
    }
    if (named == control::Revocation{}) throw InputError("name a --user, a --host or a --key");
    return named;
}

formats::Revocations rows_of(const control::Revocation& named) {
    formats::Revocations revocations;
    revocations.users.insert(named.users.begin(), named.users.end());
    revocations.hosts.insert(named.hosts.begin(), named.hosts.end());
    revocations.peers.insert(named.keys.begin(), named.keys.end());
    return revocations;
}

void print(const Named& who, const char* what, std::size_t backbones, bool is_in_database) {
    if (who.prints_json) {
        fmt::print("{{\"backbones\":{},\"database\":{}}}\n", backbones, is_in_database);
        return;
    }
    fmt::print("{}: {} {} acted at once, other peers follow within half an hour{}\n", what,
               backbones, backbones == 1 ? "backbone has" : "backbones have",
               is_in_database ? "" : "; the database is away and gets it when it is back");
}

/// The backbones first: they close the links whether the database answers or not, and keep for it
/// what it does not get here.
void revoke(const Named& who) {
    const auto revocation = named(who);
    const auto project = existing_project(who.project);
    const std::size_t backbones =
        tell_backbones(project, {.command = control::Command::kRevoke, .revocation = revocation});
    bool is_in_database = true;
    try {
        ProjectDatabase access{project};
        server::revoke(access.database(), rows_of(revocation), platform::utc_now());
    } catch (const server::DatabaseError& error) {
        if (backbones == 0 || !error.is_away()) throw;
        is_in_database = false;
    }
    print(who, "revoked", backbones, is_in_database);
}

/// The backbones first drop what they keep for the database, then read what it has.
void forgive(const Named& who) {
    const control::Request request{.command = control::Command::kForgive, .revocation = named(who)};
    const auto project = existing_project(who.project);
    (void)tell_backbones(project, request);
    {
        ProjectDatabase access{project};
        server::forgive(access.database(), rows_of(request.revocation));
    }
    print(who, "forgiven", tell_backbones(project, request), true);
}

void add_command(CLI::App& dedloc, const char* name, const char* what,
                 void (*command)(const Named&)) {
    const auto who = std::make_shared<Named>();  // shared by parser and callback
    auto* const added = dedloc.add_subcommand(name, what);
    added->add_option("--project", who->project, "The project's folder")->required();
    added->add_option("--user", who->users, "BOINC id of an account");
    added->add_option("--host", who->hosts, "BOINC id of a computer");
    added->add_option("--key", who->keys, "A peer's key, 64 hex digits");
    added->add_flag("--json", who->prints_json, "Print JSON");
    added->callback([who, command] { command(*who); });
}

}  // namespace

void add_revocation_commands(CLI::App& dedloc) {
    add_command(dedloc, "revoke", "Exclude an account, computer or peer from the project", revoke);
    add_command(dedloc, "forgive", "Undo a revocation", forgive);
}

}  // namespace dedloc::cli
