// Sixteen trainers of which one or two attack, one of three voters that does, or many keys of two
// users, with the timeouts of a real run: what the attack costs the others.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "peer/base/units.hpp"
#include "tests/hostile/misbehaviour.hpp"
#include "tests/sim/scenario.hpp"

namespace dedloc::sim {

/// Steps after which speed is measured: the first ones may be slow until the liars are known.
inline constexpr StepIndex kKnown{20};

/// What the liars do, and what it may cost.
struct Attack {
    hostile::Misbehaviour misbehaviour;  ///< what each liar does
    std::size_t voters = 1;              ///< one of them is the liar of a false proposal
    double part = 0.9;     ///< least speed, as a part of that of the honest members alone
    bool is_named = true;  ///< the log names the liars
    /// When its world ends; zero: so long after kKnown that the speed can be told.
    Duration end{};

    /// The liar is a voter, not a trainer.
    bool is_by_voter() const { return misbehaviour == hostile::Misbehaviour::kFalseProposal; }
    /// Complaints are judged after a second, so the rounds of kPurge are longer. Two liars are most
    /// of the reducers where others cannot be dialled.
    bool is_purge() const { return misbehaviour == hostile::Misbehaviour::kPurge; }
    /// A part of many chunks, so that they can be sent one after another.
    bool has_many_chunks() const {
        return is_purge() || misbehaviour == hostile::Misbehaviour::kTrickle;
    }
    /// A liar is a user with more keys than half of the seats, so that only two of them matter.
    bool is_crowd() const { return misbehaviour == hostile::Misbehaviour::kKeySquat; }
    /// Trainers that do not lie, of sixteen.
    std::size_t honest_trainers(std::size_t liars) const {
        return 16 - (is_by_voter() ? 0 : liars);
    }
    /// The numbers of liars that are tried.
    std::vector<std::size_t> liars() const;
};

/// What has become of a run.
struct Outcome {
    double known_after = 0;         ///< seconds until step kKnown, or without it
    double steps_a_minute = 0;      ///< after that
    double loss = 0;                ///< held-out loss of the last state, in nats a sample
    double liars_part = 0;          ///< the part of all counted samples that is theirs
    std::size_t liars = 0;          ///< how often they were accused
    std::size_t honest = 0;         ///< how often others were
    std::size_t fewest_honest = 0;  ///< honest trainers with samples, in one of the last 5 rounds
};

/// Runs a world with so many liars. Makes no demands on it. May throw Violation.
Outcome outcome_of(std::uint64_t seed, const Attack& attack, std::size_t liars);
/// The same, and requires that step kKnown is reached in time, that there is one history, and that
/// every average is the mean of what its members have computed.
Outcome sound_outcome_of(std::uint64_t seed, const Attack& attack, std::size_t liars);
/// sound_outcome_of() the honest members that are left beside so many liars, without these. Most
/// attacks are compared with the same ones, which are computed once in a process.
const Outcome& without_liars(std::uint64_t seed, const Attack& attack, std::size_t liars);

}  // namespace dedloc::sim
