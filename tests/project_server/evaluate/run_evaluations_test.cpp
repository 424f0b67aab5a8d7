// Which states are evaluated, when, and what is written: passes in this process, on a private
// database.
#include "project_server/evaluate/run_evaluations.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "boinc_app/albert/evaluator.hpp"
#include "boinc_app/training/footprint.hpp"
#include "boinc_app/training/task.hpp"
#include "peer/base/log.hpp"
#include "peer/platform/memory.hpp"
#include "project_server/evaluate/masked_sentences.hpp"
#include "project_server/runs/masked_lines.hpp"
#include "tests/project_server/evaluate/measured_run.hpp"
#include "tests/project_server/evaluate/word_tokenizer.hpp"

namespace dedloc::evaluate {
namespace {

struct World {
    World() { start_log("test", LogLevel::kError); }

    void pass() { evaluations.pass(project.database()); }

    platform::StopSignals signals;
    server::TestProject project;
    RunEvaluations evaluations{{.project = project.root(), .threads = 1}, signals};
};

/// What an evaluation of these parameters gives.
training::Evaluation expected(const MeasuredRun& run, std::span<const float> parameters,
                              std::uint64_t samples) {
    training::set_compute_threads(1);
    const std::vector<formats::Shard> shards{test::skewed_shard(run.run(), 2)};
    const std::uint64_t micro_batch = training::suitable_micro_batch(
        run.run(), {.threads = 1, .memory_bytes = platform::physical_memory()});
    const auto figures = training::albert::Evaluator{run.run(), shards, samples,
                                                     static_cast<std::size_t>(micro_batch)}
                             .evaluate(parameters);
    REQUIRE(figures);
    return *figures;
}

void check_row(const server::EvaluationRow& row, const training::Evaluation& figures,
               const state::ModelState& state) {
    CHECK(row.step == state.step().value());
    CHECK(row.digest == state.digest().hex());
    CHECK(row.samples == figures.samples);
    CHECK(row.loss == Approx(figures.loss.value).epsilon(1e-12));
    CHECK(row.loss_error == Approx(figures.loss.error).epsilon(1e-12));
    REQUIRE(row.figures.size() == figures.figures.size());
    for (const training::Figure& figure : figures.figures) {
        INFO(figure.name);
        const auto* const stored = formats::find_figure(row.figures, figure.name);
        REQUIRE(stored != nullptr);
        REQUIRE(stored->error);
        CHECK(stored->value == Approx(figure.estimate.value).epsilon(1e-12));
        CHECK(*stored->error == Approx(figure.estimate.error).epsilon(1e-12));
    }
}

}  // namespace

TEST_CASE("the first state, the newest when it is due, and the last are evaluated once each",
          "[server][integration]") {
    World world;
    MeasuredRun run{world.project, {.steps = 8, .every = 3, .samples = 40}};
    world.pass();
    REQUIRE(run.steps() == "0");
    check_row(run.rows()[0], expected(run, run.state().parameters(), 40), run.state());
    run.train_to(2);
    world.pass();
    CHECK(run.steps() == "0");
    run.train_to(4);
    world.pass();
    REQUIRE(run.steps() == "0 4");
    check_row(run.rows()[1], expected(run, run.state().parameters(), 40), run.state());
    const double when = run.rows()[1].seconds;
    world.pass();
    run.train_to(6);
    world.pass();
    CHECK(run.steps() == "0 4");
    CHECK(run.rows()[1].seconds == when);
    run.train_to(8);  // the last state, which is due although only 4 steps have passed
    world.project.database().execute("update dedloc_run set state = 'finished'");
    world.pass();
    CHECK(run.steps() == "0 4 8");
    world.pass();
    CHECK(run.steps() == "0 4 8");
    // A daemon that starts anew finds everything done.
    RunEvaluations again{{.project = world.project.root(), .threads = 1}, world.signals};
    again.pass(world.project.database());
    CHECK(run.steps() == "0 4 8");
    CHECK(run.rows()[1].seconds == when);
}

TEST_CASE("the last state is evaluated however few steps it is after the one before",
          "[server][integration]") {
    World world;
    MeasuredRun run{world.project, {.steps = 5, .every = 4}};
    world.pass();
    run.train_to(4);
    world.pass();
    run.train_to(5);
    world.pass();
    CHECK(run.steps() == "0 4 5");
}

TEST_CASE("runs that are paused, or not to be evaluated, are left alone", "[server][integration]") {
    World world;
    MeasuredRun off{world.project, {.name = "off", .every = 0}};
    MeasuredRun paused{world.project, {.name = "paused"}};
    world.project.database().execute("update dedloc_run set state = 'paused' where name = ?",
                                     {"paused"});
    off.train_to(4);
    world.pass();
    CHECK(off.steps().empty());
    CHECK(paused.steps().empty());
}

TEST_CASE("only a state that the ledger proves is evaluated, and a void one is replaced",
          "[server][integration]") {
    World world;
    MeasuredRun run{world.project};
    world.pass();
    run.train_to(2);
    run.step();
    run.save();
    world.pass();
    CHECK(run.steps() == "0");
    run.prove();
    world.pass();
    CHECK(run.steps() == "0 3");
    const std::string before = run.rows()[1].digest;
    // A new generation: step 3 is done again, with another result.
    run.begin_again();
    CHECK(run.steps() == "0");
    run.train_to(3);
    CHECK(run.steps() == "0");
    world.pass();
    REQUIRE(run.steps() == "0 3");
    CHECK(run.rows()[1].digest == run.state().digest().hex());
    CHECK(run.rows()[1].digest != before);
    const auto count = world.project.database().query_one(
        "select count(*) x from dedloc_evaluation where runid = ?", {run.row()});
    CHECK(count->integer("x") == 2);
    const auto figures = world.project.database().query_one(
        "select count(*) x from dedloc_figure where runid = ?", {run.row()});
    CHECK(figures->integer("x") == 8);
    // Figures of a state that has become void meanwhile are not written.
    server::EvaluationRow late = run.rows()[1];
    late.digest = before;
    CHECK_FALSE(server::write_evaluation(world.project.database(), run.row(), late));
    CHECK(run.rows()[1].digest != before);
}

TEST_CASE("an imported first state is evaluated while its checkpoint is there",
          "[server][integration]") {
    World world;
    MeasuredRun run{world.project};
    formats::RunFile imported = run.run();
    imported.initial_state = run.state().digest();
    platform::replace_file(run.folder() / "run.json", formats::write_run_file(imported));
    world.pass();
    CHECK(run.steps().empty());  // there is no checkpoint of it
    const backbone::CheckpointStore store{run.folder() / "checkpoints", formats::run_id(imported),
                                          2};
    store.save({.step = StepIndex{0},
                .digest = run.state().digest(),
                .elements = run.state().element_count()},
               run.state().bytes());
    world.pass();
    CHECK(run.steps() == "0");
}

TEST_CASE("a run without its held-out shards is passed over, and the others are evaluated",
          "[server][integration]") {
    World world;
    MeasuredRun missing{world.project, {.name = "missing"}};
    MeasuredRun damaged{world.project, {.name = "damaged"}};
    MeasuredRun whole{world.project, {.name = "whole"}};
    std::filesystem::remove(missing.held_out());
    Buffer bytes = platform::read_file(damaged.held_out(), 1 << 20);
    bytes[50] ^= std::byte{1};
    platform::replace_file(damaged.held_out(), bytes);
    world.pass();
    CHECK(missing.steps().empty());
    CHECK(damaged.steps().empty());
    CHECK(whole.steps() == "0");
    bytes[50] ^= std::byte{1};
    platform::replace_file(damaged.held_out(), bytes);
    RunEvaluations again{{.project = world.project.root(), .threads = 1}, world.signals};
    again.pass(world.project.database());
    CHECK(damaged.steps() == "0");
}

TEST_CASE("a damaged checkpoint is passed over for an older one that is due",
          "[server][integration]") {
    World world;
    MeasuredRun run{world.project};
    world.pass();
    run.train_to(3);
    run.step();
    const auto path = run.save();
    run.prove();
    Buffer bytes = platform::read_file(path, 1 << 22);
    bytes.back() ^= std::byte{1};
    platform::replace_file(path, bytes);
    world.pass();
    world.pass();
    CHECK(run.steps() == "0 3");
}

TEST_CASE("checkpoints may be replaced all the time", "[server][integration]") {
    World world;
    MeasuredRun run{world.project, {.steps = 1'000'000, .every = 1, .keep = 1}};
    run.train_to(1);
    constexpr std::size_t kEnough = 6;
    std::atomic<bool> is_over = false;
    std::thread reader{[&] {
        server::Database database{world.project.config().database};
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{90};
        while (server::read_evaluations(database, run.row()).size() < kEnough &&
               std::chrono::steady_clock::now() < deadline) {
            world.evaluations.pass(database);
        }
        is_over = true;
    }};
    while (!is_over) run.train_to(run.state().step().value() + 1);
    reader.join();
    const auto rows = run.rows();  // valid ones: each has the digest of its step
    CHECK(rows.size() >= kEnough);
    const auto count = world.project.database().query_one(
        "select count(*) x from dedloc_evaluation where runid = ?", {run.row()});
    CHECK(static_cast<std::size_t>(count->integer("x")) == rows.size());
}

TEST_CASE("figures that cannot be written are kept until the database is back",
          "[server][integration]") {
    World world;
    MeasuredRun run{world.project};
    server::Database administrator{server::mariadb_administrator(server::test_mariadb().place())};
    administrator.execute(
        "create trigger dedloc_test.refuse before insert on dedloc_test.dedloc_evaluation "
        "for each row signal sqlstate '45000' set message_text = 'the disk is full'");
    CHECK_THROWS_WITH(world.pass(), Catch::Contains("the disk is full"));
    CHECK(run.steps().empty());
    // Nor is an evaluation written without its figures.
    administrator.execute("drop trigger dedloc_test.refuse");
    administrator.execute(
        "create trigger dedloc_test.refuse before insert on dedloc_test.dedloc_figure "
        "for each row signal sqlstate '45000' set message_text = 'the disk is full'");
    CHECK_THROWS_WITH(world.pass(), Catch::Contains("the disk is full"));
    CHECK(run.steps().empty());
    std::filesystem::remove_all(run.folder());  // they are not measured again
    administrator.execute("drop trigger dedloc_test.refuse");
    world.pass();
    CHECK(run.steps() == "0");
}

TEST_CASE("each measurement has the answers to masked sentences", "[server][integration]") {
    World world;
    MeasuredRun run{world.project, {.steps = 8, .every = 3, .samples = 40}};
    const auto answers_at = [&](std::uint64_t step) {
        return server::read_answers(world.project.database(), run.row(), {step}).at(0);
    };
    world.pass();
    CHECK(answers_at(0).empty());  // no tokenizer
    test::write_word_tokenizer(run.folder(), run.run());
    run.train_to(4);
    world.pass();
    REQUIRE(run.steps() == "0 4");
    REQUIRE(answers_at(4).size() == kDrawnSentences);
    const auto file = run.folder() / "mine.txt";
    platform::replace_file(file, std::string_view{"word7 [MASK] word8\tword9\n"});
    runs::set_masked_lines(run.folder(), run.run(), file);
    run.train_to(7);
    world.pass();
    REQUIRE(answers_at(7).size() == 1);
    CHECK(answers_at(7)[0].before == "word7");
    CHECK(answers_at(7)[0].wanted == "word9");
    CHECK(answers_at(7)[0].words.size() == kAnsweredWords);
    // They are replaced with the figures of their step.
    run.begin_again();
    run.train_to(7);
    runs::set_masked_lines(run.folder(), run.run(), {});
    world.pass();
    CHECK(answers_at(7).size() == kDrawnSentences);
}

TEST_CASE("a state whose loss is not finite has no row", "[server][integration]") {
    World world;
    MeasuredRun run{world.project};
    world.pass();
    run.train_to(3);
    AlignedFloats values(3 * run.state().element_count(), 1e30f);
    const auto bytes = std::as_bytes(std::span{values});
    const backbone::CheckpointStore store{run.folder() / "checkpoints", formats::run_id(run.run()),
                                          3};
    const auto head = backbone::head_of_state(StepIndex{4}, bytes);
    store.save(head, bytes);
    run.step();
    world.project.database().execute("update dedloc_step set digest = ? where step = 4",
                                     {head.digest.hex()});
    world.pass();
    world.pass();
    CHECK(run.steps() == "0 3");
}

}  // namespace dedloc::evaluate
