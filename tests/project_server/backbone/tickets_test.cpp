// A run with a gateway: its backbone presents its own ticket, requires one of every peer, and
// closes the links of peers that the project's database lists as revoked.
#include <catch2/catch.hpp>
#include <chrono>

#include "peer/base/log.hpp"
#include "peer/net/session/link_refusal.hpp"
#include "peer/net/tcp/tcp_transport.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/key_file.hpp"
#include "peer/platform/ports.hpp"
#include "peer/tool/synthetic_run.hpp"
#include "project_server/backbone/backbone.hpp"
#include "project_server/backbone/revocation_watch.hpp"
#include "project_server/settings.hpp"
#include "tests/peer/net/tcp/inbox.hpp"
#include "tests/project_server/project_fixture.hpp"

namespace dedloc::backbone {
namespace {

using namespace std::chrono_literals;

formats::UtcSeconds now() {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

/// A project's folder with one run that requires tickets, and its backbone.
class World {
  public:
    World() {
        const auto folder = folder_.path() / "runs/first";
        std::filesystem::create_directories(folder);
        std::filesystem::create_directories(folder_.path() / "keys");
        platform::write_key(folder_.path() / "keys/project.key", project_);
        const KeyPair backbone = KeyPair::generate();
        platform::write_key(folder / "backbone.key", backbone);
        run_ = tool::make_run(
            {.bytes = 4'000, .dht_seeds = {{"127.0.0.1", platform::free_port("127.0.0.1")}}});
        run_.name = "first";
        run_.project_key = project_.public_key();
        run_.backbone_key = backbone.public_key();
        run_.gateway = "http://127.0.0.1:9/dedloc/";
        platform::replace_file(folder / "run.json", formats::write_run_file(run_));
    }
    BackboneOptions options() const {
        return {.listen = {"127.0.0.1", 0},
                .dht_listen = run_.dht_seeds.front(),
                .database = {},
                .on_failure = [](const std::string& sentence) { log_error("{}", sentence); }};
    }
    std::filesystem::path folder() const { return folder_.path(); }

    net::TransportOptions member(const KeyPair& key, std::uint64_t host) const {
        net::TransportOptions options;
        options.session = net::SessionOptions{.project = project_.public_key(),
                                              .run = formats::run_id(run_),
                                              .key = key,
                                              .ticket = {}};
        options.session->ticket = formats::sign({.run = formats::run_id(run_),
                                                 .peer = key.public_key(),
                                                 .seat = {.user = 1, .host = host, .result = 3},
                                                 .issued = now(),
                                                 .expires = now() + 1h},
                                                project_);
        return options;
    }
    const formats::RunFile& run() const { return run_; }

  private:
    const TemporaryDirectory folder_;
    const KeyPair project_ = KeyPair::generate();
    formats::RunFile run_;
};

TEST_CASE("a backbone links with peers that have a ticket, until it is revoked", "[server][net]") {
    const World world;
    Backbone backbone(read_run_folder(world.folder(), "first"), world.options());
    const Endpoint place{"127.0.0.1", backbone.port()};
    const KeyPair key = KeyPair::generate();
    net::Inbox inbox;
    net::TcpTransport member(world.member(key, 7), inbox.sink());
    member.dial(place);
    const auto opened = inbox.next<event::LinkOpened>();
    REQUIRE(opened);
    CHECK(opened->proven == world.run().backbone_key);
    SECTION("a peer without a ticket gets the reason") {
        net::TransportOptions options = world.member(KeyPair::generate(), 8);
        options.session->ticket.reset();
        net::TcpTransport stranger(options, inbox.sink());
        stranger.dial(place);
        const auto failed = inbox.next<event::DialFailed>();
        REQUIRE(failed);
        CHECK(failed->why == net::describe_told(net::LinkRefusal::kNoTicket));
    }
    SECTION("a revoked peer gets the reason, and the others stay linked") {
        backbone.revoke({.users = {}, .hosts = {8}, .peers = {}});
        backbone.maintain();
        CHECK_FALSE(inbox.next<event::LinkClosed>(200ms));
        backbone.revoke({.users = {}, .hosts = {7}, .peers = {}});
        const auto closed = inbox.next<event::LinkClosed>();
        REQUIRE(closed);
        CHECK(closed->why == net::describe_told(net::LinkRefusal::kRevoked));
    }
    SECTION("a forgiven peer can link again") {
        backbone.revoke({.as_of = now(), .users = {}, .hosts = {7}, .peers = {}});
        REQUIRE(inbox.next<event::LinkClosed>());
        backbone.revoke({.as_of = now(), .users = {}, .hosts = {}, .peers = {}});
        member.dial(place);
        CHECK(inbox.next<event::LinkOpened>());
    }
}

TEST_CASE("a backbone that cannot sign its own ticket reports an error", "[server]") {
    const World world;
    std::filesystem::remove(world.folder() / "keys/project.key");
    CHECK_THROWS_WITH(Backbone(read_run_folder(world.folder(), "first"), world.options()),
                      Catch::Contains("the project's key, which signs this backbone's ticket"));
}

TEST_CASE("RevocationWatch reads the revocations in the database", "[server]") {
    server::TestProject project;
    RevocationWatch watch(project.config().database);
    const formats::UtcSeconds when = now();
    const formats::Revocations nobody{.as_of = when, .users = {}, .hosts = {}, .peers = {}};
    const formats::Revocations host{.as_of = when, .users = {}, .hosts = {7}, .peers = {}};
    CHECK(watch.poll(when) == nobody);
    server::revoke(project.database(), host, when);
    CHECK(watch.poll(when) == host);
    CHECK(watch.poll(when - 1h) == host);
    server::forgive(project.database(), host);
    CHECK(watch.poll(when) == nobody);
    project.database().execute("drop table dedloc_revocation");
    CHECK_FALSE(watch.poll(when));
    server::apply_schema(project.database());
    server::revoke(project.database(), host, when);
    CHECK(watch.poll(when) == host);
}

}  // namespace
}  // namespace dedloc::backbone
