// Uploaded checkpoints in a project: a good one lies in the run's folder with its source, a forged
// one is evidence against its account, and all others go without harm.
#include "validators/uploads.hpp"

#include <boinc_db_types.h>

#include <catch2/catch.hpp>
#include <ctime>

#include "peer/base/log.hpp"
#include "tests/project_server/project_fixture.hpp"
#include "tests/project_server/runs/stored_run.hpp"
#include "validators/output_file.hpp"

namespace dedloc::validation {
namespace {

namespace fs = std::filesystem;

/// A project with a run whose ledger ends at step 5, and jobs in progress.
class World {
  public:
    World() {
        start_log("test", LogLevel::kError);
        for (int step = 1; step <= 5; ++step) {
            stored.step();
            if (step == 3) state_ = file_of_state();
        }
        last_ = file_of_state();
        publish();
        database().execute(
            "insert into app (id, name, user_friendly_name) values (7, 'dedloc_train', '')", {});
        database().execute(
            "insert into dedloc_run (id, name, run_id, spec, target_batch, steps, "
            "flops_per_sample, "
            "credit_per_sample, created) values (3, 'small', ?, '', 1, 1000, 1, 1, 0)",
            {formats::run_id(stored.run()).hex()});
    }

    /// Copies what the backbone has written into the project.
    void publish() {
        const fs::path folder = project_.root() / "runs/small";
        fs::create_directories(folder / "checkpoints");
        for (const char* name : {"run.json", "ledger"}) {
            fs::copy_file(stored.folder() / name, folder / name,
                          fs::copy_options::overwrite_existing);
        }
    }
    fs::path checkpoints() const { return project_.root() / "runs/small/checkpoints"; }

    /// A job in progress that was asked, or not, and has uploaded these bytes.
    std::int64_t add_job(bool is_asked, const std::optional<Buffer>& upload) {
        const std::string name = "small_" + std::to_string(++jobs_) + "_0";
        database().execute(
            "insert into result (name, workunitid, hostid, userid, server_state, appid, "
            "xml_doc_in) values (?, 1, ?, ?, ?, 7, ?)",
            {name, 100 + jobs_, jobs_, RESULT_SERVER_STATE_IN_PROGRESS,
             "<result><file_ref><file_name>" + name +
                 "_r1_0</file_name></file_ref><file_ref>"
                 "<file_name>" +
                 name + "_r1_1</file_name><optional/></file_ref></result>"});
        const auto id = database().insert_id();
        if (is_asked) {
            database().execute(
                "insert into dedloc_upload (runid, resultid, asked, period, place) values "
                "(3, ?, ?, 1, ?)",
                {id, std::time(nullptr), jobs_});
        }
        if (upload) {
            fs::create_directories(file(jobs_).parent_path());
            platform::replace_file(file(jobs_), *upload);
        }
        return id;
    }
    fs::path file(int job) const {
        return output_file_path(project_.config(), "small_" + std::to_string(job) + "_0_r1_1");
    }
    std::string verdict(std::int64_t result) {
        const auto row = database().query_one(
            "select concat(verdict, ' ', step) as x from dedloc_upload where resultid = ?",
            {result});
        return row ? row->text("x") : "no row";
    }
    std::string suspects() {
        return database()
            .query_one(
                "select coalesce(group_concat(userid, ' ', hostid, ' ', what), 'none') as x "
                "from dedloc_suspicion")
            ->text("x");
    }
    const Buffer& good() const { return state_; }
    const Buffer& last() const { return last_; }
    server::Database& database() { return project_.database(); }
    const server::ProjectConfig& config() const { return project_.config(); }

    runs::StoredRun stored;

  private:
    Buffer file_of_state() const {
        const state::ModelState& state = stored.state();
        Buffer bytes = formats::encode_checkpoint_head(
            formats::run_id(stored.run()),
            {.step = state.step(), .digest = state.digest(), .elements = state.element_count()});
        bytes.insert(bytes.end(), state.bytes().begin(), state.bytes().end());
        return bytes;
    }

    server::TestProject project_;
    Buffer state_;  ///< step 3's
    Buffer last_;   ///< step 5's
    int jobs_ = 0;
};

TEST_CASE("each upload has its verdict in the database, and its consequence", "[validation]") {
    World world;
    Buffer forged = world.good();
    forged.back() ^= std::byte{1};
    Buffer partial = world.good();
    partial.resize(partial.size() / 2);
    const auto forger = world.add_job(true, forged);
    const auto cut = world.add_job(true, partial);
    const auto good = world.add_job(true, world.good());
    const auto late = world.add_job(true, world.good());
    const auto silent = world.add_job(true, std::nullopt);
    const auto pending = world.add_job(true, world.last());
    const auto unasked = world.add_job(false, world.good());

    Uploads uploads{world.database(), world.config()};
    const UploadReport report = uploads.pass();
    CHECK(report.judged == 4);
    CHECK(report.waiting == 1);
    CHECK(world.verdict(forger) == "forged 3");
    CHECK(world.verdict(cut) == "partial 0");
    CHECK(world.verdict(good) == "accepted 3");
    CHECK(world.verdict(late) == "stale 3");
    CHECK(world.verdict(silent) == " 0");
    CHECK(world.verdict(pending) == " 0");
    CHECK(world.verdict(unasked) == "no row");
    CHECK(world.suspects() == "1 101 uploaded checkpoint is forged");
    for (const int job : {1, 2, 3, 4}) CHECK_FALSE(fs::exists(world.file(job)));
    CHECK(fs::exists(world.file(6)));
    const auto listed =
        backbone::list_checkpoints(world.checkpoints(), formats::run_id(world.stored.run()));
    REQUIRE(listed.size() == 1);
    CHECK(listed[0].head.step == StepIndex{3});
    CHECK(listed[0].source == "user 3, host 103, result small_3_0");

    CHECK(fs::exists(world.file(7)));
    CHECK(uploads.delete_unasked().unasked == 1);
    CHECK_FALSE(fs::exists(world.file(7)));

    // The next decision names the last state's digest.
    world.stored.step();
    world.publish();
    CHECK(uploads.pass().judged == 1);
    CHECK(world.verdict(pending) == "accepted 5");
    CHECK(uploads.pass().judged == 0);
    CHECK(world.suspects() == "1 101 uploaded checkpoint is forged");
}

TEST_CASE("a run without a ledger keeps its uploads until there is one", "[validation]") {
    World world;
    const fs::path ledger = world.config().directory / "runs/small/ledger";
    fs::remove(ledger);
    const auto job = world.add_job(true, world.good());
    Uploads uploads{world.database(), world.config()};
    CHECK(uploads.pass().waiting == 1);
    CHECK(fs::exists(world.file(1)));
    world.publish();
    CHECK(uploads.pass().judged == 1);
    CHECK(world.verdict(job) == "accepted 3");
}

}  // namespace
}  // namespace dedloc::validation
