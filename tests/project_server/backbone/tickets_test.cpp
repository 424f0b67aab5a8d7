// A run with a gateway: its backbone presents its own ticket, requires one of every peer, and
// closes the links of peers that the project's database lists as revoked.
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <set>

#include "peer/base/log.hpp"
#include "peer/net/session/link_refusal.hpp"
#include "peer/net/tcp/tcp_transport.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/key_file.hpp"
#include "peer/platform/ports.hpp"
#include "peer/tool/synthetic_run.hpp"
#include "project_server/backbone/backbone.hpp"
#include "project_server/backbone/revocation_watch.hpp"
#include "project_server/control/client.hpp"
#include "project_server/settings.hpp"
#include "project_server/signed_revocations.hpp"
#include "tests/peer/net/tcp/inbox.hpp"
#include "tests/project_server/project_fixture.hpp"

namespace dedloc::backbone {
namespace {

using namespace std::chrono_literals;
using control::Command;

formats::UtcSeconds now() {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

/// A project's folder with one run that requires tickets, and its backbone.
class TicketWorld {
  public:
    TicketWorld() {
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
        run_.ticket_key = ticket_key_.public_key();
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
                                              .ticket_key = run_.ticket_key,
                                              .run = formats::run_id(run_),
                                              .key = key,
                                              .ticket = {}};
        options.session->ticket = formats::sign({.run = formats::run_id(run_),
                                                 .peer = key.public_key(),
                                                 .job = {.user = 1, .host = host, .result = 3},
                                                 .issued = now(),
                                                 .expires = now() + 1h},
                                                ticket_key_);
        return options;
    }
    const formats::RunFile& run() const { return run_; }
    const KeyPair& project() const { return project_; }
    const KeyPair& ticket_key() const { return ticket_key_; }
    /// The list for the gateway, which the project has signed.
    formats::Revocations stored() const {
        const auto list = server::read_signed_revocations(folder_.path() / "runs/first");
        CHECK(formats::is_signed_by(project_.public_key(), list));
        return list.revocations;
    }
    /// Whether the backbone does what is asked.
    bool asks(const control::Request& request) const {
        const auto answer = control::ask(folder_.path() / "runs/first", request);
        return answer.outcome == control::Outcome::kAnswered && answer.reply.is_done;
    }

  private:
    const TemporaryDirectory folder_;
    const KeyPair project_ = KeyPair::generate();
    const KeyPair ticket_key_ = KeyPair::generate();
    formats::RunFile run_;
};

TEST_CASE("a backbone links with peers that have a ticket, until it is revoked", "[server][net]") {
    const TicketWorld world;
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
        CHECK(world.asks({.command = Command::kRevoke, .revocation = {.hosts = {8}}}));
        backbone.maintain();
        CHECK_FALSE(inbox.next<event::LinkClosed>(200ms));
        CHECK(world.asks({.command = Command::kRevoke, .revocation = {.hosts = {7}}}));
        const auto closed = inbox.next<event::LinkClosed>();
        REQUIRE(closed);
        CHECK(closed->why == net::describe_told(net::LinkRefusal::kRevoked));
    }
    SECTION("a forgiven peer can link again") {
        const control::Revocation host{.hosts = {7}};
        CHECK(world.asks({.command = Command::kRevoke, .revocation = host}));
        REQUIRE(inbox.next<event::LinkClosed>());
        CHECK(world.asks({.command = Command::kForgive, .revocation = host}));
        member.dial(place);
        CHECK(inbox.next<event::LinkOpened>());
    }
}

TEST_CASE("a backbone signs each list of revocations for the gateway", "[server]") {
    const TicketWorld world;
    const auto began = now();
    Backbone backbone(read_run_folder(world.folder(), "first"), world.options());
    CHECK(world.stored().size() == 0);
    CHECK(world.stored().as_of >= began);
    const control::Revocation host{.hosts = {7}};
    CHECK(world.asks({.command = Command::kRevoke, .revocation = host}));
    CHECK(world.stored().hosts == std::set<std::uint64_t>{7});
    CHECK(world.asks({.command = Command::kForgive, .revocation = host}));
    CHECK(world.stored().size() == 0);
    // A list that could not be written is written later.
    const auto file = world.folder() / "runs/first/revocations";
    std::filesystem::remove(file);
    std::filesystem::create_directory(file);
    CHECK(world.asks({.command = Command::kRevoke, .revocation = host}));
    std::filesystem::remove(file);
    backbone.poll();
    CHECK(world.stored().hosts == std::set<std::uint64_t>{7});
}

TEST_CASE("the ticket key pauses no run", "[server]") {
    const TicketWorld world;
    const Backbone backbone(read_run_folder(world.folder(), "first"), world.options());
    const auto pauses = [&](const KeyPair& signer) {
        return world.asks({.command = Command::kPause,
                           .pause = sign_pause(formats::run_id(world.run()), 1, signer)});
    };
    CHECK_FALSE(pauses(world.ticket_key()));
    CHECK(pauses(world.project()));
}

TEST_CASE("what is revoked without a database outlives the backbone's process", "[server][net]") {
    const TicketWorld world;
    {
        Backbone backbone(read_run_folder(world.folder(), "first"), world.options());
        CHECK(world.asks({.command = Command::kRevoke, .revocation = {.users = {1}}}));
    }
    Backbone backbone(read_run_folder(world.folder(), "first"), world.options());
    net::Inbox inbox;
    net::TcpTransport member(world.member(KeyPair::generate(), 7), inbox.sink());
    member.dial({"127.0.0.1", backbone.port()});
    const auto failed = inbox.next<event::DialFailed>();
    REQUIRE(failed);
    CHECK(failed->why == net::describe_told(net::LinkRefusal::kRevoked));
}

TEST_CASE("a backbone that cannot sign its own ticket reports an error", "[server]") {
    const TicketWorld world;
    std::filesystem::remove(world.folder() / "keys/project.key");
    CHECK_THROWS_WITH(Backbone(read_run_folder(world.folder(), "first"), world.options()),
                      Catch::Contains("the project's key, which signs this backbone's ticket"));
}

/// A RevocationWatch, and the last list that it has published.
struct Watching {
    explicit Watching(server::TestProject& project)
        : watch({.database = project.config().database,
                 .pending = project.root() / "pending",
                 .publish = [this](const formats::Revocations& all) { latest = all; }}) {}
    formats::Revocations poll(formats::UtcSeconds when) {
        watch.poll(when);
        return latest;
    }
    formats::Revocations latest;
    RevocationWatch watch;
};

TEST_CASE("RevocationWatch reads the revocations in the database", "[server]") {
    server::TestProject project;
    Watching watching(project);
    const formats::UtcSeconds when = now();
    const formats::Revocations nobody{.as_of = when, .users = {}, .hosts = {}, .peers = {}};
    const formats::Revocations host{.as_of = when, .users = {}, .hosts = {7}, .peers = {}};
    CHECK(watching.poll(when) == nobody);
    server::revoke(project.database(), host, when);
    CHECK(watching.poll(when) == host);
    CHECK(watching.poll(when - 1h) == host);
    server::forgive(project.database(), host);
    CHECK(watching.poll(when) == nobody);
}

TEST_CASE("a voter without a database has the newest list that it has heard", "[server]") {
    const TemporaryDirectory folder;
    formats::Revocations latest;
    RevocationWatch watch({.database = std::nullopt,
                           .pending = folder.path() / "pending",
                           .publish = [&](const formats::Revocations& all) { latest = all; }});
    const formats::UtcSeconds when = now();
    const formats::Revocations first{.as_of = when, .users = {3}, .hosts = {7}, .peers = {}};
    const formats::Revocations second{.as_of = when + 1s, .users = {3}, .hosts = {}, .peers = {}};
    watch.hear(first, when);
    CHECK(latest == first);
    watch.hear(second, when + 1s);
    CHECK(latest == second);
    watch.hear(first, when + 2s);  // late
    CHECK(latest.hosts.empty());
    watch.poll(when + 3s);
    CHECK(latest.users == second.users);
    CHECK(latest.as_of == when + 3s);
}

TEST_CASE("a revocation works while the database is away, and gets there later", "[server]") {
    server::TestProject project;
    const formats::UtcSeconds when = now();
    const control::Revocation host{.hosts = {7}};
    const PeerKey voter = KeyPair::generate().public_key();
    Watching watching(project);
    (void)watching.poll(when);
    project.database().execute("drop table dedloc_revocation");
    watching.watch.revoke(host, when);
    watching.watch.revoke({.users = {3}, .voters = {voter}}, when);
    const formats::Revocations all{.as_of = when, .users = {3}, .hosts = {7}, .peers = {voter}};
    CHECK(watching.latest == all);
    SECTION("the file outlives the process") {
        Watching again(project);
        server::apply_schema(project.database());
        CHECK(again.poll(when) == all);
        CHECK_FALSE(std::filesystem::exists(project.root() / "pending"));
        CHECK(server::recent_revocations(project.database(), when) == all);
    }
    SECTION("what is forgiven meanwhile never gets there") {
        watching.watch.forgive(host, when);
        server::apply_schema(project.database());
        const formats::Revocations others{
            .as_of = when, .users = {3}, .hosts = {}, .peers = {voter}};
        CHECK(watching.poll(when) == others);
        CHECK(server::recent_revocations(project.database(), when) == others);
    }
}

}  // namespace
}  // namespace dedloc::backbone
