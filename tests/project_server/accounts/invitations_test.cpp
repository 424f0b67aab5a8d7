// Accounts by invitation: what a code makes, who gets its last place, and what is told to those
// without one, by BOINC's RPC and by the form.
#include "project_server/accounts/invitations.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include "project_server/accounts/invitation_code.hpp"
#include "project_server/accounts/new_account.hpp"
#include "project_server/accounts/passwords.hpp"
#include "project_server/database/join_policy.hpp"
#include "tests/project_server/web/browser.hpp"

namespace dedloc::server {
namespace {

using Catch::Contains;

constexpr double kNow = 1'800'000'000;

/// A request for an account of NAME@example.org.
AccountRequest wanted_by(const std::string& name, const std::string& code) {
    return {.email = name + "@example.org",
            .password_hash = boinc_password_hash("secret", name + "@example.org"),
            .name = name,
            .invitation = code};
}

std::string create_path(const std::string& name, const std::string& code) {
    return "/create_account.php?email_addr=" + name + "@example.org&user_name=" + name +
           "&passwd_hash=" + boinc_password_hash("secret-" + name, name + "@example.org") +
           (code.empty() ? "" : "&invite_code=" + code);
}

std::int64_t accounts_in(Database& database) {
    return database.query_one("select count(*) as n from user")->integer("n");
}

/// Refused codes of this test's address, as many as the limit has.
void use_up_attempts(const TestSite& site) {
    for (int i = 0; i < kInvitationLimits.pair; ++i) {
        CHECK_THAT(site.page(create_path("eve", "0000-0000-0000-0000")), Contains("not valid"));
    }
}

}  // namespace

TEST_CASE("an invitation makes as many accounts as it has places", "[server][integration]") {
    TestProject project;
    Database& database = project.database();
    CHECK(join_policy(database) == JoinPolicy::kOpen);
    CHECK(make_account(database, wanted_by("open", ""), kNow).outcome == AccountOutcome::kMade);
    set_join_policy(database, JoinPolicy::kInvitation);
    CHECK(make_account(database, wanted_by("none", ""), kNow).outcome == AccountOutcome::kNoCode);
    CHECK(make_account(database, wanted_by("wrong", "7777-7777-7777-7777"), kNow).outcome ==
          AccountOutcome::kWrongCode);

    const auto made = make_invitation(database, {.places = 2, .note = "class"}, kNow);
    const auto ada = make_account(database, wanted_by("ada", made.code), kNow);
    CHECK(ada.outcome == AccountOutcome::kMade);
    CHECK(ada.key.size() == 32);
    // An address that is taken takes no place.
    CHECK(make_account(database, wanted_by("ada", made.code), kNow).outcome ==
          AccountOutcome::kTaken);
    CHECK(read_invitations(database).front().taken == 1);
    CHECK(make_account(database, wanted_by("bob", made.code), kNow).outcome ==
          AccountOutcome::kMade);
    const auto late = make_account(database, wanted_by("eve", made.code), kNow);
    CHECK(late.outcome == AccountOutcome::kWrongCode);
    CHECK(late.refusal == "The invitation has been used up.");
    CHECK(accounts_in(database) == 3);

    // Nothing in the database is the code.
    const auto row = database.query_one("select tag, hash from dedloc_invitation");
    CHECK(row->text("hash").find(*read_invitation_code(made.code)) == std::string::npos);
    CHECK(row->text("hash").starts_with(row->text("tag")));

    set_join_policy(database, JoinPolicy::kOpen);
    CHECK(make_account(database, wanted_by("eve", made.code), kNow).outcome ==
          AccountOutcome::kMade);
}

TEST_CASE("an invitation ends when it expires or is revoked", "[server][integration]") {
    TestProject project;
    Database& database = project.database();
    set_join_policy(database, JoinPolicy::kInvitation);
    const auto short_one =
        make_invitation(database, {.places = 9, .expires = 1'800'000'060, .note = ""}, kNow);
    CHECK_FALSE(check_invitation(database, short_one.code, kNow + 59).refusal);
    CHECK(check_invitation(database, short_one.code, kNow + 60).refusal ==
          "The invitation has expired (2027-01-15 08:01 UTC).");
    const auto revoked = make_invitation(database, {.places = 9}, kNow);
    CHECK_FALSE(check_invitation(database, revoked.code, kNow + 1e9).refusal);
    CHECK(revoke_invitation(database, revoked.id, kNow));
    CHECK(revoke_invitation(database, revoked.id, kNow + 5));
    CHECK(read_invitations(database).front().revoked == 1'800'000'000);
    CHECK_FALSE(revoke_invitation(database, revoked.id + 1, kNow));
    CHECK(check_invitation(database, revoked.code, kNow).refusal ==
          "The invitation has been withdrawn.");
    // The invitation may end between the check and the account.
    CHECK(take_place(database, revoked.id, kNow) == "The invitation has been withdrawn.");
    CHECK(take_place(database, short_one.id, kNow + 60)
              .value_or("")
              .starts_with("The invitation has expired"));
    CHECK_FALSE(take_place(database, short_one.id, kNow));

    CHECK_THROWS_AS(make_invitation(database, {.places = 0}, kNow), InputError);
    CHECK_THROWS_AS(make_invitation(database, {.places = 1'000'001}, kNow), InputError);
    CHECK_THROWS_AS(make_invitation(database, {.expires = 1'799'999'999}, kNow), InputError);
    CHECK_THROWS_AS(make_invitation(database, {.note = std::string(201, 'a')}, kNow), InputError);
    CHECK_THROWS_AS(make_invitation(database, {.note = "\xff"}, kNow), InputError);
    CHECK_THROWS_AS(join_policy_named("closed"), InputError);
}

TEST_CASE("of many requests for the last places of an invitation as many succeed as it has",
          "[server][integration]") {
    TestProject project;
    set_join_policy(project.database(), JoinPolicy::kInvitation);
    constexpr int kPlaces = 2;
    constexpr int kRequests = 8;
    const auto made = make_invitation(project.database(), {.places = kPlaces}, kNow);
    std::atomic<int> succeeded = 0;
    std::atomic<int> used_up = 0;
    {
        std::vector<std::jthread> all;
        for (int i = 0; i < kRequests; ++i) {
            all.emplace_back([&, i] {
                Database own{project.config().database};
                const auto account =
                    make_account(own, wanted_by("user" + std::to_string(i), made.code), kNow);
                if (account.outcome == AccountOutcome::kMade) ++succeeded;
                if (account.refusal == "The invitation has been used up.") ++used_up;
            });
        }
    }
    CHECK(succeeded == kPlaces);
    CHECK(used_up == kRequests - kPlaces);
    CHECK(accounts_in(project.database()) == kPlaces);
    CHECK(read_invitations(project.database()).front().taken == kPlaces);
}

TEST_CASE("BOINC's clients make an account with an invitation code", "[server][integration]") {
    TestSite site;
    CHECK_THAT(site.page("/get_project_config.php"), !Contains("invite_code_required"));
    set_join_policy(site.database(), JoinPolicy::kInvitation);
    CHECK_THAT(site.page("/get_project_config.php"),
               Contains("<invite_code_required/>") && Contains("<account_creation_disabled/>"));
    const auto made = make_invitation(site.database(), {.places = 1}, unix_now());
    CHECK_THAT(site.page(create_path("ada", "")),
               Contains("<error_num>-1</error_num>") && Contains("needs an invitation code"));
    CHECK_THAT(site.page(create_path("ada", "no%20code")),
               Contains("<error_num>-1</error_num>") && Contains("not valid"));
    const std::string answer = site.page(create_path("ada", made.code));
    CHECK_THAT(answer, Contains("<authenticator>"));
    // A client whose reply was lost asks again.
    CHECK(site.page(create_path("ada", made.code)) == answer);
    CHECK(site.page(create_path("ada", "")) == answer);
    CHECK_THAT(site.page(create_path("bob", made.code)),
               Contains("<error_num>-1</error_num>") && Contains("used up"));
    CHECK(accounts_in(site.database()) == 1);
}

TEST_CASE("the form asks for an invitation code where one is needed", "[server][integration]") {
    TestSite site;
    Browser ada{site};
    CHECK_THAT(ada.get("/account/create").body, !Contains("invite_code"));
    set_join_policy(site.database(), JoinPolicy::kInvitation);
    const auto made = make_invitation(site.database(), {.places = 1}, unix_now());
    CHECK_THAT(ada.get("/account/create?invite_code=" + made.code).body,
               Contains("value=\"" + made.code + "\""));
    CHECK_THAT(ada.get("/account/create?invite_code=%22%3E%3Cscript%3E").body,
               Contains("value=\"&quot;&gt;&lt;script&gt;\""));
    const Fields fields{{"email", "ada@example.org"}, {"name", "Ada"}, {"password", "secret-Ada"}};
    const auto without = ada.submit("/account/create", "/account/create", fields);
    CHECK(without.status == 422);
    CHECK_THAT(without.body, Contains("An account of this project needs an invitation code."));
    Fields wrong = fields;
    wrong["invite_code"] = "0000-0000-0000-0000";
    const auto refused = ada.submit("/account/create", "/account/create", wrong);
    CHECK(refused.status == 422);
    CHECK_THAT(refused.body, Contains("The invitation code is not valid.") &&
                                 Contains("value=\"0000-0000-0000-0000\"") &&
                                 Contains("ada@example.org"));
    Fields right = fields;
    right["invite_code"] = made.code;
    CHECK(ada.submit("/account/create", "/account/create", right).status == 303);
    CHECK(ada.get("/account").status == 200);
    CHECK(accounts_in(site.database()) == 1);
}

TEST_CASE("a client that sends many wrong invitation codes has to wait", "[server][integration]") {
    TestSite site;
    set_join_policy(site.database(), JoinPolicy::kInvitation);
    const auto made = make_invitation(site.database(), {.places = 1}, unix_now());
    use_up_attempts(site);
    CHECK_THAT(site.page(create_path("ada", made.code)),
               Contains("<error_num>-1</error_num>") && Contains("Too many invitation codes"));
    Browser ada{site};
    const auto form = ada.submit("/account/create", "/account/create",
                                 {{"email", "ada@example.org"},
                                  {"name", "Ada"},
                                  {"password", "secret-Ada"},
                                  {"invite_code", made.code}});
    CHECK(form.status == 429);
    CHECK(accounts_in(site.database()) == 0);
    // An account that exists signs in as before, from there too.
    CHECK_THAT(site.page("/lookup_account.php?email_addr=ada@example.org"), Contains("-136"));
}

}  // namespace dedloc::server
