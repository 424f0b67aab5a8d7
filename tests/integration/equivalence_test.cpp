// A swarm computes the same bits as one process: three peers over real sockets, and afterwards the
// same samples by LocalTrainer. And a suspended volunteer computes nothing.
#include <catch2/catch.hpp>

#include "boinc_app/device/gpu.hpp"
#include "boinc_app/training/local_trainer.hpp"
#include "boinc_app/training/replica.hpp"
#include "boinc_app/training/task.hpp"
#include "tests/integration/local_swarm.hpp"

namespace dedloc::test {
namespace {

/// The digests after every step, recomputed from the ledger's lines alone.
std::map<StepIndex, Digest> digests_again(const formats::RunFile& run,
                                          std::span<const formats::Shard> shards,
                                          const std::vector<CommitRecord>& commits) {
    training::set_compute_threads(1);
    const kernels::ThisThread workers;
    const auto task = albert_task(run, shards);
    // As the seats do: bits depend on the way to compute.
    const device::Compute compute = device::make_compute({.kind = device::Choice::Kind::kProcessor},
                                                         run, *task, workers, {.threads = 1});
    training::Replica& replica = *compute.replica;
    training::LocalTrainer trainer{run, workers, replica, kMicroBatch};
    std::map<StepIndex, Digest> digests;
    for (const CommitRecord& commit : commits) {
        REQUIRE(commit.step == replica.step());
        std::vector<training::Share> shares;
        double loss_sum = 0;
        for (const CommitLine& line : commit.members) {
            if (line.samples == Samples{0}) continue;
            shares.push_back({.peer = line.peer, .samples = line.samples});
            loss_sum += line.loss_sum;
        }
        const auto step = trainer.step(shares, commit.scalars);
        REQUIRE(step);
        CHECK(step->loss_sum == loss_sum);
        digests[replica.step()] = replica.digest();
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
        CHECK(seat->end() == seat::End::kDone);
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
    const std::size_t commits = witness.commit_count();
    // The backbone's next two reports, a second apart, list no seat and no new step.
    CHECK_FALSE(witness.wait_for(std::chrono::seconds{3}, [&](const Witness& w) {
        return w.seats() > 0 || w.commits().size() > commits;
    }));

    seat.runtime().suspend(false);
    CHECK(witness.wait([&](const Witness& w) { return w.commits().size() > commits + 1; }));
    seat.runtime().ask_to_quit();
    seat.ended();
    CHECK(seat.end() == seat::End::kQuit);
}

}  // namespace
}  // namespace dedloc::test
