// The decoder fills the omitted fields from its own head, roster and member list, then checks the
// entry as the encoder would (membership::extends, are_votes_of, can_begin_after), so it returns
// only entries that can be encoded. Every number is checked against its limit before it is used.
// append() moves encoder and decoder on in the same way; a field that both predict belongs there.
#include "peer/ledger/entry_codec.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "peer/membership/quorum.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::ledger {
namespace {

enum class Kind : std::uint8_t { kCommit = 1, kGeneration = 2 };

// Flags of a commit.
constexpr std::uint8_t kMembersChange = 1;
constexpr std::uint8_t kNewTerm = 2;
constexpr std::uint8_t kShortLosses = 4;  ///< all losses are binary32 numbers
constexpr std::uint8_t kNewLearningRate = 8;
constexpr std::uint8_t kNewFirstCorrection = 16;
constexpr std::uint8_t kNewSecondCorrection = 32;
constexpr std::uint8_t kNewParts = 64;     ///< some member reduced more or less than before
constexpr std::uint8_t kNewMixture = 128;  ///< or other added sources of some member
// Flags of its byte.
constexpr std::uint8_t kIsChanged = 1;    ///< the digest of a change follows; else the run file's
constexpr std::uint8_t kNewAdded = 2;     ///< some member has more or fewer than before
constexpr std::uint8_t kSameMixture = 4;  ///< only the added sources are new
static_assert(wire::kMaxVoters < 64, "a set of voters is a number");

void write_number(std::uint64_t number, ByteWriter& out) {
    for (; number >= 0x80; number >>= 7) out.write(static_cast<std::uint8_t>(number | 0x80));
    out.write(static_cast<std::uint8_t>(number));
}

std::optional<std::uint64_t> read_number(ByteReader& bytes) {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const auto byte = bytes.read<std::uint8_t>();
        if (!byte) return std::nullopt;
        number |= std::uint64_t{*byte & 0x7FU} << shift;
        if (*byte < 0x80) return number;
    }
    return std::nullopt;
}

/// Reads a number; nothing if it is larger than `max`.
std::optional<std::size_t> read_count(ByteReader& bytes, std::size_t max) {
    const auto count = read_number(bytes);
    if (!count || *count > max) return std::nullopt;
    return static_cast<std::size_t>(*count);
}

/// Modulo 2⁶⁴, so any two numbers have a difference.
void write_difference(std::uint64_t from, std::uint64_t to, ByteWriter& out) {
    const auto difference = static_cast<std::int64_t>(to - from);
    write_number((std::bit_cast<std::uint64_t>(difference) << 1) ^
                     std::bit_cast<std::uint64_t>(difference >> 63),
                 out);
}

std::optional<std::uint64_t> read_after(std::uint64_t from, ByteReader& bytes) {
    const auto zigzag = read_number(bytes);
    if (!zigzag) return std::nullopt;
    return from + ((*zigzag >> 1) ^ (~(*zigzag & 1) + 1));
}

/// Ascending places, written as the gaps between them.
void write_places(const std::vector<std::size_t>& places, ByteWriter& out) {
    write_number(places.size(), out);
    std::size_t next = 0;
    for (const std::size_t place : places) {
        write_number(place - next, out);
        next = place + 1;
    }
}

std::optional<std::vector<std::size_t>> read_places(ByteReader& bytes, std::size_t end) {
    const auto count = read_count(bytes, end);
    if (!count) return std::nullopt;
    std::vector<std::size_t> places;
    std::size_t next = 0;
    for (std::size_t i = 0; i < *count; ++i) {
        const auto gap = read_count(bytes, end);
        if (!gap || next + *gap >= end) return std::nullopt;
        places.push_back(next + *gap);
        next = places.back() + 1;
    }
    return places;
}

bool is_short(double loss) {
    return static_cast<double>(static_cast<float>(loss)) == loss;
}

bool is_ascending(std::span<const PeerKey> keys) {
    return std::ranges::adjacent_find(keys, std::greater_equal{}) == keys.end();
}

/// True if the votes are by voters of the generation, strictly ascending.
bool are_votes_of(std::span<const PeerKey> voters, const std::vector<Vote>& votes) {
    return std::ranges::adjacent_find(votes, std::greater_equal{}, &Vote::voter) == votes.end() &&
           std::ranges::all_of(votes, [&](const Vote& vote) {
               return std::ranges::binary_search(voters, vote.voter);
           });
}

bool can_begin_after(const Head& head, const GenerationRecord& record) {
    return record.generation > head.generation && record.generation <= wire::kMaxGeneration &&
           record.step.value() <= wire::kMaxStep && !record.voters.empty() &&
           record.voters.size() <= wire::kMaxVoters && is_ascending(record.voters);
}

