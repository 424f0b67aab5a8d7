// Training in one process: its steps are those of a swarm.
#include "boinc_app/training/local_trainer.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "boinc_app/albert/albert_task.hpp"
#include "boinc_app/training/host_replica.hpp"
#include "boinc_app/training/task.hpp"
#include "kernels/weighted_mean.hpp"
#include "peer/state/run_state.hpp"
#include "tests/boinc_app/tiny_world.hpp"

namespace dedloc::training {
namespace {

constexpr std::size_t kLocalMicroBatch = 4;

struct LocalFixture {
    LocalFixture() { set_compute_threads(1); }

    const formats::RunFile run = test::tiny_run();
    const std::vector<formats::Shard> shards{test::skewed_shard(run, 1)};
    const kernels::ThisThread workers;
    const albert::AlbertTask task{run, shards};
    HostReplica replica{run, task, workers};
    LocalTrainer trainer{run, workers, replica, kLocalMicroBatch};
};

PeerKey sharer(unsigned char name) {
    PeerKey key;
    key.bytes.fill(std::byte{name});
    return key;
}

TEST_CASE("a step in one process is the average of its shares and one update", "[training]") {
    LocalFixture tiny;
    const std::vector<Share> shares{{sharer(1), Samples{10}}, {sharer(2), Samples{4}}};
    const auto done = tiny.trainer.step(shares);
    REQUIRE(done);
    CHECK(done->samples == Samples{14});
    CHECK(done->update.was_applied);

    const state::OptimizerSettings settings = state::optimizer_settings(tiny.run);
    state::ModelState state{state::tensor_ranges(tiny.run), settings};
    state.initialise(state::initial_parameters(tiny.run));
    const auto model = tiny.task.make_model(state.parameters(), {});
    FloatVector first(state.element_count());
    FloatVector second(state.element_count());
    double loss = 0;
    for (const auto& [from, count] : {std::pair{0u, 4u}, std::pair{4u, 4u}, std::pair{8u, 2u}}) {
        loss += *model->add_gradient({sharer(1), StepIndex{0}, from, count}, first, {});
    }
    loss += *model->add_gradient({sharer(2), StepIndex{0}, 0, 4}, second, {});
    const std::vector<std::span<const float>> parts{first, second};
    const std::vector<std::uint64_t> weights{10, 4};
    FloatVector average(state.element_count());
    kernels::weighted_mean(parts, weights, average);
    state.apply(average, state::update_scalars(settings, StepIndex{0}));
    CHECK(done->loss_sum == loss);
    CHECK(tiny.replica.digest() == state.digest());
}

TEST_CASE("the order of the shares decides the bits, and the samples are each peer's own",
          "[training]") {
    const auto digest_of = [](const std::vector<Share>& shares) {
        LocalFixture tiny;
        REQUIRE(tiny.trainer.step(shares));
        return tiny.replica.digest();
    };
    const Share one{sharer(1), Samples{8}};
    const Share two{sharer(2), Samples{8}};
    CHECK(digest_of({one, two}) == digest_of({one, two}));
    CHECK(digest_of({one}) != digest_of({two}));
    CHECK(digest_of({one, two}) != digest_of({one}));
}

TEST_CASE("an interrupted step in one process changes nothing", "[training]") {
    LocalFixture tiny;
    const std::vector<Share> share{{sharer(1), Samples{12}}};
    REQUIRE(tiny.trainer.step(share));
    const Digest before = tiny.replica.digest();
    int questions = 0;
    CHECK_FALSE(tiny.trainer.step(share, [&] { return ++questions > 50; }));
    CHECK(tiny.replica.step() == StepIndex{1});
    CHECK(tiny.replica.digest() == before);
    LocalFixture other;
    for (LocalFixture* each : {&tiny, &other}) {
        while (each->replica.step() < StepIndex{3}) REQUIRE(each->trainer.step(share));
    }
    CHECK(tiny.replica.digest() == other.replica.digest());
}

}  // namespace
}  // namespace dedloc::training
