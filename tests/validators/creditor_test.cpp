#include "validators/creditor.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <map>

#include "project_server/database/revocations.hpp"
#include "tests/project_server/statement_log.hpp"
#include "tests/validators/credit_world.hpp"

using namespace dedloc;
using namespace dedloc::validation;

namespace {

std::string credited(CreditWorld& world, int number) {
    return world.one(fmt::format(
        "select concat_ws(' ', (select granted_credit from result where id = {0}), (select "
        "total_credit from host where id = {0}), (select total_credit from user where id = {0})) x",
        number));
}

/// Runs a pass in a child process that dies after `places` statements. True if it got to the end.
bool pass_until(CreditWorld& world, int places, int batch) {
    const pid_t child = ::fork();
    if (child == 0) {
        int passed = 0;
        server::Database own{world.project().config().database};
        Creditor creditor{own, {.batch = batch, .passing = [&](std::string_view) {
                                    if (++passed == places) ::_exit(77);
                                }}};
        creditor.heed_messages();
        creditor.pass();
        ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    REQUIRE((WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77));
    return WEXITSTATUS(status) == 0;
}

/// What a user has done.
struct Work {
    std::uint64_t samples = 0;
    std::uint64_t reduced_bytes = 0;
};

/// Credit of a sample, and of 10⁹ reduced bytes.
struct Rates {
    double sample = 0;
    double gigabyte = 0;
    bool is_exact = false;  ///< a double represents every sum of credits
};

/// Whether users, hosts, teams, results and contributions have exactly the credit of this work.
void check_sums(CreditWorld& world, const Rates& rates, const std::map<int, Work>& work_of_user) {
    const auto is_sum = [&](double credit, const Work& work) {
        const double exact = static_cast<double>(work.samples) * rates.sample +
                             static_cast<double>(work.reduced_bytes) * (rates.gigabyte / 1e9);
        return rates.is_exact ? credit == exact : std::abs(credit - exact) <= 1e-13 * exact;
    };
    Work total;
    for (const auto& [user, work] : work_of_user) {
        total.samples += work.samples;
        total.reduced_bytes += work.reduced_bytes;
        CHECK(
            is_sum(world.number(fmt::format("select total_credit x from user where id = {}", user)),
                   work));
    }
    for (const std::string sum :
         {"sum(total_credit) x from user", "sum(total_credit) x from host",
          "sum(total_credit) x from team", "sum(credit) x from dedloc_contribution"}) {
        CHECK(is_sum(world.number("select " + sum), total));
    }
    CHECK(world.one("select max(abs(granted_credit - (select sum(credit) from dedloc_contribution "
                    "where resultid = result.id))) < 1e-9 x from result") == "1");
}

/// Random steps of all seats, and what they are worth to each user (of five seats).
struct Drawn {
    Drawn(const CreditWorld& of, int seat_count) : world_(of), seats_(seat_count) {}

    /// The project's backbone reduces, and has no ticket. The last ten seats are aggregators: they
    /// reduce only. Of the others some reduce nothing, and some have no samples.
    std::vector<CommitLine> step() {
        std::vector<CommitLine> lines{
            {.peer = backbone_, .samples = Samples{0}, .loss_sum = 0, .reduced = 1'000'000}};
        std::uint64_t contributors = 0;
        for (int seat = 0; seat < seats_; ++seat) {
            const bool has_samples = seat < 50 || (seat < seats_ - 10 && draw(8) > 0);
            const std::uint64_t samples = has_samples ? 1 + draw(4'096) : 0;
            const bool reduces = seat >= seats_ - 10 || draw(2) == 0;
            lines.push_back({.peer = world_.key(seat),
                             .samples = Samples{samples},
                             .loss_sum = 0,
                             .reduced = reduces ? draw(1'000'000) : 0});
            contributors += has_samples ? 1 : 0;
        }
        for (int seat = 0; seat < seats_; ++seat) {
            const CommitLine& line = lines.at(static_cast<std::size_t>(seat) + 1);
            const std::uint64_t samples = line.samples.value();
            const std::uint64_t bytes = 4 * line.reduced * (contributors - (samples > 0 ? 1 : 0));
            work_of_user[seat / 5 + 1].samples += samples;
            work_of_user[seat / 5 + 1].reduced_bytes += bytes;
            contributions += samples + bytes > 0 ? 1 : 0;
        }
        return lines;
    }

    std::map<int, Work> work_of_user;
    std::uint64_t contributions = 0;  ///< without those of the backbone

  private:
    std::uint64_t draw(std::uint64_t end) {
        state_ = state_ * 6'364'136'223'846'793'005 + 1'442'695'040'888'963'407;
        return (state_ >> 33) % end;
    }

    const CreditWorld& world_;
    const int seats_;
    const PeerKey backbone_ = KeyPair::generate().public_key();
    std::uint64_t state_ = 22;
};

}  // namespace

TEST_CASE("samples are credited while the job runs, and each contribution once",
          "[validation][integration]") {
    CreditWorld world{0.25};
    const int seat = world.add_seat();
    world.commit({{world.key(seat), 8}});
    world.record();
    CHECK(world.pass().credit == 2.0);
    CHECK(credited(world, 1) == "2 2 2");
    CHECK(world.one("select server_state x from result") == "4");
    world.commit({{world.key(seat), 4}});
    world.record();
    const auto report = world.pass();
    CHECK(report.credit == 1.0);
    CHECK(report.contributions == 1);
    CHECK(report.seats == 1);
    CHECK(world.pass().contributions == 0);
    CHECK(credited(world, 1) == "3 3 3");
    CHECK(world.one("select total_credit x from team where id = 1") == "3");
    CHECK(world.one("select group_concat(resultid, ':', credit order by step) x from "
                    "dedloc_contribution") == "1:2,1:1");
    for (const char* const table : {"user", "host", "team where id = 1"}) {
        CHECK(world.one(fmt::format("select expavg_credit > 0 x from {}", table)) == "1");
    }
    // The first batch counts as a day's work at least, so it is not extrapolated from a minute.
    CHECK(world.number("select expavg_credit x from user") < 4);
}

TEST_CASE("jobs that were aborted, reset, refused or lost are credited like others",
          "[validation][integration]") {
    CreditWorld world{0.25};
    const int seat = world.add_seat();
    const int other = world.add_seat();
    world.commit({{world.key(seat), 8}, {world.key(other), 16}});
    world.record();
    SECTION("aborted by the volunteer") {
        world.database().execute("update result set server_state = 5, outcome = 3 where id = 1");
    }
    SECTION("its deadline is over") {
        world.database().execute("update result set server_state = 5, outcome = 4 where id = 1");
    }
    SECTION("the volunteer has left the project") {
        world.database().execute("update result set server_state = 5, outcome = 7 where id = 1");
    }
    SECTION("its receipt was refused") {
        world.database().execute(
            "update result set server_state = 5, outcome = 6, validate_state = 2 where id = 1");
    }
    SECTION("its rows have been purged") {
        world.database().execute("delete from result where id = 1");
        world.database().execute("delete from workunit where id = 1");
    }
    SECTION("its host has been merged into another one") {
        world.database().execute("delete from result where id = 1");
        world.database().execute("update host set userid = 0 where id = 1");
        CHECK(world.pass().credit == 6.0);
        CHECK(world.one("select group_concat(total_credit order by id) x from host") == "0,4");
        CHECK(world.one("select group_concat(total_credit order by id) x from user") == "2,4");
        return;
    }
    CHECK(world.pass().credit == 6.0);
    CHECK(world.pass().credit == 0.0);
    for (const char* const table : {"user", "host", "team"}) {
        CHECK(world.one(fmt::format("select group_concat(total_credit order by id) x from {}",
                                    table)) == "2,4");
    }
}

TEST_CASE("bytes reduced are credited at the run's rate, also to a seat without samples",
          "[validation][integration]") {
    CreditWorld world{0.25, 1, 0x1p-10 * 1e9};
    const int trainer = world.add_seat();
    const int aggregator = world.add_seat();
    const PeerKey backbone = KeyPair::generate().public_key();
    const auto line = [](const PeerKey& key, std::uint64_t samples, std::uint64_t reduced) {
        return CommitLine{
            .peer = key, .samples = Samples{samples}, .loss_sum = 0, .reduced = reduced};
    };
    // One contributor: it sends 256 elements to the aggregator, and nothing to itself.
    world.commit({line(world.key(trainer), 8, 512), line(world.key(aggregator), 0, 256),
                  line(backbone, 0, 256)});
    world.record();
    const auto report = world.pass();
    CHECK(report.credit == 3.0);
    CHECK(report.unowned == 1);
    CHECK(credited(world, 1) == "2 2 2");
    CHECK(credited(world, 2) == "1 1 1");
    CHECK(world.one("select group_concat(samples, ' ', reduced_bytes, ' ', credit_state, ' ', "
                    "credit order by samples desc, credit_state) x from dedloc_contribution") ==
          "8 0 1 2,0 1024 1 1,0 1024 3 0");
    world.record();
    CHECK(world.pass().contributions == 0);
}

TEST_CASE("a key belongs to the first job that got a ticket for it", "[validation][integration]") {
    CreditWorld world{0.25};
    const int seat = world.add_seat();
    const int thief = world.add_seat();
    world.commit({{world.key(seat), 8}});
    world.record();
    CHECK_THROWS_WITH(world.ask_ticket(world.key(seat), thief), "this key belongs to another job");
    world.ask_ticket(world.key(seat), seat);  // a renewal
    CHECK(world.pass().credit == 2.0);
    CHECK(world.one("select group_concat(total_credit order by id) x from user") == "2,0");
}

TEST_CASE("keys without a ticket or an account earn nothing", "[validation][integration]") {
    CreditWorld world{0.25};
    const int seat = world.add_seat();
    const int gone = world.add_seat();
    const PeerKey stranger = KeyPair::generate().public_key();
    world.database().execute("delete from user where id = 2");
    world.commit({{world.key(seat), 8}, {world.key(gone), 8}, {stranger, 8}});
    world.record();
    const auto report = world.pass();
    CHECK(report.credit == 2.0);
    CHECK(report.unowned == 2);
    CHECK(world.pass().unowned == 0);
    CHECK(world.one("select group_concat(credit_state order by credit_state) x from "
                    "dedloc_contribution") == "1,3,3");
    CHECK(world.one("select sum(credit) x from dedloc_contribution") == "2");
}

TEST_CASE(
    "contributions after a revocation are withheld with a reason, and paid when it is "
    "withdrawn",
    "[validation][integration]") {
    CreditWorld world{0.25};
    const int seat = world.add_seat();
    const int other = world.add_seat();
    for (int step = 0; step < 4; ++step)
        world.commit({{world.key(seat), 8}, {world.key(other), 4}});
    world.record();
    formats::Revocations revoked;
    std::string who;
    SECTION("of the account") {
        revoked.users = {1};
        who = "user 1";
    }
    SECTION("of the computer") {
        revoked.hosts = {1};
        who = "host 1";
    }
    SECTION("of the key") {
        revoked.peers = {world.key(seat)};
        who = "key " + world.key(seat).hex();
    }
    const formats::UtcSeconds third{std::chrono::seconds{kFirstCommit + 2}};
    server::revoke(world.database(), revoked, third);
    const auto report = world.pass();
    CHECK(report.credit == 8.0);
    CHECK(report.withheld == 2);
    CHECK(world.pass().withheld == 0);
    CHECK(world.one("select group_concat(total_credit order by id) x from user") == "4,4");
    CHECK(world.one("select concat_ws(' ', kind, subject, since, contributions, samples, "
                    "reduced_bytes) x from dedloc_withheld") ==
          fmt::format("{} {} 2 16 8", who, kFirstCommit + 2));
    server::forgive(world.database(), revoked);
    CHECK(world.pass().credit == 4.0);
    CHECK(world.pass().credit == 0.0);
    CHECK(world.one("select group_concat(total_credit order by id) x from user") == "8,4");
    CHECK(world.one("select count(*) x from dedloc_withheld") == "0");
}

TEST_CASE("a job's message brings its credit forward, and says nothing that counts",
          "[validation][integration]") {
    CreditWorld world{0.25};
    const int seat = world.add_seat();
    const int other = world.add_seat();
    world.commit({{world.key(seat), 8}, {world.key(other), 8}});
    world.record();
    const auto send = [&](int host, const std::string& xml, const char* variety) {
        world.database().execute(
            "insert into msg_from_host (hostid, variety, handled, xml) values (?, ?, 0, ?)",
            {host, variety, xml});
    };
    const auto heed = [&] { return Creditor{world.database(), {}}.heed_messages(); };
    const std::string true_text =
        "<result_name>demo_1_0</result_name>\n<time>1</time>\n<samples>1000000</samples>\n";
    SECTION("the job's own") {
        send(1, true_text, "dedloc_credit");
        send(1, true_text, "dedloc_credit");  // the client repeats it when a reply is lost
        CHECK(heed().credit == 2.0);
        CHECK(heed().credit == 0.0);
        CHECK(world.one("select group_concat(total_credit order by id) x from user") == "2,0");
        send(1, true_text, "dedloc_credit");
        CHECK(heed().credit == 0.0);
    }
    SECTION("one from another computer, and nonsense") {
        send(2, true_text, "dedloc_credit");
        for (const std::string& text :
             {std::string{}, std::string{"<result_name>"},
              std::string{"<result_name></result_name>"},
              std::string{"<result_name>' or 1=1 -- </result_name>"},
              "<result_name>" + std::string(100'000, 'a') + "</result_name>"}) {
            send(1, text, "dedloc_credit");
        }
        CHECK(heed().credit == 0.0);
    }
    CHECK(world.one("select min(handled) x from msg_from_host") == "1");
    send(1, true_text, "of another handler");
    CHECK(heed().contributions == 0);
    CHECK(world.one("select min(handled) x from msg_from_host") == "0");
}

TEST_CASE(
    "10,000 contributions, repeated and reordered, with crashes at every statement, aborted "
    "jobs and purged rows, are credited exactly once",
    "[validation][integration]") {
    constexpr int kSeats = 100;
    constexpr int kSteps = 100;
    constexpr int kRecordEvery = 10;
    const Rates rates = GENERATE(Rates{.sample = 0.25, .gigabyte = 0x1p-20 * 1e9, .is_exact = true},
                                 Rates{.sample = 0.012345678901234567, .gigabyte = 20});
    CreditWorld world{rates.sample, 5, rates.gigabyte};
    for (int seat = 0; seat < kSeats; ++seat) world.add_seat();
    Drawn drawn{world, kSeats};
    int crashes = 0;
    int place = 0;
    for (int step = 0; step < kSteps; ++step) {
        world.commit(drawn.step());
        if (step % kRecordEvery != kRecordEvery - 1) continue;
        world.record();
        if (step == 49) {
            // The swarm goes back four steps and repeats them with other samples: what has been
            // credited stays credited, and the repetition earns nothing.
            world.pass();
            world.return_to(46);
            for (int i = 0; i < 4; ++i) world.commit({{world.key(i), 1'000'000}});
            world.record();
        }
        // Some jobs ask for their credit.
        for (int seat = step % 7; seat < kSeats; seat += 7) {
            world.database().execute(
                "insert into msg_from_host (hostid, variety, handled, xml) values (?, "
                "'dedloc_credit', 0, ?)",
                {seat + 1, "<result_name>" + world.result_name(seat) + "</result_name>"});
        }
        world.database().execute("update result set server_state = 5, outcome = 3 where id = ?",
                                 {step});
        world.database().execute("delete from result where id = ?", {step / 2});
        world.database().execute("delete from workunit where id = ?", {step / 2});
        while (!pass_until(world, place = place % 150 + 1, 7)) {
            ++crashes;
            if (crashes % 20 == 0) world.record();  // every row once more, in between
        }
    }
    CHECK(crashes > 100);
    CHECK(world.one("select concat_ws(' ', sum(credit_state = 0), sum(credit_state = 1), "
                    "sum(credit_state = 3)) x from dedloc_contribution") ==
          fmt::format("0 {} {}", drawn.contributions, kSteps));
    CHECK(drawn.contributions > 9'000);
    check_sums(world, rates, drawn.work_of_user);
}

TEST_CASE("no statement of a pass reads a whole table", "[validation][integration]") {
    server::StatementLog log;
    CreditWorld world{0.25};
    for (int seat = 0; seat < 40; ++seat) world.add_seat();
    const auto commit_all = [&](int steps) {
        for (int step = 0; step < steps; ++step) {
            std::vector<std::pair<PeerKey, std::uint64_t>> lines;
            for (int seat = 0; seat < 40; ++seat) lines.emplace_back(world.key(seat), 8);
            world.commit(std::move(lines));
        }
        world.record();
    };
    commit_all(50);
    world.pass();
    server::revoke(world.database(), {.as_of = {}, .users = {9}, .hosts = {}, .peers = {}},
                   formats::UtcSeconds{std::chrono::seconds{kFirstCommit + 50}});
    for (int i = 1'000; i < 3'000; ++i) {
        world.database().execute(
            "insert into dedloc_revocation (kind, subject, since) values ('user', ?, ?)",
            {std::to_string(i), kFirstCommit + i});
    }
    commit_all(2);
    for (const char* const table : {"dedloc_contribution", "dedloc_revocation", "dedloc_ticket",
                                    "user", "host", "team", "result", "workunit"}) {
        world.database().query(fmt::format("analyze table {}", table));
    }
    log.begin();
    CHECK(world.pass().contributions == 78);
    for (int i = 0; i < 400; ++i) {
        world.database().execute(
            "insert into msg_from_host (hostid, variety, handled, xml) values (1, ?, ?, "
            "'<result_name>demo_1_0</result_name>')",
            {i % 2 == 0 ? "dedloc_credit" : "other", i < 390 ? 1 : 0});
    }
    world.database().query("analyze table msg_from_host");
    Creditor{world.database(), {}}.heed_messages();
    const auto findings = log.explain(world.database(), {"dedloc_run", "d", "w"});
    CHECK(findings.kinds > 10);
    CHECK(findings.scans == std::vector<std::string>{});
}
