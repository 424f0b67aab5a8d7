#include <catch2/catch.hpp>
#include <fstream>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "project_server/backbone/checkpoint.hpp"
#include "tests/temporary_directory.hpp"

using namespace dedloc;
using namespace dedloc::backbone;

namespace {

constexpr std::uint64_t kElements = 5;
const RunId kRun{};

Buffer state_at(std::uint64_t step) {
    return Buffer(12 * kElements, static_cast<std::byte>(step));
}

CheckpointHead head_at(std::uint64_t step) {
    return {.step = StepIndex{step}, .digest = blake2b(state_at(step)), .elements = kElements};
}

bool has_digest(const Checkpoint& checkpoint) {
    return blake2b(checkpoint.state) == checkpoint.head.digest;
}

std::vector<std::uint64_t> steps_of(const CheckpointStore& store) {
    std::vector<std::uint64_t> steps;
    for (const auto& entry : store.list()) steps.push_back(entry.head.step.value());
    return steps;
}

void flip_byte(const std::filesystem::path& path, std::uint64_t offset) {
    std::fstream file{path, std::ios::binary | std::ios::in | std::ios::out};
    file.seekg(static_cast<std::streamoff>(offset));
    const char byte = static_cast<char>(file.get() ^ 1);
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(byte);
}

}  // namespace

TEST_CASE("the newest checkpoint comes back as it was saved", "[server]") {
    const TemporaryDirectory folder;
    const CheckpointStore store{folder.path() / "checkpoints", kRun, 3};
    CHECK_FALSE(store.newest(kElements, has_digest));
    store.save(head_at(10), state_at(10));
    store.save(head_at(20), state_at(20));
    const auto found = store.newest(kElements, has_digest);
    REQUIRE(found);
    CHECK(found->head == head_at(20));
    CHECK(found->state == state_at(20));
}

TEST_CASE("only the newest few checkpoints are kept", "[server]") {
    const TemporaryDirectory folder;
    const CheckpointStore store{folder.path(), kRun, 2};
    for (const std::uint64_t step : {9, 10, 100, 1'000'000'000}) {
        store.save(head_at(step), state_at(step));
    }
    CHECK(steps_of(store) == std::vector<std::uint64_t>{1'000'000'000, 100});
}

TEST_CASE("a damaged, cut or foreign checkpoint is passed over for the next older one",
          "[server]") {
    start_log("test", LogLevel::kError);
    const TemporaryDirectory folder;
    const CheckpointStore store{folder.path(), kRun, 9};
    store.save(head_at(1), state_at(1));
    const auto path = store.save(head_at(2), state_at(2));
    const auto size = std::filesystem::file_size(path);
    SECTION("any byte changed") {
        for (std::uint64_t offset = 0; offset < size; ++offset) {
            flip_byte(path, offset);
            const auto found = store.newest(kElements, has_digest);
            REQUIRE(found);
            CHECK(found->head.step == StepIndex{1});
            flip_byte(path, offset);
        }
    }
    SECTION("cut anywhere") {
        for (auto length = size; length-- > 0;) {
            std::filesystem::resize_file(path, length);
            const auto found = store.newest(kElements, has_digest);
            REQUIRE(found);
            CHECK(found->head.step == StepIndex{1});
        }
    }
    SECTION("another run's") {
        const CheckpointStore other{folder.path(), RunId{blake2b({}).bytes}, 9};
        CHECK(steps_of(other).empty());
    }
    SECTION("another model's size") {
        CHECK_FALSE(store.newest(kElements + 1, has_digest));
    }
    SECTION("a temporary file that a crash left") {
        std::ofstream{folder.path() / "step_000000003.state.tmp"} << "half";
        CHECK(steps_of(store) == std::vector<std::uint64_t>{2, 1});
    }
}

TEST_CASE("a checkpoint that cannot be written leaves the former ones", "[server]") {
    const TemporaryDirectory folder;
    const CheckpointStore store{folder.path(), kRun, 2};
    store.save(head_at(1), state_at(1));
    // The temporary file's name leads to a full device.
    std::filesystem::create_symlink("/dev/full", folder.path() / "step_000000002.state.tmp");
    CHECK_THROWS_WITH(store.save(head_at(2), state_at(2)), Catch::Contains("No space left"));
    CHECK(steps_of(store) == std::vector<std::uint64_t>{1});
}
