// A project with volunteers and a run whose ledger the real recorder writes into the database.
#pragma once

#include <boinc_db_types.h>
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "project_server/backbone/run_recorder.hpp"
#include "project_server/gateway/tickets.hpp"
#include "tests/project_server/project_fixture.hpp"
#include "validators/creditor.hpp"

namespace dedloc::validation {

/// When step 1 of the ledger was committed; each later step a second later.
inline constexpr std::int64_t kFirstCommit = 1'700'000'001;

/// The project. Seat `n` has result, host and workunit n + 1 and user n / hosts_of_user + 1; users
/// are in teams 1 and 2 by turns.
class CreditWorld {
  public:
    explicit CreditWorld(double credit_per_sample, int hosts_of_user = 1,
                         double credit_per_gigabyte = 0)
        : hosts_of_user_(hosts_of_user) {
        database().execute("insert into app (id, name) values (7, 'dedloc_train')");
        database().execute("insert into team (id, name) values (1, 'odd'), (2, 'even')");
        database().execute(
            "insert into dedloc_run (id, name, run_id, spec, target_batch, steps, "
            "flops_per_sample, credit_per_sample, credit_per_gigabyte_reduced, created) values (3, "
            "'demo', ?, '{}', 96, 100000, 1e6, ?, ?, 0)",
            {run_.hex(), credit_per_sample, credit_per_gigabyte});
    }

    /// A key with a job in progress and a ticket from the gateway. Returns the seat's number.
    int add_seat() {
        const int seat = static_cast<int>(keys_.size());
        const int number = seat + 1;
        const int user = seat / hosts_of_user_ + 1;
        const std::string text = std::to_string(number);
        if (seat % hosts_of_user_ == 0) {
            database().execute(
                "insert into user (id, email_addr, name, authenticator, teamid) values (?, ?, ?, "
                "?, ?)",
                {user, std::to_string(user), "user", authenticator(user), 2 - user % 2});
        }
        database().execute("insert into host (id, userid) values (?, ?)", {number, user});
        database().execute(
            "insert into workunit (id, appid, name, opaque, transition_time) values (?, 7, ?, 3, "
            "2147483647)",
            {number, "demo_" + text});
        database().execute(
            "insert into result (id, workunitid, server_state, hostid, userid, sent_time, name, "
            "appid) values (?, ?, ?, ?, ?, ?, ?, 7)",
            {number, number, RESULT_SERVER_STATE_IN_PROGRESS, number, user, std::time(nullptr) - 60,
             result_name(seat)});
        keys_.push_back(KeyPair::generate().public_key());
        ask_ticket(keys_.back(), seat);
        return seat;
    }
    /// Asks the gateway for a ticket for the key, with the account and job of the seat.
    void ask_ticket(const PeerKey& key, int seat) {
        const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
        gateway::issue_ticket(database(), project_key_,
                              {.authenticator = authenticator(seat / hosts_of_user_ + 1),
                               .host = static_cast<std::uint64_t>(seat + 1),
                               .result = result_name(seat),
                               .key = key,
                               .port = 0},
                              now);
    }

    /// Commits the next step to the ledger. The first key has reduced the vector, of one element.
    void commit(const std::vector<std::pair<PeerKey, std::uint64_t>>& samples) {
        std::vector<CommitLine> lines;
        for (const auto& [key, count] : samples) {
            lines.push_back({.peer = key, .samples = Samples{count}, .loss_sum = 1});
        }
        lines.front().reduced = 1;
        commit(std::move(lines));
    }
    void commit(std::vector<CommitLine> lines) {
        CommitRecord record;
        record.generation = ledger_.head().generation;
        record.step = ledger_.head().step;
        record.previous_record = ledger_.head().record;
        record.members = std::move(lines);
        std::ranges::sort(record.members, {}, &CommitLine::peer);
        const std::chrono::seconds at{kFirstCommit +
                                      static_cast<std::int64_t>(record.step.value())};
        ledger_.append(backbone::LedgerCommit{.committed_at = backbone::WallTime{at},
                                              .took = std::chrono::milliseconds{1'000},
                                              .decision = {record, {}}});
    }
    /// A new generation: the ledger goes on from `step`, whose successors are void.
    void return_to(std::uint64_t step) {
        ledger_.append(SignedGeneration{.record = {.generation = ledger_.head().generation + 1,
                                                   .step = StepIndex{step},
                                                   .state = blake2b(bytes_of("state")),
                                                   .voters = {project_key_.public_key()}},
                                        .signature = {}});
    }
    /// Writes the whole ledger into the database, also rows that are there already.
    void record() {
        backbone::RunRecorder recorder{{.database = project_.config().database,
                                        .run_name = "demo",
                                        .run = run_,
                                        .backbone = project_key_.public_key(),
                                        .ledger = ledger_path_},
                                       store_};
        recorder.stop();
    }
    CreditReport pass(CreditorOptions options = {}) {
        return Creditor{database(), std::move(options)}.pass();
    }

    std::string one(const std::string& sql) {
        const auto row = database().query_one(sql);
        REQUIRE(row);
        return row->text("x");
    }
    double number(const std::string& sql) {
        const auto row = database().query_one(sql);
        REQUIRE(row);
        return row->real("x");
    }
    server::Database& database() { return project_.database(); }
    const server::TestProject& project() const { return project_; }
    const PeerKey& key(int seat) const { return keys_.at(static_cast<std::size_t>(seat)); }
    std::string result_name(int seat) const { return fmt::format("demo_{}_0", seat + 1); }

  private:
    static std::string authenticator(int user) { return "secret" + std::to_string(user); }

    const int hosts_of_user_;
    server::TestProject project_;
    const KeyPair project_key_ = KeyPair::generate();
    const RunId run_{blake2b(bytes_of("run")).bytes};
    const std::filesystem::path ledger_path_ = project_.root() / "ledger";
    backbone::LedgerWriter ledger_{ledger_path_, {run_, project_key_.public_key()}};
    backbone::CheckpointStore store_{project_.root() / "checkpoints", run_, 2};
    std::vector<PeerKey> keys_;
};

}  // namespace dedloc::validation
