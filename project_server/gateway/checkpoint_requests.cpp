// The cheap questions come first: whether this job is asked already, whether jobs are chosen for
// this period, whether the project lacks a checkpoint. The choice takes one suitable job of each
// account, sorts them by a digest of a signature that only the gateway can make, and inserts the
// first ones. Run, period and place are a unique key, so threads that choose at once cannot insert
// more. The last question repeats the first one, so every thread answers by the table.
#include "project_server/gateway/checkpoint_requests.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/formats/training_memory.hpp"
#include "project_server/database/states.hpp"

namespace dedloc::gateway {
namespace {

using server::Database;

/// More jobs of a run than are looked at once.
constexpr int kMaxCandidates = 10'000;
/// Rows of requests are kept so long.
constexpr std::chrono::hours kKept{24 * 90};

/// The place of an account in the order of a period: a signature, which only the gateway can make.
Digest place_of(const KeyPair& secret, std::int64_t run, std::int64_t period, std::int64_t user) {
    ByteWriter writer;
    writer.append(bytes_of("dedloc checkpoint request"));
    writer.write(run);
    writer.write(period);
    writer.write(user);
    return blake2b(secret.sign(std::move(writer).finish()));
}

/// Whether the project lacks a checkpoint that is younger than a period, and has a step that its
/// newest one has not.
bool lacks_checkpoint(Database& database, std::int64_t run, std::int64_t now) {
    const auto row = database.query_one(
        "select (select coalesce(max(created_at), 0) from dedloc_checkpoint where runid = ?) as "
        "at_, (select coalesce(max(step), 0) from dedloc_checkpoint where runid = ?) as saved, "
        "(select coalesce(max(step), 0) from dedloc_step where runid = ?) as step",
        {run, run, run});
    const auto age = static_cast<double>(now) - row->real("at_");
    return row->integer("step") > row->integer("saved") && age > seconds_of(kCheckpointPeriod);
}

/// The results that are chosen in a period.
std::vector<std::int64_t> chosen(Database& database, const KeyPair& secret, std::int64_t run,
                                 std::int64_t period, std::int64_t now) {
    const auto spec = database.query_one("select spec from dedloc_run where id = ?", {run});
    const auto bytes = formats::checkpoint_bytes(formats::parse_run_file(spec->text("spec")));
    const double slowest = static_cast<double>(bytes) / seconds_of(kUploadTime);
    std::map<std::int64_t, std::int64_t> results;  // one of each account
    for (const auto& row : database.query(
             "select r.id, r.userid from dedloc_ticket t join result r on r.id = t.resultid join "
             "host h on h.id = r.hostid where t.runid = ? and t.expires > ? and r.server_state = ? "
             "and h.n_bwup >= ? and h.max_results_day <> -1 and not exists (select 1 from app a "
             "where a.id = r.appid and a.non_cpu_intensive = 1) and not exists (select 1 from "
             "dedloc_upload u where u.runid = t.runid and u.resultid = r.id) order by r.id limit ?",
             {run, now, server::ServerState::kInProgress, slowest, kMaxCandidates})) {
        results.emplace(row.integer("userid"), row.integer("id"));
    }
    std::vector<std::pair<Digest, std::int64_t>> order;
    for (const auto& [user, result] : results) {
        order.emplace_back(place_of(secret, run, period, user), result);
    }
    std::ranges::sort(order);
    if (order.size() > kUploaders) order.resize(kUploaders);
    std::vector<std::int64_t> first;
    for (const auto& [place, result] : order) first.push_back(result);
    return first;
}

}  // namespace

bool is_asked_for_checkpoint(Database& database, const KeyPair& secret, const AskedJob& job,
                             formats::UtcSeconds now) {
    if (job.only_averages) return false;
    const std::int64_t time = now.time_since_epoch().count();
    const std::int64_t period = time / std::chrono::seconds{kCheckpointPeriod}.count();
    const auto is_ours = [&] {
        return database
            .query_one(
                "select 1 from dedloc_upload where runid = ? and resultid = ? and verdict = "
                "'' and asked > ?",
                {job.run, job.result, time - std::chrono::seconds{kAskedFor}.count()})
            .has_value();
    };
    if (is_ours()) return true;
    const bool is_over =
        database
            .query_one("select 1 from dedloc_upload where runid = ? and period = ?",
                       {job.run, period})
            .has_value();
    if (is_over || !lacks_checkpoint(database, job.run, time)) return false;
    database.execute("delete from dedloc_upload where runid = ? and asked < ?",
                     {job.run, time - std::chrono::seconds{kKept}.count()});
    int place = 0;
    for (const std::int64_t result : chosen(database, secret, job.run, period, time)) {
        // Another thread may have chosen for this period.
        database.execute(
            "insert ignore into dedloc_upload (runid, resultid, asked, period, place) values "
            "(?, ?, ?, ?, ?)",
            {job.run, result, time, period, place++});
    }
    return is_ours();
}

}  // namespace dedloc::gateway
