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
#include "project_server/database/revocations.hpp"

namespace dedloc::cli {
namespace {

struct Named {
    std::filesystem::path project;
    std::vector<std::uint64_t> users;
    std::vector<std::uint64_t> hosts;
    std::vector<std::string> keys;
};

formats::Revocations named(const Named& who) {
    formats::Revocations revocations;
    revocations.users.insert(who.users.begin(), who.users.end());
    revocations.hosts.insert(who.hosts.begin(), who.hosts.end());
    for (const std::string& digits : who.keys) {
        PeerKey key;
        if (!from_hex(digits, key.bytes)) {
            throw InputError(fmt::format("--key wants 64 hex digits, not \"{}\"", digits));
        }
        revocations.peers.insert(key);
    }
    if (revocations.size() == 0) throw InputError("name a --user, a --host or a --key");
    return revocations;
}

void revoke(const Named& who) {
    const formats::Revocations revocations = named(who);
    ProjectDatabase access{existing_project(who.project)};
    server::revoke(access.database(), revocations, platform::utc_now());
    fmt::print("revoked: backbones learn it within seconds, other peers within half an hour\n");
}

void forgive(const Named& who) {
    const formats::Revocations revocations = named(who);
    ProjectDatabase access{existing_project(who.project)};
    server::forgive(access.database(), revocations);
    fmt::print("forgiven: backbones learn it within seconds, other peers within half an hour\n");
}

void add_command(CLI::App& dedloc, const char* name, const char* what,
                 void (*command)(const Named&)) {
    const auto who = std::make_shared<Named>();  // shared by parser and callback
    auto* const added = dedloc.add_subcommand(name, what);
    added->add_option("--project", who->project, "The project's folder")->required();
    added->add_option("--user", who->users, "BOINC id of an account");
    added->add_option("--host", who->hosts, "BOINC id of a computer");
    added->add_option("--key", who->keys, "A peer's key, 64 hex digits");
    added->callback([who, command] { command(*who); });
}

}  // namespace

void add_revocation_commands(CLI::App& dedloc) {
    add_command(dedloc, "revoke", "Exclude an account, computer or peer from the project", revoke);
    add_command(dedloc, "forgive", "Undo a revocation", forgive);
}

}  // namespace dedloc::cli
