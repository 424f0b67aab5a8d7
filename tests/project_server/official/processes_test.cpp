// An official project as its administrator has it after dedloc install: bin/start's daemons are
// real processes, Apache is in front, and one peer trains. BOINC's own daemons are played: its
// transitioner by ours, its scheduler by a few statements.
#include <boinc_db_types.h>
#include <fmt/format.h>

#include <ctime>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "peer/formats/receipt.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/net/gateway/enrolment.hpp"
#include "peer/platform/key_file.hpp"
#include "peer/tool/files.hpp"
#include "project_server/transitioner/transitioner.hpp"
#include "project_server/xml/job_documents.hpp"
#include "tests/project_server/official/apache.hpp"
#include "tests/project_server/official/started_project.hpp"
#include "validators/output_file.hpp"

using namespace dedloc;
using namespace std::chrono_literals;
using tests::kHost;
using tests::kUser;
using tests::Started;

namespace {

/// A peer in the seat of a result, with a ticket that it has got through Apache.
class Seat {
  public:
    Seat(const Started& world, const std::string& result) : result_(result) {
        const auto file = world.root() / "dedloc/runs/first/run.json";
        const auto run = formats::parse_run_file(platform::read_text(file));
        run_ = formats::run_id(run);
        const auto reply = net::enrol({.gateway = run.gateway,
                                       .request = {.authenticator = "key",
                                                   .host = kHost,
                                                   .result = result,
                                                   .key = key_.public_key(),
                                                   .port = 0},
                                       .project = run.project_key,
                                       .ticket_key = run.ticket_key,
                                       .run = run_,
                                       .first_pause = 50ms,
                                       .timeout = 20s},
                                      [] { return false; });
        REQUIRE(reply);
        CHECK(reply->address == "127.0.0.1");
        platform::write_key(folder_.path() / "key", key_);
        tool::write_ticket(folder_.path() / "ticket", reply->ticket);
        process_ = platform::spawn(
            {DEDLOC_PROGRAMS "/dedloc-peer", "join", file.string(), "--key",
             (folder_.path() / "key").string(), "--ticket", (folder_.path() / "ticket").string(),
             "--samples-per-second", "20", "--quiet"},
            {.output = folder_.path() / "log"});
    }
    ~Seat() { leave(); }
    void leave() {
        if (process_ == 0) return;
        kill(process_, SIGTERM);
        platform::wait_for_child(std::exchange(process_, 0));
    }
    std::string key() const { return key_.public_key().hex(); }
    /// Its receipt over these rounds.
    Buffer receipt(std::vector<formats::ReceiptLine> lines) const {
        return formats::encode_receipt({.run = run_,
                                        .result_name = result_,
                                        .peer = key_.public_key(),
                                        .lines = std::move(lines)},
                                       key_);
    }

  private:
    const std::string result_;
    const KeyPair key_ = KeyPair::generate();
    RunId run_{};
    TemporaryDirectory folder_;
    pid_t process_ = 0;
};

/// What BOINC's scheduler and upload handler do when the volunteer's client reports the job.
void report(Started& world, const Seat& seat, const std::string& result) {
    const auto db = [&]() -> server::Database& { return world.database(); };
    std::vector<formats::ReceiptLine> lines;
    for (const auto& row : db().query("select step, samples from dedloc_contribution where "
                                      "peer_key = ? order by step",
                                      {seat.key()})) {
        lines.push_back({.step = StepIndex{static_cast<std::uint64_t>(row.integer("step")) - 1},
                         .samples = Samples{static_cast<std::uint64_t>(row.integer("samples"))}});
    }
    REQUIRE_FALSE(lines.empty());
    const auto row = db().query_one("select xml_doc_in from result where name = ?", {result});
    const auto names = server::referenced_files(row->text("xml_doc_in"));
    REQUIRE(names.size() == 2);  // the receipt, and an optional checkpoint
    const auto file =
        validation::output_file_path(server::load_project_config(world.root()), names.front());
    std::filesystem::create_directories(file.parent_path());
    platform::replace_file(file, seat.receipt(lines));
    db().execute(
        "update result set server_state = ?, outcome = ?, received_time = ? where name = ?",
        {RESULT_SERVER_STATE_OVER, RESULT_OUTCOME_SUCCESS, std::time(nullptr), result});
    db().execute(
        "update workunit set need_validate = 1 where id = (select workunitid from result "
        "where name = ?)",
        {result});
}

/// A job of another app gets no ticket, although its workunit has a run's number in `opaque`.
void check_other_app(Started& world, const std::string& result) {
    const auto set_app = [&](const std::string& name) {
        world.database().execute(
            "update result set appid = (select id from app where name = ?) where name = ?",
            {name, result});
    };
    world.database().execute(
        "insert into app (create_time, name, user_friendly_name) values (0, 'another', 'x')");
    set_app("another");
    CHECK_THROWS_WITH((Seat{world, result}), Catch::Contains("is no job of DeDLOC"));
    set_app("dedloc_train");
    world.database().execute("delete from app where name = 'another'");
}

/// What would be removed, as JSON.
void check_removal_json(Started& world) {
    const auto root = world.root().string();
    CHECK_THAT(world.own({"install", "--into", root, "--remove", "--dry-run", "--json"}),
               Catch::StartsWith("{\"project\":\"" + root + "\",\"is_dry\":true,") &&
                   Catch::Contains("\"steps\":[{\"outcome\":\"would\",\"what\":\""));
}

}  // namespace

