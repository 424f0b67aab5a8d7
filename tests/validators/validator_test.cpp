#include "validators/validator.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <ctime>
#include <fstream>

#include "peer/formats/receipt.hpp"
#include "tests/project_server/project_fixture.hpp"
#include "validators/evidence.hpp"
#include "validators/output_file.hpp"

using namespace dedloc;
using namespace dedloc::validation;

namespace {

constexpr std::uint64_t kStepsRecorded = 3;

struct Volunteer {
    KeyPair key = KeyPair::generate();
    int number = 0;  ///< id of the user, the host, the workunit and the result
    std::string result_name() const { return "demo_" + std::to_string(number) + "_0"; }
};

/// A project with a run of which three steps are recorded, and volunteers with finished jobs.
class ValidationWorld {
  public:
    ValidationWorld() {
        auto& db = project_.database();
        db.execute(
            "insert into app (id, create_time, name, min_version, deprecated, "
            "user_friendly_name) values (7, 0, 'dedloc_train', 0, 0, 'trainer')");
        db.execute(
            "insert into team (id, create_time, userid, name, type, nusers) "
            "values (5, 0, 1, 'team', 0, 1)");
        db.execute(
            "insert into dedloc_run (id, name, run_id, spec, target_batch, steps, "
            "flops_per_sample, credit_per_sample, created) values (3, 'demo', ?, '{}', 96, 100, "
            "1e6, 0.25, 0)",
            {run_.hex()});
        for (std::uint64_t step = 1; step <= kStepsRecorded; ++step) {
            db.execute(
                "insert into dedloc_step (runid, step, samples, loss, learning_rate, "
                "members, equal_digests, digest, seconds, committed_at) "
                "values (3, ?, 1, 1, 1, 1, 1, '', 1, 1)",
                {step});
        }
    }

    /// A volunteer in the team, with a host and a reported job.
    Volunteer add_volunteer() {
        Volunteer who;
        who.number = ++volunteers_;
        auto& db = project_.database();
        const std::string text = std::to_string(who.number);
        db.execute(
            "insert into user (id, create_time, email_addr, name, authenticator, teamid, "
            "total_credit, expavg_credit) values (?, 0, ?, ?, ?, 5, 0, 0)",
            {who.number, text + "@example.org", "user" + text, text});
        db.execute(
            "insert into host (id, create_time, userid, total_credit, expavg_credit, misc) "
            "values (?, 0, ?, 0, 0, '')",
            {who.number, who.number});
        db.execute(
            "insert into host_app_version (host_id, app_version_id, max_jobs_per_day, "
            "consecutive_valid) values (?, 1, 8, 4)",
            {who.number});
        db.execute(
            "insert into workunit (id, create_time, appid, name, xml_doc, need_validate, "
            "opaque, min_quorum, target_nresults, result_template_file, transition_time) "
            "values (?, 0, 7, ?, '', 1, 3, 1, 1, '', 0)",
            {who.number, "demo_" + text});
        db.execute(
            "insert into result (id, create_time, workunitid, server_state, outcome, "
            "hostid, userid, sent_time, received_time, name, xml_doc_in, validate_state, "
            "appid, app_version_id) values (?, 0, ?, 5, 1, ?, ?, ?, ?, ?, ?, 0, 7, 1)",
            {who.number, who.number, who.number, who.number, std::time(nullptr) - 60,
             std::time(nullptr), who.result_name(),
             "<result><file_ref><file_name>" + output_name(who) +
                 "</file_name><open_name>receipt</open_name></file_ref></result>"});
        return who;
    }
    /// Adds a row to the ledger; `step` as in receipts.
    void contribute(const Volunteer& who, std::uint64_t step, std::uint64_t samples) {
        project_.database().execute(
            "insert into dedloc_contribution (runid, step, peer_key, "
            "samples, loss_sum) values (3, ?, ?, ?, 0)",
            {step + 1, who.key.public_key().hex(), samples});
    }
    /// The volunteer's receipt.
    void upload(const Volunteer& who, std::vector<formats::ReceiptLine> lines) {
        const Buffer bytes = formats::encode_receipt({.run = run_,
                                                      .result_name = who.result_name(),
                                                      .peer = who.key.public_key(),
                                                      .lines = std::move(lines)},
                                                     who.key);
        const auto path = output_file_path(project(), output_name(who));
        std::filesystem::create_directories(path.parent_path());
        std::ofstream file{path, std::ios::binary};
        file.write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
    }

