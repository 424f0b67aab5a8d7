// What a seat keeps on disk: it survives cuts at any byte, and nothing foreign is taken for it.
#include "boinc_app/slot_files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "boinc_app/seat_events.hpp"
#include "peer/base/error.hpp"

namespace dedloc {
namespace {

/// A folder of its own that goes away with the object.
class Folder {
  public:
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "seat_XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        path_ = name;
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::filesystem::path operator/(const char* name) const { return path_ / name; }

  private:
    std::filesystem::path path_;
};

std::vector<wire::ReceiptLine> lines_until(std::uint64_t count) {
    std::vector<wire::ReceiptLine> lines;
    for (std::uint64_t step = 0; step < count; ++step) {
        lines.push_back({StepIndex{step}, Samples{step + 100}});
    }
    return lines;
}

TEST_CASE("a key stays the same over restarts and only its owner can read it", "[boinc]") {
    const Folder folder;
    const KeyPair key = key_in(folder / "peer.key");
    CHECK(key_in(folder / "peer.key").public_key() == key.public_key());
    struct stat info {};
    REQUIRE(::stat((folder / "peer.key").c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
    replace_file(folder / "peer.key", bytes_of("short"));
    CHECK_THROWS_AS(key_in(folder / "peer.key"), InputError);
}

TEST_CASE("a receipt journal that was cut at any byte keeps every whole line", "[boinc]") {
    const Folder folder;
    const auto path = folder / "journal";
    const PeerKey peer = KeyPair::generate().public_key();
    {
        ReceiptJournal journal{path, RunId{}, peer};
        for (const auto& line : lines_until(12)) journal.append(line.step, line.samples);
    }
    const Buffer whole = read_file(path, 1 << 20);
    const std::size_t head = whole.size() - 12 * 6 - 2;  // "0 100\n" … "11 111\n"
    for (std::size_t length = head; length <= whole.size(); ++length) {
        replace_file(path, std::span{whole}.first(length));
        ReceiptJournal journal{path, RunId{}, peer};
        const auto lines = journal.lines();
        CHECK(lines == lines_until(lines.size()));
        CHECK(lines.size() >= (length - head) / 7);
        journal.append(StepIndex{50}, Samples{1});
        CHECK(ReceiptJournal{path, RunId{}, peer}.lines().size() == lines.size() + 1);
    }
}

TEST_CASE("a receipt journal of another run or key is refused", "[boinc]") {
    const Folder folder;
    const PeerKey peer = KeyPair::generate().public_key();
    { const ReceiptJournal journal{folder / "journal", RunId{}, peer}; }
    CHECK_THROWS_AS(ReceiptJournal(folder / "journal", RunId{}, PeerKey{}), InputError);
}

TEST_CASE("a commit that names us is on disk when the core is told so", "[boinc]") {
    const Folder folder;
    const PeerKey peer = KeyPair::generate().public_key();
    ReceiptJournal journal{folder / "journal", RunId{}, peer};
    SeatEvents events{peer, journal};
    action::Committed commit;
    commit.record.step = StepIndex{4};
    commit.record.members = {{peer, Samples{16}, 80.0}, {PeerKey{}, Samples{8}, 40.0}};
    events.committed(commit);
    commit.record.step = StepIndex{5};
    commit.record.members = {{PeerKey{}, Samples{8}, 40.0}};
    events.committed(commit);
    const ReceiptJournal again{folder / "journal", RunId{}, peer};
    CHECK(again.lines() == std::vector<wire::ReceiptLine>{{StepIndex{4}, Samples{16}}});
    CHECK(events.news().step == StepIndex{6});
    CHECK(events.news().samples == Samples{16});
}

TEST_CASE("a file is replaced as a whole or stays as it was", "[boinc]") {
    const Folder folder;
    replace_file(folder / "file", bytes_of("old"));
    CHECK_THROWS_AS(replace_file(folder / "absent/file", bytes_of("new")), IoError);
    replace_file(folder / "file", bytes_of("new"));
    CHECK(read_file(folder / "file", 10).size() == 3);
    CHECK_THROWS_AS(read_file(folder / "file", 2), IoError);
    CHECK_FALSE(std::filesystem::exists(folder / "file.new"));
}

}  // namespace
}  // namespace dedloc
