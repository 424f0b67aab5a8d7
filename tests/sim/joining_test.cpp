// Newcomers on links of all speeds join a swarm on fast links, whose state is 3 MB and whose rounds
// take about 1.15 s: they take part if their link carries the averages, and leave the donors alone
// if it does not.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>

#include "peer/state/packed_average.hpp"
#include "tests/sim/scenario.hpp"

using namespace dedloc;
using namespace dedloc::sim;
using namespace dedloc::simulation;
using namespace std::chrono_literals;

namespace {

/// A run and the newcomer's link to it.
struct Join {
    double mbit = 0;
    Codec codec = Codec::kFp32;
    std::uint64_t elements = 262'144;
    std::uint64_t target_batch = 128;  ///< samples of a round: 128 take 1.15 s

    /// So large that the simulator must do no more with the vectors than the peers do.
    bool is_large() const { return elements > 4'000'000; }
    double state_bytes() const { return 12.0 * static_cast<double>(elements); }
};

/// Four fast trainers, and one that starts later.
struct Newcomer {
    Newcomer(std::uint64_t seed, const Join& its_join)
        : join{its_join}, world{seed, options(seed, its_join)} {
        const Watch watch{world};
        world.add_backbone(fast());
        world.add_trainers(4, fast());
        run_to_round(2);
        const double since_second = seconds();
        run_to_round(8);
        round_seconds = (seconds() - since_second) / 6;
        id = world.add_trainer(Profile::with_mbit(join.mbit, join.mbit));
        since = world.checkers().newest_step().value();
        began = world.now();
    }
    /// Hosts that copy no large state to their disks: that costs the simulator time alone.
    Profile fast() const {
        Profile profile = Profile::office();
        if (join.is_large()) profile.checkpoint_every = 0;
        return profile;
    }
    static TestWorldOptions options(std::uint64_t seed, const Join& join) {
        RoundRules rules = quick_rules(100'000, join.elements);
        rules.target_batch = Samples{join.target_batch};
        rules.codec = join.codec;
        TestWorldOptions options = options_for(seed, rules);
        options.computes_averages = !join.is_large();
        return options;
    }

    void run_to_round(std::size_t count) {
        require_within(world, 900s, "rounds without the newcomer",
                       [&] { return world.checkers().newest_step().value() >= count; });
    }
    /// Whether its samples count in the newest round.
    bool takes_part() const { return is_in(*world.checkers().newest_round()); }
    bool is_in(const Round& round) const {
        const auto& members = round.record.members;
        return std::ranges::any_of(members, [&](const CommitLine& line) {
            return line.peer == world.key(id) && line.samples > Samples{0};
        });
    }
    /// Rounds decided since the newcomer started, and those among them with samples of it.
    std::pair<std::size_t, std::size_t> rounds() const {
        const auto history = world.checkers().history();
        const auto begin = history.begin() + static_cast<std::ptrdiff_t>(since);
        return {history.size() - since,
                std::count_if(begin, history.end(), [&](const Round& r) { return is_in(r); })};
    }
    bool cannot_follow() const {
        return std::ranges::any_of(world.trace().notes(), [](const std::string& note) {
            return note.find("cannot follow the swarm") != std::string::npos;
        });
    }
    /// The coordinator has given it a turn, and said what the swarm gains.
    bool is_told_why() const {
        return std::ranges::any_of(world.trace().notes(), [](const std::string& note) {
            return note.find("this computer ") != std::string::npos &&
                   note.find(" samples/s instead of ") != std::string::npos;
        });
    }
    /// Seconds in which its link carries the state and the averages decided meanwhile, which no
    /// newcomer can beat; at most 0 if the link does not carry the averages.
    double min_seconds() const {
        const auto average = static_cast<double>(state::packed_bytes(join.codec, join.elements));
        return join.state_bytes() / (join.mbit * 125'000 - average / round_seconds);
    }
    double states_received() const {
        return static_cast<double>(world.traffic(id).bytes_received) / join.state_bytes();
    }
    double seconds() const { return std::chrono::duration<double>(world.now() - began).count(); }

    const Join join;
    TestWorld world;
    TestWorld::Id id = 0;
    std::size_t since = 0;
    TimePoint began{};
    double round_seconds = 0;  ///< duration of a round without the newcomer
};

}  // namespace

TEST_CASE("a newcomer whose link carries the averages takes part", "[state][sim]") {
    // Averages of 8.4, 4.2 and 2.1 Mbit every 1.15 s.
    for (const Join join : {Join{12, Codec::kFp32}, Join{7, Codec::kFp16}, Join{7, Codec::kBf16},
                            Join{5, Codec::kInt8}, Join{8, Codec::kInt8}}) {
        for (const auto seed : seeds(1)) {
            INFO(join.mbit << " Mbit/s, codec " << static_cast<int>(join.codec)
                           << ", replay: " << replay_command(seed));
            Newcomer newcomer{seed, join};
            require_within(newcomer.world, 60s, "the newcomer's first round",
                           [&] { return newcomer.takes_part(); });
            CHECK(newcomer.world.loads(newcomer.id) == 1);
            const auto before = newcomer.rounds();
            newcomer.world.run_for(20s);
            const auto after = newcomer.rounds();
            // Rounds wait for its link from now on, so it stays, unless the swarm is faster when it
            // is in few rounds: then it is told so.
            const bool stays = after.second - before.second >= (after.first - before.first) / 2;
            CHECK((stays || newcomer.is_told_why()));
        }
    }
}

TEST_CASE("a newcomer whose link does not carry the averages rests", "[state][sim]") {
    for (const auto seed : seeds(1)) {
        INFO("replay: " << replay_command(seed));
        Newcomer newcomer{seed, {.mbit = 2}};
        require_within(newcomer.world, 20s, "the newcomer gives up",
                       [&] { return newcomer.cannot_follow(); });
        CHECK(newcomer.world.loads(newcomer.id) == 0);
        const std::size_t before = newcomer.rounds().first;
        newcomer.world.run_for(300s);
        CHECK(newcomer.states_received() < 3);
        CHECK(newcomer.rounds().first - before > 240);
    }
}

TEST_CASE("a newcomer learns from a voter how long rounds take, and rests within five seconds",
          "[state][sim]") {
    // Averages of 67 Mbit every 5 s: it would give up after two rounds of its own, 10 s.
    Newcomer newcomer{1, {.mbit = 6, .elements = 2'097'152, .target_batch = 640}};
    CHECK(newcomer.round_seconds > 4);
    require_within(newcomer.world, 5s, "the newcomer gives up",
                   [&] { return newcomer.cannot_follow(); });
    CHECK(newcomer.states_received() < 0.2);
}

TEST_CASE("a newcomer on a slow link receives each leaf once where rounds are long",
          "[state][sim]") {
    // Averages of 4.2 Mbit every 4.3 s. A leaf of an average takes half a second, so that each of
    // four donors seems to take two.
    for (const auto seed : seeds(1)) {
        INFO("replay: " << replay_command(seed));
        Newcomer newcomer{seed, {.mbit = 2, .codec = Codec::kFp16, .target_batch = 640}};
        CHECK(newcomer.round_seconds > 4);
        const double min = newcomer.min_seconds();
        require_within(newcomer.world, 60s, "the newcomer's first round",
                       [&] { return newcomer.takes_part(); });
        INFO(newcomer.seconds() << " s, " << newcomer.states_received() << " states");
        CHECK(newcomer.world.loads(newcomer.id) == 1);
        CHECK(newcomer.seconds() < 1.3 * min);
        // Its link carries no more than that meanwhile, with all that is not leaves.
        CHECK(newcomer.states_received() < 1.1 * min * 2 * 125'000 / newcomer.join.state_bytes());
    }
}

TEST_CASE("a newcomer whose link carries the averages too narrowly does not drain the donors",
          "[state][sim]") {
    for (const auto seed : seeds(1)) {
        INFO("replay: " << replay_command(seed));
        Newcomer newcomer{seed, {.mbit = 7.5}};
        newcomer.world.run_for(300s);
        const bool takes_part = newcomer.rounds().second > 100;
        CHECK((takes_part || newcomer.states_received() < 25));
    }
}

namespace {

/// Prints one line of a table: the time to the first round, the bytes received until then, and what
/// no newcomer can beat: the state and the averages decided meanwhile, over its link.
void print_join(const Join& join) {
    Newcomer newcomer{1, join};
    const double round = newcomer.round_seconds;
    const double link = join.mbit * 125'000;
    const double min = newcomer.min_seconds();
    const bool is_served = newcomer.world.run_until(
        [&] { return newcomer.takes_part() || newcomer.cannot_follow(); }, 900s);
    const bool takes_part = newcomer.takes_part();
    const double seconds = newcomer.seconds();
    const double received = newcomer.states_received();
    char bound[32] = "averages do not fit";
    if (min > 0) std::snprintf(bound, sizeof bound, "%.1f s", min);
    char line[200];
    std::snprintf(line, sizeof line,
                  "%-5s %6.1f MB %6.1f s %6.0f  %8.1f s  %-20s %8.1f s %-6s %6.2f\n",
                  kCodecNames[static_cast<std::size_t>(join.codec)], join.state_bytes() * 1e-6,
                  round, join.mbit, join.state_bytes() / link, bound, seconds,
                  takes_part  ? ""
                  : is_served ? "rests"
                              : "none",
                  received);
    std::cout << line << std::flush;
}

void print_head() {
    std::cout << "codec    state    round  Mbit/s  state/link  with averages  first round  states "
                 "received\n";
}

}  // namespace

TEST_CASE("time to the first round of a state of 216 MB", "[.large_table][sim]") {
    print_head();
    for (const double mbit : {8., 16., 24., 50., 100.}) {
        print_join(
            {.mbit = mbit, .codec = Codec::kFp16, .elements = 18'000'000, .target_batch = 3'840});
    }
}

TEST_CASE("time to the first round by link, state and length of rounds", "[.table][sim]") {
    print_head();
    const auto links = {1., 2., 4., 6., 8., 12., 16., 24., 50., 100.};
    for (const Codec codec : {Codec::kFp32, Codec::kFp16, Codec::kInt8}) {
        for (const double mbit : links) print_join({.mbit = mbit, .codec = codec});
    }
    for (const std::uint64_t elements : {262'144U, 2'097'152U}) {
        for (const std::uint64_t samples : {128U, 640U, 3'840U}) {
            if (elements == 262'144 && samples == 128) continue;  // above
            for (const double mbit : links) {
                print_join({.mbit = mbit,
                            .codec = Codec::kFp16,
                            .elements = elements,
                            .target_batch = samples});
            }
        }
    }
}
