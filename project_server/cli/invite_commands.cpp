// dedloc invite: makes, lists and revokes invitation codes. dedloc project accounts: whether a new
// account needs one. Under an official BOINC server both refuse, since BOINC's pages make the
// accounts there.
#include <fmt/core.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/base/utc_text.hpp"
#include "project_server/accounts/invitations.hpp"
#include "project_server/cli/commands.hpp"
#include "project_server/cli/output.hpp"
#include "project_server/database/join_policy.hpp"
#include "project_server/project/project.hpp"

namespace dedloc::cli {
namespace {

constexpr std::int64_t kLongestTerm = 10'000;  // days or hours

struct InviteChoice {
    std::filesystem::path project;
    std::int64_t uses = 1;
    std::string expires = "30d";
    std::string note;
    std::int64_t id = 0;
    std::string policy;
    bool prints_json = false;
};

project::ProjectDatabase open_accounts(const InviteChoice& chosen) {
    return project::ProjectDatabase{
        project::own_project(chosen.project,
                             "BOINC's pages make the accounts of {}: define INVITE_CODES in its "
                             "html/project/project.inc")};
}

/// The moment that "30d", "12h", "2027-01-31" (its first second, UTC) or "never" (0) means.
std::int64_t expiry_of(const std::string& text, double now) {
    if (text == "never") return 0;
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, fault] = std::from_chars(text.data(), end, number);
    const std::string_view unit{rest, static_cast<std::size_t>(end - rest)};
    if (fault == std::errc{} && number > 0 && number <= kLongestTerm &&
        (unit == "d" || unit == "h")) {
        return static_cast<std::int64_t>(now) + number * (unit == "d" ? 86'400 : 3'600);
    }
    tm date{};
    const char* const read = strptime(text.c_str(), "%Y-%m-%d", &date);
    if (read == nullptr || *read != '\0') {
        throw InputError(
            fmt::format("--expires is 30d, 12h, 2027-01-31 or never, not \"{}\"", text));
    }
    return timegm(&date);
}

std::string end_of(std::int64_t expires) {
    if (expires == 0) return "without an end";
    return "until " + utc_text(expires, "%Y-%m-%d %H:%M") + " UTC";
}

void make(const InviteChoice& chosen) {
    auto access = open_accounts(chosen);
    const double now = server::unix_now();
    const server::Invitation wanted{
        .places = chosen.uses, .expires = expiry_of(chosen.expires, now), .note = chosen.note};
    const auto made = server::make_invitation(access.database(), wanted, now);
    const auto url = server::read_settings(project::existing_project(chosen.project)).url +
                     "account/create?invite_code=" + made.code;
    if (chosen.prints_json) {
        json::Value data;
        data.set("id", made.id)
            .set("code", made.code)
            .set("url", url)
            .set("uses", wanted.places)
            .set("expires_at", wanted.expires);
        return print(data, true);
    }
    fmt::print("{}\n{}\ninvitation {}: {} account{}, {}; the code is shown only now\n", made.code,
               url, made.id, wanted.places, wanted.places == 1 ? "" : "s", end_of(wanted.expires));
    if (server::join_policy(access.database()) == server::JoinPolicy::kOpen) {
        fmt::print(stderr,
                   "dedloc: accounts are open to anyone now; dedloc project accounts {} --join "
                   "invitation changes that\n",
                   chosen.project.string());
    }
}

void list(const InviteChoice& chosen) {
    auto access = open_accounts(chosen);
    const double now = server::unix_now();
    json::Value::List items;
    for (const auto& invitation : server::read_invitations(access.database())) {
        json::Value item;
        item.set("id", invitation.id)
            .set("uses", invitation.places)
            .set("accounts", invitation.taken)
            .set("created_at", invitation.created)
            .set("expires_at", invitation.expires)
            .set("revoked_at", invitation.revoked)
            .set("is_valid", !invitation.fault(now).has_value())
            .set("note", invitation.note);
        items.push_back(std::move(item));
    }
    json::Value data;
    print(data.set("invitations", std::move(items)), chosen.prints_json);
}

void revoke(const InviteChoice& chosen) {
    auto access = open_accounts(chosen);
    if (!server::revoke_invitation(access.database(), chosen.id, server::unix_now())) {
        throw InputError(fmt::format("the project has no invitation {}", chosen.id));
    }
    if (chosen.prints_json) {
        json::Value data;
        return print(data.set("id", chosen.id), true);
    }
    fmt::print("invitation {} is revoked; the accounts made with it stay\n", chosen.id);
}

void accounts(const InviteChoice& chosen) {
    auto access = open_accounts(chosen);
    if (!chosen.policy.empty()) {
        server::set_join_policy(access.database(), server::join_policy_named(chosen.policy));
    }
    const auto policy = server::join_policy(access.database());
    if (chosen.prints_json) {
        json::Value data;
        return print(data.set("join", std::string{server::name_of(policy)}), true);
    }
    fmt::print("{}\n", policy == server::JoinPolicy::kInvitation
                           ? "a new account needs an invitation code"
                           : "anyone may make an account");
}

}  // namespace

void add_invite_commands(CLI::App& dedloc) {
    auto* const invite =
        dedloc.add_subcommand("invite", "Make, list and revoke invitation codes for accounts");
    invite->require_subcommand(1);
    const auto chosen = std::make_shared<InviteChoice>();  // shared by parser and callbacks
    const auto add = [&](const char* name, const char* what, void (*work)(const InviteChoice&)) {
        auto* const command = invite->add_subcommand(name, what);
        command->add_option("--project", chosen->project, "The project's folder")->required();
        command->add_flag("--json", chosen->prints_json, "Print JSON");
        command->callback([chosen, work] { work(*chosen); });
        return command;
    };
    auto* const making = add("new", "Make a code, and print it once", make);
    making->add_option("--uses", chosen->uses, "Accounts that it may make")
        ->check(CLI::Range(std::int64_t{1}, server::kMaxInvitationPlaces))
        ->capture_default_str();
    making
        ->add_option("--expires", chosen->expires,
                     "30d, 12h, a date such as 2027-01-31 (UTC) or never")
        ->capture_default_str();
    making->add_option("--note", chosen->note, "The people that get it; only list shows this");
    add("list", "List the codes' numbers, uses and notes", list);
    add("revoke", "End a code", revoke)
        ->add_option("--id", chosen->id, "The number that list shows")
        ->required();
}

void add_accounts_command(CLI::App& project) {
    const auto chosen = std::make_shared<InviteChoice>();  // shared by parser and callback
    auto* const command = project.add_subcommand(
        "accounts", "Print or set who may make an account; holds from the next account on");
    command->add_option("DIR", chosen->project, "The project's folder")->required();
    command->add_option("--join", chosen->policy,
                        "open: anyone; invitation: people with a code of dedloc invite new");
    command->add_flag("--json", chosen->prints_json, "Print JSON");
    command->callback([chosen] { accounts(*chosen); });
}

}  // namespace dedloc::cli
