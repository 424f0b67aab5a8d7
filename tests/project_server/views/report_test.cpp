#include "project_server/accounts/account_removal.hpp"
#include "project_server/views/run_report.hpp"
#include "project_server/views/users.hpp"
#include "tests/project_server/project_fixture.hpp"

using namespace dedloc;
using namespace dedloc::server;

TEST_CASE("credit of deleted accounts and of compacted contributions is still counted",
          "[server][integration]") {
    TestProject project;
    auto& database = project.database();
    for (const char* const sql : {
             "insert into user (id, name, email_addr, authenticator, total_credit) values "
             "(1, 'Ann', 'a@x', 'a', 6), (2, 'Bob', 'b@x', 'b', 4)",
             "insert into dedloc_run (id, name, run_id, spec, target_batch, steps, "
             "flops_per_sample, credit_per_sample, created) values "
             "(3, 'demo', '', '{}', 8, 10, 1e6, 0.5, 0)",
             "insert into dedloc_contribution (runid, step, peer_key, samples, loss_sum, credit, "
             "credit_state, reduced_bytes) values (3, 1, 'k1', 8, 0, 6, 1, 100000000), (3, 1, "
             "'k2', 6, 0, 3, 1, 0), (3, 2, 'k3', 5, 0, 0, 3, 700), (3, 3, 'k1', 3, 0, 0, 2, 50)",
             "insert into dedloc_daily_credit values (3, 2, 20, 20000, 1, 1, 9, 1, 25000000, 4)",
         }) {
        database.execute(sql);
    }
    CHECK(run_report(database, "demo").credit_agrees());
    delete_account(database, 2, 1'800'000'000);
    const RunReport report = run_report(database, "demo");
    CHECK(report.credit_agrees());
    // 15 samples at 0.5 and an eighth of a gigabyte at 20.
    CHECK(report.samples == 15);
    CHECK(report.reduced_bytes == 125'000'000);
    CHECK(report.credit_due() == 10);
    CHECK(report.unowned == 14);
    CHECK(report.unowned_bytes == 704);
    CHECK(report.withheld == 3);
    CHECK(report.withheld_bytes == 50);
    CHECK(report.credit_of_users == 10);
    CHECK(report.credit_of_all_runs == 10);
    // Repeating a deletion that a crash has cut off counts nothing twice.
    delete_account(database, 2, 1'800'000'001);
    CHECK(run_report(database, "demo").credit_agrees());
    database.execute("update dedloc_daily_credit set reduced_bytes = reduced_bytes + 1000");
    CHECK_FALSE(run_report(database, "demo").credit_agrees());
    database.execute("update dedloc_daily_credit set reduced_bytes = reduced_bytes - 1000");
    CHECK(run_report(database, "demo").credit_agrees());
    database.execute("update user set total_credit = 7 where id = 1");
    CHECK_FALSE(run_report(database, "demo").credit_agrees());
}

TEST_CASE("credit of other apps and contributions that are not credited yet are no difference",
          "[server][integration]") {
    TestProject project;
    auto& database = project.database();
    for (const char* const sql : {
             "insert into user (id, name, email_addr, authenticator, total_credit) values "
             "(1, 'Ann', 'a@x', 'a', 106), (2, 'Bob', 'b@x', 'b', 2000), (3, 'Cem', 'c@x', 'c', 9)",
             "insert into host (id, userid, total_credit) values (10, 1, 106), (30, 3, 9)",
             "insert into dedloc_run (id, name, run_id, spec, target_batch, steps, "
             "flops_per_sample, credit_per_sample, created) values "
             "(3, 'demo', '', '{}', 8, 10, 1e6, 0.5, 0)",
             "insert into dedloc_ticket (peer_key, runid, userid, hostid, resultid, issued, "
             "expires) values ('k1', 3, 1, 10, 1, 0, 0), ('k3', 3, 3, 30, 2, 0, 0)",
             "insert into dedloc_contribution (runid, step, peer_key, samples, loss_sum, credit, "
             "credit_state, reduced_bytes) values (3, 1, 'k1', 12, 0, 6, 1, 0), "
             "(3, 1, 'k3', 18, 0, 9, 1, 0), (3, 2, 'k1', 7, 0, 0, 0, 0)",
         }) {
        database.execute(sql);
    }
    CHECK_FALSE(run_report(database, "demo").credit_agrees());  // a server without other apps
    const RunReport report = run_report(database, "demo", true);
    CHECK(report.uncredited == 1);
    CHECK(report.credit_agrees());
    database.execute("update dedloc_contribution set credit = 7 where step = 1 and peer_key='k1'");
    CHECK_FALSE(run_report(database, "demo", true).credit_agrees());

    // The leaderboard is that of our runs.
    const auto first = [&](bool has_other_apps) {
        return leaderboard(database, 1, has_other_apps).front();
    };
    CHECK(first(false).name == "Bob");
    CHECK(first(true).name == "Cem");
    CHECK(first(true).credit == 9);
    CHECK(leaderboard(database, 9, true).size() == 2);
}

TEST_CASE("a run without any credit yet differs in nothing", "[server][integration]") {
    TestProject project;
    project.database().execute(
        "insert into dedloc_run (id, name, run_id, spec, target_batch, steps, flops_per_sample, "
        "credit_per_sample, created) values (3, 'demo', '', '{}', 8, 10, 1e6, 0.5, 0)");
    project.database().execute(
        "insert into dedloc_contribution (runid, step, peer_key, samples, loss_sum) values "
        "(3, 1, 'k1', 12, 0)");
    CHECK(run_report(project.database(), "demo").uncredited == 1);
    CHECK(run_report(project.database(), "demo").credit_agrees());
}
