// dedloc user, host and key: shows volunteers to the administrator, and bans them.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "peer/base/error.hpp"
#include "project_server/accounts/account_changes.hpp"
#include "project_server/accounts/lookup.hpp"
#include "project_server/accounts/sessions.hpp"
#include "project_server/cli/commands.hpp"
#include "project_server/cli/output.hpp"
#include "project_server/database/administrators.hpp"
#include "project_server/project/project.hpp"
#include "project_server/runs/bans.hpp"
#include "project_server/views/hosts.hpp"
#include "project_server/views/users.hpp"
#include "project_server/views/volunteer_work.hpp"

namespace dedloc::cli {
namespace {

/// The options of all of these commands.
struct BanChoice : runs::BanOptions {
    server::ListChoice list{};
    std::string user{};  ///< name of the account list.user
    bool prints_json = false;

    const std::string& name() const { return names.front(); }
};

using Work = void (*)(const BanChoice&);

void print_outcome(const BanChoice& chosen, const char* what, const runs::BanOutcome& outcome) {
    if (chosen.prints_json) {
        json::Value::List subjects;
        for (const auto& subject : outcome.subjects) subjects.emplace_back(subject);
        json::Value data;
        data.set("subjects", std::move(subjects))
            .set("backbones", outcome.backbones)
            .set("is_in_database", outcome.is_in_database);
        return print(data, true);
    }
    fmt::print(
        "{}: {} {} acted at once, other peers follow within half an hour{}\n", what,
        outcome.backbones, outcome.backbones == 1 ? "backbone has" : "backbones have",
        outcome.is_in_database
            ? ""
            : "; the database is away and gets the ban, without its reason, when it is back");
}

void ban_named(const BanChoice& chosen) {
    print_outcome(chosen, "banned", runs::ban(chosen));
}

void unban_named(const BanChoice& chosen) {
    print_outcome(chosen, "not banned any more", runs::unban(chosen));
}

void show_user(const BanChoice& chosen) {
    project::ProjectDatabase access{project::existing_project(chosen.project)};
    auto& database = access.database();
    print(server::user_facts(database, server::find_user(database, chosen.name())),
          chosen.prints_json);
}

void show_host(const BanChoice& chosen) {
    project::ProjectDatabase access{project::existing_project(chosen.project)};
    auto& database = access.database();
    print(server::host_facts(database, server::find_host(database, chosen.name())),
          chosen.prints_json);
}

/// A random password, because nothing that is typed here should stay in a shell's history.
void replace_password(const BanChoice& chosen) {
    constexpr std::size_t kDigits = 20;  // 80 bits
    project::ProjectDatabase access{project::existing_project(chosen.project)};
    auto& database = access.database();
    const auto user = server::find_user(database, chosen.name());
    const std::string password = server::random_token().substr(0, kDigits);
    const auto refusal = server::in_transaction(
        database, [&] { return server::set_password(database, user, password); });
    if (refusal) throw InputError(*refusal);
    json::Value data;
    print(data.set("id", user).set("password", password), chosen.prints_json);
}

/// Changes what the account sees of the web pages, and nothing else.
void change_administrator(const BanChoice& chosen, bool is_one) {
    project::ProjectDatabase access{project::own_project(
        chosen.project, "the pages for administrators of {} are BOINC's: see its html/ops")};
    auto& database = access.database();
    const auto user = server::find_user(database, chosen.name());
    server::set_administrator(database, user, is_one);
    json::Value data;
    print(data.set("id", user).set("is_administrator", is_one), chosen.prints_json);
}

void promote(const BanChoice& chosen) {
    change_administrator(chosen, true);
}

void demote(const BanChoice& chosen) {
    change_administrator(chosen, false);
}

void list_users(const BanChoice& chosen) {
    project::ProjectDatabase access{project::existing_project(chosen.project)};
    print(server::user_list(access.database(), chosen.list), chosen.prints_json);
}

void list_hosts(const BanChoice& chosen) {
    project::ProjectDatabase access{project::existing_project(chosen.project)};
    server::ListChoice choice = chosen.list;
    if (!chosen.user.empty()) choice.user = server::find_user(access.database(), chosen.user);
    print(server::host_list(access.database(), choice), chosen.prints_json);
}

void list_keys(const BanChoice& chosen) {
    project::ProjectDatabase access{project::existing_project(chosen.project)};
    print(server::key_list(access.database(), chosen.list.limit), chosen.prints_json);
}

/// One group, `dedloc user` for example.
class Group {
  public:
    Group(CLI::App& dedloc, runs::BanKind kind, const char* name, const char* what)
        : group_(*dedloc.add_subcommand(name, what)), chosen_(std::make_shared<BanChoice>()) {
        group_.require_subcommand(1);
        chosen_->kind = kind;
    }

