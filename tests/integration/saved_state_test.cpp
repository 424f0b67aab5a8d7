// A trainer that is started again begins with the state that it has saved, and fetches only the
// averages of the steps since; a file that cannot be used is deleted, and the state is fetched.
#include <catch2/catch.hpp>

#include "peer/formats/training_memory.hpp"
#include "peer/platform/files.hpp"
#include "tests/integration/local_swarm.hpp"

namespace dedloc::test {
namespace {

constexpr std::size_t kMaxFile = 1 << 24;

/// A larger model, so that heartbeats hardly count.
formats::RunFile slow_run() {
    formats::RunFile run = tiny_run({.vocabulary = 500, .width = 48});
    run.steps = 1'000'000;
    run.target_batch = 6'000;  // seconds, as the coordinator extrapolates a seat's speed
    return run;
}

std::uint64_t vector_bytes(const formats::RunFile& run) {
    return sizeof(float) * formats::element_count(run);
}

/// The view of a seat, if the backbone is linked to it.
std::optional<SeatView> view_of(const Witness& witness, const PeerKey& peer) {
    for (const SeatView& view : witness.views()) {
        if (view.peer == peer) return view;
    }
    return std::nullopt;
}

/// A run, the project's side, and the slot of a job that is stopped and started again.
struct Night {
    explicit Night() : backbone(run, witness) {}

    std::filesystem::path file() const { return slot.path() / "saved_state"; }
    /// Trains until a state may be saved again and `commits` rounds are decided, then quits.
    void train_until(std::size_t commits) {
        const auto begin = std::chrono::steady_clock::now();
        const auto quarter =
            seat::save_interval(formats::state_bytes(run), {}) / 4 + std::chrono::seconds{1};
        LocalSeat seat{run, shards, "first_0", LastingSlot{slot.path()}};
        REQUIRE(witness.wait([&](const Witness& w) {
            return w.commits().size() >= commits &&
                   std::chrono::steady_clock::now() - begin > quarter;
        }));
        seat.runtime().ask_to_quit();
        seat.ended();
        CHECK(seat.end() == seat::End::kQuit);
    }
    /// Starts the job again. Returns the bytes that it has received when it holds the state of the
    /// swarm, which does not move meanwhile, as this seat hardly computes.
    std::uint64_t received_until_current() {
        LocalSeat seat{run, shards, "first_0", LastingSlot{slot.path(), {.computing = 0.01}}};
        const std::size_t commits = witness.commit_count();
        REQUIRE(witness.wait([&](const Witness& w) {
            const auto view = view_of(w, seat.peer());
            return view && view->has_state && view->step == StepIndex{commits};
        }));
        seat.runtime().ask_to_quit();
        seat.ended();
        CHECK(witness.commit_count() == commits);
        return seat.runtime().received();
    }

    formats::RunFile run = slow_run();
    const std::vector<formats::Shard> shards{skewed_shard(run, 1)};
    Witness witness;
    LocalBackbone backbone;
    TemporaryDirectory slot;
};

TEST_CASE("a trainer that is started again fetches no state if the swarm has not moved",
          "[state][integration]") {
    Night night;
    night.train_until(2);
    REQUIRE(std::filesystem::exists(night.file()));
    const std::uint64_t received = night.received_until_current();
    std::printf("swarm has not moved: %lu bytes received, a state has %lu\n", received,
                3 * vector_bytes(night.run));
    CHECK(received < vector_bytes(night.run) / 4);
}

TEST_CASE("a trainer that is started again fetches the averages of the steps since",
          "[state][integration]") {
    Night night;
    night.train_until(2);
    const Buffer former = platform::read_file(night.file(), kMaxFile);
    const std::size_t before = night.witness.commit_count();
    const std::size_t steps = 2;
    {
        LocalSeat other{night.run, night.shards, "second_0"};
        REQUIRE(night.witness.wait(
            [&](const Witness& w) { return w.commits().size() >= before + steps; }));
    }
    const std::size_t moved = night.witness.commit_count() - before;
    REQUIRE(night.witness.wait([](const Witness& w) { return w.seats() == 0; }));
    const std::uint64_t received = night.received_until_current();
    const std::uint64_t average = vector_bytes(night.run);
    std::printf("swarm has moved %zu steps: %lu bytes received, an average has %lu, a state %lu\n",
                moved, received, average, 3 * average);
    CHECK(received >= moved * average);
    CHECK(received < moved * average + average / 4);

    // The same without the saved state.
    platform::replace_file(night.file(), std::span{former}.first(former.size() / 2));
    const std::uint64_t whole = night.received_until_current();
    std::printf("its file was cut: %lu bytes received\n", whole);
    CHECK(whole >= 3 * average);
    CHECK(whole < 3 * average + average / 4);
}

TEST_CASE("a trainer saves its state while it trains, at the volunteer's interval",
          "[state][integration]") {
    Night night;
    LocalSeat seat{night.run, night.shards, "first_0", LastingSlot{night.slot.path()}};
    seat.runtime().save_every(std::chrono::seconds{0});
    REQUIRE(
        night.witness.wait([&](const Witness&) { return std::filesystem::exists(night.file()); }));
    const seat::SavedState saved = seat::read_state_file(night.file(), night.run);
    CHECK(saved.place.step() > StepIndex{0});
}

}  // namespace
}  // namespace dedloc::test
