// Two stock BOINC clients whose requests carry one CPID, as copied disks do, on computers that are
// equal: the account, the processor, the memory, the system and even the address are the same.
#include <map>

#include "peer/formats/receipt.hpp"
#include "project_server/database/boinc_apps.hpp"
#include "project_server/gateway/tickets.hpp"
#include "tests/project_server/web/served_project.hpp"
#include "validators/creditor.hpp"
#include "validators/validator.hpp"

namespace dedloc::server {
namespace {

using Catch::Contains;

constexpr const char* kCpid = "0123456789abcdef0123456789abcdef";
const std::string kAccountKey(32, 'a');

struct Project : ServedProject {
    Project() {
        // The gateway and the validator serve no other apps than ours.
        publish_small_app(database(), config(), DEDLOC_SMALL_APP, "", 100, kTrainerApp);
        database().execute(
            "insert into user (name, email_addr, authenticator) values ('Ada', 'a@b', ?)",
            {kAccountKey});
    }
    std::int64_t count(const std::string& what) { return number("select count(*) from " + what); }
    /// The number of the host that has a job in progress of which `others` have none; 0: none yet.
    std::int64_t host_with_job(const std::string& others) {
        const auto row = database().query_one(
            "select hostid from result where server_state = 4 and hostid not in (" + others + ")");
        return row ? row->integer("hostid") : 0;
    }
    void attach(const StockClient& client) const {
        client.tell("--project_attach " + url() + " " + kAccountKey);
    }
    /// Attaches a client that computes nothing, and returns the number of its host, which has a
    /// job. `others` have jobs already.
    std::int64_t start(const StockClient& client, const std::string& others) {
        client.tell("--set_run_mode never");  // a job in progress stays that
        attach(client);
        std::int64_t host = 0;
        const bool has_job =
            updated_within(60s, client, [&] { return (host = host_with_job(others)) != 0; });
        INFO(client.log());
        REQUIRE(has_job);
        return host;
    }
};

/// A run in whose first step each of two jobs has trained. The output of a job is its receipt,
/// which small_app copies from the input; the swarm that would have trained is left out.
class TrainedRun {
  public:
    explicit TrainedRun(ServedProject& project) : project_(project) {
        Database& database = project.database();
        database.execute(
            "insert into dedloc_run (id, name, run_id, spec, target_batch, steps, "
            "flops_per_sample, credit_per_sample, created) values (3, 'demo', ?, '{}', 96, 100, "
            "1e6, 0.25, 0)",
            {run_.hex()});
        database.execute(
            "insert into dedloc_step (runid, step, samples, loss, learning_rate, members, "
            "equal_digests, digest, seconds, committed_at) values (3, 1, 24, 1, 1, 2, 2, '', 1, "
            "1)");
        for (const auto& [name, job] : jobs_) {
            const Buffer receipt = formats::encode_receipt(
                {.run = run_,
                 .result_name = name + "_0",
                 .peer = job.key.public_key(),
                 .lines = {{.step = StepIndex{0}, .samples = Samples{job.samples}}}},
                job.key);
            create_job(project.config(), name,
                       {reinterpret_cast<const char*>(receipt.data()), receipt.size()},
                       "--verbatim", kTrainerApp);
        }
        database.execute("update workunit set opaque = 3");
    }
    /// The peer of the host's job gets its ticket and trains. Returns its samples.
    std::uint64_t train(std::int64_t host) {
        Database& database = project_.database();
        const auto row = database.query_one(
            "select name from result where server_state = 4 and hostid = ?", {host});
        REQUIRE(row);
        const std::string result = row->text("name");
        const Job& job = jobs_.at(result.substr(0, result.size() - 2));
        const PeerKey key = job.key.public_key();
        gateway::issue_ticket(
            database, project_key_,
            {.authenticator = kAccountKey,
             .host = static_cast<std::uint64_t>(host),
             .result = result,
             .key = key,
             .port = 0},
            std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
        database.execute(
            "insert into dedloc_contribution (runid, step, peer_key, samples, loss_sum, "
            "committed_at) values (3, 1, ?, ?, 1, ?)",
            {key.hex(), job.samples, std::time(nullptr)});
        return job.samples;
    }

  private:
    struct Job {
        KeyPair key = KeyPair::generate();
        std::uint64_t samples;
    };
    ServedProject& project_;
    const KeyPair project_key_ = KeyPair::generate();
    const RunId run_{blake2b(bytes_of("run")).bytes};
    const std::map<std::string, Job> jobs_{{"first", {.samples = 8}}, {"second", {.samples = 16}}};
};

/// Judges and pays the work as the daemons do.
void judge_and_pay(ServedProject& project) {
    // The transitioner marks a job some seconds after its report.
    REQUIRE(within(60s, [&] {
        return project.number("select count(*) from workunit where need_validate = 1") == 2;
    }));
    const auto verdicts = validation::Validator{project.database(), project.config(), {}}.pass();
    CHECK(verdicts.valid == 2);
    CHECK(project.number("select count(*) from result where validate_state = 1") == 2);
    const auto paid = validation::Creditor{project.database(), {}}.pass();
    CHECK(paid.contributions == 2);
    CHECK(paid.credit == 6);
}

}  // namespace

TEST_CASE("two stock clients with one CPID both keep their work and are paid for it",
          "[server][boinc][integration]") {
    Project project;
    TrainedRun run{project};
    project.serve();
    const StockClient first{project.root() / "first.log", {}, "", kCpid};
    const std::int64_t of_first = project.start(first, "0");
    const StockClient second{project.root() / "second.log", {}, "", kCpid};
    const std::int64_t of_second = project.start(second, std::to_string(of_first));
    const auto samples_of_first = static_cast<double>(run.train(of_first));
    const auto samples_of_second = static_cast<double>(run.train(of_second));
    const auto has_done = [&](const StockClient& client, std::int64_t host) {
        client.tell("--set_run_mode always");
        return project.updated_within(120s, client, [&] {
            return project.count("result where server_state = 5 and outcome = 1 and hostid = " +
                                 std::to_string(host)) == 1;
        });
    };
    const bool has_finished = has_done(second, of_second);
    INFO(second.log());
    REQUIRE(has_finished);
    CHECK(project.host_with_job("0") == of_first);
    // The requests of both carry the CPID, and neither says that it is one of several.
    CHECK(project.count("host") == 2);
    CHECK(project.count("(select distinct host_cpid from host) as names") == 1);
    for (const StockClient* const client : {&first, &second}) {
        const std::string request =
            output_of("cat " + client->home().string() + "/sched_request_*");
        CHECK_THAT(request, Contains(kCpid));
        CHECK_THAT(request, Contains("<allow_multiple_clients>0<"));
    }
    INFO(first.log());
    REQUIRE(has_done(first, of_first));
    CHECK(project.count("result") == 2);
    CHECK(project.count("host") == 2);
    CHECK_THAT(first.log() + second.log(), !Contains("Generated new computer"));

    judge_and_pay(project);
    const auto credit_of = [&](std::int64_t host) {
        return project.database()
            .query_one("select total_credit from host where id = ?", {host})
            ->real("total_credit");
    };
    CHECK(credit_of(of_first) == 0.25 * samples_of_first);
    CHECK(credit_of(of_second) == 0.25 * samples_of_second);
    CHECK(project.number("select total_credit from user") == 6);
    CHECK(project.updated_within(60s, first, [&] {
        const std::string status = first.tell("--get_project_status");
        return status.find("user_total_credit: 6.0") != std::string::npos;
    }));
}

TEST_CASE("a copy of a stock client's folder becomes another computer, once",
          "[server][boinc][integration]") {
    Project project;
    create_job(project.config(), "first", "one", nullptr, kTrainerApp);
    create_job(project.config(), "second", "two", nullptr, kTrainerApp);
    project.serve();
    const StockClient original{project.root() / "original.log", {}, "", kCpid};
    project.start(original, "0");
    const TemporaryDirectory snapshot;
    // The client writes down what the first reply said some time after it, and replaces files
    // while they are copied.
    REQUIRE(within(60s, [&] {
        std::error_code changed;
        fs::copy(original.home(), snapshot.path(),
                 fs::copy_options::recursive | fs::copy_options::overwrite_existing, changed);
        return !changed &&
               contents(snapshot.path() / "client_state.xml").find("<hostid>1</hostid>") !=
                   std::string::npos;
    }));
    const auto sequence = [&](int host) {
        return project.database()
            .query_one("select coalesce(max(rpc_seqno), -1) as n from host where id = ?", {host})
            ->integer("n");
    };
    // The original goes on; the copy begins where it was.
    const std::int64_t before = sequence(1);
    REQUIRE(project.updated_within(60s, original, [&] { return sequence(1) > before + 2; }));
    const StockClient copy{project.root() / "copy.log", {}, "", kCpid, snapshot.path()};
    CHECK(project.updated_within(120s, copy, [&] { return sequence(2) > 2; }));
    INFO(copy.log());
    CHECK_THAT(copy.log(), Contains("Generated new computer cross-project ID"));
    CHECK(project.count("host") == 2);
    original.tell("--set_run_mode always");
    CHECK(project.updated_within(90s, original, [&] {
        return project.count("result where server_state = 5 and outcome = 1") >= 1;
    }));
}

}  // namespace dedloc::server
