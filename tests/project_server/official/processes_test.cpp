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
#include "project_server/official/xml_file.hpp"
#include "project_server/transitioner/transitioner.hpp"
#include "project_server/xml/job_documents.hpp"
#include "tests/project_server/official/apache.hpp"
#include "tests/project_server/official/official_project.hpp"
#include "validators/output_file.hpp"

using namespace dedloc;
using namespace std::chrono_literals;

namespace {

constexpr int kUser = 5;
constexpr int kHost = 6;

/// The project with DeDLOC, a run and a volunteer, and the processes of bin/start.
class Started : public tests::OfficialProject {
  public:
    explicit Started(std::uint16_t port) : OfficialProject(tests::kUsualLists, port) {
        dedloc(DEDLOC_PROGRAMS "/dedloc", {"install", "--into", root().string()});
        std::string text;
        for (int i = 0; i < 400; ++i) {
            text += fmt::format("It was day {}. The people of town {} went home.\n\n", i, i % 7);
        }
        platform::replace_file(files_.path() / "text", text);
        const auto corpus = (files_.path() / "corpus").string();
        own({"corpus", "build", "--text", (files_.path() / "text").string(), "--out", corpus,
             "--vocabulary", "100"});
        // As in the folder of an installation, the launcher is beside the program.
        const auto program = files_.path() / "true";
        std::filesystem::copy_file("/bin/true", program);
        std::filesystem::copy_file(DEDLOC_PROGRAMS "/dedloc_launcher",
                                   files_.path() / "dedloc_launcher");
        own({"app", "add", "--project", root().string(), "--binary", program.string()});
        own({"run", "create", "--project", root().string(), "--name", "first", "--corpus", corpus,
             "--model", "tiny", "--target-batch", "4", "--steps", "100000"});
        database().execute(
            "insert into user (id, name, email_addr, authenticator) values (?, 'v', 'v@x', 'key')",
            {kUser});
        database().execute("insert into host (id, userid, p_ncpus, p_fpops) values (?, ?, 8, 1e12)",
                           {kHost, kUser});
    }
    ~Started() {
        for (const auto& [program, process] : processes_) {
            kill(process, SIGKILL);
            platform::wait_for_child(process);
        }
    }

    /// bin/dedloc of the project.
    std::string own(const std::vector<std::string>& arguments, int status = 0) {
        return dedloc((root() / "bin/dedloc").string(), arguments, status);
    }
    /// As bin/start does: the words of a <cmd>, in the folder tmp_HOST, with bin/ first in PATH.
    platform::Command command_of(const std::string& cmd) const {
        platform::Command command{"env", "-C", (root() / "tmp_machine").string(),
                                  "PATH=" + (root() / "bin").string() + ":/usr/bin:/bin"};
        std::istringstream words{cmd};
        for (std::string word; words >> word;) command.push_back(word);
        return command;
    }
    std::vector<std::string> commands(const server::XmlPath& list) const {
        const official::XmlFile xml{root(), official::kConfigFile, "boinc"};
        std::vector<std::string> found;
        for (const auto& entry : xml.text().children(list)) {
            if (official::is_of_ours(entry)) found.push_back(entry.field("cmd"));
        }
        return found;
    }
    void start() {
        for (const auto& cmd : commands(official::kDaemonsPath)) {
            const auto program = official::program_of(cmd);
            const auto log = root() / "log_machine" / (program + ".log");
            processes_.emplace(program, platform::spawn(command_of(cmd), {.output = log}));
        }
    }
    /// As bin/stop does.
    void stop() {
        for (const auto& [program, process] : processes_) kill(process, SIGHUP);
        for (const auto& [program, process] : processes_) {
            INFO(program << ": "
                         << platform::read_text(root() / "log_machine" / (program + ".log")));
            CHECK(platform::wait_for_child(process) == 0);
        }
        processes_.clear();
    }
    std::size_t running() const { return processes_.size(); }

    std::string one(const std::string& sql) {
        const auto row = database().query_one("select (" + sql + ") as x");
        return row->is_null("x") ? "" : row->text("x");
    }
    void await(const std::string& sql, const std::string& wanted) {
        const auto deadline = std::chrono::steady_clock::now() + 60s;
        while (one(sql) != wanted) {
            INFO(sql << " is " << one(sql) << ", not " << wanted);
            for (const auto& [program, process] : processes_) {
                INFO(program << ": "
                             << platform::failure_in(root() / "log_machine" / (program + ".log")));
                REQUIRE_FALSE(platform::poll_child(process));
            }
            REQUIRE(std::chrono::steady_clock::now() < deadline);
            std::this_thread::sleep_for(50ms);
        }
    }

  private:
    static std::string dedloc(const std::string& program, std::vector<std::string> arguments,
                              int status = 0) {
        arguments.insert(arguments.begin(), program);
        const auto finished = platform::run_to_end(arguments);
        INFO(fmt::format("{} {}: {}", arguments[1], arguments[2], finished.output));
        REQUIRE(finished.status == status);
        return finished.output;
    }

    TemporaryDirectory files_;
    std::map<std::string, pid_t> processes_;
};

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
    CHECK(world.running() == 5);
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
