// Peers get tickets from a gateway over HTTP; the gateway uses a real database.
#include <arpa/inet.h>
#include <boinc_db_types.h>
#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <set>

#include "peer/platform/clock.hpp"
#include "peer/tool/checkup.hpp"
#include "project_server/database/revocations.hpp"
#include "project_server/gateway/dial_back.hpp"
#include "project_server/gateway/tickets.hpp"
#include "tests/project_server/gateway/gateway_fixture.hpp"

namespace dedloc::gateway {
namespace {

/// A listener on loopback, which can be dialled as long as its backlog has place.
class OpenPort {
  public:
    explicit OpenPort(int backlog = 8, std::uint32_t host = INADDR_LOOPBACK)
        : descriptor_(socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(host);
        socklen_t length = sizeof(address);
        auto* const raw = reinterpret_cast<sockaddr*>(&address);
        REQUIRE(bind(descriptor_, raw, length) == 0);
        REQUIRE(listen(descriptor_, backlog) == 0);
        REQUIRE(getsockname(descriptor_, raw, &length) == 0);
        port_ = ntohs(address.sin_port);
    }
    ~OpenPort() { close(descriptor_); }
    OpenPort(const OpenPort&) = delete;
    OpenPort& operator=(const OpenPort&) = delete;
    std::uint16_t port() const { return port_; }

