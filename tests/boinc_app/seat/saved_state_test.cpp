// The saved state of a seat: what was written is read, a file that was cut, damaged or forged is
// refused with a sentence, and a process that is killed while it writes leaves a whole file.
#include "boinc_app/seat/saved_state.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "peer/base/error.hpp"
#include "peer/formats/training_memory.hpp"
#include "peer/platform/files.hpp"
#include "peer/wire/limits.hpp"
#include "tests/boinc_app/seat/decided_state.hpp"
#include "tests/file_size_limit.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::test {
namespace {

constexpr std::size_t kMaxFile = 1 << 24;

/// A file of one run in a folder of its own.
struct Slot {
    std::filesystem::path path() const { return folder.path() / "saved_state"; }
    void write(const seat::StatePlace& place, const seat::CopiedState& state) const {
        seat::write_state_file(path(), formats::run_id(world.run), place, world.to_save(state));
    }
    Buffer bytes() const { return platform::read_file(path(), kMaxFile); }
    /// Why the file is refused; empty if it is not.
    std::string refusal() const {
        try {
            (void)seat::read_state_file(path(), world.run);
            return {};
        } catch (const InputError& error) {
            return error.what();
        }
    }

    DecidedRun world;
    TemporaryDirectory folder;
};

TEST_CASE("a saved state is read as it was written", "[boinc]") {
    const Slot slot;
    const std::uint64_t generation = GENERATE(0U, 3U);
    const seat::StatePlace place = slot.world.place(StepIndex{7}, generation);
    const seat::CopiedState state = slot.world.state(StepIndex{7});
    slot.write(place, state);
    const seat::SavedState saved = seat::read_state_file(slot.path(), slot.world.run);
    CHECK(saved.place.decision == place.decision);
    CHECK(saved.place.generation == place.generation);
    CHECK(saved.state.head == state.head);
    CHECK((*saved.state.bytes == *state.bytes));
    // Two records of at most a frame, the head, and a few fixed fields come before the state.
    CHECK(std::filesystem::file_size(slot.path()) <= 2 * wire::kMaxFrameBytes +
                                                         formats::kCheckpointHeadBytes + 128 +
                                                         formats::state_bytes(slot.world.run));
    CHECK_FALSE(std::filesystem::exists(slot.path().string() + ".tmp"));
}

TEST_CASE("a saved state that was cut at any place is refused", "[boinc]") {
    const Slot slot;
    slot.write(slot.world.place(StepIndex{7}, 1), slot.world.state(StepIndex{7}));
    const Buffer whole = slot.bytes();
    for (std::size_t size = 0; size < whole.size(); size += size < 1'200 ? 1 : 9'973) {
        platform::replace_file(slot.path(), std::span{whole}.first(size));
        CAPTURE(size);
        REQUIRE_FALSE(slot.refusal().empty());
    }
    Buffer longer = whole;
    longer.push_back(std::byte{0});
    platform::replace_file(slot.path(), longer);
    CHECK_THAT(slot.refusal(), Catch::Contains("not of its full size"));
}

TEST_CASE("a saved state with one wrong bit is refused wherever the bit is", "[boinc]") {
    const Slot slot;
    slot.write(slot.world.place(StepIndex{7}, 1), slot.world.state(StepIndex{7}));
    const Buffer whole = slot.bytes();
    for (std::size_t place = 0; place < whole.size(); place += place < 1'200 ? 1 : 9'973) {
        Buffer damaged = whole;
        damaged[place] ^= std::byte{0x10};
        platform::replace_file(slot.path(), damaged);
        CAPTURE(place);
        REQUIRE_FALSE(slot.refusal().empty());
    }
}

TEST_CASE("a saved state of another history is refused with the reason", "[boinc]") {
    const Slot slot;
    const DecidedRun& world = slot.world;
    const KeyPair stranger = KeyPair::generate();
    const seat::CopiedState state = world.state(StepIndex{7});

    slot.write(world.place(StepIndex{7}, 0, &stranger), state);
    CHECK_THAT(slot.refusal(), Catch::Contains("of a step that no voters have decided"));

    seat::StatePlace unsigned_generation = world.place(StepIndex{7}, 2);
    unsigned_generation.generation->signature[5] ^= std::byte{1};
    slot.write(unsigned_generation, state);
    CHECK_THAT(slot.refusal(), Catch::Contains("of a step that no voters have decided"));

    // A decision of generation 0 under a generation that the project has signed.
    seat::StatePlace mixed = world.place(StepIndex{7}, 2);
    mixed.decision = world.place(StepIndex{7}).decision;
    slot.write(mixed, state);
    CHECK_THAT(slot.refusal(), Catch::Contains("of a step that no voters have decided"));

    formats::RunFile other = world.run;
    other.seed += 1;
    seat::write_state_file(slot.path(), formats::run_id(other), world.place(StepIndex{7}),
                           world.to_save(state));
    CHECK_THAT(slot.refusal(), Catch::Contains("a checkpoint of the run"));

    seat::CopiedState false_head = state;
    false_head.head.digest.bytes[0] ^= std::byte{1};
    slot.write(world.place(StepIndex{7}), false_head);
    CHECK_THAT(slot.refusal(), Catch::Contains("does not have the digest of its head"));

    seat::CopiedState huge = state;
    huge.head.elements = std::uint64_t{1} << 63;
    slot.write(world.place(StepIndex{7}), huge);
    CHECK_THAT(slot.refusal(), Catch::Contains("the state of another model"));
}

TEST_CASE("a full disk leaves the former saved state", "[boinc]") {
    const Slot slot;
    slot.write(slot.world.place(StepIndex{7}), slot.world.state(StepIndex{7}));
    const Buffer former = slot.bytes();
    {
        const FileSizeLimit full{former.size() / 2};
        CHECK_THROWS_AS(slot.write(slot.world.place(StepIndex{8}), slot.world.state(StepIndex{8})),
                        IoError);
    }
    CHECK((slot.bytes() == former));
    CHECK_FALSE(std::filesystem::exists(slot.path().string() + ".tmp"));
}

TEST_CASE("a process that is killed while it saves leaves a whole state", "[boinc]") {
    Slot slot;
    // Large enough that most kills come in the middle of a write.
    slot.world.run = tiny_run({.vocabulary = 4'000, .width = 128});
    slot.world.run.project_key = slot.world.project.public_key();
    slot.world.run.backbone_key = slot.world.backbone.public_key();
    const seat::StatePlace places[] = {slot.world.place(StepIndex{7}),
                                       slot.world.place(StepIndex{8})};
    const seat::CopiedState states[] = {slot.world.state(StepIndex{7}, 7),
                                        slot.world.state(StepIndex{8}, 8)};
    const auto began = std::chrono::steady_clock::now();
    slot.write(places[0], states[0]);
    const auto one_write = std::chrono::steady_clock::now() - began;
    std::size_t in_the_middle = 0;
    std::size_t replaced = 0;
    for (int number = 0; number < 40; ++number) {
        const pid_t child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            for (std::size_t i = 1;; i = 1 - i) slot.write(places[i], states[i]);
        }
        std::this_thread::sleep_for(one_write * (1 + number % 11) / 3);
        ::kill(child, SIGKILL);
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        in_the_middle += std::filesystem::exists(slot.path().string() + ".tmp") ? 1 : 0;
        const seat::SavedState saved = seat::read_state_file(slot.path(), slot.world.run);
        const std::uint64_t step = saved.place.step().value();
        REQUIRE((step == 7 || step == 8));
        replaced += step == 8 ? 1 : 0;
        REQUIRE((*saved.state.bytes == *states[step - 7].bytes));
    }
    CAPTURE(in_the_middle, replaced);
    CHECK(in_the_middle > 0);
    CHECK(replaced > 0);
}

}  // namespace
}  // namespace dedloc::test