    PassReport pass(ValidatorOptions options = {}) {
        return Validator{database(), project_.config(), std::move(options)}.pass();
    }
    std::string one(const std::string& sql) {
        const auto row = project_.database().query_one(sql);
        REQUIRE(row);
        return row->text("x");
    }
    /// Everything that a verdict changes, as one line of text without times.
    std::string verdicts() {
        return one(
            "select concat_ws(' ', (select group_concat(validate_state order by id) from result), "
            "(select group_concat(need_validate, ':', canonical_resultid, ':', "
            "assimilate_state order by id) from workunit), "
            "(select group_concat(consecutive_valid, ':', max_jobs_per_day order by "
            "host_id) from host_app_version)) x");
    }
    /// The sum of all credit in the database.
    std::string credit() {
        return one(
            "select (select sum(total_credit) from user) + (select sum(total_credit) from host) + "
            "(select sum(total_credit) from team) + (select sum(credit) from dedloc_contribution) "
            "+ "
            "(select sum(granted_credit) from result) x");
    }
    server::Database& database() { return project_.database(); }
    const server::ProjectConfig& project() const { return project_.config(); }

  private:
    static std::string output_name(const Volunteer& who) { return who.result_name() + "_r123_0"; }

    server::TestProject project_;
    RunId run_{blake2b(bytes_of("run")).bytes};
    int volunteers_ = 0;
};

formats::ReceiptLine line(std::uint64_t step, std::uint64_t samples) {
    return {.step = StepIndex{step}, .samples = Samples{samples}};
}

}  // namespace

TEST_CASE("a true receipt is valid, and the verdict grants no credit",
          "[validation][integration]") {
    ValidationWorld world;
    const Volunteer who = world.add_volunteer();
    world.contribute(who, 0, 8);
    world.contribute(who, 2, 24);
    world.upload(who, {line(0, 8), line(2, 24)});
    world.database().execute("update result set granted_credit = 3");
    CHECK(world.pass().valid == 1);
    const std::string judged = world.verdicts();
    CHECK(judged == "1 0:1:1 5:9");
    CHECK(world.one("select transition_time x from workunit") == "2147483647");
    CHECK(world.one("select canonical_credit x from workunit") == "3");
    CHECK(world.credit() == "3");
    // The job is done if it is judged again.
    CHECK(world.pass().valid == 0);
    world.database().execute("update workunit set need_validate = 1");
    world.pass();
    CHECK(world.verdicts() == judged);
}

TEST_CASE("a receipt that omits a step is valid", "[validation][integration]") {
    ValidationWorld world;
    const Volunteer who = world.add_volunteer();
    world.contribute(who, 0, 8);
    world.contribute(who, 1, 8);
    world.upload(who, {line(0, 8)});
    CHECK(world.pass().valid == 1);
}

TEST_CASE("an empty receipt is valid and closes the job", "[validation][integration]") {
    ValidationWorld world;
    const Volunteer who = world.add_volunteer();
    world.upload(who, {});
    CHECK(world.pass().valid == 1);
    CHECK(world.one("select validate_state x from result") == "1");
    CHECK(world.one("select assimilate_state x from workunit") == "1");
}

TEST_CASE("jobs of an aggregator are judged as well: their receipts are empty",
          "[validation][integration]") {
    ValidationWorld world;
    const Volunteer honest = world.add_volunteer();
    const Volunteer liar = world.add_volunteer();
    world.database().execute(
        "insert into app (id, name, user_friendly_name, non_cpu_intensive) values (8, "
        "'dedloc_aggregate', 'aggregator', 1)");
    world.database().execute("update workunit set appid = 8");
    world.database().execute("update result set appid = 8");
    world.upload(honest, {});
    world.upload(liar, {{StepIndex{1}, Samples{9}}});
    const PassReport report = world.pass();
    CHECK(report.valid == 1);
    CHECK(report.invalid == 1);
}

