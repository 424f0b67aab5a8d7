// Whether a backbone may vote: the memory in its folder, unpacked appointments, and voters.json.
#include <catch2/catch.hpp>
#include <fstream>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/events.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/key_file.hpp"
#include "project_server/backbone/run_folder.hpp"
#include "project_server/backbone/voter_memory.hpp"
#include "project_server/backbone/voters_file.hpp"
#include "project_server/backbone/voters_watch.hpp"
#include "project_server/settings.hpp"
#include "tests/project_server/backbone/appointed.hpp"
#include "tests/temporary_directory.hpp"

using namespace dedloc;
using namespace dedloc::backbone;
using namespace std::chrono_literals;

namespace {

namespace fs = std::filesystem;

const VoterState kFirst = first_memory(0, true);

/// A project with one run, and the folders of voters on other machines.
struct VoterWorld : Appointer {
    explicit VoterWorld(std::uint64_t seed = 1) : Appointer(seed) {
        start_log("test", LogLevel::kError);
        fs::create_directories(own());
        platform::replace_file(own() / "run.json", formats::write_run_file(run));
        platform::write_key(own() / "backbone.key", backbone);
    }
    fs::path own() const { return folder.path() / "project/runs/demo"; }
    fs::path voter() const { return folder.path() / "voter"; }
    fs::path file() const { return folder.path() / "appointment"; }
    RunFolder open_own() const { return read_run_folder(folder.path() / "project", "demo"); }
    LedgerOwner owner() const { return {formats::run_id(run), run.backbone_key}; }
    std::optional<VoterState> memory(const RunFolder& opened) const {
        return voter_memory(opened, LedgerWriter{opened.ledger(), owner()});
    }
    void write_file(const Appointment& appointment) const {
        platform::replace_file(file(), write_appointment(appointment), 0600);
    }
    RunFolder open_voter() const { return open_voter_folder(voter(), file()); }
    /// Appends a record to the ledger.
    void record(const fs::path& ledger) const {
        LedgerWriter{ledger, owner()}.append(
            LedgerSettled{.step = {}, .reported = 0, .equal = 0, .digest = {}});
    }
    void want(std::uint64_t min_generation, std::vector<PeerKey> keys) const {
        std::ranges::sort(keys);
        WantedVoters wanted{.min_generation = min_generation, .voters = {}};
        for (const PeerKey& key : keys) wanted.voters.push_back({.key = key, .ticket_expires = {}});
        write_voters(own() / "voters.json", wanted);
    }
    const TemporaryDirectory folder;
};

}  // namespace

TEST_CASE("the run's own backbone votes in a new folder, but never after it has lost its memory",
          "[server]") {
    const VoterWorld world;
    const RunFolder run = world.open_own();
    CHECK(world.memory(run) == kFirst);
    CHECK(fs::exists(run.voter()));
    VoterState later = kFirst;
    later.promised = {7, world.backbone.public_key()};
    write_voter_memory(run.voter(), later);
    CHECK(world.memory(run) == later);
    SECTION("a ledger without records changes nothing") {
        fs::remove(run.voter());
        CHECK(world.memory(run) == kFirst);
    }
    SECTION("a voter that has a ledger but no memory does not vote") {
        world.record(run.ledger());
        CHECK(world.memory(run) == later);
        fs::remove(run.voter());
        CHECK_FALSE(world.memory(run));
        CHECK_FALSE(fs::exists(run.voter()));
    }
    SECTION("a damaged memory counts as missing, also in a new folder") {
        std::ofstream{run.voter()} << "damaged";
        CHECK_FALSE(world.memory(run));
    }
    SECTION("an appointment for a later generation makes a new memory") {
        world.record(run.ledger());
        fs::remove(run.voter());
        world.want(1, {KeyPair::generate().public_key()});
        CHECK_FALSE(world.memory(run));
        world.want(0, {world.backbone.public_key()});
        CHECK_FALSE(world.memory(run));
        world.want(1, {world.backbone.public_key(), KeyPair::generate().public_key()});
        CHECK(world.memory(run) == first_memory(0, false));
        CHECK_FALSE(first_memory(0, false).may_vote);
    }
}

TEST_CASE("one process at a time works in a folder", "[server]") {
    const VoterWorld world;
    const RunFolder run = world.open_own();
    CHECK_THROWS_WITH(world.open_own(), Catch::Contains("in use by another"));
}