bool read_losses(ByteReader& bytes, bool are_short, std::vector<CommitLine>& members) {
    for (CommitLine& line : members) {
        if (are_short) {
            const auto loss = bytes.read<float>();
            if (!loss) return false;
            line.loss_sum = static_cast<double>(*loss);
        } else {
            const auto loss = bytes.read<double>();
            if (!loss) return false;
            line.loss_sum = *loss;
        }
    }
    return true;
}

}  // namespace

EntryCodec::EntryCodec(const RunId& run, const PeerKey& backbone)
    : run_(run), head_(genesis(run, backbone)) {
    place_of(backbone);
}

EntryCodec::Place EntryCodec::place_of(const PeerKey& key) {
    const auto [at, is_new] = places_.try_emplace(key, static_cast<Place>(roster_.size()));
    if (is_new) roster_.push_back({.key = key});
    return at->second;
}

void EntryCodec::write_key(const PeerKey& key, ByteWriter& out) {
    const std::size_t known = roster_.size();
    const Place place = place_of(key);
    write_number(place, out);
    if (place == known) out.append(key.bytes);
}

std::optional<PeerKey> EntryCodec::read_key(ByteReader& bytes) {
    const auto place = read_count(bytes, roster_.size());
    if (!place) return std::nullopt;
    if (*place < roster_.size()) return roster_[*place].key;
    const auto key = bytes.read<PeerKey>();
    // A key that the roster contains must be named by its place: one encoding for each entry.
    if (!key || place_of(*key) != *place) return std::nullopt;
    return key;
}

std::uint8_t EntryCodec::flags_of(const Decision& decision) const {
    const CommitRecord& record = decision.record;
    std::uint8_t flags = 0;
    if (!std::ranges::equal(record.members, members_, {}, &CommitLine::peer)) {
        flags |= kMembersChange;
    }
    if (decision.certificate.term != term_) flags |= kNewTerm;
    if (std::ranges::all_of(record.members, is_short, &CommitLine::loss_sum)) flags |= kShortLosses;
    if (record.scalars.learning_rate != scalars_.learning_rate) flags |= kNewLearningRate;
    if (record.scalars.first_correction != scalars_.first_correction) flags |= kNewFirstCorrection;
    if (record.scalars.second_correction != scalars_.second_correction) {
        flags |= kNewSecondCorrection;
    }
    if (!std::ranges::all_of(record.members, [this](const CommitLine& line) {
            return line.reduced == last_of(line.peer).reduced;
        })) {
        flags |= kNewParts;
    }
    if (record.mixture != mixture_ || has_other_added(record)) flags |= kNewMixture;
    return flags;
}

/// What the encoder predicts: the peer's numbers in its last commit; zeros if there is none.
EntryCodec::Known EntryCodec::last_of(const PeerKey& peer) const {
    const auto place = places_.find(peer);
    return place == places_.end() ? Known{.key = peer} : roster_[place->second];
}

bool EntryCodec::has_other_added(const CommitRecord& record) const {
    return std::ranges::any_of(record.members, [this](const CommitLine& line) {
        return line.added != last_of(line.peer).added;
    });
}

/// Asks for has_other_added() before the members join the roster.
void EntryCodec::write_mixture(const CommitRecord& record, ByteWriter& out) const {
    std::uint8_t flags = has_other_added(record) ? kNewAdded : 0;
    if (record.mixture == mixture_) {
        flags |= kSameMixture;
    } else if (record.mixture) {
        flags |= kIsChanged;
    }
    out.write(flags);
    if ((flags & kIsChanged) != 0) out.write(*record.mixture);
}

bool EntryCodec::encode(const Decision& decision, ByteWriter& out) {
    const CommitRecord& record = decision.record;
    if (!membership::extends(head_, record)) return false;
    if (!are_votes_of(head_.voters, decision.certificate.votes)) return false;
    const std::uint8_t flags = flags_of(decision);
    out.write(Kind::kCommit);
    out.write(flags);
    out.write(record.previous_state);
    out.write(record.average);
    if ((flags & kNewLearningRate) != 0) out.write(record.scalars.learning_rate);
    if ((flags & kNewFirstCorrection) != 0) out.write(record.scalars.first_correction);
    if ((flags & kNewSecondCorrection) != 0) out.write(record.scalars.second_correction);
    const bool have_added = has_other_added(record);
    if ((flags & kNewMixture) != 0) write_mixture(record, out);
    if ((flags & kMembersChange) != 0) write_members(record, out);
    for (const CommitLine& line : record.members) {
        write_difference(roster_[place_of(line.peer)].samples, line.samples.value(), out);
    }
    for (const CommitLine& line : record.members) {
        if ((flags & kShortLosses) != 0) {
            out.write(static_cast<float>(line.loss_sum));
        } else {
            out.write(line.loss_sum);
        }
    }
    if ((flags & kNewParts) != 0) {
        for (const CommitLine& line : record.members) {
            write_difference(last_of(line.peer).reduced, line.reduced, out);
        }
    }
    if (have_added) {
        for (const CommitLine& line : record.members) out.write(line.added);
    }
    write_certificate(decision.certificate, (flags & kNewTerm) != 0, out);
    append(decision);
    return true;
}

