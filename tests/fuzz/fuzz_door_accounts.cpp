// What is asked of accounts at the real door: the RPCs of BOINC clients and of account managers,
// and the forms and pages of the web site, each with odd values, in the name of one account; and
// after them another account signs in, asks for its key and reads its page.
#include <fmt/format.h>

#include <array>
#include <span>
#include <string>

#include "peer/base/check.hpp"
#include "project_server/accounts/computing_choices.hpp"
#include "project_server/accounts/invitations.hpp"
#include "project_server/accounts/sessions.hpp"
#include "project_server/database/join_policy.hpp"
#include "tests/fuzz/door_world.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace dedloc::fuzz {
namespace {

constexpr std::size_t kMaxAccountChanges = 3;

/// A request as a client or a browser sends it.
struct Template {
    std::string path;
    Fields fields;
    bool is_form = false;  ///< it is a web form: POST, signed in, with the form's token
};

Fields computing_fields() {
    Fields fields{{"has_own", "1"}};
    for (const auto& field : server::kComputingFields) fields.emplace_back(field.name, "1");
    return fields;
}

std::vector<Template> rpc_templates(const Person& odd) {
    const std::string hash = password_hash(odd);
    const std::string new_hash = server::form_token("x").substr(0, 32);
    return {
        {"/create_account.php",
         {{"email_addr", "new@example.org"}, {"passwd_hash", new_hash}, {"user_name", "New"}}},
        {"/create_account.php",
         {{"email_addr", odd.email}, {"passwd_hash", hash}, {"user_name", "Odd"}}},
        {"/lookup_account.php", {{"email_addr", odd.email}, {"passwd_hash", hash}}},
        {"/am_get_info.php", {{"account_key", odd.key}}},
        {"/am_set_info.php",
         {{"account_key", odd.key},
          {"name", "Odd"},
          {"country", "Latvia"},
          {"postal_code", "1"},
          {"url", "example.org"},
          {"send_email", "1"},
          {"show_hosts", "1"},
          {"venue", "home"},
          {"teamid", "2"},
          {"global_prefs", "<global_preferences><mod_time>9</mod_time></global_preferences>"},
          {"project_prefs",
           "<project_preferences><resource_share>5</resource_share></project_preferences>"}}},
        {"/am_set_info.php",
         {{"account_key", odd.key}, {"email_addr", "odd2@example.org"}, {"password_hash", hash}}},
        {"/am_set_host_info.php",
         {{"account_key", odd.key}, {"hostid", std::to_string(odd.host)}, {"venue", "work"}}},
        {"/show_user.php", {{"format", "xml"}, {"userid", std::to_string(odd.user)}}},
        {"/show_user.php", {{"format", "xml"}, {"auth", odd.key}}},
        {"/get_project_config.php", {}}};
}

std::vector<Template> form_templates(const Person& odd) {
    const auto form = [](std::string path, Fields fields) {
        return Template{std::move(path), std::move(fields), true};
    };
    return {form("/account/create",
                 {{"email", "new@example.org"}, {"name", "New"}, {"password", "a secret"}}),
            form("/account/sign_in", {{"email", odd.email}, {"password", kPassword}}),
            form("/account/preferences", {{"name", "Odd"},
                                          {"country", "Latvia"},
                                          {"url", "example.org"},
                                          {"shows_hosts", "1"},
                                          {"takes_email", "1"},
                                          {"venue", "home"}}),
            form("/account/jobs/general", {{"resource_share", "50"}, {"uses_processor", "1"}}),
            form("/account/jobs/home",
                 {{"has_own", "1"}, {"resource_share", "50"}, {"uses_nvidia_gpu", "1"}}),
            form("/account/computing/general", computing_fields()),
            form("/account/email", {{"password", kPassword}, {"email", "odd2@example.org"}}),
            form("/account/password", {{"password", kPassword}, {"next", "another secret"}}),
            form("/account/delete", {{"password", kPassword}}),
            form("/account/forgotten", {{"email", odd.email}}),
            form("/account/reset", {{"secret", std::string(64, 'a')}, {"password", "a secret"}}),
            form("/account/confirm", {{"secret", std::string(64, 'a')}}),
            form("/account/send_confirmation", {}),
            form("/teams/create", {{"name", "A team"},
                                   {"url", "example.org"},
                                   {"country", "Latvia"},
                                   {"description", "Text"},
                                   {"joinable", "1"}}),
            form("/team/2/edit", {{"name", "team of odd"}, {"description", "Text"}}),
            form("/team/1/edit", {{"name", "A team"}, {"description", "Text"}}),
            form("/team/1/join", {}),
            form("/account/leave_team", {}),
            form(fmt::format("/host/{}/venue", odd.host), {{"venue", "home"}})};
}

std::string element(const std::string& xml, const std::string& name) {
    const std::string open = "<" + name + ">";
    const auto begin = xml.find(open);
    if (begin == std::string::npos) return {};
    const auto end = xml.find("</" + name + ">", begin);
    if (end == std::string::npos) return {};
    return xml.substr(begin + open.size(), end - begin - open.size());
}

/// A key that was told is the one of an account.
void check_account_kept(DoorProject& project, const std::string& sent, const Answer& answer) {
    const std::string key = element(answer.body, "authenticator");
    if (key.empty()) return;
    const auto row = project.database().query_one(
        "select count(*) as n from user where authenticator = ?", {key});
    DEDLOC_CHECK(row->integer("n") == 1, "an account that was acknowledged is stored", sent,
                 answer.body);
    DEDLOC_CHECK(key != project.honest().key, "no account is told the key of another one", sent);
}

/// Accounts by invitation, and a new code with one place.
void require_invitation(DoorProject& project, Template& chosen) {
    server::set_join_policy(project.database(), server::JoinPolicy::kInvitation);
    const auto made =
        server::make_invitation(project.database(), {.places = 1}, server::unix_now());
    chosen.fields.emplace_back("invite_code", made.code);
}

/// Accounts minus the places that they have taken.
std::int64_t accounts_without_place(DoorProject& project) {
    return project.database()
        .query_one(
            "select (select count(*) from user) - (select ifnull(sum(taken), 0) from "
            "dedloc_invitation) as n")
        ->integer("n");
}

std::string send_odd_form(DoorProject& project, Recipe& recipe) {
    const Person& odd = project.odd();
    auto templates = rpc_templates(odd);
    for (Template& each : form_templates(odd)) templates.push_back(std::move(each));
    Template chosen = templates[recipe.choose(templates.size())];
    const bool makes_account =
        chosen.path == "/create_account.php" || chosen.path == "/account/create";
    const bool is_invited = makes_account && recipe.choose(2) == 1;
    if (is_invited) require_invitation(project, chosen);
    const std::int64_t uninvited = accounts_without_place(project);
    for (std::size_t left = recipe.choose(kMaxAccountChanges + 1); left > 0; --left) {
        make_odd(chosen.fields, recipe, project.known_values());
    }
    HttpRequest request{.target = chosen.path,
                        .address = fmt::format("10.0.0.{}", recipe.choose(250))};
    if (chosen.is_form) {
        request.cookie = odd.session;
        chosen.fields.emplace_back("form_token", server::form_token(odd.session));
    }
    const std::string text = form_text(chosen.fields);
    if (!chosen.is_form && recipe.choose(2) == 0 && text.size() < 4'000) {
        request.method = "GET";
        request.target += "?" + text;
    } else {
        request.body = text;
    }
    const Answer answer = project.web(request);
    check_account_kept(project, chosen.path + "?" + text, answer);
    DEDLOC_CHECK(!is_invited || accounts_without_place(project) == uninvited,
                 "an account takes one place of an invitation", text, answer.body);
    // What the pages and RPCs say of the account now.
    for (const std::string& page :
         {std::string{"/account/settings"}, fmt::format("/user/{}", odd.user),
          fmt::format("/team/2"), fmt::format("/am_get_info.php?account_key={}", odd.key)}) {
        project.web(
            {.method = "GET", .target = page, .address = odd.address, .cookie = odd.session});
    }
    return chosen.path + "?" + text;
}

void check_honest_account(DoorProject& project) {
    const Person& honest = project.honest();
    const auto ask = [&](const std::string& path, const Fields& fields) {
        return project.web({.target = path, .body = form_text(fields), .address = honest.address});
    };
    const Answer found = ask("/lookup_account.php", {{"email_addr", honest.email},
                                                     {"passwd_hash", password_hash(honest)}});
    DEDLOC_CHECK(element(found.body, "authenticator") == honest.key,
                 "an honest account is found by its address and password", found.body);
    const Answer told = ask("/am_get_info.php", {{"account_key", honest.key}});
    DEDLOC_CHECK(element(told.body, "name") == "honest", "an account manager reads its account",
                 told.body);
    const Answer page = project.web({.method = "GET",
                                     .target = "/account/settings",
                                     .address = honest.address,
                                     .cookie = honest.session});
    DEDLOC_CHECK(page.status == 200 && page.body.find(honest.email) != std::string::npos,
                 "an honest user is still signed in", page.head, page.body);
}

}  // namespace

void fuzz_door_accounts(std::span<const std::byte> input) {
    Recipe recipe{input};
    check_honest_account(send_odd_requests(recipe, send_odd_form));
}

}  // namespace dedloc::fuzz
