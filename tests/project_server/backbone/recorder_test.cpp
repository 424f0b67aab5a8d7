#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <limits>
#include <thread>

#include "project_server/backbone/run_recorder.hpp"
#include "project_server/purge/compaction.hpp"
#include "tests/project_server/project_fixture.hpp"

using namespace dedloc;
using namespace dedloc::backbone;

namespace {

PeerKey peer(int number) {
    return PeerKey{blake2b(bytes_of(std::to_string(number))).bytes};
}
Digest digest(std::string_view name) {
    return blake2b(bytes_of(name));
}

/// A project with one run, its ledger and checkpoints.
struct RecorderWorld {
    server::TestProject project;
    KeyPair key = KeyPair::generate();
    RunId run{blake2b(bytes_of("run")).bytes};
    std::filesystem::path ledger_path = project.root() / "ledger";
    LedgerWriter ledger{ledger_path, {run, key.public_key()}};
    CheckpointStore store{project.root() / "checkpoints", run, 2};

    RecorderWorld() {
        project.database().execute(
            "insert into dedloc_run (name, run_id, spec, target_batch, steps, flops_per_sample, "
            "credit_per_sample, created) values ('demo', ?, '{}', 96, 100, 1e6, 0.5, 0)",
            {run.hex()});
    }
    RecorderOptions options() const {
        return {.database = project.config().database,
                .run_name = "demo",
                .run = run,
                .backbone = key.public_key(),
                .ledger = ledger_path,
                .codec = Codec::kFp16};
    }
    /// The commit of the next step.
    void commit(std::vector<CommitLine> members) {
        CommitRecord record;
        record.generation = ledger.head().generation;
        record.step = ledger.head().step;
        record.previous_record = ledger.head().record;
        record.members = std::move(members);
        std::ranges::sort(record.members, {}, &CommitLine::peer);
        record.previous_state = digest("state");
        record.scalars.learning_rate = std::bit_cast<std::uint32_t>(0.25F);
        const auto seconds = std::chrono::seconds{1'700'000'000 + record.step.value()};
        ledger.append({.committed_at = WallTime{seconds},
                       .took = std::chrono::milliseconds{1'500},
                       .decision = {record, {}}});
    }
    void begin_generation(std::uint64_t step) {
        ledger.append(SignedGeneration{.record = {.generation = ledger.head().generation + 1,
                                                  .step = StepIndex{step},
                                                  .state = digest("state"),
                                                  .voters = {key.public_key()}},
                                       .signature = {}});
    }
    void settled(std::uint64_t step, std::uint32_t reported, std::uint32_t equal) {
        ledger.append(LedgerSettled{.step = StepIndex{step},
                                    .reported = reported,
                                    .equal = equal,
                                    .digest = digest("settled")});
    }
    /// Whether the database has everything that the ledger and the store hold.
    void record() {
        RunRecorder recorder{options(), store};
        recorder.stop();
    }
    std::string one(const char* sql) {
        const auto row = project.database().query_one(sql);
        REQUIRE(row);
        return row->text("x");
    }
};

SeatView joining_seat(int number) {
    SeatView seat;
    seat.peer = peer(number);
    seat.result_name = "demo_1_0";
    return seat;
}

SeatView working_seat(int number) {
    SeatView seat = joining_seat(number);
    seat.has_state = true;
    seat.step = StepIndex{9};
    return seat;
}

CommitLine line(int number, std::uint64_t samples, double loss_sum) {
    return {.peer = peer(number),
            .samples = Samples{samples},
            .loss_sum = loss_sum,
            .reduced = number == 1 ? 1'000u : 0u};
}

}  // namespace

TEST_CASE("the recorder writes the ledger's rows, and repeating that changes nothing",
          "[server][integration]") {
    RecorderWorld world;
    world.commit({line(1, 10, 70.0), line(2, 30, 230.0), line(3, 0, 0.0)});
    world.settled(1, 3, 2);
    world.commit({line(1, 5, 20.0)});
    // A member without samples that reduces has a row; one that does neither has none.
    world.commit({line(1, 0, 0.0), line(2, 8, 1.0), line(3, 9, 1.0), line(4, 0, 0.0)});
    world.settled(2, 1, 1);
    for (int time = 0; time < 3; ++time) {
        world.record();
        CHECK(world.one(
                  "select group_concat(step, ' ', samples, ' ', loss, ' ', learning_rate, ' ', "
                  "members, ' ', equal_digests, ' ', seconds order by step) x "
                  "from dedloc_step where step < 3") == "1 40 7.5 0.25 3 2 1.5,2 5 4 0.25 1 1 1.5");
        CHECK(world.one("select digest x from dedloc_step where step = 1") ==
              digest("state").hex());
        CHECK(world.one("select digest x from dedloc_step where step = 2") ==
              digest("settled").hex());
        CHECK(world.one("select group_concat(step, ' ', samples, ' ', loss_sum, ' ', resultid, "
                        "' ', reduced_bytes order by step, samples) x from dedloc_contribution") ==
              "1 10 70 0 2000,1 30 230 0 0,2 5 20 0 0,3 0 0 0 4000,3 8 1 0 0,3 9 1 0 0");
    }
}

TEST_CASE("the run's row follows the backbone's pause, until the run is finished",
          "[server][integration]") {
    RecorderWorld world;
    const auto tell = [&](bool is_paused) {
        RunRecorder recorder{world.options(), world.store};
        recorder.pause_changed(is_paused);
        recorder.stop();
        return world.one("select state x from dedloc_run");
    };
    CHECK(tell(true) == "paused");
    CHECK(tell(true) == "paused");
    CHECK(tell(false) == "running");
    world.project.database().execute("update dedloc_run set state = 'finished'");
    CHECK(tell(true) == "finished");
}

TEST_CASE("a step without a settled record gets its digest from the next commit",
          "[server][integration]") {
    RecorderWorld world;
    world.commit({line(1, 1, 1.0)});
    world.commit({line(1, 1, 1.0)});
    world.record();
    CHECK(world.one("select digest x from dedloc_step where step = 1") == digest("state").hex());
}

TEST_CASE("a new generation replaces later steps, and their contributions still earn credit",
          "[server][integration]") {
    RecorderWorld world;
    for (int step = 0; step < 4; ++step) world.commit({line(1, 10, 10.0)});
    world.record();
    world.project.database().execute(
        "update dedloc_contribution set credit_state = 1, resultid = 7, credit = 5 where step = 3");
    world.begin_generation(1);
    world.commit({line(1, 20, 10.0)});
    world.commit({line(1, 20, 10.0)});
    for (int time = 0; time < 2; ++time) {
        world.record();
        CHECK(world.one("select group_concat(step, ' ', samples order by step) x from "
                        "dedloc_step") == "1 10,2 20,3 20");
        // Step 3 has been credited and does not change; step 4 has not.
        CHECK(world.one("select group_concat(step, ' ', samples, ' ', credit order by step) x from "
                        "dedloc_contribution") == "1 10 0,2 20 0,3 10 5,4 10 0");
    }
}

TEST_CASE("seats, checkpoints and the end of the run reach their tables", "[server][integration]") {
    RecorderWorld world;
    world.store.save({.step = StepIndex{4}, .digest = digest("four"), .elements = 1}, Buffer(12));
    {
        RunRecorder recorder{world.options(), world.store};
        recorder.swarm_seen({joining_seat(1), working_seat(2)});
        recorder.stop();
    }
    CHECK(world.one("select group_concat(state, ' ', step order by step) x from dedloc_seat") ==
          "joining 0,working 9");
    {
        RunRecorder recorder{world.options(), world.store};
        recorder.swarm_seen({working_seat(1)});
        recorder.run_is_finished(digest("end"));
        recorder.stop();
    }
    CHECK(world.one("select group_concat(state order by state) x from dedloc_seat") ==
          "left,working");
    CHECK(world.one("select concat(step, ' ', bytes) x from dedloc_checkpoint") ==
          "4 " + std::to_string(std::filesystem::file_size(world.store.list()[0].path)));
    CHECK(world.one("select concat(state, ' ', final_digest) x from dedloc_run") ==
          "finished " + digest("end").hex());
}

TEST_CASE("the recorder never blocks during an outage, and catches up when the database is back",
          "[server][integration]") {
    RecorderWorld world;
    server::Database administrator{server::mariadb_administrator(server::test_mariadb().place())};
    administrator.execute("rename table dedloc_test.dedloc_step to dedloc_test.away");
    RunRecorder recorder{world.options(), world.store};
    for (int step = 0; step < 450; ++step) {
        world.commit({line(1, 10, 10.0)});
        recorder.ledger_has_grown();
    }
    administrator.execute("rename table dedloc_test.away to dedloc_test.dedloc_step");
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{30};
    while (world.one("select count(*) x from dedloc_step") != "450" &&
           std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(std::chrono::milliseconds{50});
    }
    CHECK(world.one("select count(*) x from dedloc_step") == "450");
    CHECK(world.one("select sum(samples) x from dedloc_contribution") == "4500");
    auto nowhere = world.options();
    nowhere.database.port = 1;
    RunRecorder hopeless{nowhere, world.store};
    hopeless.stop();
}

TEST_CASE("a contribution that was compacted does not come back when the ledger is read again",
          "[server][integration]") {
    RecorderWorld world;
    for (int step = 1; step <= 5; ++step) world.commit({line(1, 10, 70.0), line(2, 20, 70.0)});
    world.record();
    auto& database = world.project.database();
    database.execute(
        "update dedloc_contribution set credit_state = 1, credit = samples where step <= 3");
    purge::Compaction compaction{database, 4};
    CHECK(compaction.pass(1'900'000'000) == 6);
    world.commit({line(1, 10, 70.0)});
    world.record();
    CHECK(world.one("select group_concat(step order by step, peer_key) x from "
                    "dedloc_contribution") == "4,4,5,5,6");
    CHECK(world.one("select sum(credit) x from dedloc_daily_credit") == "90");
    CHECK(world.one("select count(*) x from dedloc_step") == "6");
    // Had the mark not been raised, they would be back and pending.
    database.execute("update dedloc_run set compacted = 0");
    world.record();
    CHECK(world.one("select count(*) x from dedloc_contribution where credit_state = 0") == "11");
}

TEST_CASE("presences follow from the ledger, with the owner, version and device of the job",
          "[server][integration]") {
    RecorderWorld world;
    auto& database = world.project.database();
    for (const char* const sql : {
             "insert into app_version (id, version_num, plan_class) values (4, 103, "
             "'cuda_dedloc'), "
             "(5, 102, 'mt_dedloc')",
             "insert into host (id, p_model, serialnum) values (50, 'a processor', "
             "'[BOINC|7.20.5][CUDA|Tesla T4|1|15000MB|||]'), (60, 'another', '[CUDA|x|1|||]')",
             "insert into result (id, name, app_version_id) values (1, 'a', 4), (2, 'b', 5)",
         }) {
        database.execute(sql);
    }
    for (const auto& [number, owner] : {std::pair{1, 5}, {2, 6}}) {
        database.execute(
            "insert into dedloc_ticket (runid, peer_key, resultid, userid, hostid, issued, "
            "expires) values (1, ?, ?, ?, ?, 0, 0)",
            {peer(number).hex(), number, owner, 10 * owner});
    }
    world.commit({line(1, 10, 70.0), line(2, 30, 230.0)});
    world.commit({line(1, 5, 20.0), line(3, 7, 1.0)});
    const char* const all =
        "select group_concat(began, ' ', ended, ' ', contributions, ' ', samples, ' ', "
        "reduced_bytes, ' ', userid, ' ', hostid, ' ', version, ' ', plan_class, ' ', device "
        "order by samples) x from dedloc_presence";
    for (int time = 0; time < 2; ++time) {
        world.record();
        CHECK(world.one(all) ==
              "1700000000 1700000001 1 7 0 0 0 0  ,"
              "1699999999 1700000001 2 15 4000 5 50 103 cuda_dedloc Tesla T4,"
              "1699999999 1700000000 1 30 0 6 60 102 mt_dedloc another");
    }
    // The owner's job and computer are deleted, and the ledger is read again.
    database.execute("delete from result");
    database.execute("delete from host");
    world.commit({line(1, 1, 1.0), line(2, 1, 1.0)});
    world.record();
    CHECK(world.one(all) ==
          "1700000000 1700000001 1 7 0 0 0 0  ,"
          "1699999999 1700000002 3 16 6000 5 50 103 cuda_dedloc Tesla T4,"
          "1699999999 1700000002 2 31 0 6 60 102 mt_dedloc another");
}

TEST_CASE("accusations are counted by kind and belong to the owner of the ticket",
          "[server][integration]") {
    RecorderWorld world;
    world.commit({line(1, 10, 70.0)});
    world.project.database().execute(
        "insert into dedloc_ticket (runid, peer_key, resultid, userid, hostid, issued, expires) "
        "values (1, ?, 1, 5, 50, 0, 0)",
        {peer(1).hex()});
    {
        RunRecorder recorder{world.options(), world.store};
        for (std::uint64_t time = 1; time <= 3; ++time) {
            recorder.suspected({.key = peer(1),
                                .what = "claims # samples",
                                .step = time,
                                .text = fmt::format("1 claims {} samples", 10 * time)});
        }
        recorder.suspected({.key = peer(2),
                            .what = "does not send: left out",
                            .step = 3,
                            .text = "2 does not send: left out"});
        recorder.suspected({.key = {}, .what = "no peer", .step = 3, .text = "the run itself"});
        recorder.stop();
    }
    CHECK(world.one("select group_concat(userid, ':', hostid, ':', what, ':', step, ':', times "
                    "order by userid) x from dedloc_suspicion where peer_key <> ''") ==
          "0:0:does not send: left out:3:1,5:50:claims # samples:3:3");
    CHECK(world.one("select detail x from dedloc_suspicion where userid = 5") ==
          "1 claims 30 samples");
    CHECK(world.one("select what x from dedloc_suspicion where peer_key = ''") == "no peer");
}

TEST_CASE("a row with a value that the database refuses does not hold up the others",
          "[server][integration]") {
    RecorderWorld world;
    world.project.database().execute(
        "alter table dedloc_contribution modify samples tinyint not null");
    world.commit({line(1, 10, 70.0), line(2, 30, 9.0), line(3, 300, 1.0)});
    world.commit({line(1, 5, 20.0)});
    SeatView odd = joining_seat(2);
    odd.result_name = "\xFF" + std::string(300, 'x');
    SeatView slow = working_seat(3);
    slow.samples_per_second = std::numeric_limits<double>::infinity();
    {
        RunRecorder recorder{world.options(), world.store};
        recorder.swarm_seen({odd, slow, working_seat(1)});
        recorder.suspected({.key = peer(1), .what = "\xFF", .step = ~0ULL, .text = "\xFE"});
        recorder.suspected({.key = peer(1), .what = "claims", .step = 1, .text = "more"});
        recorder.run_is_finished(digest("end"));
        recorder.stop();
    }
    CHECK(world.one("select group_concat(samples order by step, samples) x from "
                    "dedloc_contribution") == "10,30,5");
    CHECK(world.one("select count(*) x from dedloc_step") == "2");
    CHECK(world.one("select count(*) x from dedloc_seat") == "2");
    CHECK(world.one("select what x from dedloc_suspicion") == "claims");
    CHECK(world.one("select state x from dedloc_run") == "finished");
}