  private:
    const int descriptor_;
    std::uint16_t port_ = 0;
};

TEST_CASE("a ticket bounds the samples per second of its computer", "[gateway]") {
    Gateway gateway;
    const auto bound = [&] {
        const auto reply = net::enrol(gateway.options(), [] { return false; });
        REQUIRE(reply);
        return reply->ticket.ticket.max_samples_per_second;
    };
    gateway.database().execute(
        "update dedloc_run set flops_per_sample = 1e12, least_flops_per_sample = 1e12", {});
    CHECK(bound() == 2);  // a computer that has reported nothing
    gateway.database().execute(
        "update host set p_ncpus = 16, p_fpops = 5e9, serialnum = ?, p_ngpus = 1",
        {"[CUDA|NVIDIA GeForce RTX 3090|1|24576MB|53522][BOINC|7.20.5]"});
    CHECK(bound() == 1'332);  // on any device: the job has no version that would tell
    // The version with which the job was sent says what it computes on.
    gateway.database().execute(
        "insert into app_version (id, plan_class) values (7, 'mt_dedloc'), (8, 'cuda_dedloc')", {});
    gateway.database().execute("update result set app_version_id = 7", {});
    CHECK(bound() == 24);
    gateway.database().execute("update result set app_version_id = 8", {});
    CHECK(bound() == 1'332);
    gateway.database().execute("update dedloc_run set least_flops_per_sample = 5e11", {});
    CHECK(bound() == 2'664);
    gateway.database().execute("update dedloc_run set least_flops_per_sample = 0", {});
    CHECK(bound() == 5'328);
    gateway.stop();
    gateway.start({.rates = {.flops_per_gpu = 1e15}});
    CHECK(bound() == 12'000);
    // A job that only averages computes none, on any computer.
    gateway.database().execute(
        "insert into app (name, user_friendly_name, non_cpu_intensive) values "
        "('dedloc_aggregate', '', 1)",
        {});
    gateway.database().execute(
        "update result set appid = (select id from app where name = 'dedloc_aggregate')", {});
    CHECK(bound() == 1);
    gateway.database().execute("update result set appid = 0", {});
    gateway.database().execute("update dedloc_run set flops_per_sample = 0", {});
    CHECK(bound() == 0);
}

TEST_CASE("a peer with a job in progress gets a ticket for a day, and is dialled back",
          "[gateway]") {
    Gateway gateway;
    const OpenPort open;
    auto wanted = gateway.options();
    wanted.request.port = open.port();
    const auto reply = net::enrol(wanted, kWanted);
    REQUIRE(reply);
    const formats::Ticket& ticket = reply->ticket.ticket;
    CHECK(ticket.peer == gateway.peer().public_key());
    CHECK(ticket.run == gateway.run());
    CHECK(ticket.job == formats::Job{static_cast<std::uint64_t>(gateway.user()),
                                     static_cast<std::uint64_t>(gateway.host()),
                                     static_cast<std::uint64_t>(gateway.result())});
    CHECK(ticket.expires - ticket.issued == 24h);
    CHECK(reply->address == "127.0.0.1");
    CHECK(reply->is_reachable);
    wanted.request.port = 0;
    CHECK_FALSE(net::enrol(wanted, kWanted)->is_reachable);
    const auto row = gateway.database().query_one("select count(*) as n from dedloc_ticket");
    CHECK(row->integer("n") == 1);
    // Its client may have got another id since the job was sent.
    gateway.database().execute("insert into host (userid) values (?)", {gateway.user()});
    CHECK(net::enrol((++wanted.request.host, wanted), kWanted));
}

TEST_CASE("a false request gets one sentence and no ticket", "[gateway]") {
    Gateway gateway;
    Database& database = gateway.database();
    auto wanted = gateway.options();
    SECTION("another account's authenticator") {
        wanted.request.authenticator = "guess";
        CHECK_THAT(gateway.refusal_of(wanted), Catch::Contains("no job named first_1_0"));
    }
    SECTION("another account's computer") {
        wanted.request.host += 1;
        CHECK_THAT(gateway.refusal_of(wanted), Catch::Contains("no job named first_1_0"));
    }
    SECTION("a job that is over") {
        database.execute("update result set server_state = ?", {RESULT_SERVER_STATE_OVER});
        CHECK(gateway.refusal_of(wanted) == "the job first_1_0 is over");
    }
    SECTION("a banned computer") {
        database.execute("update host set max_results_day = -1");
        CHECK(gateway.refusal_of(wanted) == "the project has banned this computer");
    }
    SECTION("one key too many") {
        for (int i = 0; i < kKeysOfAResult; ++i) {
            wanted.request.key = KeyPair::generate().public_key();
            CHECK(net::enrol(wanted, kWanted));
        }
        CHECK(net::enrol(wanted, kWanted));
        wanted.request.key = KeyPair::generate().public_key();
        CHECK(gateway.refusal_of(wanted) == "this job has used 8 keys already");
        wanted.request.key = KeyPair::generate().public_key();
        CHECK(gateway.refusal_of(wanted) == "this job has used 8 keys already");
        // One row for the administrator, however many keys are tried.
        const auto row = database.query_one("select * from dedloc_suspicion");
        CHECK(row->integer("userid") == gateway.user());
        CHECK(row->integer("hostid") == gateway.host());
        CHECK(row->text("source") == "ticket");
        CHECK(row->integer("times") == 2);
    }
    SECTION("a run of another project") {
        wanted.project = KeyPair::generate().public_key();
        // Another project's gateway answers at this URL now: no reason to end the job.
        wanted.timeout = 100ms;
        CHECK_THROWS_AS(net::enrol(wanted, kWanted), IoError);
    }
    SECTION("nonsense") {
        httplib::Client client("127.0.0.1", gateway.port());
        for (const std::string body : {"", "{}", "[1]", "{\"authenticator\": \"\\u0000\"}"}) {
            const auto answer = client.Post("/dedloc/enrol", body, "application/json");
            REQUIRE(answer);
            CHECK(answer->status == 400);
            CHECK_FALSE(formats::parse_enrolment_error(answer->body).empty());
        }
        const auto huge =
            client.Post("/dedloc/enrol", std::string(100'000, ' '), "application/json");
        REQUIRE(huge);
        CHECK(huge->status == 413);
        // A small body may take seconds to decompress.
        for (const char* path : {"/dedloc/enrol", "/dedloc/bandwidth", "/nothing"}) {
            const auto packed =
                client.Post(path, {{"Content-Encoding", "br"}}, "x", "application/json");
            REQUIRE(packed);
            CHECK(packed->status == 415);
        }
        const auto elsewhere = client.Post("/dedloc/report", "x", "text/plain");
        REQUIRE(elsewhere);
        CHECK(elsewhere->status == 404);
    }
}

TEST_CASE("the enrolment reply has the bandwidths that BOINC has measured on that computer",
          "[gateway]") {
    Gateway gateway;
    const auto told = [&](double up, double down) {
        gateway.database().execute("update host set n_bwup = ?, n_bwdown = ?", {up, down});
        const auto reply = net::enrol(gateway.options(), kWanted);
        REQUIRE(reply);
        return std::pair{reply->upload, reply->download};
    };
    const auto rates = [](std::uint64_t up, std::uint64_t down) {
        return std::pair{known_bandwidth(up), known_bandwidth(down)};
    };
    CHECK(told(1'250'000.5, 12'500'000) == rates(1'250'000, 12'500'000));
    CHECK(told(kSlowestBytesPerSecond, kFastestBytesPerSecond) == rates(1'000, 125'000'000));
    // A new computer; then implausible rates, one direction at a time.
    CHECK(told(0, 0) == rates(0, 0));
    CHECK(told(999, 5e6) == rates(0, 5'000'000));
    CHECK(told(-5e6, 5e6) == rates(0, 5'000'000));
    CHECK(told(5e6, 1.3e8) == rates(5'000'000, 0));
    CHECK(told(5e6, 1e300) == rates(5'000'000, 0));
}

TEST_CASE("a revoked peer gets no ticket, and the others get the revocation", "[gateway]") {
    Gateway gateway{Signer::kProjectKey};  // the gateway signs the database's list itself
    auto wanted = gateway.options();
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    const auto told = [&] {
        formats::Revocations list = net::enrol(wanted, kWanted)->revoked.revocations;
        CHECK(list.as_of >= now);
        list.as_of = {};
        return list;
    };
    CHECK(told() == formats::Revocations{});
    const PeerKey other = KeyPair::generate().public_key();
    const auto host = static_cast<std::uint64_t>(gateway.host());
    const formats::Revocations another{.users = {77}, .hosts = {host + 1}, .peers = {other}};
    server::revoke(gateway.database(), another, now);
    CHECK(told() == another);
    // A revocation this old is not listed: all tickets from before it have expired.
    server::revoke(gateway.database(), {.users = {78}, .hosts = {}, .peers = {}},
                   now - server::kTicketLife - 1s);
    CHECK(told() == another);
    for (const formats::Revocations& own :
         {formats::Revocations{.users = {}, .hosts = {host}, .peers = {}},
          {.users = {static_cast<std::uint64_t>(gateway.user())}, .hosts = {}, .peers = {}},
          {.users = {}, .hosts = {}, .peers = {wanted.request.key}}}) {
        server::revoke(gateway.database(), own, now, "it sends nonsense");
        CHECK_THAT(gateway.refusal_of(wanted), Catch::StartsWith("The project has banned this ") &&
                                                   Catch::EndsWith(": it sends nonsense"));
        server::forgive(gateway.database(), own);
        CHECK(net::enrol(wanted, kWanted));
    }
}

TEST_CASE("a client cannot choose the address that it is seen at", "[gateway]") {
    Gateway gateway;
    httplib::Client client{gateway.url()};
    const auto seen = [&](const httplib::Headers& headers) {
        const auto reply = client.Get("/dedloc/report?port=0", headers);
        REQUIRE(reply);
        return formats::parse_gateway_report(reply->body).address;
    };
    CHECK(seen({}) == "127.0.0.1");
    CHECK(seen({{"X-Real-IP", "192.0.2.1"}}) == "127.0.0.1");
    // A proxy appends the address of its client, or replaces what the client has sent.
    CHECK(seen({{"X-Forwarded-For", "192.0.2.1, 198.51.100.7"}}) == "198.51.100.7");
    CHECK(seen({{"X-Forwarded-For", "192.0.2.1"}, {"X-Forwarded-For", "198.51.100.7"}}) ==
          "198.51.100.7");
}

TEST_CASE("dials for strangers leave the gateway to its members", "[gateway]") {
    constexpr int kStrangers = 40;
    Gateway gateway;
    // A port that never answers: its backlog is full, so a dial lasts until its timeout.
    const OpenPort full{0, INADDR_ANY};
    while (answers("127.0.0.1", full.port(), 200ms)) {
    }
    std::vector<std::future<int>> dials;
    for (int i = 0; i < kStrangers; ++i) {
        // Two requests from each address.
        dials.push_back(std::async(std::launch::async, [&gateway, &full, i] {
            httplib::Client client{gateway.url()};
            client.set_read_timeout(20s);
            const auto reply =
                client.Get("/dedloc/report?port=" + std::to_string(full.port()),
                           {{"X-Forwarded-For", "127.0.1." + std::to_string(1 + i / 2)}});
            return reply ? reply->status : 0;
        }));
    }
    CHECK(net::enrol(gateway.options(), kWanted));
    int served = 0;
    for (auto& dial : dials) {
        const int status = dial.get();
        served += status == 200 ? 1 : 0;
        CHECK((status == 200 || status == 503));
    }
    CHECK(served >= 1);
    CHECK(served < kStrangers);
}

TEST_CASE("dials for one job leave the gateway to the others", "[gateway]") {
    constexpr int kRequests = 80;  // more than the gateway has threads
    Gateway gateway;
    const OpenPort full{0, INADDR_ANY};
    while (answers("127.0.0.1", full.port(), 200ms)) {
    }
    auto wanted = gateway.options().request;
    wanted.port = full.port();
    const std::string body = formats::write_enrolment_request(wanted);
    std::vector<std::future<int>> dials;
    for (int i = 0; i < kRequests; ++i) {
        dials.push_back(std::async(std::launch::async, [&gateway, &body, i] {
            httplib::Client client{gateway.url()};
            client.set_read_timeout(30s);
            const auto reply = client.Post(
                "/dedloc/enrol", {{"X-Forwarded-For", "127.0.2." + std::to_string(1 + i)}}, body,
                "application/json");
            return reply ? reply->status : 0;
        }));
    }
    int refused = 0;
    for (auto& dial : dials) {
        const int status = dial.get();
        refused += status == 503 ? 1 : 0;
        CHECK((status == 200 || status == 503));
    }
    CHECK(refused > kRequests / 2);
}

TEST_CASE("a new key of a job revokes the ticket of the one before", "[gateway]") {
    Gateway gateway;
    auto wanted = gateway.options();
    server::Database& database = gateway.database();
    const PeerKey first = wanted.request.key;
    REQUIRE(net::enrol(wanted, kWanted));
    wanted.request.key = KeyPair::generate().public_key();
    CHECK(net::enrol(wanted, kWanted));
    CHECK(net::enrol(wanted, kWanted));
    const auto revoked = server::recent_revocations(database, platform::utc_now());
    CHECK(revoked.peers == std::set{first});
    CHECK(server::bans(database, "key", 9).empty());
    wanted.request.key = first;
    CHECK(gateway.refusal_of(wanted) ==
          "Another process of this job has asked for a ticket since.");
}

TEST_CASE("concurrent requests for a job get no more keys than it may use", "[gateway]") {
    Gateway gateway;
    std::vector<std::future<std::string>> requests;
    for (int i = 0; i < 60; ++i) {
        requests.push_back(std::async(std::launch::async, [&gateway] {
            auto wanted = gateway.options();
            wanted.request.key = KeyPair::generate().public_key();
            return gateway.refusal_of(wanted);
        }));
    }
    int tickets = 0;
    for (auto& request : requests) {
        const std::string answer = request.get();
        tickets += answer == "a ticket" ? 1 : 0;
        CHECK((answer == "a ticket" || answer == "this job has used 8 keys already"));
    }
    CHECK(tickets == kKeysOfAResult);
    const auto row = gateway.database().query_one("select count(*) as n from dedloc_ticket");
    CHECK(row->integer("n") == kKeysOfAResult);
}

TEST_CASE("a check-up reports what works from this machine", "[gateway][tool]") {
    Gateway gateway;
    const auto findings = tool::check_up({.url = gateway.url()});
    REQUIRE(findings.size() == 5);
    for (const tool::Finding& finding : findings) {
        INFO(finding.what << ": " << finding.sentence);
        CHECK(finding.works);
    }
    CHECK(findings[0].sentence == "of \"Test project\" answers at " + gateway.url() + "/");
    CHECK(findings[2].what == "DHT seed");
    CHECK_THAT(findings[3].sentence, Catch::StartsWith("the project can dial TCP port "));
    CHECK(findings[4].what == "bandwidth");
    CHECK_THAT(findings[4].sentence,
               Catch::Matches("between here and the project [0-9.]+ Mbit/s up, [0-9.]+ Mbit/s "
                              "down"));

    const OpenPort taken;
    const auto busy = tool::check_up({.url = gateway.url() + "/", .port = taken.port()});
    REQUIRE(busy.size() == 5);
    CHECK(busy[1].works);
    CHECK_FALSE(busy[3].works);
    CHECK(busy[3].is_needed);
    CHECK_THAT(busy[3].sentence, Catch::EndsWith("the port is in use: choose another with --port"));

    gateway.database().execute("update dedloc_run set state = 'finished'");
    const auto idle = tool::check_up({.url = gateway.url()});
    REQUIRE(idle.size() == 5);
    CHECK(idle[2].sentence == "the project runs nothing now: come back later");

    CHECK_THROWS_WITH(tool::check_up({.url = gateway.url() + "/elsewhere"}),
                      Catch::Contains("HTTP status 404"));
    gateway.stop();
    CHECK_THROWS_WITH(tool::check_up({.url = gateway.url()}),
                      Catch::StartsWith("no gateway answers at " + gateway.url() + "/ ("));
    CHECK_THROWS_AS(tool::check_up({.url = "gopher://127.0.0.1"}), InputError);
}

TEST_CASE("a run that cannot be read hides no other run from a check-up", "[gateway][tool]") {
    Gateway gateway;
    gateway.database().execute(
        "insert into dedloc_run (name, run_id, spec, target_batch, steps, flops_per_sample, "
        "credit_per_sample, created) values ('damaged', '00', '{}', 1, 1, 1, 1, 0)");
    const auto reply = httplib::Client{gateway.url()}.Get("/dedloc/report?port=0");
    REQUIRE(reply);
    CHECK(reply->status == 200);
    CHECK(formats::parse_gateway_report(reply->body).dht_seeds.size() == 1);
}

TEST_CASE("a peer retries while the gateway is down, and a pause stops no peer", "[gateway]") {
    Gateway gateway;
    const auto wanted = gateway.options();
    std::optional<formats::EnrolmentReply> reply;
    SECTION("the gateway is away") {
        gateway.stop();
        std::promise<void> has_failed;
        int asked = 0;
        std::thread asking([&] {
            reply = net::enrol(wanted, [&] {
                if (++asked == 20) has_failed.set_value();
                return false;
            });
        });
        has_failed.get_future().wait();
        gateway.start();
        asking.join();
        CHECK(reply);
    }
    SECTION("the run is paused, where members stay") {
        gateway.database().execute("update dedloc_run set state = 'paused'");
        CHECK(net::enrol(wanted, kWanted));
    }
    SECTION("the caller cancels the request") {
        gateway.stop();
        int asked = 0;
        CHECK_FALSE(net::enrol(wanted, [&] { return ++asked > 5; }));
    }
}

TEST_CASE("an invalid gateway address is refused", "[gateway]") {
    Gateway gateway;
    auto wanted = gateway.options();
    wanted.gateway = "ftp://127.0.0.1/";
    CHECK_THROWS_AS(net::enrol(wanted, kWanted), InputError);
}

TEST_CASE("only a listening port answers, and no system port is dialled", "[gateway]") {
    const OpenPort open;
    CHECK(answers("127.0.0.1", open.port(), 2s));
    std::uint16_t closed = 0;
    {
        const OpenPort gone;
        closed = gone.port();
    }
    CHECK_FALSE(answers("127.0.0.1", closed, 2s));
    CHECK_FALSE(answers("127.0.0.1", 22, 2s));
    CHECK_FALSE(answers("localhost", open.port(), 2s));
    CHECK_FALSE(answers("not an address", open.port(), 2s));
}

}  // namespace
}  // namespace dedloc::gateway