void EntryCodec::write_members(const CommitRecord& record, ByteWriter& out) {
    std::vector<std::size_t> gone;
    for (std::size_t i = 0; i < members_.size(); ++i) {
        if (line_of(record, members_[i]) == nullptr) gone.push_back(i);
    }
    write_places(gone, out);
    write_number(record.members.size() - (members_.size() - gone.size()), out);
    for (const CommitLine& line : record.members) {
        if (!std::ranges::binary_search(members_, line.peer)) write_key(line.peer, out);
    }
}

void EntryCodec::write_certificate(const Certificate& certificate, bool is_new_term,
                                   ByteWriter& out) {
    if (is_new_term) {
        write_number(certificate.term.number, out);
        write_key(certificate.term.coordinator, out);
    }
    std::uint64_t voters = 0;
    for (const Vote& vote : certificate.votes) {
        const auto at = std::ranges::lower_bound(head_.voters, vote.voter);
        voters |= std::uint64_t{1} << (at - head_.voters.begin());
    }
    write_number(voters, out);
    for (const Vote& vote : certificate.votes) out.append(vote.signature);
}

bool EntryCodec::encode(const SignedGeneration& generation, ByteWriter& out) {
    const GenerationRecord& record = generation.record;
    if (!can_begin_after(head_, record)) return false;
    out.write(Kind::kGeneration);
    write_number(record.generation, out);
    write_number(record.step.value(), out);
    out.write(record.state);
    write_number(record.voters.size(), out);
    for (const PeerKey& voter : record.voters) write_key(voter, out);
    out.append(generation.signature);
    append(record);
    return true;
}

std::optional<Entry> EntryCodec::decode(ByteReader& bytes) {
    const auto kind = bytes.read<std::uint8_t>();
    if (!kind) return std::nullopt;
    switch (*kind) {
        case static_cast<std::uint8_t>(Kind::kCommit):
            return decode_commit(bytes);
        case static_cast<std::uint8_t>(Kind::kGeneration):
            return decode_generation(bytes);
        default:
            return std::nullopt;
    }
}

/// Reads the new member list of a commit whose flags say that it has changed.
std::optional<std::vector<PeerKey>> EntryCodec::read_members(ByteReader& bytes) {
    const auto gone = read_places(bytes, members_.size());
    if (!gone) return std::nullopt;
    std::vector<PeerKey> members;
    for (std::size_t i = 0; i < members_.size(); ++i) {
        if (!std::ranges::binary_search(*gone, i)) members.push_back(members_[i]);
    }
    const auto added = read_count(bytes, wire::kMaxMembers - members.size());
    if (!added) return std::nullopt;
    for (std::size_t i = 0; i < *added; ++i) {
        const auto key = read_key(bytes);
        if (!key) return std::nullopt;
        members.push_back(*key);
    }
    std::ranges::sort(members);
    return members;
}

/// False unless mixture or added sources differ from the last record's: one encoding for each
/// entry.
bool EntryCodec::read_mixture(ByteReader& bytes, CommitRecord& record, bool& have_added) const {
    const auto flags = bytes.read<std::uint8_t>();
    if (!flags || *flags > (kNewAdded | kSameMixture)) return false;
    have_added = (*flags & kNewAdded) != 0;
    if ((*flags & kSameMixture) != 0) return *flags == (kNewAdded | kSameMixture);
    const bool is_changed = (*flags & kIsChanged) != 0;
    record.mixture = is_changed ? bytes.read<Digest>() : std::nullopt;
    return record.mixture != mixture_ && record.mixture.has_value() == is_changed;
}

bool EntryCodec::read_parts(ByteReader& bytes, bool are_new, CommitRecord& record) const {
    for (CommitLine& line : record.members) {
        line.reduced = last_of(line.peer).reduced;
        if (!are_new) continue;
        const auto reduced = read_after(line.reduced, bytes);
        if (!reduced) return false;
        line.reduced = *reduced;
    }
    return true;
}

bool EntryCodec::read_added(ByteReader& bytes, bool are_new, CommitRecord& record) const {
    for (CommitLine& line : record.members) {
        line.added = last_of(line.peer).added;
        if (!are_new) continue;
        const auto added = bytes.read<std::uint8_t>();
        if (!added || *added > wire::kMaxSources) return false;
        line.added = *added;
    }
    return are_new == has_other_added(record);
}