TEST_CASE("the daemons do a job from its creation to its credit, end on SIGHUP, and leave no trace",
          "[server][official]") {
    const auto port = platform::free_port("127.0.0.1");
    Started world{port};
    const tests::Apache apache{world.root(), port};
    world.start();
    CHECK(world.commands(official::kTasksPath).size() == 1);

    // dedloc-work makes jobs; the transitioner makes their results, the scheduler sends one.
    world.await("select count(*) >= 16 from workunit", "1");
    const auto config = server::load_project_config(world.root());
    server::Transitioner{config}.pass(std::time(nullptr) + 1);
    const auto result = world.one("select name from result order by id limit 1");
    REQUIRE_FALSE(result.empty());
    world.database().execute(
        "update result set server_state = ?, hostid = ?, userid = ?, sent_time = ? where name = ?",
        {RESULT_SERVER_STATE_IN_PROGRESS, kHost, kUser, std::time(nullptr) - 60, result});

    check_other_app(world, result);
    // dedloc-gateway gives the peer a ticket, and the backbone that dedloc-runs has started
    // coordinates it.
    Seat seat{world, result};
    world.await("select count(*) > 2 from dedloc_contribution", "1");
    world.database().execute(
        "insert into msg_from_host (hostid, variety, xml) values (?, ?, ?)",
        {kHost, formats::kCreditMessage, "<result_name>" + result + "</result_name>\n"});
    world.await("select total_credit > 0 from user where id = 5", "1");
    CHECK_THAT(world.own({"run", "status", "--project", world.root().string(), "--name", "first",
                          "--json"}),
               Catch::Contains("\"live\":true"));
    CHECK_THAT(world.own({"user", "show", "--project", world.root().string(), "v"}),
               Catch::Contains("v@x"));
    CHECK_THAT(world.own({"run", "pause", "--project", world.root().string(), "--name", "first"}),
               Catch::Contains("paused"));
    world.own({"run", "resume", "--project", world.root().string(), "--name", "first"});

    // The receipt is judged and the job closed; a ban outlives that.
    world.own({"host", "ban", "--project", world.root().string(), std::to_string(kHost)});
    seat.leave();
    report(world, seat, result);
    world.await("select validate_state from result where name = '" + result + "'", "1");
    world.await("select count(*) from workunit where assimilate_state = 2", "1");
    CHECK(world.one("select max_results_day from host where id = 6") == "-1");
    world.database().execute("insert into host (id, userid, max_results_day) values (7, 5, 3)");
    world.own({"user", "ban", "--project", world.root().string(), std::to_string(kUser)});
    world.database().execute("update host set max_results_day = 3");  // dedloc-work sees to it
    world.await("select group_concat(max_results_day order by id) from host", "-1,-1");
    world.own({"user", "unban", "--project", world.root().string(), std::to_string(kUser)});
    world.own({"host", "unban", "--project", world.root().string(), std::to_string(kHost)});
    CHECK(world.one("select group_concat(max_results_day order by id) from host") == "3,3");

    const auto purge =
        platform::run_to_end(world.command_of(world.commands(official::kTasksPath).front()));
    INFO(purge.output);
    CHECK(purge.status == 0);
    CHECK_THAT(world.own({"install", "--into", world.root().string(), "--remove"}, 2),
               Catch::Contains("bin/stop"));
    world.stop();
    check_removal_json(world);
    world.own({"install", "--into", world.root().string(), "--remove", "--drop-data"});
    for (const auto& [name, text] : world.files()) {
        INFO(name);
        CHECK(name.find("dedloc") == std::string::npos);
        if (name == "config.xml") CHECK(text.find("<dedloc_") == std::string::npos);
    }
    for (const auto& [name, text] : world.tables()) CHECK_FALSE(name.starts_with("dedloc"));
    for (const char* const table : {"app", "app_version", "workunit", "result"}) {
        CHECK(world.one(std::string{"select count(*) from "} + table) == "0");
    }
}
