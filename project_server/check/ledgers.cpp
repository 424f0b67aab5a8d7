// The ledger is the authority, and rows are copied from it in its order. So the rows of a run are
// those of a beginning of the ledger: none more, and none missing before the last one that is
// there. dedloc_contribution is compared by key, and what dedloc-purge has compacted as one sum.
//
// The database is read first, in one view, and the ledger after it, so a backbone that works
// meanwhile adds to the ledger only what the rows may lack.
#include <fmt/format.h>

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "peer/base/error.hpp"
#include "project_server/backbone/ledger.hpp"
#include "project_server/backbone/ledger_proof.hpp"
#include "project_server/check/checks.hpp"
#include "project_server/check/run_folder.hpp"

namespace dedloc::check {
namespace {

constexpr int kKeysAtOnce = 1'000;

const std::string kCompare =
    "ledger and database are from different times, or rows were changed: restore both from one "
    "backup";

/// Contributions: how many, their samples, and the bytes that they reduced.
struct Sum {
    std::uint64_t rows = 0;
    std::uint64_t samples = 0;
    std::uint64_t reduced_bytes = 0;

    void add(const Sum& more) {
        rows += more.rows;
        samples += more.samples;
        reduced_bytes += more.reduced_bytes;
    }
    bool operator==(const Sum&) const = default;
};

/// The contributions of a run.
struct Contributed {
    std::map<std::string, Sum> by_key;  ///< after the compacted steps; key in hex
    Sum compacted;                      ///< up to that step
};

/// What the database has of a run.
struct RunRows {
    std::string state;
    std::string final_digest;
    std::uint64_t compacted = 0;     ///< dedloc_run.compacted
    std::uint64_t last_step = 0;     ///< the last row of dedloc_step
    std::uint64_t steps = 0;         ///< rows of dedloc_step
    std::uint64_t step_samples = 0;  ///< their sum
    Contributed contributed;
};

std::uint64_t count_of(const server::Row& row, std::string_view column) {
    return static_cast<std::uint64_t>(row.integer(column));
}

Sum sum_in(const server::Row& row) {
    return {.rows = count_of(row, "n"),
            .samples = count_of(row, "samples"),
            .reduced_bytes = count_of(row, "bytes")};
}

std::map<std::string, Sum> sums_by_key(server::Database& database, std::int64_t run,
                                       std::uint64_t after) {
    std::map<std::string, Sum> sums;
    for (std::string last;;) {
        const auto rows = database.query(
            "select peer_key, count(*) as n, sum(samples) as samples, sum(reduced_bytes) as bytes "
            "from dedloc_contribution where runid = ? and peer_key > ? and step > ? group by "
            "peer_key order by peer_key "
            "limit ?",
            {run, last, after, kKeysAtOnce});
        for (const auto& row : rows) {
            last = row.text("peer_key");
            sums[last].add(sum_in(row));
        }
        if (rows.size() < kKeysAtOnce) return sums;
    }
}

std::optional<RunRows> read_rows(server::Database& database, const std::string& name) {
    const server::Transaction view{database};
    const auto run = database.query_one(
        "select id, state, final_digest, compacted from dedloc_run where name = ?", {name});
    if (!run) return std::nullopt;
    const auto id = run->integer("id");
    RunRows rows{.state = run->text("state"),
                 .final_digest = run->text("final_digest"),
                 .compacted = count_of(*run, "compacted"),
                 .contributed = {}};
    const auto steps = database.query_one(
        "select count(*) as n, coalesce(max(step), 0) as last, coalesce(sum(samples), 0) as "
        "samples from dedloc_step where runid = ?",
        {id});
    rows.steps = count_of(*steps, "n");
    rows.last_step = count_of(*steps, "last");
    rows.step_samples = count_of(*steps, "samples");
    for (const auto& old :
         {database.query_one("select count(*) as n, coalesce(sum(samples), 0) as samples, "
                             "coalesce(sum(reduced_bytes), 0) as bytes from "
                             "dedloc_contribution where runid = ? and step <= ?",
                             {id, rows.compacted}),
          database.query_one("select coalesce(sum(contributions), 0) as n, coalesce(sum(samples + "
                             "unowned), 0) as samples, coalesce(sum(reduced_bytes + "
                             "unowned_bytes), 0) as bytes from dedloc_daily_credit where "
                             "runid = ?",
                             {id})}) {
        rows.contributed.compacted.add(sum_in(*old));
    }
    rows.contributed.by_key = sums_by_key(database, id, rows.compacted);
    return rows;
}

/// The contributions of a ledger.
struct LedgerSums {
    Contributed contributed;
    std::uint64_t steps = 0;      ///< that the last record leads to
    bool has_void_steps = false;  ///< a generation has made decisions void
};

/// Sums up to the update `last`, and all of them where steps were repeated.
LedgerSums read_ledger(const RunFolder& folder, std::uint64_t compacted, std::uint64_t last) {
    LedgerSums sums;
    backbone::LedgerReader reader{folder.ledger(), {folder.id, folder.run->backbone_key}};
    while (const auto record = reader.next()) {
        if (const auto* const begun = std::get_if<SignedGeneration>(&*record)) {
            if (begun->record.step.value() < sums.steps) sums.has_void_steps = true;
        }
        sums.steps = reader.place().codec.head().step.value();
        const auto* const commit = std::get_if<backbone::LedgerCommit>(&*record);
        if (commit == nullptr || (sums.steps > last && !sums.has_void_steps)) continue;
        const CommitRecord& decided = commit->decision.record;
        const std::vector<std::uint64_t> bytes = reduced_bytes(decided, folder.run->codec);
        for (std::size_t k = 0; k < decided.members.size(); ++k) {
            const CommitLine& line = decided.members[k];
            if (line.samples == Samples{0} && bytes[k] == 0) continue;
            Sum& sum = sums.steps <= compacted ? sums.contributed.compacted
                                               : sums.contributed.by_key[line.peer.hex()];
            sum.add({.rows = 1, .samples = line.samples.value(), .reduced_bytes = bytes[k]});
        }
    }
    return sums;
}

class LedgerComparison {
  public:
    LedgerComparison(std::string run, bool may_repeat, Findings& findings)
        : run_(std::move(run)), may_repeat_(may_repeat), findings_(findings) {}

