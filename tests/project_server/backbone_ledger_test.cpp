#include <catch2/catch.hpp>
#include <fstream>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "project_server/backbone/ledger.hpp"
#include "tests/peer/ledger/history.hpp"
#include "tests/project_server/proven_ledger.hpp"
#include "tests/temporary_directory.hpp"

using namespace dedloc;
using namespace dedloc::backbone;

namespace {

LedgerSettled settled(std::uint64_t step, std::optional<Digest> digest = {}) {
    return {.step = StepIndex{step}, .reported = 3, .equal = 2, .digest = digest};
}

/// A ledger file and the history that goes into it.
struct World {
    TemporaryDirectory folder;
    std::filesystem::path path = folder.path() / "ledger";
    ledger::History history{5, {.members = 3, .churn = 0.2, .short_losses = false}};
    LedgerOwner owner{history.run, history.trust().backbone};

    /// The next commit, as it is given to a writer.
    LedgerCommit commit() {
        const CommitRecord record = history.next();
        const auto number = static_cast<std::int64_t>(record.step.value());
        return {.committed_at = WallTime{std::chrono::milliseconds{1'700'000'000'000 + number}},
                .took = std::chrono::milliseconds{number},
                .record = record,
                .certificate = history.certify(record)};
    }
    std::vector<LedgerRecord> read_all() const {
        LedgerReader reader{path, owner};
        std::vector<LedgerRecord> records;
        while (auto record = reader.next()) records.push_back(*record);
        return records;
    }
};

/// As it is read back: the certificate is there only where it has to be kept.
LedgerCommit without_certificate(LedgerCommit commit) {
    commit.certificate.reset();
    return commit;
}

std::string contents(const std::filesystem::path& path) {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
}

void write_contents(const std::filesystem::path& path, const std::string& text) {
    std::ofstream file{path, std::ios::binary | std::ios::trunc};
    file << text;
}

}  // namespace

TEST_CASE("a ledger gives back what was appended, over several openings", "[server]") {
    World world;
    std::vector<LedgerRecord> expected;
    for (int opening = 0; opening < 5; ++opening) {
        LedgerWriter writer{world.path, world.owner};
        CHECK(writer.head() == world.history.head);
        for (int i = 0; i < 10; ++i) {
            const Head before = world.history.head;
            const LedgerCommit commit = world.commit();
            writer.append(commit);
            const bool is_kept = ledger::is_kept(before, commit.record);
            expected.emplace_back(is_kept ? commit : without_certificate(commit));
        }
        writer.append(settled(7, blake2b(bytes_of("state"))));
        expected.emplace_back(settled(7, blake2b(bytes_of("state"))));
    }
    CHECK(world.read_all() == expected);
}

TEST_CASE("a ledger that was sealed proves itself, generations and crashes included", "[server]") {
    World world;
    std::vector<CommitRecord> records;
    const auto write = [&](LedgerWriter& writer, int count) {
        for (int i = 0; i < count; ++i) {
            const LedgerCommit commit = world.commit();
            records.push_back(commit.record);
            writer.append(commit);
        }
    };
    {
        LedgerWriter writer{world.path, world.owner};
        write(writer, 40);
    }  // not sealed: as after a crash
    {
        LedgerWriter writer{world.path, world.owner};
        CHECK_FALSE(writer.generation());
        write(writer, 3);
        const SignedGeneration generation = world.history.begin_generation(StepIndex{20});
        writer.append(generation);
        CHECK(writer.generation() == generation);
        CHECK_FALSE(writer.last_record());
        records.resize(20);
        write(writer, 3);
        writer.append(settled(3));
        writer.seal();
        writer.seal();
    }
    LedgerWriter writer{world.path, world.owner};
    CHECK(writer.head() == world.history.head);
    CHECK(writer.generation()->record.step == StepIndex{20});
    CHECK(writer.last_record() == records.back());
    write(writer, 3);
    writer.seal();
    std::vector<CommitRecord> proven;
    const ledger::Ledger ledger = proven_ledger(world.path, world.history.trust());
    ledger.for_each([&](const CommitRecord& record) { proven.push_back(record); });
    CHECK(proven == records);
}

TEST_CASE("a crash before the ledger had the last decision, or its proof, loses neither",
          "[server]") {
    World world;
    LedgerCommit last;
    for (int i = 0; i < 5; ++i) {
        LedgerWriter writer{world.path, world.owner};
        last = world.commit();
        writer.append(last);
    }
    const auto decision = [](const LedgerCommit& commit) {
        return Decision{.record = commit.record, .certificate = *commit.certificate};
    };
    {
        // The last certificate is nowhere else than in what the backbone has kept.
        LedgerWriter writer{world.path, world.owner, decision(last)};
        writer.append(world.history.begin_generation(StepIndex{2}));
        last = world.commit();
        writer.append(last);
    }
    const LedgerCommit next = world.commit();
    Decision forged = decision(next);
    forged.certificate.votes.front().signature[0] ^= std::byte{1};
    CHECK(LedgerWriter{world.path, world.owner, forged}.last_record() == last.record);
    {
        LedgerWriter writer{world.path, world.owner, decision(next)};
        CHECK(writer.last_record() == next.record);
        CHECK(writer.head() == world.history.head);
    }
    LedgerWriter writer{world.path, world.owner, decision(next)};
    CHECK(writer.last_record() == next.record);
    writer.seal();
    CHECK(proven_ledger(world.path, world.history.trust()).head() == world.history.head);
}

TEST_CASE("a reader follows the writer and can go back", "[server]") {
    World world;
    LedgerWriter writer{world.path, world.owner};
    LedgerReader reader{world.path, world.owner};
    CHECK_FALSE(reader.next());
    const LedgerCommit first = world.commit();
    const LedgerCommit second = world.commit();
    writer.append(first);
    const auto before = reader.place();
    CHECK(reader.next() == LedgerRecord{first});  // the first step's certificate is kept
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
    World world;
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

TEST_CASE("a ledger with a changed byte before its end is refused and left alone", "[server]") {
    World world;
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
    World world;
    {
        LedgerWriter writer{world.path, world.owner};
        writer.append(world.commit());
    }
    const LedgerOwner other_run{RunId{}, world.owner.backbone};
    CHECK_THROWS_WITH((LedgerWriter{world.path, other_run}), Catch::Contains("another run"));
    write_contents(world.path, std::string(100, 'x'));
    CHECK_THROWS_WITH((LedgerWriter{world.path, world.owner}), Catch::Contains("not a ledger"));
    CHECK_THROWS_AS((LedgerReader{world.folder.path() / "absent", world.owner}), IoError);
}

TEST_CASE("a full disk is one sentence and leaves no half record", "[server]") {
    // /dev/full answers every write with ENOSPC.
    DurableFile full{"/dev/full", DurableFile::Mode::kAppend};
    CHECK_THROWS_WITH(full.append(bytes_of("record")),
                      Catch::Contains("Cannot write /dev/full: No space left on device."));
}
