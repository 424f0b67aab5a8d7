// There are two mutexes: mutex_ guards the list and is held for moments; reading_ is held while one
// request reads the database for all. A request that finds no job waits for reading_, and reads
// only if no other request has read meanwhile; read_ahead() reads before the list is empty and
// never waits. load() queries without mutex_, so it asks for as many more jobs as are taken, and
// leaves out those that were taken before or during the query. A Taking gives its ids back after
// the commit: then the database no longer has the jobs as unsent.
#include "project_server/scheduler/ready_jobs.hpp"

#include <algorithm>
#include <utility>

#include "project_server/database/states.hpp"

namespace dedloc::server {
namespace {

constexpr const char* kColumns =
    "select straight_join r.id, r.name, r.workunitid, r.priority, r.xml_doc_in, w.appid, w.name as "
    "workunit_name, w.rsc_fpops_est, w.rsc_fpops_bound, w.rsc_memory_bound, w.rsc_disk_bound, "
    "w.delay_bound, w.xml_doc, coalesce(d.gpu_memory, 0) as gpu_memory from ";
constexpr const char* kJoins =
    " join workunit w on w.id = r.workunitid and w.error_mask = 0 and w.canonical_resultid = 0 "
    "left join dedloc_run d on d.id = w.opaque ";
/// The oldest of the highest priority, and others by priority. The index on state and priority
/// yields both in order, however many are unsent; of equal priorities the second part has the
/// newest. The joins begin with them, or the database would read all workunits. Documents are
/// joined and rows are sorted here, or the database would write them to a file.
constexpr const char* kFirstUnsent =
    "((select id from result where server_state = ? and priority = (select max(priority) from "
    "result where server_state = ?) order by id limit ?) union (select id from result where "
    "server_state = ? order by server_state desc, priority desc limit ?)) f join result r on r.id "
    "= f.id";

Job as_job(const Row& row) {
    return {.id = row.integer("id"),
            .workunit = row.integer("workunitid"),
            .app = row.integer("appid"),
            .name = row.text("name"),
            .workunit_name = row.text("workunit_name"),
            .fpops_est = row.real("rsc_fpops_est"),
            .fpops_bound = row.real("rsc_fpops_bound"),
            .memory = row.real("rsc_memory_bound"),
            .disk = row.real("rsc_disk_bound"),
            .gpu_memory = row.real("gpu_memory"),
            .delay_bound = row.integer("delay_bound"),
            .workunit_document = row.text("xml_doc"),
            .result_document = row.text("xml_doc_in")};
}

}  // namespace

std::optional<Job> find_job(Database& database, const std::string& name) {
    const auto row = database.query_one(
        std::string{kColumns} + "result r" + kJoins + "where r.name = ?", {name});
    if (!row) return std::nullopt;
    return as_job(*row);
}

ReadyJobs::Taking::~Taking() {
    const std::lock_guard lock{jobs_.mutex_};
    for (const std::int64_t id : taken_) jobs_.taken_.erase(id);
}

std::shared_ptr<const Job> ReadyJobs::Taking::take(Database& database,
                                                   const std::function<bool(const Job&)>& fits) {
    std::uint64_t reads = 0;
    for (;;) {
        auto job = jobs_.take(fits, begun_ - kMaxAge, reads);
        if (job) {
            taken_.push_back(job->id);
            jobs_.read_ahead(database);
            return job;
        }
        if (!jobs_.read(database, begun_, reads)) return nullptr;
    }
}

std::shared_ptr<const Job> ReadyJobs::take(const std::function<bool(const Job&)>& fits,
                                           Clock::time_point oldest, std::uint64_t& reads) {
    const std::lock_guard lock{mutex_};
    reads = reads_;
    if (read_at_ <= oldest) return nullptr;
    const auto found = std::ranges::find_if(jobs_, [&](const auto& job) { return fits(*job); });
    if (found == jobs_.end()) return nullptr;
    auto job = *found;
    jobs_.erase(found);
    taken_.insert(job->id);
    return job;
}

bool ReadyJobs::read(Database& database, Clock::time_point limit, std::uint64_t reads) {
    const std::lock_guard reading{reading_};
    {
        const std::lock_guard lock{mutex_};
        if (reads_ != reads) return true;
        if (read_at_ > limit && !(jobs_.empty() && are_more_)) return false;
    }
    load(database);
    return true;
}

void ReadyJobs::read_ahead(Database& database) {
    const auto is_due = [this] {
        const std::lock_guard lock{mutex_};
        return are_more_ && jobs_.size() < kKept / 4;
    };
    if (!is_due()) return;
    const std::unique_lock reading{reading_, std::try_to_lock};
    if (reading.owns_lock() && is_due()) load(database);
}

void ReadyJobs::load(Database& database) {
    std::set<std::int64_t> taken;
    {
        const std::lock_guard lock{mutex_};
        taken = taken_;
    }
    const auto begin = Clock::now();
    const std::size_t asked = kKept + taken.size();
    Rows rows = database.query(
        std::string{kColumns} + kFirstUnsent + kJoins +
            "join app a on a.id = w.appid where a.deprecated = 0 and w.transitioner_flags = 0",
        {ServerState::kUnsent, ServerState::kUnsent, asked, ServerState::kUnsent, asked});
    std::ranges::sort(rows, {}, [](const Row& row) {
        return std::pair{-row.integer("priority"), row.integer("id")};
    });
    const std::lock_guard lock{mutex_};
    jobs_.clear();
    for (const Row& row : rows) {
        // Also those that requests have taken meanwhile are taken.
        const std::int64_t id = row.integer("id");
        if (taken.contains(id) || taken_.contains(id)) continue;
        jobs_.push_back(std::make_shared<const Job>(as_job(row)));
    }
    are_more_ = rows.size() >= asked;
    read_at_ = begin;
    ++reads_;
}

}  // namespace dedloc::server
