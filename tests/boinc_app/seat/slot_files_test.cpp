// The receipt journal survives truncation at any byte, and foreign files are refused.
#include "boinc_app/seat/slot_files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "boinc_app/seat/events.hpp"
#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/key_file.hpp"
#include "tests/file_size_limit.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::seat {
namespace {

std::vector<formats::ReceiptLine> lines_until(std::uint64_t count) {
    std::vector<formats::ReceiptLine> lines;
    for (std::uint64_t step = 0; step < count; ++step) {
        lines.push_back({StepIndex{step}, Samples{step + 100}});
    }
    return lines;
}

TEST_CASE("a receipt journal that was cut at any byte keeps every whole line", "[boinc]") {
    const TemporaryDirectory folder;
    const auto path = folder.path() / "journal";
    const PeerKey peer = KeyPair::generate().public_key();
    {
        ReceiptJournal journal{path, RunId{}, peer};
        for (const auto& line : lines_until(12)) journal.append(line.step, line.samples);
    }
    const Buffer whole = platform::read_file(path, 1 << 20);
    const std::size_t head = whole.size() - 12 * 6 - 2;  // "0 100\n" … "11 111\n"
    for (std::size_t length = head; length <= whole.size(); ++length) {
        platform::replace_file(path, std::span{whole}.first(length));
        ReceiptJournal journal{path, RunId{}, peer};
        const auto lines = journal.lines();
        CHECK(lines == lines_until(lines.size()));
        CHECK(lines.size() >= (length - head) / 7);
        journal.append(StepIndex{50}, Samples{1});
        CHECK(ReceiptJournal{path, RunId{}, peer}.lines().size() == lines.size() + 1);
    }
}

TEST_CASE("a receipt journal on a full disk says so and keeps its lines", "[boinc]") {
    const TemporaryDirectory folder;
    const auto path = folder.path() / "journal";
    const PeerKey peer = KeyPair::generate().public_key();
    ReceiptJournal journal{path, RunId{}, peer};
    journal.append(StepIndex{0}, Samples{100});
    {
        const FileSizeLimit full{std::filesystem::file_size(path) + 3};
        CHECK_THROWS_WITH(journal.append(StepIndex{1}, Samples{101}),
                          Catch::Contains("cannot write " + path.string()));
    }
    CHECK(journal.lines() == lines_until(2));
    CHECK(ReceiptJournal{path, RunId{}, peer}.lines() == lines_until(1));
    journal.append(StepIndex{2}, Samples{102});
    CHECK(ReceiptJournal{path, RunId{}, peer}.lines() == lines_until(3));
    journal.append(StepIndex{3}, Samples{103});
    CHECK(ReceiptJournal{path, RunId{}, peer}.lines() == lines_until(4));
}

TEST_CASE("on a full disk a seat counts its work, and writes the journal when there is place again",
          "[boinc]") {
    const TemporaryDirectory folder;
    const auto path = folder.path() / "journal";
    const PeerKey peer = KeyPair::generate().public_key();
    ReceiptJournal journal{path, RunId{}, peer};
    Events events{peer, Codec::kFp32, journal};
    const auto commit = [&](std::uint64_t step) {
        action::Committed committed;
        committed.record.step = StepIndex{step};
        committed.record.members = {{peer, Samples{100 + step}, 500.0}};
        events.perform(committed);
    };
    commit(0);
    {
        const FileSizeLimit full{std::filesystem::file_size(path) + 3};
        commit(1);
        commit(2);
        action::GenerationBegun begun;
        begun.generation.record.step = StepIndex{2};
        events.perform(begun);
        commit(2);
        CHECK(events.news().work.samples == Samples{303});
        CHECK_FALSE(events.news().failure);
        CHECK(ReceiptJournal{path, RunId{}, peer}.lines() == lines_until(1));
    }
    commit(3);
    CHECK(ReceiptJournal{path, RunId{}, peer}.lines() == lines_until(4));
}

TEST_CASE("a receipt journal of another run or key is refused", "[boinc]") {
    const TemporaryDirectory folder;
    const PeerKey peer = KeyPair::generate().public_key();
    { const ReceiptJournal journal{folder.path() / "journal", RunId{}, peer}; }
    CHECK_THROWS_AS(ReceiptJournal(folder.path() / "journal", RunId{}, PeerKey{}), InputError);
}

TEST_CASE("a commit that counts our samples is on disk when perform() returns", "[boinc]") {
    const TemporaryDirectory folder;
    const PeerKey peer = KeyPair::generate().public_key();
    ReceiptJournal journal{folder.path() / "journal", RunId{}, peer};
    Events events{peer, Codec::kFp32, journal};
    action::Committed commit;
    commit.record.step = StepIndex{4};
    commit.record.members = {{peer, Samples{16}, 80.0}, {PeerKey{}, Samples{8}, 40.0}};
    events.perform(commit);
    commit.record.step = StepIndex{5};
    commit.record.members = {{PeerKey{}, Samples{8}, 40.0}};
    events.perform(commit);
    const ReceiptJournal again{folder.path() / "journal", RunId{}, peer};
    CHECK(again.lines() == std::vector<formats::ReceiptLine>{{StepIndex{4}, Samples{16}}});
    CHECK(events.news().step == StepIndex{6});
    CHECK(events.news().work.samples == Samples{16});
}

TEST_CASE("a new generation deletes the lines of void steps from the journal", "[boinc]") {
    const TemporaryDirectory folder;
    const auto path = folder.path() / "journal";
    const PeerKey peer = KeyPair::generate().public_key();
    ReceiptJournal journal{path, RunId{}, peer};
    for (const auto& line : lines_until(12)) journal.append(line.step, line.samples);
    Events events{peer, Codec::kFp32, journal};
    action::GenerationBegun begun;
    begun.generation.record.generation = 1;
    begun.generation.record.step = StepIndex{7};
    events.perform(begun);
    events.perform(begun);
    CHECK(ReceiptJournal{path, RunId{}, peer}.lines() == lines_until(7));
    CHECK(events.news().step == StepIndex{7});
    journal.append(StepIndex{7}, Samples{107});
    CHECK(ReceiptJournal{path, RunId{}, peer}.lines() == lines_until(8));
}

}  // namespace
}  // namespace dedloc::seat
