// The statements that the daemons' loops, the scheduler and the polled pages execute, explained by
// MariaDB on tables with thousands of rows: none may read a table that grows as a whole. Those of
// dedloc-credit and dedloc-purge are tested in creditor_test and purge_test.
#include <httplib.h>

#include <algorithm>
#include <thread>

#include "peer/formats/albert_layout.hpp"
#include "peer/platform/files.hpp"
#include "project_server/database/recent_credit.hpp"
#include "project_server/publishing/keys.hpp"
#include "project_server/scheduler/scheduler.hpp"
#include "project_server/transitioner/transitioner.hpp"
#include "project_server/web/http_server.hpp"
#include "project_server/work/work_generator.hpp"
#include "tests/project_server/statement_log.hpp"
#include "tests/small_run.hpp"
#include "tests/validators/credit_world.hpp"
#include "validators/validator.hpp"

namespace dedloc::server {
namespace {

/// Rows of the past, in every table that grows. One account has had all jobs.
constexpr const char* kPast[] = {
    "insert into user (id, name, email_addr, authenticator, create_time, teamid, total_credit, "
    "expavg_credit, expavg_time) select seq, seq, seq, concat('old', seq), seq, seq, seq, 1 / seq, "
    "1 from seq_10000_to_14000",
    "insert into team (id, name, userid, total_credit, expavg_credit, expavg_time) "
    "select seq, seq, seq, seq, 1 / seq, 1 from seq_10000_to_13000",
    "insert into host (id, userid, create_time, rpc_time, host_cpid, total_credit, expavg_credit, "
    "expavg_time) select seq, seq, seq, seq, seq, seq, 1 / seq, 1 from seq_10000_to_14000",
    "insert into host_app_version (host_id, app_version_id) select seq, 1 from seq_10000_to_14000",
    "insert into workunit (id, appid, name, opaque, assimilate_state, canonical_resultid, "
    "transition_time, file_delete_state) select seq, 7, concat('old_', seq), 3, 2, seq, "
    "2147483647, 2 from seq_10000_to_14000",
    "insert into result (id, workunitid, appid, name, server_state, outcome, validate_state, "
    "hostid, userid, received_time, file_delete_state) select seq, seq, 7, "
    "concat('old_', seq, '_0'), 5, 1, 1, seq, 1, seq, 2 from seq_10000_to_14000",
    "insert into dedloc_step select 3, seq, 8, 1, 1, 1, 1, '', 1, seq from seq_1_to_3000",
    "insert into dedloc_contribution (runid, step, peer_key, samples, loss_sum, credit_state, "
    "committed_at) select 3, seq, sha2(seq, 256), 8, 1, 1, seq from seq_1_to_3000",
    "insert into dedloc_ticket (runid, peer_key, resultid, issued, expires) "
    "select 3, sha2(seq, 256), seq, seq, seq from seq_10000_to_13000",
    "insert into dedloc_seat (runid, peer_key, result_name, state, last_seen) "
    "select 3, sha2(seq, 256), concat('old_', seq, '_0'), 'left', seq from seq_10000_to_13000",
    "insert into dedloc_revocation (kind, subject, since) select 'host', seq, seq from "
    "seq_10000_to_13000",
    "insert into dedloc_evaluation select 3, seq, 1, 0, 1, 1, '', 1 from seq_1_to_2000",
    "insert into dedloc_figure select 3, seq, 'masked_accuracy', 1, 0 from seq_1_to_2000",
    "insert into dedloc_suspicion (source, runid, userid, what, first_seen, last_seen) "
    "select 'swarm', 3, seq, 'x', seq, seq from seq_10000_to_13000",
    "insert into dedloc_news (created, title, body) select seq, 't', 'b' from seq_1_to_2000",
    "insert into msg_from_host (hostid, variety, handled, create_time) select seq, 'x', 1, seq "
    "from seq_10000_to_13000",
    "insert into msg_to_host (hostid, variety, handled, create_time) select seq, 'x', 1, seq from "
    "seq_10000_to_13000",
    "insert into token (token, userid, type, expire_time) select seq, seq, 'S', 2000000000 from "
    "seq_10000_to_13000",
    "insert into badge_user (badge_id, user_id) select 1, seq from seq_10000_to_13000"};

/// A project that has run for years, and one seat with a job in progress.
class OldProject {
  public:
    /// `collation` is that of the text in BOINC's tables.
    explicit OldProject(const std::string& collation) {
        const auto own = own_tables();
        for (const std::string& table : all_tables()) {
            if (std::ranges::find(own, table) != own.end()) continue;
            database().execute(fmt::format("alter table {} convert to character set {} collate {}",
                                           table, collation.substr(0, collation.find('_')),
                                           collation));
        }
        make_key_pair(config().key_directory, "code_sign");
        make_key_pair(config().key_directory, "upload");
        auto run = tests::small_run();
        run.target_batch = 8;
        run.steps = 10;
        run.project_key = KeyPair::generate().public_key();
        run.backbone_key = KeyPair::generate().public_key();
        run.dht_seeds = {{.host = "127.0.0.1", .port = 1234}};
        run.shards = {{.name = "shard_a", .digest = {}, .bytes = 5}};
        run.tensors = formats::albert_tensors(formats::albert_of(run));
        const auto folder = config().directory / "runs/demo";
        std::filesystem::create_directories(folder / "shards");
        platform::replace_file(folder / "run.json", formats::write_run_file(run));
        platform::replace_file(folder / "shards/shard_a", "aaaaa");
        for (const char* const sql : kPast) database().execute(sql);
        database().execute(
            "insert into app (id, name, non_cpu_intensive) values (8, 'dedloc_aggregate', 1)");
        database().execute(
            "insert into app_version (appid, version_num, platformid, xml_doc) select 7, 100, id, "
            "'<app_version>\n</app_version>\n' from platform where name = 'x86_64-pc-linux-gnu'");
        world_.add_seat();
        database().execute("update user set show_hosts = 1 where id = 1");
        for (const auto& row : database().query("show tables")) {
            database().query("analyze table " + row.text("Tables_in_dedloc_test"));
        }
    }
    Database& database() { return world_.database(); }
    const ProjectConfig& config() const { return world_.project().config(); }
    validation::CreditWorld& world() { return world_; }

