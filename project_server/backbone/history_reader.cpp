#include "project_server/backbone/history_reader.hpp"

#include <algorithm>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"

namespace dedloc::backbone {

HistoryReader::HistoryReader(LedgerHistory& history, EventSink events)
    : history_(history), events_(std::move(events)) {
    thread_ = std::thread{[this] { run(); }};
}

HistoryReader::~HistoryReader() {
    stop();
}

void HistoryReader::ask(const action::ReadHistory& wanted, bool is_voter) {
    {
        const std::lock_guard lock{mutex_};
        const bool waits = std::ranges::any_of(
            queries_, [&](const Query& query) { return query.wanted.to == wanted.to; });
        if (waits) return;
        if (queries_.size() >= kMaxQueries) {
            if (!is_voter || queries_.back().is_voter) return;
            queries_.pop_back();
        }
        const auto next =
            is_voter ? std::ranges::find_if_not(queries_, &Query::is_voter) : queries_.end();
        queries_.insert(next, {wanted, is_voter});
    }
    changed_.notify_one();
}

void HistoryReader::stop() {
    {
        const std::lock_guard lock{mutex_};
        is_stopping_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
}

std::optional<action::ReadHistory> HistoryReader::pop() {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return is_stopping_ || !queries_.empty(); });
    if (is_stopping_) return std::nullopt;
    const action::ReadHistory wanted = queries_.front().wanted;
    queries_.pop_front();
    return wanted;
}

void HistoryReader::run() {
    while (const auto wanted = pop()) answer(*wanted);
}

void HistoryReader::answer(const action::ReadHistory& wanted) {
    event::HistoryRead read{.to = wanted.to, .entries = {}};
    try {
        read.entries = history_.read(wanted.generation, wanted.step, wanted.max_entries);
    } catch (const Error& error) {
        log_error("{} The voter {} gets no history from this one.", error.what(),
                  wanted.to.brief());
    }
    events_(std::move(read));
}

}  // namespace dedloc::backbone
