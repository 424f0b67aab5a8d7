// The checkers index every signed generation, record, state and frozen contribution by generation
// and step. The first report of a record is checked in full; later reports must have the same
// digest and only their certificate is checked, unless the same certificate was verified before.
//
// A newer generation that begins at step k makes all records of older generations from k on void
// (is_void). Lookups therefore walk from the asking peer's generation back to older ones and skip
// what is void. Sums are kept for eight steps only, to bound memory; a record that needs an older
// sum is a violation.
#include "tests/simulation/checkers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "kernels/digest.hpp"
#include "peer/base/bytes.hpp"
#include "peer/round/codec.hpp"
#include "peer/wire/limits.hpp"
#include "peer/wire/loss_bound.hpp"

namespace dedloc::simulation {
namespace {

constexpr std::uint64_t kStepsOfSums = 8;  ///< sums are kept for this many steps

template <class... Values>
void require(bool condition, fmt::format_string<Values...> sentence, Values&&... values) {
    if (!condition) throw Violation{fmt::format(sentence, std::forward<Values>(values)...)};
}

Digest digest_of_floats(std::span<const float> values) {
    return Digest{kernels::tree_digest(std::as_bytes(values))};
}

Digest digest_of_certificate(const Digest& record, const Certificate& certificate) {
    ByteWriter writer;
    writer.append(record.bytes);
    writer.write(certificate.term.number);
    writer.append(certificate.term.coordinator.bytes);
    for (const Vote& vote : certificate.votes) {
        writer.append(vote.voter.bytes);
        writer.append(vote.signature);
    }
    return blake2b(std::move(writer).finish());
}

}  // namespace

FloatVector average_of(Codec codec, const std::vector<Frozen>& contributions) {
    const std::size_t elements = contributions.front().contribution.sum->size();
    std::vector<wire::Elements> parts;
    std::vector<std::uint64_t> weights;
    for (const Frozen& frozen : contributions) {
        const round::Encoder encoder{codec, frozen.contribution, frozen.residual};
        parts.push_back(encoder.piece(0, elements));
        weights.push_back(frozen.contribution.samples.value());
    }
    FloatVector average(elements);
    round::average_of(parts, weights, average);
    return average;
}

Checkers::Checkers(Settings settings) : settings_(std::move(settings)) {}

void Checkers::frozen(const PeerKey& peer, const Frozen& frozen, bool is_tainted) {
    made_[{peer, frozen.step}].push_back({frozen, is_tainted, {}});
    if (!settings_.computes_averages) {
        made_[{peer, frozen.step}].back().frozen.contribution.sum = nullptr;
    }
}

void Checkers::amended(const PeerKey& peer, const event::ContributionFrozen& frozen,
                       const SharedFloats& residual) {
    const auto made = made_.find({peer, frozen.step});
    if (made == made_.end() || residual == nullptr) return;
    for (Made& one : made->second) {
        if (one.frozen.contribution.sum != frozen.contribution.sum) continue;
        // Copy it, as its owner modifies it later.
        one.frozen.residual = std::make_shared<FloatVector>(*residual);
    }
}

// --- generations -------------------------------------------------------------

void Checkers::generation_signed(const SignedGeneration& generation) {
    const auto [it, is_new] = signed_.emplace(generation.record.generation, generation);
    require(is_new || it->second.record == generation.record,
            "the project signed two generations {}", generation.record.generation);
}

void Checkers::generation_begun(const SignedGeneration& generation) {
    const auto it = signed_.find(generation.record.generation);
    require(it != signed_.end() && it->second.record == generation.record,
            "a peer enters generation {}, which the project has not signed",
            generation.record.generation);
    require(verify(settings_.project, digest_of(settings_.run, generation.record).bytes,
                   generation.signature),
            "a peer enters generation {} with a signature that is not the project's",
            generation.record.generation);
    begun_.insert(generation.record.generation);
    if (generation.record.generation <= newest_begun_) return;
    newest_begun_ = generation.record.generation;
    newest_step_ = generation.record.step;
}

GenerationRecord Checkers::begin_of(std::uint64_t generation) const {
    if (generation == 0) {
        GenerationRecord first;
        first.voters = {settings_.backbone};
        return first;
    }
    const auto it = signed_.find(generation);
    require(it != signed_.end(), "a peer uses generation {}, which the project has not signed",
            generation);
    return it->second.record;
}

bool Checkers::is_void(const Place& place, std::uint64_t by_generation) const {
    for (std::uint64_t g = place.first + 1; g <= by_generation; ++g) {
        if (begun_.contains(g) && place.second >= signed_.at(g).record.step) return true;
    }
    return false;
}

// --- states ------------------------------------------------------------------

/// The digest of the state of this step in the history of this generation; null if no peer has
/// reached it.
const Digest* Checkers::state_at(std::uint64_t generation, StepIndex step) const {
    for (; generation > 0; --generation) {
        if (!begun_.contains(generation)) continue;
        const auto begun = signed_.find(generation);
        if (begun == signed_.end()) return nullptr;
        if (step == begun->second.record.step) return &begun->second.record.state;
        if (step > begun->second.record.step) break;
    }
    const auto it = states_.find({generation, step});
    return it == states_.end() ? nullptr : &it->second;
}

void Checkers::reached(std::uint64_t generation, StepIndex step, const Digest& digest) {
    const Digest* known = state_at(generation, step);
    if (known == nullptr) {
        states_.emplace(Place{generation, step}, digest);
        return;
    }
    require(*known == digest, "state {} of generation {} has digest {} at one peer and {} here",
            step.value(), generation, known->brief(), digest.brief());
}

/// The record of this step in the history of this generation; null if none is decided.
const Round* Checkers::round_at(std::uint64_t generation, StepIndex step) const {
    auto it = rounds_.find({generation, step});
    for (std::uint64_t g = generation; it == rounds_.end() && g > 0; --g) {
        // Records of an older generation before the newer one's first step are valid in both.
        if (!is_void({g - 1, step}, generation)) it = rounds_.find({g - 1, step});
    }
    return it == rounds_.end() ? nullptr : &it->second;
}

void Checkers::applies(std::uint64_t generation, const action::Apply& apply) {
    const Round* round = round_at(generation, apply.step);
    require(round != nullptr, "an average is applied to state {} of generation {} without a record",
            apply.step.value(), generation);
    require(round->record.scalars == apply.scalars,
            "state {} is updated with scalars that differ from the record", apply.step.value());
    if (!settings_.computes_averages) return;
    require(digest_of_floats(*apply.average) == round->record.average,
            "state {} is updated with an average that differs from the record", apply.step.value());
}

void Checkers::loads(std::uint64_t generation, const action::Load& load) {
    const Digest* known = state_at(generation, load.step);
    require(known != nullptr && *known == load.digest,
            "state {} of generation {} is loaded with digest {}, which is not the swarm's",
            load.step.value(), generation, load.digest.brief());
}

// --- records -----------------------------------------------------------------

void Checkers::set_hostile(const PeerKey& peer, std::uint64_t max_samples_per_second) {
    hostile_[peer] = max_samples_per_second;
}

void Checkers::committed(const action::Committed& committed, TimePoint now, Duration jumps) {
    const CommitRecord& record = committed.record;
    const Digest digest = digest_of(record);
    const Place place{record.generation, record.step};
    const auto known = rounds_.find(place);
    if (known != rounds_.end()) {
        require(known->second.digest == digest,
                "two records at step {} of generation {}: {} and {}", record.step.value(),
                record.generation, known->second.digest.brief(), digest.brief());
    } else {
        Round round{.record = record, .digest = digest, .contributions = {}};
        check_first(record, round);
        for (const CommitLine& line : record.members) check_claim(record, line, now, jumps);
        decided_at_.try_emplace(record.step, now);
        for (const CommitLine& line : record.members) {
            if (line.samples > Samples{0}) last_counted_[line.peer] = record.step;
        }
        const bool is_computed = !round.is_claimed && !distrusted_.contains(record.step);
        if (settings_.computes_averages && is_computed) check_average(round);
        rounds_.emplace(place, std::move(round));
        if (!is_void(place, newest_begun_)) newest_step_ = record.step.next();
    }
    check_certificate(record, digest, committed.certificate);
}

void Checkers::check_first(const CommitRecord& record, Round& round) {
    const std::uint64_t step = record.step.value();
    const bool is_void_now = is_void({record.generation, record.step}, newest_begun_);
    require(record.generation == newest_begun_ || is_void_now,
            "generation {} decides step {} after generation {} has begun", record.generation, step,
            newest_begun_);
    const GenerationRecord begin = begin_of(record.generation);
    Digest previous = genesis(settings_.run, settings_.backbone).record;
    if (record.generation > 0) previous = digest_of(settings_.run, begin);
    if (record.step > begin.step) {
        const auto before = rounds_.find({record.generation, StepIndex{step - 1}});
        require(before != rounds_.end(), "step {} is decided before its predecessor", step);
        previous = before->second.digest;
    }
    require(record.step >= begin.step, "step {} is decided in generation {}, which begins at {}",
            step, record.generation, begin.step.value());
    require(record.previous_record == previous,
            "the record of step {} does not chain to its predecessor", step);
    const Digest* state = state_at(record.generation, record.step);
    require(state != nullptr && *state == record.previous_state,
            "the record of step {} starts from a state that is not the swarm's", step);
    require(record.scalars == settings_.scalars_of(record.step),
            "the record of step {} has scalars of another step", step);
    Samples all;
    for (std::size_t i = 0; i < record.members.size(); ++i) {
        require(i == 0 || record.members[i - 1].peer < record.members[i].peer,
                "the members of step {} are not in ascending order, so one may count twice", step);
        const CommitLine& line = record.members[i];
        all += line.samples;
        if (line.samples == Samples{0}) continue;
        if (const Frozen* used = used_contribution(record, line)) {
            round.contributions.push_back(*used);
        } else {
            round.is_claimed = true;
        }
    }
    require(all > Samples{0}, "step {} is decided without samples", step);
}

/// Since when the samples of this line can have been computed: since the decision that led to the
/// oldest state that they may be of, but not before the round whose record counts the last ones.
TimePoint Checkers::computed_since(const CommitRecord& record, const CommitLine& line) const {
    std::uint64_t first =
        record.step.value() - std::min(max_age(line.peer, record.step), record.step.value());
    const auto counted = last_counted_.find(line.peer);
    if (counted != last_counted_.end() && counted->second < record.step) {
        first = std::max(first, counted->second.value());
    }
    const auto before = first == 0 ? decided_at_.end() : decided_at_.find(StepIndex{first - 1});
    return before == decided_at_.end() ? TimePoint{} : before->second;
}

/// Bounds the samples that a hostile peer claims: what its device can compute in that time by the
/// fastest clock, plus all clock jumps and one second, plus one target batch for a peer that has
/// been waiting.
void Checkers::check_claim(const CommitRecord& record, const CommitLine& line, TimePoint now,
                           Duration jumps) const {
    const auto hostile = hostile_.find(line.peer);
    if (hostile == hostile_.end()) return;
    constexpr double kFastestClock = 1.06;
    const std::chrono::duration<double> time = now - computed_since(record, line);
    const std::chrono::duration<double> slack = jumps + std::chrono::seconds{1};
    const double max =
        static_cast<double>(hostile->second) * (kFastestClock * time.count() + slack.count()) +
        static_cast<double>(settings_.target_batch.value());
    require(static_cast<double>(line.samples.value()) <= max,
            "step {} counts {} samples of {}, whose device can have computed at most {:.0f}",
            record.step.value(), line.samples.value(), line.peer.brief(), max);
}

void Checkers::has_turn(const PeerKey& peer, TurnKind kind) {
    const bool is_every = kind == TurnKind::kEveryRound;
    const StepIndex end{is_every ? newest_step_.value() + wire::kMaxStaleSteps : wire::kMaxStep};
    holds_until_[peer] = end;
}

/// Steps by which the state that samples were computed on may be older than their round's.
std::uint64_t Checkers::max_age(const PeerKey& peer, StepIndex step) const {
    const auto holds = holds_until_.find(peer);
    if (holds != holds_until_.end() && step <= holds->second) return wire::kMaxStaleSteps;
    return settings_.overlaps ? 1 : 0;
}

/// The contribution that a line counts, frozen on the state of its round or on one of those before
/// it that a trainer may hold it from; null if there is none.
Checkers::Made* Checkers::made_for(const CommitRecord& record, const CommitLine& line) {
    for (std::uint64_t age = 0;
         age <= max_age(line.peer, record.step) && age <= record.step.value(); ++age) {
        const auto made = made_.find({line.peer, StepIndex{record.step.value() - age}});
        if (made == made_.end()) continue;
        for (Made& candidate : made->second) {
            const Contribution& contribution = candidate.frozen.contribution;
            const bool is_used = std::ranges::any_of(candidate.used_in, [&](const Place& place) {
                return !is_void(place, record.generation);
            });
            const double loss_sum =
                wire::accepted_loss_sum(contribution.loss_sum, contribution.samples);
            const bool is_equal = contribution.samples == line.samples && loss_sum == line.loss_sum;
            if (is_equal && (age == 0 || !is_used)) return &candidate;
        }
    }
    return nullptr;
}

/// The frozen contribution that a line counts; null if a hostile peer has frozen no such
/// contribution. Throws Violation where an honest peer has not.
const Frozen* Checkers::used_contribution(const CommitRecord& record, const CommitLine& line) {
    Made* match = made_for(record, line);
    if (match == nullptr && hostile_.contains(line.peer)) return nullptr;
    require(match != nullptr, "step {} counts {} samples of {}, which has frozen no such ones",
            record.step.value(), line.samples.value(), line.peer.brief());
    require(match->frozen.contribution.is_finite, "step {} counts a gradient that is not finite",
            record.step.value());
    const Digest* state = state_at(record.generation, match->frozen.step);
    require(!match->is_tainted && state != nullptr && match->frozen.state == *state,
            "step {} counts samples of {} that were computed on another state", record.step.value(),
            line.peer.brief());
    for (const Place& place : match->used_in) {
        require(is_void(place, record.generation), "samples of {} are counted twice at step {}",
                line.peer.brief(), record.step.value());
    }
    match->used_in.push_back({record.generation, record.step});
    count_samples(record, match->frozen, line);
    if (record.step.value() >= kStepsOfSums) {
        const auto old = made_.find({line.peer, StepIndex{record.step.value() - kStepsOfSums}});
        if (old != made_.end()) {
            for (Made& past : old->second) past.frozen.contribution.sum = nullptr;
        }
    }
    return &match->frozen;
}

/// The samples of a contribution were computed on the state of its round or on the states before it
/// that the run allows, and no other record counts any of them.
void Checkers::count_samples(const CommitRecord& record, const Frozen& frozen,
                             const CommitLine& line) {
    std::uint64_t all = 0;
    for (const Part& part : frozen.parts) {
        all += part.samples;
        const StepIndex oldest{record.step.value() -
                               std::min(max_age(line.peer, record.step), record.step.value())};
        const Digest* state = state_at(record.generation, part.step);
        require(part.step >= oldest && state != nullptr && *state == part.state,
                "step {} counts samples of {} that were computed on state {}", record.step.value(),
                line.peer.brief(), part.step.value());
        require(part.step != record.step || part.mixture == record.mixture,
                "step {} counts samples of {} that were drawn from another mixture",
                record.step.value(), line.peer.brief());
        auto& counted = counted_[line.peer];
        const std::uint64_t end = part.first_sample + part.samples;
        for (auto other = counted.begin(); other != counted.end() && other->first < end; ++other) {
            require(other->second.end <= part.first_sample ||
                        is_void(other->second.place, record.generation),
                    "steps {} and {} count the same samples of {}",
                    other->second.place.second.value(), record.step.value(), line.peer.brief());
        }
        counted.insert_or_assign(part.first_sample, Counted{end, {record.generation, record.step}});
    }
    require(all == line.samples.value(), "step {} counts {} samples of {}, which has computed {}",
            record.step.value(), line.samples.value(), line.peer.brief(), all);
}

void Checkers::check_average(const Round& round) const {
    for (const Frozen& frozen : round.contributions) {
        require(frozen.contribution.sum != nullptr,
                "step {} is decided so late that a contribution's sum is forgotten",
                round.record.step.value());
    }
    const FloatVector average = average_of(settings_.codec, round.contributions);
    require(digest_of_floats(average) == round.record.average,
            "the average of step {} is not the weighted mean of its members' gradients",
            round.record.step.value());
}

void Checkers::check_certificate(const CommitRecord& record, const Digest& digest,
                                 const Certificate& certificate) {
    if (!proven_.insert(digest_of_certificate(digest, certificate)).second) return;
    const std::vector<PeerKey> voters = voters_of(record.generation);
    const std::uint64_t step = record.step.value();
    const auto signed_bytes = vote_bytes(settings_.run, certificate.term, digest);
    for (std::size_t i = 0; i < certificate.votes.size(); ++i) {
        const Vote& vote = certificate.votes[i];
        require(i == 0 || certificate.votes[i - 1].voter < vote.voter,
                "the votes for step {} are not in ascending order, so one may count twice", step);
        require(std::find(voters.begin(), voters.end(), vote.voter) != voters.end(),
                "{} voted for step {} and is not a voter", vote.voter.brief(), step);
        require(verify(vote.voter, signed_bytes, vote.signature),
                "a vote of {} for step {} is forged", vote.voter.brief(), step);
    }
    require(2 * certificate.votes.size() > voters.size(),
            "step {} is decided with {} votes of {} voters", step, certificate.votes.size(),
            voters.size());
}

std::vector<Round> Checkers::history() const {
    std::vector<Round> rounds;
    for (const auto& [place, round] : rounds_) {
        if (!is_void(place, newest_begun_)) rounds.push_back(round);
    }
    return rounds;
}

const Round* Checkers::newest_round() const {
    const std::uint64_t steps = newest_step_.value();
    return steps == 0 ? nullptr : round_at(newest_begun_, StepIndex{steps - 1});
}

}  // namespace dedloc::simulation
