#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "project_server/backbone/checkpoint.hpp"
#include "project_server/backbone/ledger_states.hpp"
#include "tests/temporary_directory.hpp"

using namespace dedloc;
using namespace dedloc::backbone;

namespace {

constexpr std::uint64_t kElements = 5;
const RunId kRun{};

Buffer state_at(std::uint64_t step) {
    return Buffer(12 * kElements, static_cast<std::byte>(step));
}

formats::CheckpointHead head_at(std::uint64_t step) {
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

TEST_CASE("the newest checkpoint is read as it was saved", "[server]") {
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
    for (const std::uint64_t step : {9u, 10u, 100u, 1'000'000'000u}) {
        store.save(head_at(step), state_at(step));
    }
    CHECK(steps_of(store) == std::vector<std::uint64_t>{1'000'000'000, 100});
}

TEST_CASE("a damaged, truncated or foreign checkpoint is skipped for the next older one",
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

TEST_CASE("a process that is killed while it saves leaves whole checkpoints only", "[server]") {
    constexpr std::uint64_t kMany = 200'000;
    const auto state = [](std::uint64_t step) {
        return Buffer(12 * kMany, static_cast<std::byte>(step));
    };
    const auto head = [&](std::uint64_t step) {
        return formats::CheckpointHead{
            .step = StepIndex{step}, .digest = blake2b(state(step)), .elements = kMany};
    };
    const TemporaryDirectory folder;
    const CheckpointStore store{folder.path(), kRun, 2};
    store.save(head(1), state(1));
    std::uint64_t last = 1;
    int unfinished = 0;
    for (int delay = 0; delay < 60; ++delay) {
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            for (std::uint64_t step = last + 1;; ++step) store.save(head(step), state(step));
        }
        const timespec pause{.tv_sec = 0, .tv_nsec = 1'000'000 + delay * 700'000};
        nanosleep(&pause, nullptr);
        kill(child, SIGKILL);
        REQUIRE(waitpid(child, nullptr, 0) == child);
        for (const auto& item : std::filesystem::directory_iterator{folder.path()}) {
            if (item.path().extension() == ".tmp") ++unfinished;
        }
        const auto found = store.newest(kMany, has_digest);
        REQUIRE(found);
        CHECK(found->head == head(found->head.step.value()));
        REQUIRE(found->head.step.value() >= last);
        last = found->head.step.value();
    }
    CHECK(unfinished > 0);
    store.save(head(last + 1), state(last + 1));
    CHECK(steps_of(store).front() == last + 1);
    for (const auto& item : std::filesystem::directory_iterator{folder.path()}) {
        CHECK(item.path().extension() == ".state");
    }
}

namespace {

/// The judge of a ledger whose commits name state_at(step) and whose last commit leads to `last`.
struct Ledger {
    void commit(std::uint64_t step) {
        CommitRecord record;
        record.step = StepIndex{step};
        record.previous_state = head_at(step).digest;
        states.take(LedgerCommit{.committed_at = {}, .took = {}, .decision = {record, {}}});
    }
    void begin(std::uint64_t step, const Digest& state) {
        states.take(SignedGeneration{
            .record = {.generation = 1, .step = StepIndex{step}, .state = state, .voters = {}},
            .signature = {}});
    }
    CheckpointJudge judge() {
        return [this](const formats::CheckpointHead& head) { return states.judge(head); };
    }
    LedgerStates states;
};

}  // namespace

TEST_CASE("the ledger judges which checkpoints hold its states", "[server]") {
    Ledger ledger;
    const auto judge = ledger.judge();
    CHECK(judge(head_at(0)) == Standing::kLast);
    for (std::uint64_t step = 0; step < 5; ++step) ledger.commit(step);
    CHECK(judge(head_at(4)) == Standing::kProven);
    CHECK(judge(head_at(5)) == Standing::kLast);
    CHECK(judge(head_at(6)) == Standing::kUnproven);
    formats::CheckpointHead other = head_at(4);
    other.digest = {};
    CHECK(judge(other) == Standing::kUnproven);
    ledger.begin(2, blake2b(bytes_of("another")));
    CHECK(judge(head_at(1)) == Standing::kProven);
    CHECK(judge(head_at(2)) == Standing::kUnproven);
    CHECK(judge(head_at(3)) == Standing::kUnproven);
    other.step = StepIndex{2};
    other.digest = blake2b(bytes_of("another"));
    CHECK(judge(other) == Standing::kProven);
}

TEST_CASE("a certificate of the last state proves its checkpoint", "[server]") {
    Ledger ledger;
    const auto judge = ledger.judge();
    ledger.commit(0);
    CHECK(judge(head_at(1)) == Standing::kLast);
    ledger.states.take(StateCertificate{.generation = 0,
                                        .step = StepIndex{1},
                                        .record = {},
                                        .state = head_at(1).digest,
                                        .votes = {}});
    CHECK(judge(head_at(1)) == Standing::kProven);
    formats::CheckpointHead other = head_at(1);
    other.digest = {};
    CHECK(judge(other) == Standing::kUnproven);
}

TEST_CASE("checkpoints beyond the ledger are not used and do not displace others", "[server]") {
    start_log("test", LogLevel::kError);
    const TemporaryDirectory folder;
    Ledger ledger;
    const CheckpointStore store{folder.path(), kRun, 3, ledger.judge()};
    for (std::uint64_t step = 0; step < 10; ++step) ledger.commit(step);
    for (const std::uint64_t step : {8u, 9u, 10u}) store.save(head_at(step), state_at(step));
    // Checkpoints of a history that this ledger has lost.
    for (std::uint64_t step = 12; step < 20; ++step) store.save(head_at(step), state_at(step));
    CHECK(steps_of(store) == std::vector<std::uint64_t>{19, 18, 17, 10, 9, 8});
    CHECK(store.newest(kElements, has_digest)->head.step == StepIndex{10});
    ledger.commit(10);
    store.save(head_at(11), state_at(11));
    CHECK(steps_of(store) == std::vector<std::uint64_t>{19, 18, 17, 11, 10, 9});
    CHECK(store.newest(kElements, has_digest)->head.step == StepIndex{11});
}

TEST_CASE("the newest checkpoint that the ledger proves stays, however many follow it",
          "[server]") {
    start_log("test", LogLevel::kError);
    const TemporaryDirectory folder;
    Ledger ledger;
    const CheckpointStore store{folder.path(), kRun, 1, ledger.judge()};
    ledger.commit(0);
    ledger.commit(1);
    store.save(head_at(1), state_at(1));
    store.save(head_at(2), state_at(2));
    CHECK(steps_of(store) == std::vector<std::uint64_t>{2, 1});
    for (std::uint64_t step = 3; step < 40; ++step) store.save(head_at(step), state_at(step));
    CHECK(steps_of(store) == std::vector<std::uint64_t>{39, 2, 1});
    ledger.commit(2);
    store.save(head_at(3), state_at(3));
    CHECK(steps_of(store) == std::vector<std::uint64_t>{39, 3, 2});
}
