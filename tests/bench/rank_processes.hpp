// Rounds of n processes that do the same thing at the same time, timed together.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace dedloc::bench {

/// One round at one process.
struct RankRound {
    double began = 0;  ///< seconds of the machine's clock
    double ended = 0;
    double cpu = 0;  ///< processor seconds of this process in between
};

/// Rounds of all processes.
struct Timed {
    double seconds = 0;      ///< median of: from the last that begins to the last that ends
    double cpu_seconds = 0;  ///< of a process in a round, mean
};

/// What one process does; it has `rank` of `ranks`.
using Rank = std::function<std::vector<RankRound>(std::size_t rank, std::size_t ranks)>;

/// Forks `ranks` processes, each of which does this. The calling process must have one thread.
Timed run_ranks(std::size_t ranks, const Rank& rank);

/// Calls and times one round.
RankRound timed_round(const std::function<void()>& round);

Timed summary_of(const std::vector<std::vector<RankRound>>& ranks);
double median_of(std::vector<double> values);

/// gloo's all-reduce over TCP on loopback, as it comes; the sum is checked. `digested`: and the
/// digest of the sum at every process, in the same time, as our rounds have it.
Timed gloo_rounds(std::size_t ranks, std::size_t elements, std::size_t rounds, bool digested);

/// Every process sends to the next the bytes that an all-reduce has to send, over one blocking
/// socket, and receives as many.
Timed socket_rounds(std::size_t ranks, std::size_t elements, std::size_t rounds);

}  // namespace dedloc::bench
