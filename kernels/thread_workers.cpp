// A job lies on the stack of the thread that calls run(). Helpers find it under mutex_, count
// themselves as busy and take tasks from an atomic counter, as the caller itself does. When the
// counter has run out the caller withdraws the job, so that no helper enters any more, and waits
// until none is busy; only then may the job end. A helper compares generation_ to enter each job
// once. turn_ makes several callers take turns; a job of one task runs without it.
#include "kernels/thread_workers.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "kernels/check.hpp"

namespace dedloc::kernels {
namespace {

constexpr std::size_t kMaxThreads = 1024;

struct Job {
    TaskView task;
    std::size_t tasks;
    std::atomic<std::size_t> next{0};

    void work() {
        for (std::size_t i = next.fetch_add(1); i < tasks; i = next.fetch_add(1)) task(i);
    }
};

}  // namespace

std::size_t threads_within_reach(std::size_t wanted) {
    // hardware_concurrency() is 0 if the system does not report it.
    const std::size_t reach =
        std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kMaxThreads);
    return wanted == 0 ? reach : std::min(wanted, reach);
}

class ThreadWorkers::Pool {
  public:
    explicit Pool(std::size_t helpers) {
        try {
            for (std::size_t i = 0; i < helpers; ++i) threads_.emplace_back([this] { help(); });
        } catch (...) {
            end();
            throw;
        }
    }
    ~Pool() { end(); }
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    void run(std::size_t tasks, TaskView task) {
        Job job{.task = task, .tasks = tasks};
        if (tasks <= 1 || threads_.empty()) return job.work();
        const std::lock_guard turn{turn_};
        {
            const std::lock_guard lock{mutex_};
            job_ = &job;
            ++generation_;
        }
        wake_.notify_all();
        job.work();
        std::unique_lock lock{mutex_};
        job_ = nullptr;
        idle_.wait(lock, [this] { return busy_ == 0; });
    }

  private:
    void help() {
        std::uint64_t seen = 0;
        std::unique_lock lock{mutex_};
        while (true) {
            wake_.wait(lock,
                       [&] { return is_ending_ || (job_ != nullptr && generation_ != seen); });
            if (is_ending_) return;
            seen = generation_;
            ++busy_;
            Job* const job = job_;
            lock.unlock();
            job->work();
            lock.lock();
            if (--busy_ == 0) idle_.notify_one();
        }
    }

    void end() {
        {
            const std::lock_guard lock{mutex_};
            is_ending_ = true;
        }
        wake_.notify_all();
        for (std::thread& thread : threads_) thread.join();
    }

    std::mutex turn_;  ///< held by the caller of the current job
    std::mutex mutex_;
    std::condition_variable wake_;
    std::condition_variable idle_;
    Job* job_ = nullptr;  ///< null as soon as all tasks have been taken
    std::uint64_t generation_ = 0;
    std::size_t busy_ = 0;  ///< helpers inside the job
    bool is_ending_ = false;
    std::vector<std::thread> threads_;
};

ThreadWorkers::ThreadWorkers(std::size_t count, InstructionSet set) : set_(set) {
    DEDLOC_KERNEL_REQUIRE(count >= 1 && count <= kMaxThreads, "workers are 1 to 1,024 threads",
                          static_cast<double>(count));
    DEDLOC_KERNEL_REQUIRE(set <= widest_instruction_set(),
                          "this processor lacks the instructions asked for");
    pool_ = std::make_unique<Pool>(count - 1);
}

ThreadWorkers::~ThreadWorkers() = default;

void ThreadWorkers::run(std::size_t tasks, TaskView task) const {
    pool_->run(tasks, task);
}

}  // namespace dedloc::kernels