TEST_CASE("a false receipt is refused and the job is sent to another host",
          "[validation][integration]") {
    ValidationWorld world;
    const Volunteer who = world.add_volunteer();
    world.contribute(who, 0, 8);
    SECTION("more samples than the ledger has") {
        world.upload(who, {line(0, 9)});
    }
    SECTION("a step that the ledger has without the peer") {
        world.upload(who, {line(1, 8)});
    }
    SECTION("a step beyond the run") {
        world.upload(who, {line(100, 8)});
    }
    SECTION("no file at all") {}
    SECTION("the receipt of another volunteer's job") {
        const Volunteer other = world.add_volunteer();
        world.database().execute("update workunit set need_validate = 0 where id = 2");
        world.contribute(other, 1, 8);
        world.upload(other, {line(1, 8)});
        const auto name = [](const Volunteer& v) { return v.result_name() + "_r123_0"; };
        const auto copy = output_file_path(world.project(), name(who));
        std::filesystem::create_directories(copy.parent_path());
        std::filesystem::copy_file(output_file_path(world.project(), name(other)), copy);
    }
    CHECK(world.pass().invalid == 1);
    CHECK(world.one("select concat_ws(' ', validate_state, outcome) x from result where id = 1") ==
          "2 6");
    CHECK(world.one("select concat_ws(' ', need_validate, canonical_resultid, assimilate_state) x "
                    "from workunit where id = 1") == "0 0 0");
    CHECK(world.one("select transition_time > 0 x from workunit where id = 1") == "1");
    CHECK(world.one("select consecutive_valid x from host_app_version where host_id = 1") == "0");
}

TEST_CASE("a receipt ahead of the database waits for it, up to a timeout",
          "[validation][integration]") {
    ValidationWorld world;
    const Volunteer who = world.add_volunteer();
    world.contribute(who, 0, 8);
    world.upload(who, {line(0, 8), line(kStepsRecorded, 8)});
    CHECK(world.pass().waiting == 1);
    CHECK(world.one("select concat_ws(' ', w.need_validate, r.validate_state) x from workunit w, "
                    "result r") == "1 0");
    SECTION("until the rows have arrived") {
        world.contribute(who, kStepsRecorded, 8);
        CHECK(world.pass().valid == 1);
    }
    SECTION("until the timeout") {
        world.database().execute("update result set received_time = received_time - 100000");
        CHECK(world.pass().invalid == 1);
    }
}

TEST_CASE("a late instance of a finished job is judged by its own receipt",
          "[validation][integration]") {
    ValidationWorld world;
    const Volunteer first = world.add_volunteer();
    const Volunteer second = world.add_volunteer();
    world.contribute(first, 0, 8);
    world.contribute(second, 0, 16);
    world.upload(first, {line(0, 8)});
    world.upload(second, {line(0, 16)});
    world.database().execute("update result set workunitid = 1");
    world.database().execute(
        "insert into result (id, create_time, workunitid, server_state, name, "
        "appid) values (9, 0, 1, 2, 'unsent', 7)");
    CHECK(world.pass().valid == 2);
    CHECK(world.one("select canonical_resultid x from workunit where id = 1") == "1");
    CHECK(world.one("select concat_ws(' ', server_state, outcome) x from result where id = 9") ==
          "5 5");
}

