// A swarm computes the same bits as one process: three peers over real sockets, and afterwards the
// same micro-batches, summed and applied in the same order by one loop. And a suspended volunteer
// computes nothing.
#include <catch2/catch.hpp>

#include "boinc_app/training/albert.hpp"
#include "boinc_app/training/batch.hpp"
#include "kernels/accumulate.hpp"
#include "kernels/weighted_mean.hpp"
#include "tests/integration/local_swarm.hpp"

namespace dedloc::test {
namespace {

/// Recomputes one member's contribution to a commit.
FloatVector contribution_again(const formats::RunFile& run, const training::Sampler& sampler,
                               training::Albert& model, StepIndex step, const CommitLine& line) {
    FloatVector sum(model.element_count());
    FloatVector gradient(model.element_count());
    double loss = 0;
    for (std::uint64_t i = 0; i < line.samples.value() / run.micro_batch; ++i) {
        loss += model.gradient(
            sampler.draw(training::micro_batch_random(run.seed, line.peer, step, i)), gradient);
        kernels::accumulate(sum, gradient, 1.0f);
    }
    CHECK(loss == line.loss_sum);
    return sum;
}

/// The digests after every step, recomputed from the ledger's lines alone.
std::map<StepIndex, Digest> digests_again(const formats::RunFile& run,
                                          std::span<const formats::Shard> shards,
                                          const std::vector<CommitRecord>& commits) {
    training::set_compute_threads(1);
    const training::Sampler sampler{run, shards};
    training::Albert model{run};
    state::ModelState state{state::tensor_ranges(run), state::optimizer_settings(run)};
    state.initialise(state::initial_parameters(run));
    std::map<StepIndex, Digest> digests;
    for (const CommitRecord& commit : commits) {
        REQUIRE(commit.step == state.step());
        model.set_parameters(state.parameters());
        std::vector<FloatVector> sums;
        std::vector<std::uint64_t> weights;
        for (const CommitLine& line : commit.members) {
            if (line.samples == Samples{0}) continue;
            sums.push_back(contribution_again(run, sampler, model, commit.step, line));
            weights.push_back(line.samples.value());
        }
        FloatVector average(model.element_count());
        kernels::weighted_mean(std::vector<std::span<const float>>(sums.begin(), sums.end()),
                               weights, average);
        state.apply(average, commit.scalars);
        digests[state.step()] = state.digest();
    }
    return digests;
}

TEST_CASE("three peers over sockets compute the bits that one process computes",
          "[averaging][integration]") {
    // LAMB has two moments and SGD one, so their states differ in size.
    const auto optimizer = GENERATE(formats::Optimizer::kLamb, formats::Optimizer::kSgdLarc);
    INFO(name_of(optimizer));
    formats::RunFile run = tiny_run();
    if (optimizer != formats::Optimizer::kLamb) run.optimizer = formats::usual_settings(optimizer);
    run.steps = 10;
    run.target_batch = 400;
    const std::vector<formats::Shard> shards{skewed_shard(run, 1)};
    Witness witness;
    const LocalBackbone backbone{run, witness};
    LocalSeat first{run, shards, "first_0"};
    LocalSeat second{run, shards, "second_0"};
    LocalSeat third{run, shards, "third_0"};
    REQUIRE(witness.wait([](const Witness& w) { return w.end().has_value(); }));

    std::uint64_t credited = 0;
    for (LocalSeat* seat : {&first, &second, &third}) {
        const auto receipt = formats::decode_receipt(seat->ended().receipt());
        REQUIRE(receipt);
        CHECK(seat->end() == SeatEnd::kDone);
        for (const auto& line : receipt->lines) credited += line.samples.value();
    }
    REQUIRE(witness.commits().size() == run.steps);
    std::uint64_t samples = 0;
    std::size_t max_contributors = 0;
    for (const CommitRecord& commit : witness.commits()) {
        std::size_t contributors = 0;
        for (const CommitLine& line : commit.members) {
            samples += line.samples.value();
            contributors += line.samples > Samples{0} ? 1 : 0;
        }
        max_contributors = std::max(max_contributors, contributors);
    }
    CHECK(max_contributors == 3);
    CHECK(credited == samples);

    const auto digests = digests_again(run, shards, witness.commits());
    for (const auto& [step, settled] : witness.settled_steps()) {
        if (step == StepIndex{0}) continue;
        CAPTURE(step.value());
        CHECK(settled.equal == settled.reported);
        CHECK(digests.at(step) == settled.digest);
    }
    CHECK(digests.at(StepIndex{run.steps}) == witness.end()->digest);
}

TEST_CASE("a suspended seat leaves the swarm and contributes again when it is resumed",
          "[boinc][integration]") {
    formats::RunFile run = tiny_run();
    run.steps = 1'000'000;
    run.target_batch = 100;
    const std::vector<formats::Shard> shards{skewed_shard(run, 1)};
    Witness witness;
    const LocalBackbone backbone{run, witness};
    LocalSeat seat{run, shards, "only_0"};
    REQUIRE(witness.wait([](const Witness& w) { return w.commits().size() >= 2; }));

    seat.runtime().suspend(true);
    REQUIRE(witness.wait([](const Witness& w) { return w.seats() == 0; }));
    std::size_t commits = 0;
    REQUIRE(witness.wait([&](const Witness& w) {
        commits = w.commits().size();
        return true;
    }));
    // The backbone's next two reports, a second apart, list no seat and no new step.
    CHECK_FALSE(witness.wait_for(std::chrono::seconds{3}, [&](const Witness& w) {
        return w.seats() > 0 || w.commits().size() > commits;
    }));

    seat.runtime().suspend(false);
    CHECK(witness.wait([&](const Witness& w) { return w.commits().size() > commits + 1; }));
    seat.runtime().ask_to_quit();
    seat.ended();
    CHECK(seat.end() == SeatEnd::kQuit);
}

}  // namespace
}  // namespace dedloc::test