    CLI::App& add(const char* name, const char* what, Work work) {
        auto* const command = group_.add_subcommand(name, what);
        command->add_option("--project", chosen_->project, "The project's folder")->required();
        command->add_flag("--json", chosen_->prints_json, "Print JSON");
        command->callback([chosen = chosen_, work] { work(*chosen); });
        return *command;
    }
    void add_show(const char* what, const char* name, Work work) {
        add_one("show", what, name, work);
    }
    /// A command about one of them.
    void add_one(const char* command, const char* what, const char* name, Work work) {
        add(command, what, work).add_option("name", chosen_->names, name)->required()->expected(1);
    }
    CLI::App& add_list(const char* what, Work work) {
        auto& command = add("list", what, work);
        command.add_option("--count", chosen_->list.limit, "At most so many")
            ->check(CLI::Range(1, 1'000'000))
            ->capture_default_str();
        return command;
    }
    void add_filters(CLI::App& list, const char* found) {
        list.add_flag("--banned", chosen_->list.is_banned, "Only those that are banned");
        list.add_option("--find", chosen_->list.found, found);
    }
    void add_bans(const char* name) {
        auto& banning =
            add("ban", "Exclude from the project; repeating it changes the reason", ban_named);
        banning.add_option("names", chosen_->names, name)->required();
        banning.add_option("--reason", chosen_->reason, "One line that the volunteer reads");
        add("unban", "Withdraw a ban", unban_named)
            .add_option("names", chosen_->names, name)
            ->required();
    }
    BanChoice& chosen() { return *chosen_; }

  private:
    CLI::App& group_;
    std::shared_ptr<BanChoice> chosen_;  // shared by parser and callbacks
};

}  // namespace

void add_ban_commands(CLI::App& dedloc) {
    constexpr const char* kUserName = "The account's id, e-mail address or name";
    constexpr const char* kHostName = "The computer's id or name";
    Group user{dedloc, runs::BanKind::kUser, "user", "Show accounts of volunteers, and ban them"};
    user.add_show("Print what is known of an account", kUserName, show_user);
    user.add_filters(user.add_list("List accounts by recent credit", list_users),
                     "Only those whose name or e-mail address has this text");
    user.add_bans(kUserName);
    user.add_one("password", "Give an account a new random password, and print it", kUserName,
                 replace_password);
    user.add_one("promote", "Let an account see the pages for administrators (/admin)", kUserName,
                 promote);
    user.add_one("demote", "Hide these pages from an account again", kUserName, demote);

    Group host{dedloc, runs::BanKind::kHost, "host", "Show volunteers' computers, and ban them"};
    host.add_show("Print what is known of a computer", kHostName, show_host);
    auto& hosts = host.add_list("List computers by their last contact", list_hosts);
    host.add_filters(hosts, "Only those whose name has this text");
    hosts.add_option("--user", host.chosen().user, "Only those of this account");
    host.add_bans(kHostName);

    Group key{dedloc, runs::BanKind::kKey, "key", "Ban single peers by their key"};
    key.add_list("List the banned keys", list_keys);
    key.add_bans("The peer's key, 64 hex digits");
}

}  // namespace dedloc::cli
