// A seat of dedloc_aggregate in a swarm of real sockets: it averages, computes nothing, holds no
// model, and obeys the volunteer's machine.
#include <catch2/catch.hpp>

#include "boinc_app/seat/averaging_worker.hpp"
#include "tests/integration/local_swarm.hpp"
#include "tests/integration/played_gateway.hpp"

namespace dedloc::test {
namespace {

/// The links of homes, and of an office: the planner lets the aggregator average.
constexpr runtime::HostLimits kHome{.upload = Bandwidth{200'000}, .download = Bandwidth{2'000'000}};
constexpr runtime::HostLimits kOffice{.upload = Bandwidth{1'000'000'000},
                                      .download = Bandwidth{1'000'000'000}};

/// Rounds in which `peer` was a member, and its part of them.
struct Part {
    std::size_t rounds = 0;
    std::uint64_t elements = 0;
    Samples samples;
};

Part part_of(const PeerKey& peer, const std::vector<CommitRecord>& commits) {
    Part part;
    for (const CommitRecord& commit : commits) {
        const CommitLine* const line = line_of(commit, peer);
        if (line == nullptr) continue;
        ++part.rounds;
        part.elements += line->reduced;
        part.samples += line->samples;
    }
    return part;
}

TEST_CASE("an aggregator averages for two trainers until the run ends",
          "[averaging][integration]") {
    formats::RunFile run = tiny_run();
    run.steps = 10;
    run.target_batch = 400;
    const std::vector<formats::Shard> shards{skewed_shard(run, 1)};
    Witness witness;
    const LocalBackbone backbone{run, witness, nullptr, kHome};
    LocalSeat aggregator{run, seat::averaging_worker(run), "aggregator_0", {}, kOffice};
    REQUIRE(witness.wait([](const Witness& w) { return w.seats() == 1; }));
    LocalSeat first{run, shards, "first_0", {}, kHome};
    LocalSeat second{run, shards, "second_0", {}, kHome};
    REQUIRE(witness.wait([](const Witness& w) { return w.end().has_value(); }));

    const auto receipt = formats::decode_receipt(aggregator.ended().receipt());
    CHECK(aggregator.end() == seat::End::kDone);
    const Part part = part_of(aggregator.peer(), witness.commits());
    CHECK(part.samples == Samples{0});
    CHECK(part.rounds >= run.steps / 2);
    CHECK(part.elements > 0);
    for (const auto& [step, settled] : witness.settled_steps()) {
        CAPTURE(step.value());
        CHECK(settled.equal == settled.reported);
    }
    REQUIRE(receipt);
    CHECK(receipt->lines.empty());
}

TEST_CASE("a suspended aggregator leaves the swarm and averages again when it is resumed",
          "[boinc][integration]") {
    formats::RunFile run = tiny_run();
    run.steps = 1'000'000;
    run.target_batch = 100;
    const std::vector<formats::Shard> shards{skewed_shard(run, 1)};
    Witness witness;
    const LocalBackbone backbone{run, witness, nullptr, kHome};
    LocalSeat aggregator{run, seat::averaging_worker(run), "aggregator_0", {}, kOffice};
    const PeerKey peer = aggregator.peer();
    LocalSeat first{run, shards, "first_0", {}, kHome};
    LocalSeat second{run, shards, "second_0", {}, kHome};
    const auto averages = [&](std::size_t more_than) {
        return witness.wait(
            [&](const Witness& w) { return part_of(peer, w.commits()).elements > more_than; });
    };
    REQUIRE(averages(0));

    aggregator.runtime().suspend(true);
    REQUIRE(
        witness.wait_for(std::chrono::seconds{5}, [](const Witness& w) { return w.seats() == 2; }));
    std::uint64_t before = 0;
    std::size_t commits = 0;
    REQUIRE(witness.wait([&](const Witness& w) {
        before = part_of(peer, w.commits()).elements;
        commits = w.commits().size();
        return true;
    }));
    // The others go on without it.
    REQUIRE(witness.wait([&](const Witness& w) { return w.commits().size() > commits + 2; }));
    CHECK(witness.wait(
        [&](const Witness& w) { return part_of(peer, w.commits()).elements == before; }));

    aggregator.runtime().suspend(false);
    CHECK(averages(before));
    aggregator.runtime().ask_to_quit();
    aggregator.ended();
    CHECK(aggregator.end() == seat::End::kQuit);
}

TEST_CASE("an aggregator that cannot be dialled does not join, and tries again later",
          "[boinc][integration]") {
    const KeyPair key = KeyPair::generate();
    const TicketedProject project{.key = key, .overhear = [](const Event&) {}};
    PlayedGateway gateway(project);
    formats::RunFile run = tiny_run();
    run.gateway = gateway.url();
    Witness witness;
    const LocalBackbone backbone{run, witness, &project};
    gateway.run = formats::run_id(run);
    LocalSeat seat{run, seat::averaging_worker(run), "first_0",
                   runtime::Account{.authenticator = "secret", .host = 1}};
    const std::string why = seat.ended().why();
    CHECK(seat.end() == seat::End::kUnreachable);
    CHECK(why.find("cannot dial this one") != std::string::npos);
}

}  // namespace
}  // namespace dedloc::test
