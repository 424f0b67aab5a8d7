// Times rounds of n processes that run the same code at the same time.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace dedloc::bench {

/// One round of one process.
struct RankRound {
    double began = 0;  ///< seconds on the machine's clock
    double ended = 0;
    double cpu = 0;  ///< processor seconds of this process in between
};

/// Rounds of all processes.
struct Timed {
    double seconds = 0;      ///< median of the times from the last start to the last end
    double cpu_seconds = 0;  ///< mean per process and round
};

/// The code of one process, which has `rank` of `ranks`.
using Rank = std::function<std::vector<RankRound>(std::size_t rank, std::size_t ranks)>;

/// Forks `ranks` processes, each of which runs this. The calling process must have one thread.
Timed run_ranks(std::size_t ranks, const Rank& rank);

/// Calls and times one round.
RankRound timed_round(const std::function<void()>& round);

Timed summary_of(const std::vector<std::vector<RankRound>>& ranks);
double median_of(std::vector<double> values);

/// gloo's all-reduce over TCP on loopback with its defaults; the sum is checked. `digested`: every
/// process also digests the sum within the measured time, as in our rounds.
Timed gloo_rounds(std::size_t ranks, std::size_t elements, std::size_t rounds, bool digested);

/// Every process sends the number of bytes of an all-reduce to the next process, over one blocking
/// socket, and receives as many.
Timed socket_rounds(std::size_t ranks, std::size_t elements, std::size_t rounds);

}  // namespace dedloc::bench
