#include <catch2/catch.hpp>
#include <chrono>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "peer/wire/limits.hpp"
#include "project_server/backbone/appointment.hpp"
#include "project_server/backbone/voters_file.hpp"
#include "project_server/settings.hpp"
#include "tests/project_server/backbone/appointed.hpp"
#include "tests/temporary_directory.hpp"

using namespace dedloc;
using namespace dedloc::backbone;

namespace {

std::string replaced(std::string text, const std::string& what, const std::string& with) {
    const auto at = text.find(what);
    REQUIRE(at != std::string::npos);
    return text.replace(at, what.size(), with);
}

}  // namespace

TEST_CASE("an appointment is read as it was written", "[server]") {
    const Appointer project;
    const Appointment appointment = project.appoint(KeyPair::generate(), 7);
    const auto read = read_appointment(write_appointment(appointment), "file");
    CHECK(read.run == appointment.run);
    CHECK(read.key.seed() == appointment.key.seed());
    CHECK(read.settings == appointment.settings);
    const std::string settings = write_voter_settings(appointment.settings);
    CHECK(read_voter_settings(settings, "file") == appointment.settings);
    // A former release had ports for its control plane here.
    const std::string former = replaced(
        settings, "\"seeds\":", "\"control\":{\"port\":4100,\"client\":\"00\"},\"seeds\":");
    CHECK(read_voter_settings(former, "file") == appointment.settings);
}

TEST_CASE("a damaged or foreign appointment is refused in one sentence", "[server]") {
    const Appointer project;
    const Appointment good = project.appoint(KeyPair::generate(), 0);
    const std::string text = write_appointment(good);
    const auto refused = [](const std::string& changed, const char* why) {
        CHECK_THROWS_WITH(read_appointment(changed, "file"), Catch::Contains(why));
    };
    refused("", "file");
    refused("[]", "file");
    refused(replaced(text, "dedloc voter 1", "dedloc voter 2"), "'format' is not");
    refused(replaced(text, "\"key\"", "\"kee\""), "'key' is missing");
    refused(replaced(text, "\"generation\":0", "\"generation\":-1"), "generation");
    refused(replaced(text, "\"seeds\":[", "\"seeds\":[7,"), "a seed is no HOST:PORT");
    for (std::size_t size = 0; size + 2 < text.size(); size += 97) {
        CHECK_THROWS_AS(read_appointment(text.substr(0, size), "file"), InputError);
    }

    Appointment other = good;
    other.key = KeyPair::generate();
    refused(write_appointment(other), "the ticket is for another key");
    other = good;
    other.run.seed += 1;
    refused(write_appointment(other), "the ticket is for another run");
    other = good;
    other.settings.ticket.signature[0] ^= std::byte{1};
    refused(write_appointment(other), "not signed by the run's project");
    other = good;
    other.settings.ticket = formats::sign(good.settings.ticket.ticket, KeyPair::generate());
    refused(write_appointment(other), "not signed by the run's project");
}

TEST_CASE("wanted voters are read as they were written, or refused as a whole", "[server]") {
    const TemporaryDirectory folder;
    const auto file = folder.path() / "voters.json";
    CHECK_FALSE(read_voters(file));
    WantedVoters wanted{.min_generation = 3, .voters = {}};
    for (int i = 0; i < 3; ++i) {
        wanted.voters.push_back({.key = KeyPair::generate().public_key(),
                                 .ticket_expires = formats::UtcSeconds{std::chrono::seconds{i}}});
    }
    wanted.voters[1].control = "ssh://dedloc@[2001:db8::1]:4100/voter";
    std::ranges::sort(wanted.voters, {}, &WantedVoter::key);
    write_voters(file, wanted);
    CHECK(read_voters(file) == wanted);
    for (const char* const address : {"nowhere", "ssh://host/voter", "ssh://dedloc@host:0/voter"}) {
        WantedVoters other = wanted;
        other.voters[0].control = address;
        write_voters(file, other);
        CHECK_THROWS_WITH(read_voters(file), Catch::Contains("voters.json"));
    }
    WantedVoters former = wanted;
    former.voters[1].control = "198.51.100.7:4100";
    write_voters(file, former);
    former.voters[1].control.clear();
    CHECK(read_voters(file) == former);
    write_voters(file, wanted);
    const std::string text = platform::read_text(file);
    for (std::size_t size = 0; size + 2 < text.size(); ++size) {
        platform::replace_file(file, text.substr(0, size));
        CHECK_THROWS_WITH(read_voters(file), Catch::Contains("voters.json"));
    }
    platform::replace_file(file, R"({"min_generation": 0, "voters": []})");
    CHECK_THROWS_AS(read_voters(file), InputError);
    platform::replace_file(file, R"({"min_generation": 0, "voters": [7]})");
    CHECK_THROWS_WITH(read_voters(file), Catch::Contains("voter 0 is no object"));
    std::swap(wanted.voters[0], wanted.voters[1]);
    write_voters(file, wanted);
    CHECK_THROWS_WITH(read_voters(file), Catch::Contains("not in ascending order"));
}
