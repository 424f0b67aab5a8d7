// Notifications overwrite fields of news_ under the lock; the thread takes all of them, writes
// without the lock and clears each part as it is written. If the database fails, unwritten parts go
// back unless newer ones have come, and are retried after two seconds with a new connection. The
// ledger is copied in transactions of at most 200 records; recorded_ moves after the commit, and
// each transaction begins its reading there. A row that the database refuses is logged and skipped.
#include "project_server/backbone/run_recorder.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <ctime>
#include <utility>
#include <variant>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "project_server/backbone/role_name.hpp"
#include "project_server/database/states.hpp"
#include "project_server/database/suspicions.hpp"

namespace dedloc::backbone {
namespace {

/// Ledger records in one transaction while catching up.
constexpr int kRecordsAtOnce = 200;
constexpr std::chrono::seconds kRetryAfter{2};
/// Different refusals that are logged; a peer could cause any number.
constexpr std::size_t kMaxRefusals = 100;
/// Kinds of accusations that wait for the database. Others are in the log only.
constexpr std::size_t kMaxAccusations = 1'000;

/// Columns hold no NaN and no infinity, and the row counts without the figure.
double storable(double figure) {
    return std::isfinite(figure) ? figure : 0;
}

}  // namespace

RunRecorder::RunRecorder(RecorderOptions options, const CheckpointStore& store)
    : options_(std::move(options)),
      store_(store),
      reader_(options_.ledger, {options_.run, options_.backbone}),
      recorded_(reader_.place()),
      presences_(options_.codec) {
    thread_ = std::thread{[this] { run(); }};
}

RunRecorder::~RunRecorder() {
    stop();
}

void RunRecorder::ledger_has_grown() {
    {
        const std::lock_guard lock{mutex_};
        news_.ledger = true;
    }
    changed_.notify_all();
}

void RunRecorder::checkpoints_have_changed() {
    {
        const std::lock_guard lock{mutex_};
        news_.checkpoints = true;
    }
    changed_.notify_all();
}

void RunRecorder::swarm_seen(std::vector<SeatView> seats) {
    {
        const std::lock_guard lock{mutex_};
        news_.seats = std::move(seats);
    }
    changed_.notify_all();
}

void RunRecorder::run_is_finished(const Digest& digest) {
    {
        const std::lock_guard lock{mutex_};
        news_.final_digest = digest;
    }
    changed_.notify_all();
}

void RunRecorder::pause_changed(bool is_paused) {
    {
        const std::lock_guard lock{mutex_};
        news_.is_paused = is_paused;
    }
    changed_.notify_all();
}

void RunRecorder::suspected(const control::Suspicion& suspicion) {
    const auto kind = std::pair{suspicion.key, suspicion.what};
    {
        const std::lock_guard lock{mutex_};
        auto& accusations = news_.accusations;
        if (accusations.size() >= kMaxAccusations && !accusations.contains(kind)) return;
        Counted& counted = accusations[kind];
        counted.last = suspicion;
        ++counted.times;
    }
    changed_.notify_all();
}

void RunRecorder::stop() {
    {
        const std::lock_guard lock{mutex_};
        is_stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void RunRecorder::run() {
    std::unique_lock lock{mutex_};
    for (;;) {
        changed_.wait(lock, [this] { return is_stopping_ || news_.any(); });
        const bool is_last_round = is_stopping_;
        News news = std::exchange(news_, News{.ledger = false, .checkpoints = false});
        lock.unlock();
        const bool is_recorded = record(news);
        lock.lock();
        if (is_last_round) return;
        if (!is_recorded) {
            keep_unrecorded(std::move(news));
            changed_.wait_for(lock, kRetryAfter, [this] { return is_stopping_; });
        }
    }
}

/// Puts unwritten news back unless newer ones have arrived in the meantime. Requires mutex_.
void RunRecorder::keep_unrecorded(News&& news) {
    news_.ledger = news_.ledger || news.ledger;
    news_.checkpoints = news_.checkpoints || news.checkpoints;
    if (!news_.seats) news_.seats = std::move(news.seats);
    if (!news_.final_digest) news_.final_digest = news.final_digest;
    if (!news_.is_paused) news_.is_paused = news.is_paused;
    for (auto& [kind, accusation] : news.accusations) {
        const auto [place, is_new] = news_.accusations.try_emplace(kind, accusation);
        if (!is_new) place->second.times += accusation.times;
    }
}

/// Writes the news, and unsets in `news` what it has written. False if the database failed.
bool RunRecorder::record(News& news) {
    try {
        if (!database_) connect();
        if (news.ledger) record_ledger();
        news.ledger = false;
        if (news.checkpoints) record_checkpoints();
        news.checkpoints = false;
        if (news.seats) record_seats(*news.seats);
        news.seats.reset();
        if (news.is_paused) record_pause(*news.is_paused);
        news.is_paused.reset();
        if (!news.accusations.empty()) record_accusations(news.accusations);
        news.accusations.clear();
        if (news.final_digest) record_end(*news.final_digest);
        news.final_digest.reset();
    } catch (const Error& error) {
        database_.reset();
        if (!is_down_) {
            log_warning("{} The run goes on; its rows will follow from the ledger.", error.what());
        }
        is_down_ = true;
        return false;
    }
    if (std::exchange(is_down_, false)) log_info("The database is back, its rows are up to date");
    return true;
}

void RunRecorder::connect() {
    auto database = std::make_unique<server::Database>(options_.database);
    const auto row = database->query_one("select id, run_id from dedloc_run where name = ?",
                                         {options_.run_name});
    if (!row || row->text("run_id") != options_.run.hex()) {
        throw InputError(fmt::format("The database has no run \"{}\" with the id {}.",
                                     options_.run_name, options_.run.brief()));
    }
    run_row_ = row->integer("id");
    database_ = std::move(database);
}

/// Does what writes one row. A value that the database refuses must not hold up the other rows.
template <class Work>
void RunRecorder::unless_refused(const Work& work) {
    try {
        work();
    } catch (const server::RefusedData& error) {
        const bool is_new =
            refusals_.size() < kMaxRefusals && refusals_.insert(error.what()).second;
        if (is_new) log_error("run {}: a row is not recorded. {}", options_.run_name, error.what());
    }
}

void RunRecorder::write(std::string_view sql, server::Parameters parameters) {
    unless_refused([&] { database_->execute(sql, parameters); });
}

void RunRecorder::record_ledger() {
    for (bool is_more = true; is_more;) {
        PresenceTracker presences{options_.codec};
        server::in_transaction(*database_, [&] {
            // The lock keeps dedloc-purge from compacting what this transaction inserts.
            const auto row = database_->query_one(
                "select compacted from dedloc_run where id = ? lock in share mode", {run_row_});
            compacted_ = row ? static_cast<std::uint64_t>(row->integer("compacted")) : 0;
            reader_.return_to(recorded_);
            presences = presences_;
            int count = 0;
            while (count < kRecordsAtOnce) {
                const auto next = reader_.next();
                if (!next) break;
                std::visit([this](const auto& what) { record_ledger_record(what); }, *next);
                const auto* const commit = std::get_if<LedgerCommit>(&*next);
                if (commit != nullptr) presences.add(*commit);
                ++count;
            }
            is_more = count == kRecordsAtOnce;
            record_presences(presences);
        });
        recorded_ = reader_.place();
        presences_ = std::move(presences);
    }
}

/// Presences are not compacted, so those of the whole ledger are written again after a start.
void RunRecorder::record_presences(PresenceTracker& presences) {
    for (const server::Presence& presence : presences.take_changed()) {
        unless_refused([&] { server::record_presence(*database_, run_row_, presence); });
    }
}

void RunRecorder::record_contributions(const LedgerCommit& commit) {
    const auto updates = commit.decision.record.step.next().value();
    if (updates <= compacted_) return;
    const CommitRecord& record = commit.decision.record;
    const std::vector<std::uint64_t> bytes = reduced_bytes(record, options_.codec);
    for (std::size_t k = 0; k < record.members.size(); ++k) {
        const CommitLine& line = record.members[k];
        if (line.samples == Samples{0} && bytes[k] == 0) continue;
        // A row that has been credited is not changed.
        constexpr auto kCredited = server::CreditState::kCredited;
        write(
            "insert into dedloc_contribution (runid, step, peer_key, samples, loss_sum, "
            "reduced_bytes, committed_at) values (?, ?, ?, ?, ?, ?, ?) on duplicate key update "
            "loss_sum = if(credit_state <> ?, values(loss_sum), loss_sum), "
            "samples = if(credit_state <> ?, values(samples), samples), "
            "reduced_bytes = if(credit_state <> ?, values(reduced_bytes), reduced_bytes), "
            "committed_at = if(credit_state <> ?, values(committed_at), committed_at)",
            {run_row_, updates, line.peer.hex(), line.samples.value(), storable(line.loss_sum),
             bytes[k], seconds_of(commit.committed_at.time_since_epoch()), kCredited, kCredited,
             kCredited, kCredited});
    }
}

void RunRecorder::record_ledger_record(const LedgerCommit& commit) {
    const CommitRecord& record = commit.decision.record;
    const auto updates = record.step.next().value();
    record_contributions(commit);
    Samples samples;
    double loss_sum = 0;
    for (const auto& line : record.members) {
        samples += line.samples;
        loss_sum += line.loss_sum;
    }
    const double loss =
        samples == Samples{0} ? 0.0 : storable(loss_sum / static_cast<double>(samples.value()));
    write(
        "insert into dedloc_step (runid, step, samples, loss, learning_rate, members, "
        "equal_digests, digest, seconds, committed_at) values (?, ?, ?, ?, ?, ?, 0, '', ?, ?) "
        "on duplicate key update samples = values(samples), loss = values(loss), "
        "learning_rate = values(learning_rate), seconds = values(seconds), "
        "committed_at = values(committed_at)",
        {run_row_, updates, samples.value(), loss,
         static_cast<double>(std::bit_cast<float>(record.scalars.learning_rate)),
         record.members.size(), seconds_of(commit.took),
         seconds_of(commit.committed_at.time_since_epoch())});
    write("update dedloc_step set digest = ? where runid = ? and step = ?",
          {record.previous_state.hex(), run_row_, record.step.value()});
}

void RunRecorder::record_ledger_record(const LedgerSettled& settled) {
    write("update dedloc_step set members = ?, equal_digests = ? where runid = ? and step = ?",
          {settled.reported, settled.equal, run_row_, settled.step.value()});
    if (!settled.digest) return;
    write("update dedloc_step set digest = ? where runid = ? and step = ?",
          {settled.digest->hex(), run_row_, settled.step.value()});
}

/// The loss curve continues from the generation's step. Contributions to void steps stay: the
/// voters had decided them, so their peers are credited for the work.
void RunRecorder::record_ledger_record(const SignedGeneration& generation) {
    write("delete from dedloc_step where runid = ? and step > ?",
          {run_row_, generation.record.step.value()});
}

void RunRecorder::record_checkpoints() {
    const auto entries = store_.list();
    server::in_transaction(*database_, [&] {
        write("delete from dedloc_checkpoint where runid = ?", {run_row_});
        for (const auto& entry : entries) {
            write(
                "insert into dedloc_checkpoint (runid, step, digest, path, bytes, created_at, "
                "source) "
                "values (?, ?, ?, ?, ?, ?, ?)",
                {run_row_, entry.head.step.value(), entry.head.digest.hex(), entry.path.string(),
                 entry.bytes, entry.created_at, entry.source});
        }
    });
}

void RunRecorder::record_seats(const std::vector<SeatView>& seats) {
    const double now = server::unix_now();
    server::in_transaction(*database_, [&] {
        for (const auto& seat : seats) {
            write(
                "insert into dedloc_seat (runid, peer_key, result_name, role, address, state, "
                "step, samples_per_second, digest, first_seen, last_seen) "
                "values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on duplicate key update "
                "result_name = values(result_name), role = values(role), "
                "address = values(address), state = values(state), step = values(step), "
                "samples_per_second = values(samples_per_second), digest = values(digest), "
                "last_seen = values(last_seen)",
                {run_row_, seat.peer.hex(), seat.result_name, role_name(seat.role),
                 seat.endpoint.text(), seat.has_state ? "working" : "joining", seat.step.value(),
                 storable(seat.samples_per_second), seat.digest.hex(), now, now});
        }
        write(
            "update dedloc_seat set state = 'left', samples_per_second = 0 "
            "where runid = ? and last_seen < ? and state in ('working', 'joining')",
            {run_row_, now});
    });
}

void RunRecorder::record_end(const Digest& digest) {
    write("update dedloc_run set state = 'finished', final_digest = ? where id = ?",
          {digest.hex(), run_row_});
}

/// The ticket says whose the key is. One transaction: it is repeated as a whole, or not at all.
void RunRecorder::record_accusations(const Accusations& accusations) {
    const auto now = static_cast<std::int64_t>(std::time(nullptr));
    server::in_transaction(*database_, [&] {
        for (const auto& [kind, accusation] : accusations) {
            // A suspicion without a key is about the run itself.
            const std::string key = kind.first == PeerKey{} ? "" : kind.first.hex();
            const auto ticket = database_->query_one(
                "select userid, hostid from dedloc_ticket where runid = ? and peer_key = ?",
                {run_row_, key});
            const server::Suspicion suspicion{.source = server::SuspicionSource::kSwarm,
                                              .run = run_row_,
                                              .user = ticket ? ticket->integer("userid") : 0,
                                              .host = ticket ? ticket->integer("hostid") : 0,
                                              .key = key,
                                              .what = kind.second,
                                              .detail = accusation.last.text,
                                              .step = accusation.last.step,
                                              .times = accusation.times};
            unless_refused([&] { server::record_suspicion(*database_, suspicion, now); });
        }
    });
}

void RunRecorder::record_pause(bool is_paused) {
    write("update dedloc_run set state = ? where id = ? and state <> 'finished'",
          {is_paused ? "paused" : "running", run_row_});
}

}  // namespace dedloc::backbone
