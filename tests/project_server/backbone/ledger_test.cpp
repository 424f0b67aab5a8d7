#include <atomic>
#include <catch2/catch.hpp>
#include <fstream>
#include <thread>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/platform/durable_file.hpp"
#include "project_server/backbone/ledger.hpp"
#include "tests/peer/ledger/history.hpp"
#include "tests/project_server/backbone/proven_ledger.hpp"
#include "tests/temporary_directory.hpp"

using namespace dedloc;
using namespace dedloc::backbone;

namespace {

LedgerSettled settled(std::uint64_t step, std::optional<Digest> digest = {}) {
    return {.step = StepIndex{step}, .reported = 3, .equal = 2, .digest = digest};
}

/// A ledger file and the history that is written to it.
struct LedgerWorld {
    TemporaryDirectory folder;
    std::filesystem::path path = folder.path() / "ledger";
    ledger::History history{5, {.members = 3, .churn = 0.2, .short_losses = false}};
    LedgerOwner owner{history.run, history.trust().backbone};

    /// The next commit to append.
    LedgerCommit commit() {
        const Decision decision = history.decide();
        const auto number = static_cast<std::int64_t>(decision.record.step.value());
        return {.committed_at = WallTime{std::chrono::milliseconds{1'700'000'000'000 + number}},
                .took = std::chrono::milliseconds{number},
                .decision = decision};
    }
    std::vector<LedgerRecord> read_all() const {
        LedgerReader reader{path, owner};
        std::vector<LedgerRecord> records;
        while (auto record = reader.next()) records.push_back(*record);
        return records;
    }
};

std::string contents(const std::filesystem::path& path) {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
}

void write_contents(const std::filesystem::path& path, const std::string& text) {
    std::ofstream file{path, std::ios::binary | std::ios::trunc};
    file << text;
}

}  // namespace

TEST_CASE("a ledger returns the appended records, also after it is reopened", "[server]") {
    LedgerWorld world;
    std::vector<LedgerRecord> expected;
    for (int opening = 0; opening < 5; ++opening) {
        LedgerWriter writer{world.path, world.owner};
        CHECK(writer.head() == world.history.head);
        for (int i = 0; i < 10; ++i) {
            const LedgerCommit commit = world.commit();
            writer.append(commit);
            expected.emplace_back(commit);
        }
        writer.append(settled(7, blake2b(bytes_of("state"))));
        expected.emplace_back(settled(7, blake2b(bytes_of("state"))));
    }
    CHECK(world.read_all() == expected);
}

TEST_CASE("a ledger verifies after every record, including generations", "[server]") {
    LedgerWorld world;
    std::vector<CommitRecord> records;
    const auto write = [&](LedgerWriter& writer, int count) {
        for (int i = 0; i < count; ++i) {
            const LedgerCommit commit = world.commit();
            records.push_back(commit.decision.record);
            writer.append(commit);
        }
    };
    {
        LedgerWriter writer{world.path, world.owner};
        CHECK(writer.is_empty());
        write(writer, 40);
        CHECK_FALSE(writer.is_empty());
    }
    {
        LedgerWriter writer{world.path, world.owner};
        CHECK_FALSE(writer.is_empty());
        CHECK_FALSE(writer.generation());
        write(writer, 3);
        writer.append(settled(3));
        CHECK(writer.last_settled() == StepIndex{3});
        const SignedGeneration generation = world.history.begin_generation(StepIndex{20});
        writer.append(generation);
        CHECK(writer.generation() == generation);
        CHECK_FALSE(writer.last_decision());
        CHECK_FALSE(writer.last_settled());
        records.resize(20);
        write(writer, 3);
        writer.append(settled(3));
    }
    LedgerWriter writer{world.path, world.owner};
    CHECK(writer.head() == world.history.head);
    CHECK(writer.generation()->record.step == StepIndex{20});
    REQUIRE(writer.last_decision());
    CHECK(writer.last_decision()->record == records.back());
    CHECK(writer.last_settled() == StepIndex{3});
    write(writer, 3);
    std::vector<CommitRecord> proven;
    const ledger::Ledger ledger = proven_ledger(world.path, world.history.trust());
    ledger.for_each([&](const CommitRecord& record) { proven.push_back(record); });
    CHECK(proven == records);
}

