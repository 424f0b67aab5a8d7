// A project with a job in progress, and its gateway.
#pragma once

#include <boinc_db_types.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "peer/net/dht/dht_seed.hpp"
#include "peer/net/gateway/enrolment.hpp"
#include "peer/platform/key_file.hpp"
#include "peer/tool/synthetic_run.hpp"
#include "project_server/gateway/gateway_server.hpp"
#include "project_server/signed_revocations.hpp"
#include "tests/project_server/project_fixture.hpp"

namespace dedloc::gateway {

using namespace std::chrono_literals;
using server::Database;
using server::TestProject;

/// Whether the run file names a ticket key; runs of earlier versions name none.
enum class Signer : std::uint8_t { kTicketKey, kProjectKey };

/// A project with one account, one computer, one job of one run in progress, and its gateway. The
/// project's key is in no file that the gateway sees, unless it signs the run's tickets.
class Gateway {
  public:
    explicit Gateway(Signer signer = Signer::kTicketKey) : signer_(signer) {
        platform::write_key(state() / "keys/ticket.key", ticket_key_);
        if (signer == Signer::kProjectKey) {
            platform::write_key(state() / "keys/project.key", project_key_);
        }
        std::filesystem::create_directories(state() / "runs/first");
        publish({});
        Database& database = project_.database();
        database.execute("insert into user (authenticator, email_addr) values ('secret', 'a@b')");
        user_ = database.insert_id();
        database.execute("insert into host (userid) values (?)", {user_});
        host_ = database.insert_id();
        database.execute(
            "insert into dedloc_run (name, run_id, spec, target_batch, steps, flops_per_sample, "
            "credit_per_sample, created) values ('first', ?, ?, 1, 1, 1, 1, 0)",
            {run_.hex(), run_file()});
        database.execute("insert into workunit (name, opaque) values ('first_1', ?)",
                         {database.insert_id()});
        database.execute(
            "insert into result (name, workunitid, hostid, userid, server_state) "
            "values ('first_1_0', ?, ?, ?, ?)",
            {database.insert_id(), host_, user_, RESULT_SERVER_STATE_IN_PROGRESS});
        result_ = database.insert_id();
        start();
    }
    ~Gateway() { stop(); }
    Gateway(const Gateway&) = delete;
    Gateway& operator=(const Gateway&) = delete;

    void start(const TicketLimits& limits = {}) {
        server_ = another(port_, limits);
        port_ = server_->port();
        thread_ = std::thread([this] { server_->run(); });
    }
    /// One more gateway of the project, which does not run yet.
    std::unique_ptr<GatewayServer> another(std::uint16_t port, const TicketLimits& limits) const {
        return std::make_unique<GatewayServer>(project_.config(), state(),
                                               GatewayAddress{.port = port}, limits);
    }
    void stop() {
        if (!server_) return;
        server_->stop();
        thread_.join();
        server_.reset();
    }

    net::EnrolmentOptions options() const {
        return {.gateway = url() + "/dedloc/",
                .request = {.authenticator = "secret",
                            .host = static_cast<std::uint64_t>(host_),
                            .result = "first_1_0",
                            .key = peer_.public_key(),
                            .port = 0},
                .project = project_key_.public_key(),
                .ticket_key = ticket_key(),
                .run = run_,
                .first_pause = 20ms,
                .timeout = 10s};
    }
    std::string refusal_of(const net::EnrolmentOptions& wanted) const {
        try {
            net::enrol(wanted, [] { return false; });
        } catch (const net::EnrolmentRefused& error) {
            return error.what();
        }
        return "a ticket";
    }

    /// Writes the list that the gateway hands out, as the run's backbone does.
    void publish(const formats::Revocations& list) const {
        server::write_signed_revocations(state() / "runs/first", formats::sign(list, project_key_));
    }
    /// The ticket key that the run file names.
    std::optional<PeerKey> ticket_key() const {
        if (signer_ == Signer::kProjectKey) return std::nullopt;
        return ticket_key_.public_key();
    }

    const std::filesystem::path& state() const { return project_.root(); }
    std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
    Database& database() { return project_.database(); }
    const server::DatabaseSettings& database_settings() const { return project_.config().database; }
    std::uint16_t port() const { return port_; }
    const KeyPair& peer() const { return peer_; }
    std::int64_t user() const { return user_; }
    std::int64_t host() const { return host_; }
    std::int64_t result() const { return result_; }
    RunId run() const { return run_; }

  private:
    std::string run_file() const {
        formats::RunFile run =
            tool::make_run({.bytes = 4, .dht_seeds = {{"127.0.0.1", seed_.port()}}});
        run.project_key = project_key_.public_key();
        run.ticket_key = ticket_key();
        return formats::write_run_file(run);
    }

    TestProject project_;
    net::DhtSeed seed_{{.listen = {"127.0.0.1", 0}, .address = {}, .state_file = {}}};
    const Signer signer_;
    const KeyPair project_key_ = KeyPair::generate();
    const KeyPair ticket_key_ = KeyPair::generate();
    const KeyPair peer_ = KeyPair::generate();
    const RunId run_{blake2b(bytes_of("a run")).bytes};
    std::int64_t user_ = 0;
    std::int64_t host_ = 0;
    std::int64_t result_ = 0;
    std::uint16_t port_ = 0;
    std::unique_ptr<GatewayServer> server_;
    std::thread thread_;
};

inline const auto kWanted = [] { return false; };

}  // namespace dedloc::gateway
