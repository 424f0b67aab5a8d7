#include <catch2/catch.hpp>
#include <condition_variable>
#include <mutex>
#include <set>
#include <variant>
#include <vector>

#include "peer/base/log.hpp"
#include "project_server/backbone/history_reader.hpp"
#include "tests/peer/ledger/history.hpp"
#include "tests/temporary_directory.hpp"

using namespace dedloc;
using namespace dedloc::backbone;

namespace {

/// Takes the answers, each only when it is let through, as a disk that is slow.
class SlowAnswers {
  public:
    void take(const Event& event) {
        std::unique_lock lock{mutex_};
        answers_.push_back(std::get<event::HistoryRead>(event));
        changed_.notify_all();
        changed_.wait(lock, [&] { return answers_.size() <= allowed_; });
    }
    void allow_all() {
        const std::lock_guard lock{mutex_};
        allowed_ = SIZE_MAX;
        changed_.notify_all();
    }
    /// Waits until there are so many.
    std::vector<event::HistoryRead> wait_for(std::size_t count) {
        std::unique_lock lock{mutex_};
        changed_.wait(lock, [&] { return answers_.size() >= count; });
        return answers_;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<event::HistoryRead> answers_;
    std::size_t allowed_ = 0;
};

struct ReaderWorld {
    ReaderWorld() { start_log("test", LogLevel::kError); }

    /// The peer's query for all from step 2 on.
    void ask(const PeerKey& peer, bool is_voter) {
        reader.ask({.to = peer, .generation = 0, .step = StepIndex{2}, .max_entries = 16},
                   is_voter);
    }

    ledger::History history{3, {.members = 3, .churn = 0, .short_losses = false}};
    TemporaryDirectory folder;
    LedgerOwner owner{history.run, history.trust().backbone};
    LedgerHistory past{folder.path() / "ledger", owner};
    LedgerWriter ledger{folder.path() / "ledger", owner,
                        [this](const LedgerRecord& record, const LedgerReader::Place& after) {
                            past.take(record, after);
                        }};
    SlowAnswers answers;
    HistoryReader reader{past, [this](const Event& event) { answers.take(event); }};
};

/// Some peer.
PeerKey peer_of(std::uint8_t number) {
    PeerKey key{};
    key.bytes[0] = std::byte{number};
    return key;
}

}  // namespace

TEST_CASE("another voter gets the history that it has missed from the ledger", "[server]") {
    ReaderWorld world;
    world.answers.allow_all();
    std::vector<ledger::Entry> expected;
    for (int step = 0; step < 4; ++step) {
        const Decision decision = world.history.decide();
        world.ledger.append({.committed_at = {}, .took = {}, .decision = decision});
        if (step >= 2) expected.emplace_back(decision);
    }
    world.ask(peer_of(1), true);
    CHECK(world.answers.wait_for(1)[0].to == peer_of(1));
    CHECK(world.answers.wait_for(1)[0].entries == expected);
    world.reader.ask({peer_of(1), 0, StepIndex{4}, 16}, true);
    CHECK(world.answers.wait_for(2)[1].entries.empty());
}

TEST_CASE("queries while the disk is slow are bounded, and voters' go first", "[server]") {
    ReaderWorld world;
    world.ask(peer_of(1), false);
    world.answers.wait_for(1);  // and its thread waits there
    for (int time = 0; time < 3; ++time) {
        for (std::uint8_t liar = 0; liar < 100; ++liar) world.ask(peer_of(100 + liar), false);
        world.ask(peer_of(2), true);
    }
    world.answers.allow_all();
    constexpr std::size_t kAnswered = 1 + HistoryReader::kMaxQueries;
    const auto answers = world.answers.wait_for(kAnswered);
    CHECK(answers[1].to == peer_of(2));
    std::set<PeerKey> asked;
    for (const event::HistoryRead& answer : answers) asked.insert(answer.to);
    CHECK(asked.size() == kAnswered);
    world.ask(peer_of(3), false);
    CHECK(world.answers.wait_for(kAnswered + 1).back().to == peer_of(3));
}

TEST_CASE("a reader that is stopped drops the queries that wait", "[server]") {
    ReaderWorld world;
    world.ask(peer_of(1), false);
    world.answers.wait_for(1);
    world.ask(peer_of(2), true);
    world.answers.allow_all();
    world.reader.stop();
    CHECK(world.answers.wait_for(1).size() <= 2);
    world.reader.stop();
}
