// Digests of records. Each one is BLAKE2b over a preamble of its own, so that a signature of one
// kind of record is never valid for another kind, followed by the fields in the order of the
// struct, little-endian. The preamble ends with a version number: change it with the layout. Every
// certificate and ledger depends on these bytes.
#include "peer/wire/types.hpp"

#include <algorithm>
#include <string_view>

#include "peer/base/bytes.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc {
namespace {

void write_term(ByteWriter& out, const Term& term) {
    out.write(term.number);
    out.append(term.coordinator.bytes);
}

ByteWriter begin(std::string_view preamble) {
    ByteWriter out;
    out.append(bytes_of(preamble));
    return out;
}

/// Size of this many elements without overhead; int8 has a scale for each block.
std::uint64_t bytes_in(Codec codec, std::uint64_t elements) {
    switch (codec) {
        case Codec::kFp32:
            return 4 * elements;
        case Codec::kFp16:
        case Codec::kBf16:
            return 2 * elements;
        case Codec::kInt8:
            return elements + (elements + wire::kInt8BlockElements - 1) / wire::kInt8BlockElements;
    }
    return 0;
}

Digest finish(ByteWriter out) {
    return blake2b(std::move(out).finish());
}

}  // namespace

const CommitLine* line_of(const CommitRecord& record, const PeerKey& peer) {
    const auto found = std::ranges::lower_bound(record.members, peer, {}, &CommitLine::peer);
    return found != record.members.end() && found->peer == peer ? &*found : nullptr;
}

std::uint64_t reduced_in(const CommitRecord& record) {
    std::uint64_t sum = 0;
    for (const CommitLine& line : record.members) sum += line.reduced;
    return sum;
}

std::vector<std::uint64_t> reduced_bytes(const CommitRecord& record, Codec codec) {
    std::uint64_t contributors = 0;
    for (const CommitLine& line : record.members) contributors += line.samples > Samples{0} ? 1 : 0;
    std::vector<std::uint64_t> bytes;
    bytes.reserve(record.members.size());
    for (const CommitLine& line : record.members) {
        const std::uint64_t others = contributors - (line.samples > Samples{0} ? 1 : 0);
        bytes.push_back(others * bytes_in(codec, line.reduced));
    }
    return bytes;
}

/// Records of runs to which no source was added keep their digests.
Digest digest_of(const CommitRecord& record) {
    const bool have_added =
        std::ranges::any_of(record.members, [](const CommitLine& line) { return line.added != 0; });
    ByteWriter out = have_added ? begin("DeDLOC@home commit 5\n") : begin("DeDLOC@home commit 4\n");
    out.write(record.generation);
    out.write(record.step.value());
    out.append(record.previous_record.bytes);
    out.append(record.previous_state.bytes);
    out.write(std::uint64_t{record.members.size()});
    for (const CommitLine& line : record.members) {
        out.append(line.peer.bytes);
        out.write(line.samples.value());
        out.write(line.loss_sum);
        out.write(line.reduced);
        if (have_added) out.write(line.added);
    }
    out.append(record.average.bytes);
    out.write(record.scalars.learning_rate);
    out.write(record.scalars.first_correction);
    out.write(record.scalars.second_correction);
    if (record.mixture) out.append(record.mixture->bytes);
    return finish(std::move(out));
}

std::array<std::byte, 32> vote_bytes(const RunId& run, const Term& term, const Digest& record) {
    ByteWriter out = begin("DeDLOC@home vote 1\n");
    out.append(run.bytes);
    write_term(out, term);
    out.append(record.bytes);
    return finish(std::move(out)).bytes;
}

std::array<std::byte, 32> state_vote_bytes(const RunId& run, const StateCertificate& state) {
    ByteWriter out = begin("DeDLOC@home state 1\n");
    out.append(run.bytes);
    out.write(state.generation);
    out.write(state.step.value());
    out.append(state.record.bytes);
    out.append(state.state.bytes);
    return finish(std::move(out)).bytes;
}

Digest digest_of(const RunId& run, const GenerationRecord& record) {
    ByteWriter out = begin("DeDLOC@home generation 2\n");
    out.append(run.bytes);
    out.write(record.generation);
    out.write(record.step.value());
    out.append(record.state.bytes);
    out.write(std::uint64_t{record.voters.size()});
    for (const PeerKey& voter : record.voters) out.append(voter.bytes);
    return finish(std::move(out));
}

std::array<std::byte, 32> pause_bytes(const RunId& run, std::uint64_t count) {
    ByteWriter out = begin("DeDLOC@home pause 1\n");
    out.append(run.bytes);
    out.write(count);
    return finish(std::move(out)).bytes;
}

SignedPause sign_pause(const RunId& run, std::uint64_t count, const KeyPair& project) {
    return {.count = count, .signature = project.sign(pause_bytes(run, count))};
}

bool is_signed(const RunId& run, const PeerKey& project, const SignedPause& pause) {
    return verify(project, pause_bytes(run, pause.count), pause.signature);
}

Head genesis(const RunId& run, const PeerKey& backbone) {
    ByteWriter out = begin("DeDLOC@home genesis 1\n");
    out.append(run.bytes);
    out.append(backbone.bytes);
    return {.generation = 0,
            .step = StepIndex{0},
            .record = finish(std::move(out)),
            .voters = {backbone}};
}

}  // namespace dedloc
