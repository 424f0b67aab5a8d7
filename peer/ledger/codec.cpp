#include "peer/ledger/codec.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "peer/base/check.hpp"
#include "peer/membership/quorum.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::ledger {
namespace {

enum class Kind : std::uint8_t { kCommit = 1, kCertificate = 2, kGeneration = 3 };

// Flags of a commit.
constexpr std::uint8_t kMembersChange = 1;
constexpr std::uint8_t kSomeLeave = 2;
constexpr std::uint8_t kShortLosses = 4;  ///< all losses are binary32 numbers
constexpr std::uint8_t kNewLearningRate = 8;
constexpr std::uint8_t kNewBiasCorrection = 16;
constexpr std::uint8_t kAllFlags = 31;

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

/// A number that has to be at most `most`.
std::optional<std::size_t> read_count(ByteReader& bytes, std::size_t most) {
    const auto count = read_number(bytes);
    if (!count || *count > most) return std::nullopt;
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

/// Ascending places below `end`, as the gaps between them.
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

std::uint8_t flags_of(const CommitRecord& record, const Head& head, const UpdateScalars& scalars) {
    std::uint8_t flags = 0;
    if (!std::ranges::equal(record.members, head.view, {}, &CommitLine::peer)) {
        flags |= kMembersChange;
    }
    if (!std::ranges::all_of(record.members, &CommitLine::stays)) flags |= kSomeLeave;
    if (std::ranges::all_of(record.members, is_short, &CommitLine::loss_sum)) flags |= kShortLosses;
    if (record.scalars.learning_rate != scalars.learning_rate) flags |= kNewLearningRate;
    if (record.scalars.bias_correction != scalars.bias_correction) flags |= kNewBiasCorrection;
    return flags;
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

Codec::Codec(const RunId& run, const PeerKey& backbone) : run_(run), head_(genesis(run, backbone)) {
    place_of(backbone);
}

Codec::Place Codec::place_of(const PeerKey& key) {
    const auto [at, is_new] = places_.try_emplace(key, static_cast<Place>(roster_.size()));
    if (is_new) roster_.push_back({key, 0});
    return at->second;
}

void Codec::write_key(const PeerKey& key, ByteWriter& out) {
    const std::size_t known = roster_.size();
    const Place place = place_of(key);
    write_number(place, out);
    if (place == known) out.append(key.bytes);
}

std::optional<PeerKey> Codec::read_key(ByteReader& bytes) {
    const auto place = read_count(bytes, roster_.size());
    if (!place) return std::nullopt;
    if (*place < roster_.size()) return roster_[*place].key;
    const auto key = bytes.read<PeerKey>();
    // A key that is in the roster has one name only.
    if (!key || place_of(*key) != *place) return std::nullopt;
    return key;
}

void Codec::encode(const CommitRecord& record, ByteWriter& out) {
    DEDLOC_CHECK(membership::extends(head_, record), "a commit that does not extend the ledger",
                 record.step.value(), head_.step.value());
    out.write(Kind::kCommit);
    const std::uint8_t flags = flags_of(record, head_, scalars_);
    out.write(flags);
    out.write(record.previous_state);
    out.write(record.average);
    if ((flags & kNewLearningRate) != 0) out.write(record.scalars.learning_rate);
    if ((flags & kNewBiasCorrection) != 0) out.write(record.scalars.bias_correction);
    if ((flags & kMembersChange) != 0) {
        std::vector<std::size_t> gone;
        for (std::size_t i = 0; i < head_.view.size(); ++i) {
            if (!std::ranges::binary_search(record.members, head_.view[i], {}, &CommitLine::peer)) {
                gone.push_back(i);
            }
        }
        write_places(gone, out);
        write_number(record.members.size() - (head_.view.size() - gone.size()), out);
        for (const CommitLine& line : record.members) {
            if (!std::ranges::binary_search(head_.view, line.peer)) write_key(line.peer, out);
        }
    }
    if ((flags & kSomeLeave) != 0) {
        std::vector<std::size_t> leave;
        for (std::size_t i = 0; i < record.members.size(); ++i) {
            if (!record.members[i].stays) leave.push_back(i);
        }
        write_places(leave, out);
    }
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
    took_in(record);
}

void Codec::encode(const Certificate& certificate, ByteWriter& out) {
    DEDLOC_CHECK(after_commit_, "a certificate without its commit before it");
    out.write(Kind::kCertificate);
    write_number(certificate.term.number, out);
    write_key(certificate.term.coordinator, out);
    write_number(certificate.votes.size(), out);
    for (const Vote& vote : certificate.votes) {
        write_key(vote.voter, out);
        out.append(vote.signature);
    }
    after_commit_ = false;
}

void Codec::encode(const SignedGeneration& generation, ByteWriter& out) {
    const GenerationRecord& record = generation.record;
    out.write(Kind::kGeneration);
    write_number(record.generation, out);
    write_number(record.step.value(), out);
    out.write(record.state);
    write_key(record.backbone, out);
    out.append(generation.signature);
    took_in(record);
}

std::optional<Entry> Codec::decode(ByteReader& bytes) {
    const auto kind = bytes.read<std::uint8_t>();
    if (!kind) return std::nullopt;
    switch (*kind) {
        case static_cast<std::uint8_t>(Kind::kCommit):
            return decode_commit(bytes);
        case static_cast<std::uint8_t>(Kind::kCertificate):
            return decode_certificate(bytes);
        case static_cast<std::uint8_t>(Kind::kGeneration):
            return decode_generation(bytes);
        default:
            return std::nullopt;
    }
}

/// The member list of a commit that says it has changed.
std::optional<std::vector<PeerKey>> Codec::read_members(ByteReader& bytes) {
    const auto gone = read_places(bytes, head_.view.size());
    if (!gone) return std::nullopt;
    std::vector<PeerKey> members;
    for (std::size_t i = 0; i < head_.view.size(); ++i) {
        if (!std::ranges::binary_search(*gone, i)) members.push_back(head_.view[i]);
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

std::optional<Entry> Codec::decode_commit(ByteReader& bytes) {
    const auto flags = bytes.read<std::uint8_t>();
    CommitRecord record;
    record.generation = head_.generation;
    record.step = head_.step;
    record.previous_record = head_.record;
    record.scalars = scalars_;
    const auto previous_state = bytes.read<Digest>();
    const auto average = bytes.read<Digest>();
    if (!average || *flags > kAllFlags) return std::nullopt;
    record.previous_state = *previous_state;
    record.average = *average;
    if ((*flags & kNewLearningRate) != 0) {
        record.scalars.learning_rate = bytes.read<std::uint32_t>().value_or(0);
    }
    if ((*flags & kNewBiasCorrection) != 0) {
        record.scalars.bias_correction = bytes.read<std::uint32_t>().value_or(0);
    }
    const auto members =
        (*flags & kMembersChange) != 0 ? read_members(bytes) : std::optional{head_.view};
    if (!members) return std::nullopt;
    for (const PeerKey& peer : *members) record.members.emplace_back().peer = peer;
    if ((*flags & kSomeLeave) != 0) {
        const auto leave = read_places(bytes, members->size());
        if (!leave) return std::nullopt;
        for (const std::size_t place : *leave) record.members[place].stays = false;
    }
    for (CommitLine& line : record.members) {
        const auto samples = read_after(roster_[place_of(line.peer)].samples, bytes);
        if (!samples) return std::nullopt;
        line.samples = Samples{*samples};
    }
    if (!read_losses(bytes, (*flags & kShortLosses) != 0, record.members)) return std::nullopt;
    if (!membership::extends(head_, record)) return std::nullopt;
    took_in(record);
    return record;
}

std::optional<Entry> Codec::decode_certificate(ByteReader& bytes) {
    if (!std::exchange(after_commit_, false)) return std::nullopt;
    Certificate certificate;
    const auto number = read_number(bytes);
    const auto coordinator = read_key(bytes);
    const auto count = read_count(bytes, wire::kMaxVoters);
    if (!number || !coordinator || !count) return std::nullopt;
    certificate.term = {*number, *coordinator};
    for (std::size_t i = 0; i < *count; ++i) {
        const auto voter = read_key(bytes);
        const auto signature = bytes.read<Signature>();
        if (!voter || !signature) return std::nullopt;
        certificate.votes.push_back({*voter, *signature});
    }
    return certificate;
}

std::optional<Entry> Codec::decode_generation(ByteReader& bytes) {
    SignedGeneration generation;
    const auto number = read_number(bytes);
    const auto step = read_number(bytes);
    const auto state = bytes.read<Digest>();
    const auto backbone = read_key(bytes);
    const auto signature = bytes.read<Signature>();
    if (!number || !step || !state || !backbone || !signature) return std::nullopt;
    if (*number <= head_.generation) return std::nullopt;
    generation.record = {*number, StepIndex{*step}, *state, *backbone};
    generation.signature = *signature;
    took_in(generation.record);
    return generation;
}

void Codec::took_in(const CommitRecord& record) {
    for (const CommitLine& line : record.members) {
        roster_[place_of(line.peer)].samples = line.samples.value();
    }
    scalars_ = record.scalars;
    head_ = membership::head_after(record);
    after_commit_ = true;
}

void Codec::took_in(const GenerationRecord& record) {
    head_ = membership::head_after(run_, record);
    after_commit_ = false;
}

}  // namespace dedloc::ledger
