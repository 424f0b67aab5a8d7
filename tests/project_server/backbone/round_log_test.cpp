#include <catch2/catch.hpp>

#include "peer/base/log.hpp"
#include "peer/membership/quorum.hpp"
#include "peer/platform/durable_file.hpp"
#include "peer/wire/history.hpp"
#include "project_server/backbone/round_log.hpp"
#include "tests/peer/ledger/history.hpp"
#include "tests/project_server/backbone/proven_ledger.hpp"
#include "tests/temporary_directory.hpp"

using namespace dedloc;
using namespace dedloc::backbone;

namespace {

/// A backbone's host and its files, without a backbone.
struct LogWorld {
    LogWorld() { start_log("test", LogLevel::kError); }

    action::Committed commit() {
        const Decision decision = history.decide();
        return {.record = decision.record, .certificate = decision.certificate};
    }
    std::optional<VoterState> vote_on_disk() const {
        const platform::DurableFile file{folder.path() / "voter",
                                         platform::DurableFile::Mode::kRead};
        Buffer bytes(file.size());
        file.read_at(0, bytes);
        return wire::decode_voter_state(bytes);
    }
    void save_checkpoint(std::uint64_t step) {
        store.save({.step = StepIndex{step}, .digest = {}, .elements = 1}, Buffer(12));
    }

    ledger::History history{3, {.members = 3, .churn = 0, .short_losses = false}};
    TemporaryDirectory folder;
    LedgerOwner owner{history.run, history.trust().backbone};
    LedgerHistory past{folder.path() / "ledger", owner};
    LedgerWriter ledger{folder.path() / "ledger", owner,
                        [this](const LedgerRecord& record, const LedgerReader::Place& after) {
                            past.take(record, after);
                        }};
    CheckpointStore store{folder.path() / "checkpoints", history.run, 9};
    std::vector<Event> events;
    std::vector<StepIndex> published;
    std::vector<Endpoint> published_voters;  ///< the voters in the last published head
    std::vector<GenerationRecord> begun;
    int pauses = 0;
    HistoryReader reader{past, [](const Event&) {}};
    RoundLog host{ledger,
                  reader,
                  store,
                  nullptr,
                  {.run = history.run,
                   .last_step = StepIndex{100},
                   .voter = folder.path() / "voter",
                   .pause = folder.path() / "pause",
                   .mixture = folder.path() / "mixture",
                   .project_key = history.project,
                   .events = [this](Event event) { events.push_back(std::move(event)); },
                   .begun = [this](const GenerationRecord& r) { begun.push_back(r); },
                   .revocations_heard = {},
                   .publish =
                       [this](const action::Settled& s, const std::vector<Endpoint>& others) {
                           published.push_back(s.step);
                           published_voters = others;
                       },
                   .on_failure = {},
                   .pause_run = [this] { ++pauses; }}};
};

}  // namespace

TEST_CASE("the newest vote is on the disk when the host returns", "[server]") {
    LogWorld world;
    VoterState state{.generation = 0,
                     .step = StepIndex{4},
                     .may_vote = true,
                     .promised = {3, world.history.trust().backbone},
                     .accepted_in = {},
                     .accepted = {},
                     .state = {}};
    world.host.perform(action::Voted{state});
    CHECK(world.vote_on_disk() == state);
    state.accepted_in = state.promised;
    state.accepted = world.history.next();
    state.step = state.accepted->step;
    world.host.perform(action::Voted{state});
    CHECK(world.vote_on_disk() == state);
}

