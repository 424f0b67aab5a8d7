// The unsent jobs that come next, kept in memory for all requests, as the feeder of BOINC's server
// keeps them. Concurrent requests take different jobs from it, so they do not wait for each other's
// rows. The database decides who gets a job: dispatch.cpp marks it with a compare-and-set.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// A job and what its host must be told about it.
struct Job {
    std::int64_t id = 0;            ///< key of its row in `result`
    std::int64_t workunit = 0;      ///< key of its row in `workunit`
    std::int64_t app = 0;           ///< key of its row in `app`
    std::string name;               ///< the result's
    std::string workunit_name;      ///< the workunit's
    double fpops_est = 0;           ///< floating point operations
    double fpops_bound = 0;         ///< the client ends the job after this many
    double memory = 0;              ///< bytes that it needs
    double disk = 0;                ///< bytes that it needs without the app version's files
    double gpu_memory = 0;          ///< bytes that its run's model needs on a GPU
    std::int64_t delay_bound = 0;   ///< seconds from sending to the deadline
    std::string workunit_document;  ///< xml_doc of the workunit
    std::string result_document;    ///< xml_doc_in of the result
};

/// The job with this name; nothing if there is none or if its workunit has failed or has a result
/// already. Errors: DatabaseError.
std::optional<Job> find_job(Database& database, const std::string& name);

/// The first unsent jobs by priority. Thread: any.
class ReadyJobs {
  public:
    /// How many jobs are kept. A host that none of them fits gets no job, although a later one
    /// might fit.
    static constexpr std::size_t kKept = 64;
    /// Age at which they are read again, so that new jobs of a higher priority are sent.
    static constexpr std::chrono::seconds kMaxAge{2};

    /// The jobs that one request takes. No other request is offered them until destruction: create
    /// it before the request's transaction and destroy it after the commit.
    class Taking {
      public:
        explicit Taking(ReadyJobs& jobs) : jobs_(jobs), begun_(Clock::now()) {}
        ~Taking();
        Taking(const Taking&) = delete;
        Taking& operator=(const Taking&) = delete;

        /// Takes the first job by priority that `fits`; nothing if none does. Reads the database if
        /// no job that was read before does. Errors: DatabaseError.
        std::shared_ptr<const Job> take(Database& database,
                                        const std::function<bool(const Job&)>& fits);

      private:
        ReadyJobs& jobs_;
        const std::chrono::steady_clock::time_point begun_;
        std::vector<std::int64_t> taken_;
    };

  private:
    using Clock = std::chrono::steady_clock;

    /// Takes the first that fits of jobs that were read after `oldest`, and sets `reads` to how
    /// often jobs had been read by then.
    std::shared_ptr<const Job> take(const std::function<bool(const Job&)>& fits,
                                    Clock::time_point oldest, std::uint64_t& reads);
    /// Reads jobs if they were last read before `limit`, or if all that were read are taken and
    /// there are more. Returns whether they have been read since they had been read `reads` times,
    /// by this request or by another one.
    bool read(Database& database, Clock::time_point limit, std::uint64_t reads);
    /// Reads jobs if few are left and there are more, and no other request reads: the others go on
    /// taking those that are left, so they seldom wait for a read.
    void read_ahead(Database& database);
    /// Reads them. `reading_` is held.
    void load(Database& database);

    std::mutex reading_;  ///< held while the database is read: one request reads for all
    std::mutex mutex_;    ///< guards what follows
    std::vector<std::shared_ptr<const Job>> jobs_;  ///< the highest priority first
    std::set<std::int64_t> taken_;                  ///< ids of the jobs of live Takings
    std::uint64_t reads_ = 0;                       ///< how often jobs have been read
    Clock::time_point read_at_{};                   ///< when they began to be read
    bool are_more_ = false;                         ///< the database had more unsent ones
};

}  // namespace dedloc::server
