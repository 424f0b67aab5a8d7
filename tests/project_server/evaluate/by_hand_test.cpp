// One state by hand: how it is loaded, and what is printed.
#include "project_server/evaluate/by_hand.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "peer/state/run_state.hpp"
#include "project_server/backbone/checkpoint.hpp"
#include "tests/boinc_app/tiny_world.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::evaluate {
namespace {

namespace fs = std::filesystem;

/// A run's first state, as a checkpoint and as plain numbers.
struct World {
    TemporaryDirectory folder;
    formats::RunFile run = test::tiny_run();
    state::ModelState state{state::tensor_ranges(run), state::optimizer_settings(run)};
    fs::path checkpoint;
    fs::path numbers = folder.path() / "numbers";

    World() {
        state.initialise(state::initial_parameters(run));
        const backbone::CheckpointStore store{folder.path(), formats::run_id(run), 2};
        checkpoint = store.save(
            {.step = state.step(), .digest = state.digest(), .elements = state.element_count()},
            state.bytes());
        platform::replace_file(numbers, std::as_bytes(state.parameters()));
    }
    bool has_parameters(const LoadedState& loaded) const {
        return std::ranges::equal(loaded.parameters, state.parameters());
    }
    std::optional<LoadedState> load(const IsInterrupted& is_interrupted = {}) const {
        const backbone::CheckpointFile file{checkpoint, formats::run_id(run)};
        return load_checkpoint(file, checkpoint, run, is_interrupted);
    }
};

}  // namespace

TEST_CASE("a state is loaded from a checkpoint, from numbers, and from the run file", "[server]") {
    const World world;
    const auto loaded = world.load();
    REQUIRE(loaded);
    CHECK(world.has_parameters(*loaded));
    CHECK(loaded->step == StepIndex{0});
    CHECK(loaded->digest == world.state.digest());
    CHECK_FALSE(world.load([] { return true; }));

    const LoadedState initial = load_initial(world.run);
    CHECK(world.has_parameters(initial));
    CHECK(initial.digest == world.state.digest());
    formats::RunFile imported = world.run;
    imported.initial_state = initial.digest;
    CHECK_THROWS_WITH(load_initial(imported), Catch::Contains("starts from an imported model"));

    const LoadedState numbers = load_numbers(world.numbers, world.run);
    CHECK(world.has_parameters(numbers));
    CHECK_FALSE(numbers.step);
    CHECK_FALSE(numbers.digest);
    platform::replace_file(world.numbers, world.state.bytes());
    CHECK(world.has_parameters(load_numbers(world.numbers, world.run)));
    platform::replace_file(world.numbers, "1234");
    CHECK_THROWS_WITH(load_numbers(world.numbers, world.run), Catch::Contains("has 4 bytes, but"));
}

TEST_CASE("a damaged checkpoint is one sentence", "[server]") {
    const World world;
    Buffer bytes = platform::read_file(world.checkpoint, 1 << 24);
    for (const std::size_t at : {formats::kCheckpointHeadBytes, bytes.size() - 1}) {
        Buffer altered = bytes;
        altered[at] ^= std::byte{1};
        platform::replace_file(world.checkpoint, altered);
        CHECK_THROWS_WITH(world.load(), Catch::Contains("step_000000000.state is damaged: its "
                                                        "bytes are not the state"));
    }
    bytes.pop_back();
    platform::replace_file(world.checkpoint, bytes);
    CHECK_THROWS_WITH(world.load(), Catch::Contains("is a checkpoint of 3 vectors"));
}

TEST_CASE("a report has the figures, and JSON the same", "[server]") {
    const World world;
    const auto state = *world.load();
    HandReport report{.run = world.run,
                      .state = state,
                      .proof = {.is_proven = true, .clause = "proven by the ledger"},
                      .figures = {.loss = {.value = 4.25, .error = 0.125},
                                  .figures = {{"masked_loss", {3.5, 0.0625}},
                                              {"order_loss", {0.75, 0.5}},
                                              {"masked_accuracy", {0.25, 0.015625}},
                                              {"order_accuracy", {0.5, 0.03125}}},
                                  .samples = 64,
                                  .counts = {{"masked_tokens", 1'000}}},
                      .seconds = 2.5,
                      .threads = 1};
    CHECK(report_text(report) ==
          "run tiny: step 0 of 100, state " + world.state.digest().hex() +
              "\nproven by the ledger\n"
              "held-out loss              4.2500 ± 0.1250 nats a sample (guessing: ln V + ln 2 = "
              "4.7875)\n"
              "  loss of masked tokens    3.5000 ± 0.0625 nats\n"
              "  loss of sentence orders  0.7500 ± 0.5000 nats\n"
              "  masked tokens right      25.00 % ± 1.56 %\n"
              "  sentence orders right    50.00 % ± 3.12 %\n"
              "  masked tokens            1000\n"
              "measured on 64 samples in 2.5 s with 1 thread; ± is the standard error\n");
    CHECK(report_json(report) ==
          R"({"run":"tiny","run_id":")" + formats::run_id(world.run).hex() +
              R"(","step":0,"digest":")" + world.state.digest().hex() +
              R"(","is_proven":true,"standing":"proven by the ledger","loss":4.25,)"
              R"("loss_error":0.125,"masked_loss":3.5,"masked_loss_error":0.0625,)"
              R"("order_loss":0.75,"order_loss_error":0.5,"masked_accuracy":0.25,)"
              R"("masked_accuracy_error":0.015625,"order_accuracy":0.5,)"
              R"("order_accuracy_error":0.03125,"samples":64,"masked_tokens":1000,"seconds":2.5})");
    // Another task has other figures and words; those that were not measured are left out.
    formats::RunFile other = world.run;
    formats::SwavSpec swav;
    swav.prototypes = 300;
    other.model = swav;
    const HandReport pictures{
        .run = other,
        .state = state,
        .proof = {.clause = "not checked against a ledger"},
        .figures = {.loss = {2.5, 0.5},
                    .figures = {{"knn_accuracy", {0.5, 0.0625}}, {"prototypes_used", {1'234, 0}}},
                    .samples = 64},
        .seconds = 2.5,
        .threads = 2};
    CHECK_THAT(report_text(pictures),
               Catch::EndsWith("held-out loss                     2.5000 ± 0.5000 nats a sample "
                               "(guessing: ln K = 5.7038)\n"
                               "  kNN accuracy                    50.00 % ± 6.25 %\n"
                               "  prototypes in use               1,234 ± 0\n"
                               "measured on 64 samples in 2.5 s with 2 threads; ± is the standard "
                               "error\n"));
    report.figures.loss.value = NAN;
    CHECK_THAT(report_json(report), Catch::Contains(R"("loss":null,)"));
}

}  // namespace dedloc::evaluate
