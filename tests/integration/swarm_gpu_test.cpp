// A GPU that BOINC grants to a job trains in a swarm with processors, over real sockets: all
// members hold the same bits after every step.
#include "tests/boinc_app/cuda/skip_without_gpu.hpp"

#include "tests/integration/local_swarm.hpp"

namespace dedloc::test {
namespace {

/// The device that the job gets.
constexpr unsigned kGpu = 0;

std::uint64_t samples_of(const std::vector<CommitRecord>& commits, const PeerKey& peer) {
    std::uint64_t samples = 0;
    for (const CommitRecord& commit : commits) {
        for (const CommitLine& line : commit.members) {
            if (line.peer == peer) samples += line.samples.value();
        }
    }
    return samples;
}

TEST_CASE("a granted GPU and processors hold the same bits after every step", "[gpu]") {
    formats::RunFile run = tiny_run({.vocabulary = 200, .width = 64, .layers = 4, .length = 32});
    run.steps = 20;
    run.target_batch = 400;
    run.codec = GENERATE(Codec::kFp32, Codec::kFp16);
    const std::vector<formats::Shard> shards{skewed_shard(run, 1)};
    Witness witness;
    const LocalBackbone backbone{run, witness};
    LocalSeat gpu{run, shards, "gpu_0", {}, {}, kGpu};
    LocalSeat first{run, shards, "first_0"};
    LocalSeat second{run, shards, "second_0"};
    REQUIRE(witness.wait([](const Witness& w) { return w.end().has_value(); }));
    for (LocalSeat* seat : {&gpu, &first, &second}) {
        seat->ended();
        CHECK(seat->end() == seat::End::kDone);
    }
    std::uint64_t reports = 0;
    for (const auto& [step, settled] : witness.settled_steps()) {
        CAPTURE(step.value());
        CHECK(settled.equal == settled.reported);
        reports += settled.reported;
    }
    CHECK(reports > run.steps);
    const auto receipt = formats::decode_receipt(gpu.ended().receipt());
    REQUIRE(receipt);
    std::uint64_t own = 0;
    for (const auto& line : receipt->lines) own += line.samples.value();
    CAPTURE(own, reports);
    CHECK(own > 0);
    CHECK(own == samples_of(witness.commits(), receipt->peer));
}

TEST_CASE("a suspended job gives the GPU's memory back and contributes again afterwards", "[gpu]") {
    formats::RunFile run = tiny_run({.vocabulary = 30'000,
                                     .width = 1'024,
                                     .layers = 24,
                                     .length = 128,
                                     .embedding = 128,
                                     .heads = 16});
    run.steps = 1'000'000;
    run.target_batch = 64;
    const std::vector<formats::Shard> shards{skewed_shard(run, 1)};
    Witness witness;
    const LocalBackbone backbone{run, witness};
    const auto watcher = device::open_gpu(kGpu);
    LocalSeat seat{run, shards, "only_0", {}, {}, kGpu};
    REQUIRE(witness.wait([](const Witness& w) { return w.commits().size() >= 2; }));
    const std::uint64_t held = watcher->properties().free_memory_bytes;

    const auto begin = std::chrono::steady_clock::now();
    seat.runtime().suspend(true);
    const std::uint64_t vectors = 5 * sizeof(float) * formats::element_count(run);
    std::uint64_t freed = 0;
    while (freed < held + vectors &&
           std::chrono::steady_clock::now() - begin < std::chrono::seconds{10}) {
        std::this_thread::sleep_for(std::chrono::milliseconds{5});
        freed = watcher->properties().free_memory_bytes;
    }
    const auto took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin);
    std::printf("the GPU's memory was free %.3f s after the suspension: %.0f MB\n", took.count(),
                static_cast<double>(freed - held) / 1e6);
    CHECK(freed >= held + vectors);
    REQUIRE(witness.wait([](const Witness& w) { return w.seats() == 0; }));

    const std::size_t commits = witness.commit_count();
    seat.runtime().suspend(false);
    CHECK(witness.wait([&](const Witness& w) { return w.commits().size() > commits + 1; }));
    seat.runtime().ask_to_quit();
    seat.ended();
    CHECK(seat.end() == seat::End::kQuit);
}

}  // namespace
}  // namespace dedloc::test