TEST_CASE("a record that cannot follow the ledger's end is refused in one sentence and not written",
          "[server]") {
    LedgerWorld world;
    LedgerWriter writer{world.path, world.owner};
    const LedgerCommit first = world.commit();
    writer.append(first);
    const LedgerCommit second = world.commit();
    const LedgerCommit third = world.commit();
    const auto size = std::filesystem::file_size(world.path);
    CHECK_THROWS_WITH(writer.append(first), Catch::Contains("ends at step 1 of generation 0, and a "
                                                            "decision of step 0 of generation 0"));
    CHECK_THROWS_AS(writer.append(third), IoError);
    SignedGeneration generation = world.history.begin_generation(StepIndex{1});
    generation.record.generation = 0;
    CHECK_THROWS_WITH(writer.append(generation), Catch::Contains("generation 0 cannot follow"));
    CHECK(std::filesystem::file_size(world.path) == size);
    writer.append(second);
    writer.append(third);
    CHECK(world.read_all() == std::vector<LedgerRecord>{first, second, third});
}

TEST_CASE("a visitor gets the existing records and the appended ones", "[server]") {
    LedgerWorld world;
    std::vector<LedgerRecord> expected;
    for (int opening = 0; opening < 2; ++opening) {
        std::vector<LedgerRecord> seen;
        std::vector<LedgerReader::Place> places;
        LedgerWriter writer{world.path, world.owner,
                            [&](const LedgerRecord& record, const LedgerReader::Place& after) {
                                seen.push_back(record);
                                places.push_back(after);
                            }};
        for (int i = 0; i < 3; ++i) {
            const LedgerCommit commit = world.commit();
            writer.append(commit);
            expected.emplace_back(commit);
        }
        CHECK(seen == expected);
        LedgerReader reader{world.path, world.owner};
        for (std::size_t i = 0; i + 1 < seen.size(); ++i) {
            reader.return_to(places[i]);
            CHECK(reader.next() == seen[i + 1]);
        }
    }
}

TEST_CASE("a reader follows the writer and can go back", "[server]") {
    LedgerWorld world;
    LedgerWriter writer{world.path, world.owner};
    LedgerReader reader{world.path, world.owner};
    CHECK_FALSE(reader.next());
    const LedgerCommit first = world.commit();
    const LedgerCommit second = world.commit();
    writer.append(first);
    const auto before = reader.place();
    CHECK(reader.next() == LedgerRecord{first});
    CHECK_FALSE(reader.next());
    writer.append(second);
    CHECK(reader.next());
    reader.return_to(before);
    CHECK(reader.next() == LedgerRecord{first});
    CHECK(reader.next());
    CHECK_FALSE(reader.next());
}

TEST_CASE("a ledger cut at any byte of its last record loses that record only", "[server]") {
    start_log("test", LogLevel::kError);
    LedgerWorld world;
    std::uintmax_t first = 0;
    const LedgerCommit commit = world.commit();
    {
        LedgerWriter writer{world.path, world.owner};
        writer.append(commit);
        first = std::filesystem::file_size(world.path);
        writer.append(world.commit());
    }
    const std::string whole = contents(world.path);
    for (auto size = first; size < whole.size(); ++size) {
        write_contents(world.path, whole.substr(0, size));
        LedgerWriter writer{world.path, world.owner};
        writer.append(settled(7));
        CHECK(world.read_all() == std::vector<LedgerRecord>{commit, settled(7)});
    }
    write_contents(world.path, whole.substr(0, first) + std::string(200, '\0'));
    LedgerWriter writer{world.path, world.owner};
    CHECK(std::filesystem::file_size(world.path) == first);
}

