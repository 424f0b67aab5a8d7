// The whole life of a stock BOINC client that an account manager manages: it gets the weak account
// key from the manager, works, earns, follows a change of the password, and leaves.
#include "tests/project_server/web/played_manager.hpp"
#include "tests/project_server/web/served_project.hpp"
#include "validators/grants.hpp"

namespace dedloc::server {
namespace {

using Catch::Contains;

constexpr double kCredit = 12.5;

struct ManagedClient : ServedProject {
    std::unique_ptr<PlayedManager> manager;
    std::unique_ptr<StockClient> client;

    ManagedClient() {
        publish_small_app(database(), config(), DEDLOC_SMALL_APP, "");
        database().execute("insert into team (name, userid) values ('Towners', 99)");
        create_job(config(), "first", "text");
        serve();
        manager = std::make_unique<PlayedManager>(url());
        client = std::make_unique<StockClient>(root() / "client.log", fs::path{});
    }
    bool has_done(const std::string& result) {
        return number("select count(*) from result where name = '" + result +
                      "' and server_state = 5 and outcome = 1") == 1;
    }
    /// Gives boinccmd's command until the client's log says this. The client refuses it while
    /// another operation of its own is in progress.
    bool tells_until(const std::string& command, const std::string& said) const {
        return within(60s, [&] {
            if (client->log().find(said) != std::string::npos) return true;
            client->tell(command);
            return client->log().find(said) != std::string::npos;
        });
    }
    /// All that the client has stored about the project.
    std::string stored() const {
        return output_of("cd " + client->home().string() +
                         " && cat account_*.xml client_state*.xml sched_re*.xml acct_mgr_*.xml");
    }
    bool is_attached() const {
        return client->tell("--get_project_status").find("master URL") != std::string::npos;
    }
};

/// What dedloc-credit does for a job's work.
void pay(ManagedClient& managed) {
    Database& database = managed.database();
    const auto job = database.query_one(
        "select id, hostid, userid, sent_time from result where name = "
        "'first_0'");
    in_transaction(database, [&] {
        validation::grant_credit(database,
                                 {.result = job->integer("id"),
                                  .host = job->integer("hostid"),
                                  .user = job->integer("userid"),
                                  .started = job->real("sent_time"),
                                  .credit = kCredit},
                                 [](std::string_view) {});
    });
}

/// What the manager changes of the account and the computer reaches the client.
void change_settings(ManagedClient& managed) {
    PlayedManager& manager = *managed.manager;
    StockClient& client = *managed.client;
    CHECK_THAT(manager.manage("am_set_info.php", {{"name", "Ada L."}}), Contains("<success/>"));
    CHECK_THAT(manager.manage("am_set_host_info.php", {{"hostid", "1"}, {"venue", "school"}}),
               Contains("<success/>"));
    CHECK(managed.updated_within(60s, client, [&] {
        return client.tell("--get_project_status").find("user_name: Ada L.") != std::string::npos &&
               client.state().find("<host_venue>school</host_venue>") != std::string::npos;
    }));
}

/// A new password cuts the client off until the manager gives it the next weak key.
void change_password(ManagedClient& managed) {
    PlayedManager& manager = *managed.manager;
    StockClient& client = *managed.client;
    const std::string old = manager.weak_key();
    CHECK_THAT(manager.manage(
                   "am_set_info.php",
                   {{"password_hash", boinc_password_hash("another password", "ada@example.org")}}),
               Contains("<success/>"));
    CHECK(managed.updated_within(60s, client, [&] {
        return client.log().find("Invalid or missing account key") != std::string::npos;
    }));
    manager.renew_key();
    REQUIRE(manager.weak_key() != old);
    CHECK(
        managed.tells_until("--acct_mgr sync", "Received new authenticator from account manager"));
    CHECK_THAT(manager.last_request(), Contains("<account_key>" + old + "</account_key>"));
    create_job(managed.config(), "second", "text");
    const bool goes_on =
        managed.updated_within(120s, client, [&] { return managed.has_done("second_0"); });
    INFO(client.log());
    REQUIRE(goes_on);
    CHECK(managed.number("select count(*) from host") == 1);
}

}  // namespace

TEST_CASE("a stock client that an account manager has attached works, earns and leaves",
          "[server][boinc][integration]") {
    ManagedClient managed;
    PlayedManager& manager = *managed.manager;
    StockClient& client = *managed.client;
    manager.create_account("ada@example.org", "Towners");
    CHECK(managed.number("select count(*) from user where teamid = 1") == 1);
    CHECK(managed.tells_until("--acct_mgr attach " + manager.url() + " ada secret",
                              "Account manager contact succeeded"));
    const bool is_attached = within(60s, [&] { return managed.is_attached(); });
    INFO(client.log());
    REQUIRE(is_attached);

    // The client has the weak key only, and its work is the account's.
    const bool is_done =
        managed.updated_within(120s, client, [&] { return managed.has_done("first_0"); });
    INFO(client.log());
    INFO(managed.log());
    REQUIRE(is_done);
    CHECK(managed.number("select userid from result where name = 'first_0'") == 1);
    CHECK_THAT(managed.stored(), Contains(manager.weak_key()) && !Contains(manager.key()));
    CHECK_THAT(managed.log(), !Contains(manager.key()) && !Contains(manager.weak_key()));

    // The manager and the client see what it has earned.
    pay(managed);
    CHECK_THAT(manager.manage("show_user.php", {{"format", "xml"}, {"auth", manager.key()}}),
               Contains("<total_credit>12.500000</total_credit>") && Contains("<host>"));
    CHECK(managed.updated_within(60s, client, [&] {
        return client.tell("--get_project_status").find("user_total_credit: 12.5") !=
               std::string::npos;
    }));
    CHECK_THAT(client.tell("--get_project_status"), Contains("team_name: Towners"));

    change_settings(managed);
    change_password(managed);
    manager.dismiss();
    CHECK(within(60s, [&] {
        client.tell("--acct_mgr sync");
        return !managed.is_attached();
    }));
    CHECK_THAT(managed.stored(), !Contains(manager.key()));
    client.tell("--acct_mgr detach");

    // A project that is entered as an account manager says what it is.
    CHECK(managed.tells_until("--acct_mgr attach " + managed.url() + " ada secret",
                              "This is a project, not an account manager"));
    INFO(client.log());
    CHECK_THAT(client.log(), !Contains("Bad signature for URL"));
}

}  // namespace dedloc::server
