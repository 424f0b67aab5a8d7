// The keys that the gateway signs with: the ticket key, and the project's for older runs only.
#include "tests/project_server/gateway/gateway_fixture.hpp"

#include <httplib.h>

#include "peer/base/error.hpp"
#include "peer/formats/enrolment.hpp"
#include "peer/platform/files.hpp"

namespace dedloc::gateway {
namespace {

namespace fs = std::filesystem;

formats::EnrolmentReply reply_of(const Gateway& gateway) {
    const auto reply = net::enrol(gateway.options(), kWanted);
    REQUIRE(reply);
    return *reply;
}

/// What the gateway answers while it cannot sign: the status and the sentence.
std::pair<int, std::string> answer_of(const Gateway& gateway) {
    const auto reply = httplib::Client{gateway.url()}.Post(
        "/dedloc/enrol", formats::write_enrolment_request(gateway.options().request),
        "application/json");
    REQUIRE(reply);
    CHECK_FALSE(formats::is_enrolment_refusal(reply->body));
    return {reply->status, formats::parse_enrolment_error(reply->body)};
}

const std::pair<int, std::string> kCannotSign{503, "the project cannot sign tickets now"};

}  // namespace

TEST_CASE("a gateway issues tickets without the project's key", "[gateway]") {
    Gateway gateway;
    SECTION("the project's key is absent") {
        REQUIRE_FALSE(fs::exists(gateway.state() / "keys/project.key"));
    }
    SECTION("the project's key cannot be read") {
        fs::create_directory(gateway.state() / "keys/project.key");
        gateway.stop();
        gateway.start();
    }
    const auto reply = reply_of(gateway);
    const PeerKey project = gateway.options().project;
    CHECK(formats::is_signed_by(*gateway.ticket_key(), reply.ticket));
    CHECK_FALSE(formats::is_signed_by(project, reply.ticket));
    CHECK(formats::is_signed_by(project, reply.revoked));
    CHECK_FALSE(formats::is_signed_by(*gateway.ticket_key(), reply.revoked));
    // A peer that knows the project's key only gets a ticket that it does not take.
    auto older = gateway.options();
    older.ticket_key.reset();
    older.timeout = 200ms;
    CHECK_THROWS_AS(net::enrol(older, kWanted), IoError);
}

TEST_CASE("the gateway hands out the revocations that the backbone has signed", "[gateway]") {
    Gateway gateway;
    CHECK(reply_of(gateway).revoked.revocations == formats::Revocations{});
    const formats::Revocations list{
        .as_of = formats::UtcSeconds{1'000s}, .users = {77}, .hosts = {78}, .peers = {}};
    gateway.publish(list);
    CHECK(reply_of(gateway).revoked.revocations == list);
    const fs::path file = gateway.state() / "runs/first/revocations";
    SECTION("none is signed yet") {
        fs::remove(file);
    }
    SECTION("the file is damaged") {
        platform::replace_file(file, "no list");
    }
    CHECK(answer_of(gateway) == kCannotSign);
    gateway.publish(list);
    CHECK(reply_of(gateway).revoked.revocations == list);
}

TEST_CASE("revocations that the ticket key has signed are refused", "[gateway]") {
    const Gateway gateway;
    const KeyPair ticket_key = platform::read_key(gateway.state() / "keys/ticket.key");
    server::write_signed_revocations(gateway.state() / "runs/first",
                                     formats::sign(formats::Revocations{}, ticket_key));
    auto wanted = gateway.options();
    wanted.timeout = 200ms;
    CHECK_THROWS_AS(net::enrol(wanted, kWanted), IoError);
}

TEST_CASE("the project's key signs the tickets of a run whose file names no ticket key",
          "[gateway]") {
    const Gateway gateway{Signer::kProjectKey};
    const fs::path file = gateway.state() / "keys/project.key";
    const KeyPair project = platform::read_key(file);
    fs::remove(file);
    CHECK(answer_of(gateway) == kCannotSign);
    platform::write_key(file, KeyPair::generate());
    CHECK(answer_of(gateway) == kCannotSign);
    platform::write_key(file, project);
    const auto reply = reply_of(gateway);
    CHECK(formats::is_signed_by(project.public_key(), reply.ticket));
    CHECK(formats::is_signed_by(project.public_key(), reply.revoked));
}

TEST_CASE("a ticket key that the run file does not name signs nothing", "[gateway]") {
    Gateway gateway;
    const fs::path file = gateway.state() / "keys/ticket.key";
    const KeyPair named = platform::read_key(file);
    gateway.stop();
    platform::write_key(file, KeyPair::generate());
    gateway.start();
    CHECK(answer_of(gateway) == kCannotSign);
    gateway.stop();
    platform::write_key(file, named);
    gateway.start();
    CHECK(reply_of(gateway).ticket.ticket.run == gateway.run());
    gateway.stop();
    fs::remove(file);
    CHECK_THROWS_WITH(gateway.start(),
                      Catch::Contains("ticket.key is absent: dedloc project upgrade"));
}

}  // namespace dedloc::gateway
