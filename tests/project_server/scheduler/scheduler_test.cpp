#include <boinc_db_types.h>

#include <catch2/catch.hpp>

#include "project_server/accounts/accounts.hpp"
#include "project_server/database/revocations.hpp"
#include "project_server/scheduler/request.hpp"
#include "project_server/xml/xml.hpp"
#include "tests/project_server/scheduler/office.hpp"

namespace dedloc::server {

TEST_CASE("a new host is told its id and the apps that it may run", "[server][boinc]") {
    Office office{1};
    const std::string reply = office.ask(kWantTwo);
    CHECK_THAT(reply, Catch::Contains("<hostid>1</hostid>"));
    CHECK_THAT(reply, Catch::Contains("<user_name>A &lt;b&gt; &amp; c</user_name>"));
    CHECK_THAT(reply, Catch::Contains("<code_sign_key>\n1024\n"));
    CHECK_THAT(reply, Catch::Contains("<request_delay>2.000000</request_delay>"));
    CHECK(sent(reply) == 1);
    CHECK(reply.find("<app>") < reply.find("<app_version>"));
    CHECK(reply.find("<app_version>") < reply.find("<workunit>"));
    CHECK(reply.find("<workunit>") < reply.find("<result>"));
    CHECK(office.result("w0_0").integer("server_state") == RESULT_SERVER_STATE_IN_PROGRESS);
    CHECK(office.result("w0_0").integer("report_deadline") ==
          static_cast<std::int64_t>(office.now) + 100);
    const std::string again = office.ask(
        "<code_sign_key>" + read_public_key_text(office.config.key_directory / "code_sign_public") +
            "</code_sign_key>",
        1, 2);
    CHECK_THAT(again, !Catch::Contains("<hostid>"));
    CHECK_THAT(again, !Catch::Contains("code_sign_key"));
    CHECK(office.count("host") == 1);
}

TEST_CASE("an unknown key and an unreadable request get a reply that says so", "[server][boinc]") {
    Office office{1};
    const std::string reply = office.scheduler->serve(
        office.project.database(),
        "<scheduler_request><authenticator>x' or '1'='1</authenticator></scheduler_request>", "a",
        1);
    CHECK_THAT(reply, Catch::Contains("account key"));
    CHECK_THAT(office.scheduler->serve(office.project.database(), "\xFF\xFE", "a", 1),
               Catch::Contains("</scheduler_reply>"));
    CHECK(office.count("host") == 0);
}

TEST_CASE("the processors of a host have one job, whatever their number", "[server][boinc]") {
    Office office{5};
    const std::string others = "<other_results></other_results>";
    CHECK(sent(office.ask(kWantTwo + others)) == 1);
    const std::string holds = "<other_results><other_result><name>" +
                              office.project.database()
                                  .query_one("select name from result where server_state = 4")
                                  ->text("name") +
                              "</name></other_result></other_results>";
    CHECK(sent(office.ask("<cpu_req_secs>9</cpu_req_secs>" + holds, 1, 2)) == 0);
    const std::string full = office.ask(kWantTwo + holds, 1, 3);
    CHECK(sent(full) == 0);
    CHECK_THAT(full, Catch::Contains("The processors of this computer have their task already"));
    CHECK(sent(office.ask(others, 1, 4)) == 0);
    CHECK(office.count("result where server_state = 4") == 1);
    // An administrator may give a host more seats.
    office.config.cpu_seats = 2;
    CHECK(sent(office.ask(kWantTwo + holds, 1, 5)) == 1);
    CHECK(office.count("result where server_state = 4") == 2);
}

TEST_CASE("two hosts never get the same job", "[server][boinc]") {
    Office office{3};
    for (int i = 0; i < 3; ++i) {
        CHECK(sent(office.ask(kWantTwo + std::string{"<allow_multiple_clients/>"})) == 1);
    }
    const std::string none = office.ask(kWantTwo + std::string{"<allow_multiple_clients/>"});
    CHECK(sent(none) == 0);
    CHECK_THAT(none, Catch::Contains("No tasks are available now."));
    CHECK(office.count("host") == 4);
    CHECK(office.count("(select hostid from result group by hostid) as h") == 3);
}

TEST_CASE("a report is stored once and acknowledged every time", "[server][boinc]") {
    Office office{1};
    office.ask(kWantTwo);
    CHECK_THAT(office.ask(report("w0_0"), 1, 2),
               Catch::Contains("<result_ack>\n<name>w0_0</name>"));
    Row row = office.result("w0_0");
    CHECK(row.integer("outcome") == RESULT_OUTCOME_SUCCESS);
    CHECK(row.text("stderr_out") == "hi");
    const auto received = row.integer("received_time");
    CHECK_THAT(office.ask(report("w0_0", 1, 3), 1, 3), Catch::Contains("<result_ack>"));
    row = office.result("w0_0");
    CHECK(row.integer("outcome") == RESULT_OUTCOME_SUCCESS);
    CHECK(row.integer("received_time") == received);
    CHECK_THAT(office.ask(report("unheard_of"), 1, 4), Catch::Contains("unheard_of"));
}

TEST_CASE("a result is accepted only from its account, but from any of its hosts",
          "[server][boinc]") {
    Office office{1};
    office.ask(kWantTwo);
    office.project.database().execute("update result set userid = 7");
    CHECK_THAT(office.ask(report("w0_0"), 1, 2), Catch::Contains("<result_ack>"));
    CHECK(office.result("w0_0").integer("server_state") == RESULT_SERVER_STATE_IN_PROGRESS);
    office.project.database().execute("update result set userid = 1");
    office.ask("<allow_multiple_clients/>" + report("w0_0"));
    CHECK(office.result("w0_0").integer("server_state") == RESULT_SERVER_STATE_OVER);
    CHECK(office.result("w0_0").integer("hostid") == 2);
}

TEST_CASE("a failed task is an error and calls the transitioner", "[server][boinc]") {
    Office office{1};
    office.ask(kWantTwo);
    office.ask(report("w0_0", 197, 3), 1, 2);
    CHECK(office.result("w0_0").integer("outcome") == RESULT_OUTCOME_CLIENT_ERROR);
    CHECK(office.result("w0_0").integer("validate_state") == VALIDATE_STATE_INVALID);
    CHECK(office.count("workunit where transition_time <= 1800000100") == 1);
}

TEST_CASE("jobs of a lost reply are resent", "[server][boinc]") {
    Office office{2};
    CHECK(sent(office.ask(kWantTwo)) == 1);
    const std::string again =
        office.ask(kWantTwo + std::string{"<other_results></other_results>"}, 1, 2);
    CHECK(sent(again) == 1);
    CHECK(office.count("result where server_state = 4") == 1);
}

TEST_CASE("a copied client folder becomes a new host", "[server][boinc]") {
    Office office{0};
    office.ask("", 0, 1);
    office.now += kHostRefresh;
    office.ask("", 1, 7);
    CHECK_THAT(office.ask("<allow_multiple_clients>1</allow_multiple_clients>", 1, 3),
               Catch::Contains("<hostid>2</hostid>"));
}

TEST_CASE("messages that ask for credit are stored, one for each result", "[server][boinc]") {
    Office office{2};
    office.ask(kWantTwo);
    const auto message = [](const std::string& result, const std::string& variety) {
        return "<msg_from_host><result_name>" + result + "</result_name><time>1</time><variety>" +
               variety + "</variety> 1 < 2 </msg_from_host>";
    };
    const std::string credit = message("w0_0", "dedloc_credit");
    int sequence = 1;
    const auto send = [&](const std::string& messages) {
        CHECK_THAT(office.ask(messages, 1, ++sequence),
                   Catch::Contains("<message_ack>1</message_ack>"));
        return office.count("msg_from_host");
    };
    CHECK(send(credit) == 1);
    const auto row = office.project.database().query_one("select * from msg_from_host");
    REQUIRE(row);
    CHECK(row->text("variety") == "dedloc_credit");
    CHECK_THAT(row->text("xml"), Catch::Contains("1 < 2"));
    // Another one while it is not handled; other kinds; results of others, or of none.
    CHECK(send(credit + credit + message("w0_0", "loss") + message("w1_0", "dedloc_credit") +
               message("nothing", "dedloc_credit") + message("", "dedloc_credit")) == 1);
    office.project.database().execute("update msg_from_host set handled = 1");
    CHECK(send(credit + credit) == 2);
}

TEST_CASE("messages over a limit are neither stored nor acknowledged", "[server][boinc]") {
    Office office{0};
    const std::string one = "<msg_from_host><variety>v</variety>x</msg_from_host>";
    std::string messages = one;
    std::string reason;
    SECTION("too many") {
        for (std::size_t i = 0; i < kMaxMessages; ++i) messages += one;
        reason = "more than 1000 messages at once";
    }
    SECTION("too large") {
        messages +=
            "<msg_from_host><variety>v</variety>" + std::string(4'097, 'x') + "</msg_from_host>";
        reason = "is larger than 4096";
    }
    const std::string reply = office.ask(messages);
    CHECK_THAT(reply, !Catch::Contains("message_ack"));
    CHECK_THAT(reply, Catch::Contains(reason));
    CHECK(office.project.database().query("select id from msg_from_host").empty());
}

TEST_CASE("cancelled and unknown tasks are aborted", "[server][boinc]") {
    Office office{1};
    office.ask(kWantTwo);
    office.project.database().execute("update workunit set error_mask = 16");
    const std::string reply = office.ask(
        "<other_results><other_result><name>w0_0</name></other_result>"
        "<other_result><name>mystery</name></other_result></other_results>",
        1, 2);
    CHECK_THAT(reply, Catch::Contains("<result_abort>\n<name>w0_0</name>"));
    CHECK_THAT(reply, Catch::Contains("<result_abort>\n<name>mystery</name>"));
}

TEST_CASE("a host that cannot run the jobs is told why", "[server][boinc]") {
    Office office{1};
    office.project.database().execute("update workunit set rsc_memory_bound = 16e9");
    CHECK_THAT(office.ask(kWantTwo), Catch::Contains("of memory"));
    office.project.database().execute("update app_version set deprecated = 1");
    office.now += kCatalogueSeconds;
    CHECK_THAT(office.ask(kWantTwo, 1, 2),
               Catch::Contains("no application that uses processors on x86_64-pc-linux-gnu") &&
                   Catch::Contains("<no_rsc_apps>CPU</no_rsc_apps>"));
}

TEST_CASE("a banned account or computer gets no jobs and is told why, until the ban is withdrawn",
          "[server][boinc]") {
    Office office{3};
    Database& database = office.project.database();
    const formats::UtcSeconds now{std::chrono::seconds{1'800'000'000}};
    CHECK(sent(office.ask("<cpu_req_secs>9</cpu_req_secs>")) == 1);
    for (const formats::Revocations& revoked :
         {formats::Revocations{.as_of = now, .users = {1}, .hosts = {}, .peers = {}},
          formats::Revocations{.as_of = now, .users = {}, .hosts = {1}, .peers = {}}}) {
        revoke(database, revoked, now, "it sends <nonsense>");
        const std::string refusal = office.ask(kWantTwo, 1, 2);
        CHECK(sent(refusal) == 0);
        CHECK_THAT(refusal, Catch::Contains("gets no tasks: it sends &lt;nonsense&gt;") ||
                                Catch::Contains("get no tasks: it sends &lt;nonsense&gt;"));
        // A computer that is new to the project is covered by the ban of its account only.
        const std::string new_host =
            office.ask(kWantTwo + std::string{"<allow_multiple_clients>1"
                                              "</allow_multiple_clients>"});
        CHECK(sent(new_host) == (revoked.users.empty() ? 1 : 0));
        if (!revoked.users.empty()) CHECK_THAT(new_host, Catch::Contains("banned this account"));
        // Its jobs are not lost: they end by themselves and are reported.
        CHECK_THAT(refusal, !Catch::Contains("<result_abort>"));
        forgive(database, revoked);
    }
    revoke(database, {.as_of = now, .users = {2}, .hosts = {2}, .peers = {}}, now);
    CHECK(sent(office.ask(kWantTwo + std::string{"<other_results></other_results>"}, 1, 3)) == 1);
}

TEST_CASE("a banned computer gets no jobs when its client has lost the id", "[server][boinc]") {
    Office office{1};
    (void)office.ask("");
    revoke(office.project.database(), {.as_of = {}, .users = {}, .hosts = {1}, .peers = {}},
           formats::UtcSeconds{std::chrono::seconds{1'800'000'000}});
    const std::string reply = office.ask(kWantTwo);
    CHECK(sent(reply) == 0);
    CHECK_THAT(reply, Catch::Contains("The project has banned this computer"));
}

TEST_CASE("failures lower the number of jobs that a host gets in a day", "[server][boinc]") {
    Office office{12, 3};
    const auto get = [&](int sequence) {
        return office.ask("<cpu_req_secs>9</cpu_req_secs><other_results></other_results>", 1,
                          sequence);
    };
    const auto held = [&] {
        const auto row =
            office.project.database().query_one("select name from result where server_state = 4");
        return row ? row->text("name") : std::string{};
    };
    // Three jobs a day, and every job fails.
    CHECK(sent(office.ask("<cpu_req_secs>9</cpu_req_secs>")) == 1);
    int jobs = 1, sequence = 2;
    for (; sequence < 20; ++sequence) {
        office.ask(report(held(), 1, 3), 1, sequence);
        const std::string reply = get(sequence);
        if (sent(reply) == 0) {
            CHECK_THAT(reply, Catch::Contains("that it may get today"));
            break;
        }
        ++jobs;
    }
    CHECK(jobs == 2);  // after the second failure the quota is one
    // A new day: a success doubles the quota, the next one restores it.
    office.now += 86'400;
    CHECK(sent(get(20)) == 1);
    CHECK_THAT(office.ask(report(held()), 1, 21), Catch::Contains("<result_ack>"));
    CHECK(office.project.database()
              .query_one("select max_jobs_per_day as n from host_app_version")
              ->integer("n") == 2);
    for (sequence = 22, jobs = 1; sent(get(sequence)) == 1; ++sequence, ++jobs) {
        office.ask(report(held()), 1, sequence);
    }
    CHECK(jobs == 3);
    CHECK(office.count("host_app_version where max_jobs_per_day = 3 and n_jobs_today = 3") == 1);
}

TEST_CASE("a request that reports and wants nothing writes nothing for a minute",
          "[server][boinc]") {
    Office office{1};
    const auto stored = [&] {
        return office.project.database()
            .query_one("select rpc_time from host")
            ->integer("rpc_time");
    };
    office.ask("");
    const auto first = stored();
    CHECK_THAT(office.ask("", 1, 2), Catch::Contains("<host_total_credit>") &&
                                         Catch::Contains("</gui_urls>\n</scheduler_reply>"));
    CHECK(stored() == first);
    // Trickle-downs, a report and a request for work are stored at once, and so is the host again
    // after a minute.
    office.config.send_messages_to_hosts = true;
    office.project.database().execute(
        "insert into msg_to_host (hostid, xml) values (1, '<trickle_down>x</trickle_down>')");
    CHECK_THAT(office.ask("", 1, 3), Catch::Contains("<trickle_down>x"));
    CHECK_THAT(office.ask("", 1, 4), !Catch::Contains("<trickle_down>"));
    CHECK(sent(office.ask(kWantTwo, 1, 5)) == 1);
    CHECK_THAT(office.ask(report("w0_0"), 1, 6), Catch::Contains("<result_ack>"));
    const auto last = stored();
    office.now += kHostRefresh;
    office.ask("", 1, 7);
    CHECK(stored() > last);
    // A copied client folder is noticed although the last number was not stored.
    office.ask("<allow_multiple_clients/>", 1, 2);
    CHECK(office.count("host") == 2);
}

TEST_CASE("a new day's quota begins with any request of that day", "[server][boinc]") {
    Office office{3, 1};
    CHECK(sent(office.ask("<cpu_req_secs>9</cpu_req_secs>")) == 1);
    office.ask(report("w0_0") + report("w1_0") + report("w2_0"), 1, 2);
    CHECK_THAT(office.ask("<cpu_req_secs>9</cpu_req_secs>", 1, 3),
               Catch::Contains("that it may get today"));
    office.now += 86'400;
    office.ask("", 1, 4);
    CHECK(sent(office.ask("<cpu_req_secs>9</cpu_req_secs>", 1, 5)) == 1);
}

TEST_CASE("the choice of a job reads few rows, however many are unsent", "[server][boinc]") {
    Office office{1};
    Database& database = office.project.database();
    database.execute(
        "insert into workunit (id, name, appid, xml_doc, delay_bound, transition_time) select seq, "
        "concat('w', seq), 1, '<workunit>\n</workunit>\n', 100, 1 from seq_2_to_5000");
    database.execute(
        "insert into result (name, workunitid, appid, server_state, priority, xml_doc_in) select "
        "concat('w', seq, '_0'), seq, 1, 2, seq % 7, '<result>\n</result>\n' from seq_2_to_5000");
    const auto rows_read = [&] {
        std::int64_t sum = 0;
        for (const Row& row : database.query("show session status like 'Handler_read%'")) {
            sum += row.integer("Value");
        }
        return sum;
    };
    office.ask("");
    const std::int64_t before = rows_read();
    CHECK(sent(office.ask(kWantTwo, 1, 2)) == 1);
    CHECK(rows_read() - before < 1000);
    // Jobs of the highest priority go first, of them the oldest.
    CHECK(office.count("result where server_state = 4 and priority = 6") == 1);
    CHECK(office.count("result where server_state = 4 and name = 'w6_0'") == 1);
}

TEST_CASE("an account is created once and found only with its password", "[server][boinc]") {
    TestProject project;
    Database& database = project.database();
    const std::string password(32, 'a');
    const std::string other(32, 'b');
    const auto create = [&](const AccountRequest& request) {
        return create_account(database, account_at(database, request.email), request, 5).text;
    };
    const auto look_up = [&](const AccountRequest& request) {
        return look_up_account(account_at(database, request.email), request).text;
    };
    const std::string made = create({.email = "X@Y.org", .password_hash = password, .name = "X"});
    CHECK_THAT(made, Catch::Contains("<authenticator>"));
    CHECK(create({.email = "x@y.org", .password_hash = password, .name = "Z"}) == made);
    CHECK_THAT(create({.email = "x@y.org", .password_hash = other, .name = "Z"}),
               Catch::Contains("-137"));
    CHECK(look_up({.email = "x@y.org", .password_hash = password, .name = ""}) == made);
    CHECK_THAT(look_up({.email = "x@y.org", .password_hash = other, .name = ""}),
               Catch::Contains("-206"));
    CHECK_THAT(look_up({.email = "n@y.org", .password_hash = other, .name = ""}),
               Catch::Contains("-136"));
    CHECK_THAT(look_up({.email = "x@y.org", .password_hash = "", .name = ""}),
               Catch::Contains("<success/>"));
    CHECK_THAT(create({.email = "no mail", .password_hash = other, .name = "n"}),
               Catch::Contains("-205"));
    CHECK_THAT(create({.email = "q@y.org", .password_hash = other, .name = ""}),
               Catch::Contains("-188"));
    CHECK_THAT(create({.email = "q@y.org", .password_hash = "short", .name = "n"}),
               Catch::Contains("-206"));
    CHECK_THAT(database.query_one("select passwd_hash from user")->text("passwd_hash"),
               Catch::StartsWith("$argon2id$"));
}

}  // namespace dedloc::server