TEST_CASE("an appointment moves into the folder of its voter, once", "[server]") {
    const VoterWorld world;
    const KeyPair key = KeyPair::generate();
    const Appointment appointment = world.appoint(key, 3);
    world.write_file(appointment);
    {
        const RunFolder run = world.open_voter();
        CHECK_FALSE(fs::exists(world.file()));
        CHECK(run.run == world.run);
        CHECK(run.key.public_key() == key.public_key());
        CHECK(run.settings == appointment.settings);
        CHECK_FALSE(run.is_own_backbone());
        CHECK_FALSE(run.project_key);
        CHECK(world.memory(run) == first_memory(3, false));
        CHECK(fs::status(run.folder / "backbone.key").permissions() ==
              (fs::perms::owner_read | fs::perms::owner_write));
    }
    // Later starts use the same arguments, but the file is gone.
    CHECK(world.open_voter().key.public_key() == key.public_key());
    CHECK(open_voter_folder(world.voter(), {}).key.public_key() == key.public_key());
    SECTION("a copy of the file does not bring a lost memory back") {
        world.record(world.voter() / "ledger");
        fs::remove(world.voter() / "voter");
        world.write_file(appointment);
        CHECK_THROWS_WITH(world.open_voter(), Catch::Contains("is lost"));
        CHECK(fs::exists(world.file()));
        CHECK_FALSE(world.memory(open_voter_folder(world.voter(), {})));
    }
    SECTION("a copy of the file does not change the memory") {
        write_voter_memory(world.voter() / "voter", kFirst);
        world.write_file(appointment);
        CHECK(world.memory(world.open_voter()) == kFirst);
        CHECK_FALSE(fs::exists(world.file()));
    }
    SECTION("another voter's file is refused") {
        world.write_file(world.appoint(KeyPair::generate(), 3));
        CHECK_THROWS_WITH(world.open_voter(), Catch::Contains("is the folder of the voter"));
        CHECK(fs::exists(world.file()));
    }
    SECTION("the file of another run is refused") {
        const VoterWorld other{2};
        world.write_file(other.appoint(key, 0));
        CHECK_THROWS_WITH(world.open_voter(),
                          Catch::Contains("is the folder of a voter of the run"));
        CHECK(fs::exists(world.file()));
    }
}

TEST_CASE("the next start completes an appointment whose unpacking crashed", "[server]") {
    const VoterWorld world;
    const Appointment appointment = world.appoint(KeyPair::generate(), 0);
    world.write_file(appointment);
    { const RunFolder whole = world.open_voter(); }
    for (const char* const missing : {"voter", "voter.json", "backbone.key"}) {
        fs::remove(world.voter() / missing);
        if (missing != std::string_view{"voter"}) fs::remove(world.voter() / "voter");
        world.write_file(appointment);
        const RunFolder run = world.open_voter();
        CHECK(world.memory(run) == first_memory(0, false));
        fs::remove(run.ledger());
    }
}

TEST_CASE("a folder that is no voter's, or a file that is no appointment, gives one sentence",
          "[server]") {
    const VoterWorld world;
    CHECK_THROWS_WITH(world.open_voter(), Catch::Contains("there is no file"));
    CHECK_THROWS_WITH(open_voter_folder(world.voter(), {}), Catch::Contains("there is no folder"));
    fs::create_directory(world.voter());
    CHECK_THROWS_WITH(open_voter_folder(world.voter(), {}),
                      Catch::Contains("is no voter's folder"));
    CHECK_THROWS_WITH(world.open_voter(), Catch::Contains("is no voter's folder"));
    platform::replace_file(world.voter() / "letter", "text");
    world.write_file(world.appoint(KeyPair::generate(), 0));
    CHECK_THROWS_WITH(world.open_voter(), Catch::Contains("is neither empty nor a voter's folder"));
    platform::replace_file(world.file(), "text");
    CHECK_THROWS_AS(world.open_voter(), InputError);
    CHECK(fs::exists(world.file()));
}

TEST_CASE("VotersWatch repeats the wanted voters until they vote", "[server]") {
    const VoterWorld world;
    const PeerKey own = world.backbone.public_key();
    const PeerKey other = KeyPair::generate().public_key();
    std::vector<PeerKey> both{own, other};
    std::ranges::sort(both);
    std::vector<std::vector<PeerKey>> told;
    const Head now = genesis(formats::run_id(world.run), own);
    VotersWatch watch{world.own() / "voters.json", now, [&](const Event& event) {
                          told.push_back(std::get<event::VotersWanted>(event).voters);
                      }};
    VotersWatch::Clock::time_point time{};
    const auto look = [&](std::size_t expected) {
        watch.poll(time);
        time += 2s;
        CHECK(told.size() == expected);
    };
    look(0);
    world.want(0, {own});
    look(0);
    world.want(0, both);
    look(1);
    CHECK(told.back() == both);
    look(1);
    time += 10s;
    look(2);  // repeated, because the generation has not begun yet
    platform::replace_file(world.own() / "voters.json", "damaged");
    time += 10s;
    look(2);
    world.want(0, {own});
    look(3);  // the wish is withdrawn
    CHECK(told.back() == std::vector{own});
    time += 10s;
    look(3);
    world.want(0, both);
    look(4);
    watch.begun({.generation = 1, .step = {}, .state = {}, .voters = both});
    time += 10s;
    look(4);
    world.want(2, both);  // the same voters, in a later generation
    look(5);
    watch.begun({.generation = 2, .step = {}, .state = {}, .voters = both});
    time += 10s;
    look(5);
}
