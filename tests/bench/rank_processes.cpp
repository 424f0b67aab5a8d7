#include "tests/bench/rank_processes.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <exception>

#include "peer/base/check.hpp"

namespace dedloc::bench {
namespace {

double now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double cpu_now() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

[[noreturn]] void be_rank(const Rank& rank, std::size_t number, std::size_t ranks, int output) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
        const std::vector<RankRound> rounds = rank(number, ranks);
        const std::size_t bytes = rounds.size() * sizeof(RankRound);
        const bool is_told = write(output, rounds.data(), bytes) == static_cast<ssize_t>(bytes);
        _exit(is_told ? 0 : 1);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "rank %zu: %s\n", number, error.what());
        _exit(1);
    }
}

}  // namespace

double median_of(std::vector<double> values) {
    DEDLOC_CHECK(!values.empty(), "a median of nothing");
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

RankRound timed_round(const std::function<void()>& round) {
    const double cpu = cpu_now();
    RankRound timed{.began = now()};
    round();
    timed.ended = now();
    timed.cpu = cpu_now() - cpu;
    return timed;
}

Timed summary_of(const std::vector<std::vector<RankRound>>& ranks) {
    std::vector<double> seconds;
    double cpu = 0;
    for (std::size_t round = 0; round < ranks.front().size(); ++round) {
        double began = 0;
        double ended = 0;
        for (const auto& rank : ranks) {
            began = std::max(began, rank.at(round).began);
            ended = std::max(ended, rank.at(round).ended);
            cpu += rank.at(round).cpu;
        }
        seconds.push_back(ended - began);
    }
    const auto all = static_cast<double>(ranks.size() * seconds.size());
    return {.seconds = median_of(seconds), .cpu_seconds = cpu / all};
}

Timed run_ranks(std::size_t ranks, const Rank& rank) {
    std::vector<int> outputs;
    std::vector<pid_t> pids;
    for (std::size_t number = 0; number < ranks; ++number) {
        std::array<int, 2> ends{};
        DEDLOC_CHECK(pipe(ends.data()) == 0, "there is no pipe");
        const pid_t pid = fork();
        DEDLOC_CHECK(pid >= 0, "there is no process");
        if (pid == 0) be_rank(rank, number, ranks, ends[1]);
        close(ends[1]);
        outputs.push_back(ends[0]);
        pids.push_back(pid);
    }
    std::vector<std::vector<RankRound>> all(ranks);
    for (std::size_t number = 0; number < ranks; ++number) {
        RankRound round;
        while (read(outputs[number], &round, sizeof round) == sizeof round) {
            all[number].push_back(round);
        }
        close(outputs[number]);
        int status = 0;
        waitpid(pids[number], &status, 0);
        DEDLOC_CHECK(status == 0 && !all[number].empty(), "a rank has failed", number);
    }
    return summary_of(all);
}

}  // namespace dedloc::bench