std::optional<Entry> EntryCodec::decode_commit(ByteReader& bytes) {
    const auto flags = bytes.read<std::uint8_t>();
    CommitRecord record;
    record.generation = head_.generation;
    record.step = head_.step;
    record.previous_record = head_.record;
    record.scalars = scalars_;
    const auto previous_state = bytes.read<Digest>();
    const auto average = bytes.read<Digest>();
    if (!average) return std::nullopt;
    record.previous_state = *previous_state;
    record.average = *average;
    if ((*flags & kNewLearningRate) != 0) {
        record.scalars.learning_rate = bytes.read<std::uint32_t>().value_or(0);
    }
    if ((*flags & kNewFirstCorrection) != 0) {
        record.scalars.first_correction = bytes.read<std::uint32_t>().value_or(0);
    }
    if ((*flags & kNewSecondCorrection) != 0) {
        record.scalars.second_correction = bytes.read<std::uint32_t>().value_or(0);
    }
    record.mixture = mixture_;
    bool have_added = false;
    if ((*flags & kNewMixture) != 0 && !read_mixture(bytes, record, have_added)) {
        return std::nullopt;
    }
    const auto members =
        (*flags & kMembersChange) != 0 ? read_members(bytes) : std::optional{members_};
    if (!members) return std::nullopt;
    for (const PeerKey& peer : *members) record.members.emplace_back().peer = peer;
    for (CommitLine& line : record.members) {
        const auto samples = read_after(roster_[place_of(line.peer)].samples, bytes);
        if (!samples) return std::nullopt;
        line.samples = Samples{*samples};
    }
    if (!read_losses(bytes, (*flags & kShortLosses) != 0, record.members)) return std::nullopt;
    if (!read_parts(bytes, (*flags & kNewParts) != 0, record)) return std::nullopt;
    if (!read_added(bytes, have_added, record)) return std::nullopt;
    if (!membership::extends(head_, record)) return std::nullopt;
    auto certificate = read_certificate(bytes, (*flags & kNewTerm) != 0);
    if (!certificate) return std::nullopt;
    Decision decision{.record = std::move(record), .certificate = std::move(*certificate)};
    append(decision);
    return decision;
}

std::optional<Certificate> EntryCodec::read_certificate(ByteReader& bytes, bool is_new_term) {
    Certificate certificate{.term = term_, .votes = {}};
    if (is_new_term) {
        const auto number = read_number(bytes);
        const auto coordinator = read_key(bytes);
        if (!number || !coordinator) return std::nullopt;
        certificate.term = {*number, *coordinator};
    }
    const auto voters = read_number(bytes);
    if (!voters || *voters >> head_.voters.size() != 0) return std::nullopt;
    for (std::size_t i = 0; i < head_.voters.size(); ++i) {
        if ((*voters >> i & 1) == 0) continue;
        const auto signature = bytes.read<Signature>();
        if (!signature) return std::nullopt;
        certificate.votes.push_back({head_.voters[i], *signature});
    }
    return certificate;
}

std::optional<Entry> EntryCodec::decode_generation(ByteReader& bytes) {
    SignedGeneration generation;
    GenerationRecord& record = generation.record;
    const auto number = read_number(bytes);
    const auto step = read_number(bytes);
    const auto state = bytes.read<Digest>();
    const auto count = read_count(bytes, wire::kMaxVoters);
    if (!number || !step || !state || !count) return std::nullopt;
    record = {.generation = *number, .step = StepIndex{*step}, .state = *state, .voters = {}};
    for (std::size_t i = 0; i < *count; ++i) {
        const auto voter = read_key(bytes);
        if (!voter) return std::nullopt;
        record.voters.push_back(*voter);
    }
    const auto signature = bytes.read<Signature>();
    if (!signature || !can_begin_after(head_, record)) return std::nullopt;
    generation.signature = *signature;
    append(record);
    return generation;
}

void EntryCodec::append(const Decision& decision) {
    members_.clear();
    for (const CommitLine& line : decision.record.members) {
        Known& known = roster_[place_of(line.peer)];
        known.samples = line.samples.value();
        known.reduced = line.reduced;
        known.added = line.added;
        members_.push_back(line.peer);
    }
    scalars_ = decision.record.scalars;
    mixture_ = decision.record.mixture;
    term_ = decision.certificate.term;
    head_ = membership::head_after(head_, decision.record);
}

void EntryCodec::append(const GenerationRecord& record) {
    head_ = membership::head_after(run_, record);
}

}  // namespace dedloc::ledger