    void contributions(const Contributed& rows, const Contributed& ledger) {
        compare("compacted contributions", rows.compacted, ledger.compacted);
        for (const auto& [key, sum] : rows.by_key) {
            const auto found = ledger.by_key.find(key);
            compare("contributions of the key " + key.substr(0, 8), sum,
                    found == ledger.by_key.end() ? Sum{} : found->second);
        }
        for (const auto& [key, sum] : ledger.by_key) {
            if (!rows.by_key.contains(key)) {
                compare("contributions of the key " + key.substr(0, 8), Sum{}, sum);
            }
        }
    }

  private:
    void compare(const std::string& what, const Sum& rows, const Sum& ledger) {
        if (rows == ledger) return;
        const bool is_more = rows.rows > ledger.rows || rows.samples > ledger.samples ||
                             rows.reduced_bytes > ledger.reduced_bytes;
        // A step that was repeated has one row, and two decisions.
        if (!is_more && may_repeat_) return;
        findings_.bad(fmt::format("{} in the run {}: {} rows with {} samples and {} reduced bytes "
                                  "in the database, {} with {} and {} in the ledger",
                                  what, run_, rows.rows, rows.samples, rows.reduced_bytes,
                                  ledger.rows, ledger.samples, ledger.reduced_bytes),
                      kCompare);
    }

    const std::string run_;
    const bool may_repeat_;
    Findings& findings_;
};

/// Whether the ledger proves the digest that the database has of the run's last state.
bool proves_end(const backbone::LedgerProof& proof, const RunRows& rows,
                const formats::RunFile& run) {
    formats::CheckpointHead last{.step = StepIndex{run.steps}, .digest = {}};
    return Digest::parse(rows.final_digest, last.digest) &&
           proof.judge(last) == backbone::Standing::kProven;
}

void check_run(const RunFolder& folder, const std::optional<RunRows>& rows, Findings& findings) {
    const std::string name = folder.name();
    if (!std::filesystem::exists(folder.ledger())) {
        if (rows && rows->last_step > 0) {
            findings.bad(fmt::format("the run {} has {} steps in the database and no ledger", name,
                                     rows->last_step),
                         "put the ledger back from a backup");
        } else {
            findings.good(fmt::format("the run {} has no ledger yet", name));
        }
        return;
    }
    const backbone::LedgerProof proof{folder.ledger(), *folder.run};
    const auto proven =
        fmt::format("all {} steps of the run {} are proven", proof.head().step.value(), name);
    if (!rows) return findings.good(proven + "; rows were not compared");
    const auto last = rows->last_step;
    const auto ledger = read_ledger(folder, rows->compacted, last);
    if (last > ledger.steps) {
        return findings.bad(fmt::format("the run {} has {} steps in the database, and {} in the "
                                        "ledger",
                                        name, last, ledger.steps),
                            kCompare);
    }
    bool is_good = true;
    const auto before = findings.count(Level::kBad);
    LedgerComparison{name, ledger.has_void_steps, findings}.contributions(rows->contributed,
                                                                          ledger.contributed);
    if (rows->steps != last) {
        findings.bad(fmt::format("the run {} has {} rows of steps in the database up to step {}",
                                 name, rows->steps, last),
                     kCompare);
    } else if (proof.contributions(StepIndex{last}).samples.value() != rows->step_samples) {
        findings.bad(fmt::format("the steps of the run {} have other samples in the database than "
                                 "in the ledger",
                                 name),
                     kCompare);
    }
    if (rows->state == "finished" && !proves_end(proof, *rows, *folder.run)) {
        findings.bad(fmt::format("the database has another last state of the run {} than the "
                                 "ledger",
                                 name),
                     kCompare);
    }
    is_good = findings.count(Level::kBad) == before;
    if (!is_good) return;
    findings.good(last == ledger.steps
                      ? fmt::format("{}, and in the database", proven)
                      : fmt::format("{}, and in the database but for the last {}, which the "
                                    "backbone adds when it and the database work",
                                    proven, ledger.steps - last));
}

}  // namespace

void check_ledgers(const Subject& subject, server::Database* database, Findings& findings) {
    const auto folders = run_folders(subject.state());
    for (const RunFolder& folder : folders) {
        if (!folder.run) continue;  // a finding of check_runs
        try {
            check_run(folder,
                      database == nullptr ? std::nullopt : read_rows(*database, folder.name()),
                      findings);
        } catch (const server::DatabaseError&) {
            throw;
        } catch (const Error& error) {
            findings.bad(error.what(), "put the run's folder back from a backup");
        }
    }
    if (folders.empty()) findings.good("there are no runs");
}

}  // namespace dedloc::check
