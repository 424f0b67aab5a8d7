#include <catch2/catch.hpp>
#include <fstream>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "project_server/backbone/ledger.hpp"
#include "tests/temporary_directory.hpp"

using namespace dedloc;
using namespace dedloc::backbone;

namespace {

RunId some_run() {
    return RunId{blake2b(bytes_of("run")).bytes};
}

LedgerCommit commit(int number) {
    const std::string text = "signed frame number " + std::to_string(number);
    const auto bytes = bytes_of(text);
    return {.committed_at = WallTime{std::chrono::milliseconds{1'700'000'000'000 + number}},
            .took = std::chrono::milliseconds{number},
            .signed_frame = Buffer(bytes.begin(), bytes.end())};
}

LedgerSettled settled(std::uint64_t step) {
    return {
        .step = StepIndex{step}, .digest = blake2b(bytes_of("state")), .reported = 3, .equal = 2};
}

std::vector<LedgerRecord> read_all(const std::filesystem::path& path) {
    LedgerReader reader{path, some_run()};
    std::vector<LedgerRecord> records;
    while (auto record = reader.next()) records.push_back(*record);
    return records;
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
    const TemporaryDirectory folder;
    const auto path = folder.path() / "ledger";
    {
        LedgerWriter writer{path, some_run()};
        writer.append(commit(1));
        writer.append(settled(2));
    }
    LedgerWriter writer{path, some_run()};
    writer.append(commit(2));
    CHECK(read_all(path) == std::vector<LedgerRecord>{commit(1), settled(2), commit(2)});
}

TEST_CASE("a reader follows the writer and can go back", "[server]") {
    const TemporaryDirectory folder;
    const auto path = folder.path() / "ledger";
    LedgerWriter writer{path, some_run()};
    LedgerReader reader{path, some_run()};
    CHECK_FALSE(reader.next());
    writer.append(commit(1));
    const auto before = reader.position();
    CHECK(reader.next() == LedgerRecord{commit(1)});
    CHECK_FALSE(reader.next());
    reader.rewind(before);
    CHECK(reader.next() == LedgerRecord{commit(1)});
}

TEST_CASE("a ledger cut at any byte of its last record loses that record only", "[server]") {
    start_log("test", LogLevel::kError);
    const TemporaryDirectory folder;
    const auto path = folder.path() / "ledger";
    std::uintmax_t first = 0;
    {
        LedgerWriter writer{path, some_run()};
        writer.append(commit(1));
        first = std::filesystem::file_size(path);
        writer.append(commit(2));
    }
    const std::string whole = contents(path);
    for (auto size = first; size < whole.size(); ++size) {
        write_contents(path, whole.substr(0, size));
        LedgerWriter writer{path, some_run()};
        writer.append(settled(7));
        CHECK(read_all(path) == std::vector<LedgerRecord>{commit(1), settled(7)});
    }
    write_contents(path, whole.substr(0, first) + std::string(200, '\0'));
    LedgerWriter writer{path, some_run()};
    CHECK(std::filesystem::file_size(path) == first);
}

TEST_CASE("a ledger with a changed byte before its end is refused and left alone", "[server]") {
    const TemporaryDirectory folder;
    const auto path = folder.path() / "ledger";
    {
        LedgerWriter writer{path, some_run()};
        writer.append(commit(1));
        writer.append(commit(2));
    }
    std::string changed = contents(path);
    changed[48 + 30] = static_cast<char>(changed[48 + 30] ^ 1);
    write_contents(path, changed);
    CHECK_THROWS_WITH((LedgerWriter{path, some_run()}), Catch::Contains("damaged at byte 48"));
    CHECK(contents(path) == changed);
}

TEST_CASE("a ledger of another run, or no ledger at all, is refused", "[server]") {
    const TemporaryDirectory folder;
    const auto path = folder.path() / "ledger";
    { LedgerWriter writer{path, some_run()}; }
    CHECK_THROWS_WITH((LedgerWriter{path, RunId{}}), Catch::Contains("another run"));
    write_contents(path, std::string(100, 'x'));
    CHECK_THROWS_WITH((LedgerWriter{path, some_run()}), Catch::Contains("not a ledger"));
    CHECK_THROWS_AS((LedgerReader{folder.path() / "absent", some_run()}), IoError);
}

TEST_CASE("a full disk is one sentence and leaves no half record", "[server]") {
    // /dev/full answers every write with ENOSPC.
    DurableFile full{"/dev/full", DurableFile::Mode::kAppend};
    CHECK_THROWS_WITH(full.append(bytes_of("record")),
                      Catch::Contains("Cannot write /dev/full: No space left on device."));
}
