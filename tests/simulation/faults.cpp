// Each chain waits a random time, up to twice the mean interval, draws a kind by its rate, lets it
// happen and waits again. A crash, pause or partition schedules its own end (restart, resume,
// heal); calm_down() ends what lasts until the end of the run, like a changed bandwidth. No fault
// happens while a state is damaged, so the repair is tested alone. The order and number of random
// draws is part of a seed's meaning: a new fault must draw from apart_, or it changes every
// recorded seed.
#include "tests/simulation/faults.hpp"

#include <algorithm>
#include <array>

namespace dedloc::simulation {
namespace {

/// The random stream of the faults that are drawn and scheduled separately.
constexpr std::uint64_t kApart = 60;

}  // namespace

FaultMix FaultMix::ordinary() {
    FaultMix mix;
    mix.crashes = 2;
    mix.hangs = 0.5;
    mix.suspensions = 2;
    mix.cuts = 3;
    mix.silent_cuts = 1;
    mix.directory = {.missing = 0.1, .duplicate = 0.1, .stale = 0.2, .partial = 0.2};
    return mix;
}

FaultMix FaultMix::rough() {
    FaultMix mix = ordinary();
    mix.crashes = 5;
    mix.backbone_crashes = 2;
    mix.point_kills = 5;
    mix.hangs = 3;
    mix.suspensions = 3;
    mix.cuts = 10;
    mix.silent_cuts = 5;
    mix.partitions = 1;
    mix.poisons = 3;
    mix.bit_flips = 2;
    mix.clock_jumps = 2;
    mix.full_disks = 0.5;
    mix.corruption = 0.0005;
    mix.one_way_cuts = 4;
    mix.rate_changes = 6;
    mix.long_pauses = 2;
    return mix;
}

FaultMix FaultMix::drawn(Random& random) {
    const FaultMix max = rough();
    FaultMix mix;
    const auto draw = [&](double rate) { return random.below(3) == 0 ? rate : 0; };
    mix.crashes = draw(max.crashes);
    mix.backbone_crashes = draw(max.backbone_crashes);
    mix.point_kills = draw(max.point_kills);
    mix.hangs = draw(max.hangs);
    mix.suspensions = draw(max.suspensions);
    mix.cuts = draw(max.cuts);
    mix.silent_cuts = draw(max.silent_cuts);
    mix.partitions = draw(max.partitions);
    mix.poisons = draw(max.poisons);
    mix.bit_flips = draw(max.bit_flips);
    mix.clock_jumps = draw(max.clock_jumps);
    mix.full_disks = draw(max.full_disks);
    mix.corruption = draw(max.corruption);
    if (random.below(2) == 0) mix.directory = max.directory;
    Random apart = random.split(kApart);
    const auto draw_apart = [&](std::uint64_t one_in, double rate) {
        return apart.below(one_in) == 0 ? rate : 0;
    };
    mix.one_way_cuts = draw_apart(4, max.one_way_cuts);
    mix.rate_changes = draw_apart(4, max.rate_changes);
    mix.long_pauses = draw_apart(25, max.long_pauses);
    return mix;
}

void Faults::Chain::add(double kind_rate, std::function<void()> happen) {
    kinds.push_back({kind_rate, std::move(happen)});
    rate += kind_rate;
}

Duration Faults::Chain::up_to(Duration max) {
    return Duration{
        static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(max.count()) + 1))};
}

Faults::Faults(TestWorld& world, const FaultMix& mix, Random random)
    : world_(world), mix_(mix), usual_{random}, apart_{random.split(kApart)} {
    Chain& usual = usual_;
    usual.add(mix.crashes, [this] { crash(any_but_first()); });
    usual.add(mix.backbone_crashes, [this] { crash(0); });
    usual.add(mix.point_kills, [this] { kill_at_point(); });
    usual.add(mix.hangs, [this] { hang(); });
    usual.add(mix.suspensions, [this] { suspend(); });
    usual.add(mix.cuts, [this] { world_.cut(any_host(), usual_.random.next()); });
    usual.add(mix.silent_cuts, [this] { world_.silent_cut(any_host(), usual_.random.next()); });
    usual.add(mix.partitions, [this] { part(); });
    usual.add(mix.poisons, [this] { world_.poison(any_but_first()); });
    usual.add(mix.bit_flips, [this] { world_.flip_a_bit(any_but_first()); });
    usual.add(mix.clock_jumps,
              [this] { world_.jump_clock(any_host(), usual_.up_to(mix_.longest_jump)); });
    usual.add(mix.full_disks, [this] {
        world_.fill_disk(0, true);
        world_.after(usual_.up_to(mix_.longest_absence), [this] {
            world_.fill_disk(0, false);
            bring_back(0, usual_);
        });
    });
    apart_.add(mix.one_way_cuts, [this] { cut_one_way(); });
    apart_.add(mix.rate_changes, [this] { change_rate(); });
    apart_.add(mix.long_pauses, [this] { pause_long(); });
}