TEST_CASE("a wanted generation is signed, and truncates ledger and checkpoints", "[server]") {
    LogWorld world;
    for (std::uint64_t step = 0; step < 6; ++step) {
        world.host.perform(world.commit());
        world.save_checkpoint(step + 1);
    }
    CHECK(world.ledger.head() == world.history.head);
    const GenerationRecord wanted{.generation = 1,
                                  .step = StepIndex{4},
                                  .state = blake2b(bytes_of("state")),
                                  .voters = {world.history.trust().backbone}};
    world.host.perform(action::GenerationWanted{wanted});
    REQUIRE(world.events.size() == 1);
    const auto* const answer = std::get_if<event::GenerationSigned>(&world.events[0]);
    REQUIRE(answer != nullptr);
    CHECK(answer->generation.record == wanted);
    CHECK(membership::is_signed(world.history.run, world.history.trust().project,
                                answer->generation));

    for (int time = 0; time < 2; ++time) {
        world.host.perform(action::GenerationBegun{answer->generation});
        CHECK(world.ledger.head() == membership::head_after(world.history.run, wanted));
        CHECK(world.store.list().front().head.step == StepIndex{4});
        CHECK(world.begun == std::vector{wanted});
    }
    world.history.head = world.ledger.head();
    world.host.perform(world.commit());
    world.host.perform(action::Settled{
        .generation = 0, .step = StepIndex{5}, .digest = {}, .reported = 1, .equal = 1});
    CHECK(world.published == std::vector{StepIndex{5}});
    CHECK(world.published_voters.empty());
    const auto proven = proven_ledger(world.folder.path() / "ledger", world.history.trust());
    CHECK(proven.head() == world.ledger.head());
    CHECK(proven.head().step == StepIndex{5});
}

TEST_CASE("only the addresses of voters are published", "[server]") {
    LogWorld world;
    const Endpoint voter{"192.0.2.1", 7};
    SeatView of_voter;
    of_voter.peer = world.ledger.head().voters.front();
    of_voter.endpoint = voter;
    SeatView of_liar;
    of_liar.peer = KeyPair::generate().public_key();
    of_liar.role = Role::kBackbone;
    of_liar.endpoint = {"192.0.2.2", 7};
    world.host.perform(action::SwarmSeen{
        .step = {}, .samples = {}, .coordinator = {}, .seats = {of_liar, of_voter}});
    world.host.perform(world.commit());
    world.host.perform(action::Settled{
        .generation = 0, .step = StepIndex{1}, .digest = {}, .reported = 1, .equal = 1});
    CHECK(world.published_voters == std::vector{voter});
}

TEST_CASE("a decision that cannot follow the ledger ends the host with one sentence", "[server]") {
    LogWorld world;
    const action::Committed first = world.commit();
    const action::Committed second = world.commit();
    CHECK_THROWS_WITH(world.host.perform(second), Catch::Contains("cannot follow"));
    world.host.perform(first);
    world.host.perform(second);
    CHECK(world.ledger.head() == world.history.head);
}

TEST_CASE("the third update in a row that changes nothing pauses the run", "[server]") {
    LogWorld world;
    std::uint64_t step = 0;
    const auto settle = [&](const char* state) {
        world.host.perform(world.commit());
        world.host.perform(action::Settled{.generation = 0,
                                           .step = StepIndex{++step},
                                           .digest = blake2b(bytes_of(state)),
                                           .reported = 1,
                                           .equal = 1});
        return world.pauses;
    };
    CHECK(settle("first") == 0);
    CHECK(settle("first") == 0);
    CHECK(settle("first") == 0);
    CHECK(settle("second") == 0);  // the count begins anew
    CHECK(settle("second") == 0);
    CHECK(settle("second") == 0);
    CHECK(settle("second") == 1);
    CHECK(settle("second") == 2);  // an order that was under way may have hindered it
    SECTION("and again after a resumption only if it goes on") {
        world.host.perform(action::PauseChanged{.pause = {.count = 2, .signature = {}}});
        CHECK(settle("second") == 2);
        CHECK(settle("second") == 2);
        CHECK(settle("second") == 3);
    }
    SECTION("not if a round in between was not settled here") {
        world.host.perform(action::PauseChanged{.pause = {.count = 2, .signature = {}}});
        for (int round = 0; round < 4; ++round) {
            world.host.perform(world.commit());
            ++step;
            CHECK(settle("second") == 2);
        }
    }
}
