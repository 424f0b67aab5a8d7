#include "peer/simulation/faults.hpp"

#include <algorithm>
#include <array>

namespace dedloc::simulation {

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
    return mix;
}

FaultMix FaultMix::drawn(Random& random) {
    const FaultMix most = rough();
    FaultMix mix;
    const auto draw = [&](double rate) { return random.below(3) == 0 ? rate : 0; };
    mix.crashes = draw(most.crashes);
    mix.backbone_crashes = draw(most.backbone_crashes);
    mix.point_kills = draw(most.point_kills);
    mix.hangs = draw(most.hangs);
    mix.suspensions = draw(most.suspensions);
    mix.cuts = draw(most.cuts);
    mix.silent_cuts = draw(most.silent_cuts);
    mix.partitions = draw(most.partitions);
    mix.poisons = draw(most.poisons);
    mix.bit_flips = draw(most.bit_flips);
    mix.clock_jumps = draw(most.clock_jumps);
    mix.full_disks = draw(most.full_disks);
    mix.corruption = draw(most.corruption);
    if (random.below(2) == 0) mix.directory = most.directory;
    return mix;
}

Faults::Faults(World& world, const FaultMix& mix, Random random)
    : world_(world), mix_(mix), random_(random) {
    kinds_ = {
        {mix.crashes, [this] { crash(somebody()); }},
        {mix.backbone_crashes, [this] { crash(0); }},
        {mix.point_kills, [this] { kill_at_point(); }},
        {mix.hangs, [this] { hang(); }},
        {mix.suspensions, [this] { suspend(); }},
        {mix.cuts, [this] { world_.cut(anybody(), random_.next()); }},
        {mix.silent_cuts, [this] { world_.silent_cut(anybody(), random_.next()); }},
        {mix.partitions, [this] { part(); }},
        {mix.poisons, [this] { world_.poison(somebody()); }},
        {mix.bit_flips, [this] { world_.flip_a_bit(somebody()); }},
        {mix.clock_jumps, [this] { world_.jump_clock(anybody(), up_to(mix_.longest_jump)); }},
        {mix.full_disks,
         [this] {
             world_.fill_disk(0, true);
             world_.after(up_to(mix_.longest_absence), [this] {
                 world_.fill_disk(0, false);
                 bring_back(0);
             });
         }},
    };
    for (const Kind& kind : kinds_) rate_ += kind.rate;
}

void Faults::run(Duration duration) {
    end_ = world_.now() + duration;
    world_.corrupt(mix_.corruption);
    world_.set_directory(mix_.directory);
    world_.after(duration, [this] { calm_down(); });
    if (rate_ > 0) next();
}

void Faults::next() {
    const Duration mean{static_cast<std::int64_t>(60e9 / rate_)};
    world_.after(up_to(2 * mean), [this] {
        if (world_.now() >= end_) return;
        if (is_anybody_damaged()) return next();
        double place = random_.uniform() * rate_;
        for (const Kind& kind : kinds_) {
            place -= kind.rate;
            if (place >= 0) continue;
            ++count_;
            kind.happen();
            break;
        }
        next();
    });
}

bool Faults::is_anybody_damaged() const {
    for (World::Id id = 0; id < world_.size(); ++id) {
        if (world_.is_damaged(id)) return true;
    }
    return false;
}

void Faults::calm_down() {
    world_.corrupt(0);
    world_.set_directory({});
    world_.heal();
}

World::Id Faults::anybody() {
    return static_cast<World::Id>(random_.below(world_.size()));
}

World::Id Faults::somebody() {
    if (world_.size() == 1) return 0;
    return static_cast<World::Id>(1 + random_.below(world_.size() - 1));
}

Duration Faults::up_to(Duration most) {
    return Duration{
        static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(most.count()) + 1))};
}

void Faults::crash(World::Id id) {
    world_.crash(id, std::array{Exit::kFlushed, Exit::kCutOff, Exit::kSilent}[random_.below(3)]);
    world_.after(up_to(mix_.longest_absence), [this, id] { bring_back(id); });
}

void Faults::bring_back(World::Id id) {
    if (world_.is_alive(id)) return;
    const bool keeps_all = world_.role(id) == Role::kBackbone;
    const Memory memory =
        std::array{Memory::kDisk, Memory::kStale, Memory::kLost}[random_.below(keeps_all ? 2 : 3)];
    world_.restart(id, memory);
}

void Faults::kill_at_point() {
    const World::Id id = anybody();
    if (!world_.is_alive(id)) return;
    const Point point = all_points()[random_.below(kPointCount)];
    world_.kill(id, point, world_.step(id));
    // Whether the point is reached or not: dead hosts are looked after, and nobody dies later.
    world_.after(mix_.longest_absence, [this, id] {
        world_.spare(id);
        bring_back(id);
    });
}

void Faults::hang() {
    const World::Id id = anybody();
    world_.hang(id);
    world_.after(up_to(mix_.longest_hang), [this, id] { world_.wake(id); });
}

void Faults::suspend() {
    const World::Id id = somebody();
    world_.suspend(id);
    world_.after(up_to(mix_.longest_absence), [this, id] { world_.resume(id); });
}

void Faults::part() {
    std::vector<World::Id> side;
    for (World::Id id = 0; id < world_.size(); ++id) {
        if (random_.below(2) == 0) side.push_back(id);
    }
    world_.partition(side);
    world_.after(up_to(mix_.longest_absence), [this] { world_.heal(); });
}

}  // namespace dedloc::simulation