void Faults::run(Duration duration) {
    end_ = world_.now() + duration;
    world_.corrupt(mix_.corruption);
    world_.set_directory(mix_.directory);
    world_.after(duration, [this] { calm_down(); });
    if (usual_.rate > 0) next(usual_);
    if (apart_.rate > 0) next(apart_);
}

/// Schedules the next fault of `chain`, which is usual_ or apart_.
void Faults::next(Chain& chain) {
    const Duration mean{static_cast<std::int64_t>(60e9 / chain.rate)};
    world_.after(chain.up_to(2 * mean), [this, &chain] {
        if (world_.now() >= end_) return;
        if (is_anybody_damaged()) return next(chain);
        double place = chain.random.uniform() * chain.rate;
        for (const Kind& kind : chain.kinds) {
            place -= kind.rate;
            if (place >= 0) continue;
            ++count_;
            kind.happen();
            break;
        }
        next(chain);
    });
}

bool Faults::is_anybody_damaged() const {
    for (TestWorld::Id id = 0; id < world_.size(); ++id) {
        if (world_.is_damaged(id)) return true;
    }
    return false;
}

void Faults::calm_down() {
    world_.corrupt(0);
    world_.set_directory({});
    world_.heal();
    if (mix_.rate_changes <= 0) return;
    for (TestWorld::Id id = 0; id < world_.size(); ++id) world_.scale_bandwidth(id, 1);
}

TestWorld::Id Faults::any_host() {
    return static_cast<TestWorld::Id>(usual_.random.below(world_.size()));
}

TestWorld::Id Faults::any_but_first() {
    if (world_.size() == 1) return 0;
    return static_cast<TestWorld::Id>(1 + usual_.random.below(world_.size() - 1));
}

void Faults::crash(TestWorld::Id id) {
    world_.crash(id,
                 std::array{Exit::kFlushed, Exit::kCutOff, Exit::kSilent}[usual_.random.below(3)]);
    world_.after(usual_.up_to(mix_.longest_absence), [this, id] { bring_back(id, usual_); });
}

void Faults::bring_back(TestWorld::Id id, Chain& chain) {
    if (world_.is_alive(id)) return;
    const bool keeps_all = world_.role(id) == Role::kBackbone;
    const Memory memory = std::array{Memory::kDisk, Memory::kStale,
                                     Memory::kLost}[chain.random.below(keeps_all ? 2 : 3)];
    world_.restart(id, memory);
}

void Faults::kill_at_point() {
    const TestWorld::Id id = any_host();
    if (!world_.is_alive(id)) return;
    const Point point = all_points()[usual_.random.below(kPointCount)];
    world_.kill(id, point, world_.step(id));
    // Restart the host if it has reached the point; otherwise cancel the kill.
    world_.after(mix_.longest_absence, [this, id] {
        world_.spare(id);
        bring_back(id, usual_);
    });
}

void Faults::hang() {
    const TestWorld::Id id = any_host();
    world_.hang(id);
    world_.after(usual_.up_to(mix_.longest_hang), [this, id] { world_.wake(id); });
}

void Faults::suspend() {
    const TestWorld::Id id = any_but_first();
    world_.suspend(id);
    world_.after(usual_.up_to(mix_.longest_absence), [this, id] { world_.resume(id); });
}

void Faults::part() {
    std::vector<TestWorld::Id> side;
    for (TestWorld::Id id = 0; id < world_.size(); ++id) {
        if (usual_.random.below(2) == 0) side.push_back(id);
    }
    world_.partition(side);
    world_.after(usual_.up_to(mix_.longest_absence), [this] { world_.heal(); });
}

void Faults::cut_one_way() {
    const TestWorld::Id from = apart_.any_of(world_.size());
    const TestWorld::Id to = apart_.any_of(world_.size());
    if (from == to) return;
    world_.block(from, to, true);
    world_.after(apart_.up_to(mix_.longest_absence),
                 [this, from, to] { world_.block(from, to, false); });
}

void Faults::change_rate() {
    constexpr std::array kFactors{0.02, 0.1, 0.5, 1.0, 2.0};
    const TestWorld::Id id = apart_.any_of(world_.size());
    world_.scale_bandwidth(id, kFactors[apart_.random.below(kFactors.size())]);
}

void Faults::pause_long() {
    const TestWorld::Id id = apart_.any_of(world_.size());
    const std::uint64_t kind = apart_.random.below(3);
    const Duration length = apart_.up_to(mix_.longest_pause);
    if (is_pausing_ || !world_.is_up(id)) return;
    is_pausing_ = true;
    if (kind == 0 && world_.role(id) != Role::kBackbone) {
        world_.suspend(id);
    } else if (kind == 1) {
        world_.hang(id);
    } else {
        world_.crash(id, Exit::kSilent);
    }
    world_.after(length, [this, id] {
        is_pausing_ = false;
        world_.wake(id);
        world_.resume(id);
        bring_back(id, apart_);
    });
}

}  // namespace dedloc::simulation
