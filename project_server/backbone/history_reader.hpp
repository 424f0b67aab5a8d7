// Answers the queries of other voters for what they have missed, on a thread of its own, so that a
// slow disk never holds up the network thread. Any member can send such queries: each peer has
// one that waits, a voter's goes first, and there are at most kMaxQueries of them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "peer/trainer.hpp"
#include "project_server/backbone/ledger_history.hpp"

namespace dedloc::backbone {

/// Reads the ledger for other voters. Thread: ask() and stop() are called by one.
class HistoryReader {
  public:
    /// Limit of the queries that wait. A peer that is turned away asks
    /// again.
    static constexpr std::size_t kMaxQueries = 64;

    /// Starts the thread. Each answer goes to `events` as event::HistoryRead; without entries if
    /// the ledger cannot be read, which is logged. `history` must outlive the reader.
    HistoryReader(LedgerHistory& history, EventSink events);
    /// Calls stop().
    ~HistoryReader();
    HistoryReader(const HistoryReader&) = delete;
    HistoryReader& operator=(const HistoryReader&) = delete;

    /// Queues the query, unless the peer has one that waits, or there are too many. A voter's
    /// query goes before those of others, and takes the place of the last of these if there are
    /// too many. Never blocks.
    void ask(const action::ReadHistory& wanted, bool is_voter);
    /// Ends the thread after the answer it is at; the queries that wait are dropped. Idempotent.
    void stop();

  private:
    struct Query {
        action::ReadHistory wanted;
        bool is_voter;
    };

    std::optional<action::ReadHistory> pop();
    void run();
    void answer(const action::ReadHistory& wanted);

    LedgerHistory& history_;
    const EventSink events_;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Query> queries_;  ///< voters' first; guarded by mutex_
    bool is_stopping_ = false;   ///< guarded by mutex_
    std::thread thread_;
};

}  // namespace dedloc::backbone