TEST_CASE("a crash at any place neither loses nor doubles a verdict", "[validation][integration]") {
    constexpr int kMaxPlaces = 40;
    ValidationWorld world;
    bool reached_the_end = false;
    for (int place = 1; place <= kMaxPlaces && !reached_the_end; ++place) {
        std::vector<Volunteer> pair;
        for (const std::uint64_t samples : {8U, 16U}) {
            pair.push_back(world.add_volunteer());
            world.contribute(pair.back(), 0, samples);
            world.contribute(pair.back(), 1, samples);
            world.upload(pair.back(), {line(0, samples), line(1, samples)});
        }
        const pid_t child = ::fork();
        if (child == 0) {
            int passed = 0;
            server::Database own{world.project().database};
            ValidatorOptions options;
            options.passing = [&](std::string_view) {
                if (++passed == place) ::_exit(77);
            };
            Validator{own, world.project(), options}.pass();
            ::_exit(0);
        }
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        REQUIRE(WIFEXITED(status));
        reached_the_end = WEXITSTATUS(status) == 0;
        world.pass();
        INFO("crashed at place " << place);
        const auto of_pair = [&](const std::string& column, const std::string& table) {
            return world.one("select group_concat(" + column + " order by id) x from " + table +
                             " where id in (" + std::to_string(pair[0].number) + "," +
                             std::to_string(pair[1].number) + ")");
        };
        CHECK(of_pair("validate_state", "result") == "1,1");
        CHECK(of_pair("need_validate", "workunit") == "0,0");
        CHECK(world.one("select group_concat(distinct consecutive_valid) x from "
                        "host_app_version") == "5");
    }
    CHECK(reached_the_end);
}

TEST_CASE("a refused receipt is kept as evidence, one file for each account and fault",
          "[validation][server]") {
    ValidationWorld world;
    const auto liar = world.add_volunteer();
    world.contribute(liar, 0, 5);
    world.upload(liar, {{.step = StepIndex{0}, .samples = Samples{6}}});
    const auto honest = world.add_volunteer();
    world.contribute(honest, 0, 5);
    world.upload(honest, {{.step = StepIndex{0}, .samples = Samples{5}}});
    const auto folder = world.project().directory / "evidence";
    const auto keep = [&](const RefusedReceipt& receipt) {
        keep_evidence(world.database(), folder, receipt);
    };
    CHECK(world.pass({.suspect = keep}).invalid == 1);
    CHECK(world.one("select concat_ws(' ', source, runid, userid, hostid, what, times, evidence) x "
                    "from dedloc_suspicion") ==
          fmt::format("receipt 3 {0} {0} receipt refused: other_samples 1 "
                      "evidence/receipt_{0}_other_samples",
                      liar.number));
    const auto bytes = read_output_file(
        folder / fmt::format("receipt_{}_other_samples", liar.number), formats::kMaxReceiptBytes);
    REQUIRE(bytes);
    const auto receipt = formats::decode_receipt(*bytes);
    REQUIRE(receipt);
    CHECK(receipt->peer == liar.key.public_key());
    // The same fault again replaces the file and is counted.
    keep({.run = 3,
          .user = liar.number,
          .host = liar.number,
          .result_name = "r",
          .refusal = {.fault = Fault::kOtherSamples, .reason = "again"},
          .bytes = {}});
    CHECK(world.one("select concat_ws(' ', times, detail) x from dedloc_suspicion") ==
          "2 r: again");
    CHECK(std::distance(std::filesystem::directory_iterator{folder}, {}) == 1);
    const Buffer huge(std::size_t{2} << 20);
    keep({.run = 3,
          .user = liar.number,
          .host = liar.number,
          .result_name = "r",
          .refusal = {.fault = Fault::kBeyondRun, .reason = "large"},
          .bytes = huge});
    CHECK(world.one("select evidence x from dedloc_suspicion where detail like '%large'") == "");
    CHECK(std::distance(std::filesystem::directory_iterator{folder}, {}) == 1);
    // Another computer of the account, with noise.
    keep({.run = 3,
          .user = liar.number,
          .host = liar.number + 100,
          .result_name = "r",
          .refusal = {.fault = Fault::kUnreadable, .reason = "noise"},
          .bytes = huge});
    const auto noise = folder / fmt::format("receipt_{}_unreadable", liar.number);
    CHECK(std::filesystem::file_size(noise) == 65'536);
    // A full folder takes no more, but the suspicion is recorded.
    keep_evidence(world.database(), folder,
                  {.run = 3,
                   .user = honest.number,
                   .host = honest.number,
                   .result_name = "r",
                   .refusal = {.fault = Fault::kUnreadable, .reason = "late"},
                   .bytes = huge},
                  100'000);
    CHECK(world.one("select evidence x from dedloc_suspicion where detail like '%late'") == "");
    CHECK(std::distance(std::filesystem::directory_iterator{folder}, {}) == 2);
}