    /// dedloc-work and the transitioner; then the same for a paused run.
    void make_jobs() {
        for (const char* const state : {"running", "paused", "running"}) {
            database().execute("update dedloc_run set state = ?", {state});
            work::WorkGenerator{config(), database(), {.seats_ready = 2}}.pass();
            Transitioner{config()}.pass(std::time(nullptr) + 1);
        }
    }
    std::string ask(Scheduler& scheduler, const std::string& extra, int host, int sequence) {
        return scheduler.serve(
            database(),
            fmt::format("<scheduler_request><authenticator>secret1</authenticator><hostid>{}"
                        "</hostid><rpc_seqno>{}</rpc_seqno><platform_name>x86_64-pc-linux-gnu"
                        "</platform_name><host_info><p_ncpus>2</p_ncpus><m_nbytes>8e12</m_nbytes>"
                        "<host_cpid>c</host_cpid><d_free>1e13</d_free></host_info>{}"
                        "</scheduler_request>",
                        host, sequence, extra),
            "10.0.0.1", 1'800'000'000 + 100.0 * sequence);
    }
    void serve_clients() {
        Scheduler scheduler{config()};
        const char* const want =
            "<cpu_req_secs>100</cpu_req_secs><cpu_req_instances>2</cpu_req_instances>";
        (void)ask(scheduler, "", 0, 1);  // a new computer
        const auto host =
            static_cast<int>(database().query_one("select max(id) as id from host")->integer("id"));
        const std::string reply = ask(scheduler, want, host, 2);
        CHECK_THAT(reply, Catch::Contains("<workunit>"));
        const auto job = database().query_one(
            "select name from result where hostid = ? and server_state = 4", {host});
        REQUIRE(job);
        const std::string name = job->text("name");
        (void)ask(scheduler,
                  std::string{want} + "<other_results><other_result><name>" + name +
                      "</name></other_result></other_results>",
                  host, 3);
        (void)ask(scheduler,
                  "<result><name>" + name +
                      "</name><exit_status>0</exit_status><state>5</state></result>"
                      "<msg_from_host><result_name>" +
                      name + "</result_name><variety>dedloc_credit</variety></msg_from_host>",
                  host, 4);
        database().execute("update dedloc_run set state = 'paused'");
        (void)ask(scheduler, want, host, 5);
        database().execute("update dedloc_run set state = 'running'");
    }
    void visit(const std::vector<std::string>& pages) {
        const std::uint16_t port = platform::free_port("127.0.0.1");
        HttpServer server{config(), "127.0.0.1", port, {}};
        std::thread serving{[&] { server.run(); }};
        for (const auto& page : pages) {
            INFO(page);
            const auto reply = httplib::Client{"127.0.0.1", port}.Get(page.c_str());
            CHECK((reply && reply->status == 200));
        }
        server.stop();
        serving.join();
    }

  private:
    validation::CreditWorld world_{0.25, 8};
};

}  // namespace

TEST_CASE("no statement in a loop reads a table that grows as a whole", "[server][integration]") {
    // Ours; that of make_project; the defaults of MariaDB for latin1 and utf8mb4. Our own tables
    // are the same under an official server, and statements compare columns of both.
    const std::string collation =
        GENERATE(as<std::string>{}, "utf8mb4_nopad_bin", "utf8mb4_unicode_ci", "latin1_swedish_ci",
                 "utf8mb4_general_ci");
    INFO(collation);
    StatementLog log;
    OldProject project{collation};
    log.begin();
    project.make_jobs();
    project.serve_clients();
    project.make_jobs();
    validation::Validator{project.database(), project.config(), {}}.pass();
    project.world().add_seat();  // a ticket of the gateway
    for (int step = 0; step < 3; ++step) project.world().commit({{project.world().key(0), 8}});
    project.world().record();
    decay_recent_credit(project.database(), unix_now());
    // Pages that browsers, sites of statistics and Prometheus ask for again and again.
    project.visit({"/", "/metrics", "/server_status.php?xml=1", "/run/demo", "/users?sort=recent",
                   "/teams", "/hosts", "/user/1", "/host/1", "/show_user.php?format=xml&userid=1"});
    // Tables that stay small: apps, their versions, platforms, runs, badges. "team" is read
    // by its name only where the home page counts the teams, in an answer that is cached.
    const auto findings = log.explain(project.database(),
                                      {"app", "a", "app_version", "v", "platform", "p",
                                       "dedloc_run", "d", "badge", "dedloc_badge_rule", "team"},
                                      {"result", "r", "workunit", "w", "user", "u", "host", "h"});
    CHECK(findings.kinds > 60);
    for (const auto& scan : findings.scans) {
        UNSCOPED_INFO(scan);
    }
    CHECK(findings.scans.empty());
}

}  // namespace dedloc::server