TEST_CASE("a certificate of the last state is kept, and no other", "[server]") {
    LedgerWorld world;
    LedgerWriter writer{world.path, world.owner};
    const LedgerCommit first = world.commit();
    writer.append(first);
    StateCertificate certificate{.generation = writer.head().generation,
                                 .step = writer.head().step,
                                 .record = writer.head().record,
                                 .state = blake2b(bytes_of("state")),
                                 .votes = {{world.owner.backbone, Signature{std::byte{1}}}}};
    StateCertificate other = certificate;
    other.step = other.step.next();
    CHECK_THROWS_WITH(writer.append(other), Catch::Contains("a certificate of step 2"));
    other = certificate;
    other.record.bytes[0] ^= std::byte{1};
    CHECK_THROWS_WITH(writer.append(other), Catch::Contains("nothing was written"));
    CHECK_FALSE(writer.has_certificate());
    writer.append(certificate);
    CHECK(writer.has_certificate());
    writer.append(settled(1));
    CHECK(writer.has_certificate());
    CHECK(LedgerWriter(world.path, world.owner).has_certificate());
    CHECK(world.read_all() == std::vector<LedgerRecord>{first, certificate, settled(1)});
    writer.append(world.commit());
    CHECK_FALSE(writer.has_certificate());
}

TEST_CASE("a ledger with a changed byte before its end is refused and not modified", "[server]") {
    LedgerWorld world;
    {
        LedgerWriter writer{world.path, world.owner};
        writer.append(world.commit());
        writer.append(world.commit());
    }
    std::string changed = contents(world.path);
    changed[48 + 30] = static_cast<char>(changed[48 + 30] ^ 1);
    write_contents(world.path, changed);
    CHECK_THROWS_WITH((LedgerWriter{world.path, world.owner}),
                      Catch::Contains("damaged at byte 48"));
    CHECK(contents(world.path) == changed);
}

TEST_CASE("a ledger of another run, or no ledger at all, is refused", "[server]") {
    LedgerWorld world;
    {
        LedgerWriter writer{world.path, world.owner};
        writer.append(world.commit());
    }
    const LedgerOwner other_run{RunId{}, world.owner.backbone};
    CHECK_THROWS_WITH((LedgerWriter{world.path, other_run}), Catch::Contains("another run"));
    std::string old = contents(world.path);
    old[8] = 2;
    write_contents(world.path, old);
    CHECK_THROWS_WITH(
        (LedgerWriter{world.path, world.owner}),
        Catch::Contains("is a ledger of version 2 of the file format and this program "
                        "reads version 5"));
    write_contents(world.path, std::string(100, 'x'));
    CHECK_THROWS_WITH((LedgerWriter{world.path, world.owner}), Catch::Contains("not a ledger"));
    CHECK_THROWS_AS((LedgerReader{world.folder.path() / "absent", world.owner}), IoError);
}

TEST_CASE("another process that finds a new ledger can read it", "[server]") {
    const LedgerWorld world;
    const auto path_of = [&](int k) { return world.folder.path() / std::to_string(k); };
    constexpr int kLedgers = 100;
    std::atomic<bool> is_stopped = false;
    std::string failure;
    std::thread reading{[&] {
        for (int k = 0; k < kLedgers && failure.empty(); ++k) {
            while (!std::filesystem::exists(path_of(k))) {
                if (is_stopped) return;
            }
            try {
                const LedgerReader reader{path_of(k), world.owner};
            } catch (const Error& error) {
                failure = error.what();
            }
        }
    }};
    for (int k = 0; k < kLedgers; ++k) LedgerWriter{path_of(k), world.owner};
    is_stopped = true;
    reading.join();
    CHECK(failure == "");
}

TEST_CASE("a full disk gives one sentence and leaves no partial record", "[server]") {
    // /dev/full answers every write with ENOSPC.
    platform::DurableFile full{"/dev/full", platform::DurableFile::Mode::kAppend};
    CHECK_THROWS_WITH(full.append(bytes_of("record")),
                      Catch::Contains("cannot write /dev/full: No space left on device"));
}
