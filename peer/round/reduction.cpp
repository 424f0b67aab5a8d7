#include "peer/round/reduction.hpp"

#include <algorithm>
#include <span>

#include "kernels/weighted_mean.hpp"
#include "peer/base/check.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::round {
namespace {

using wire::kChunkElements;

std::uint64_t chunk_count(std::uint64_t elements) {
    return (elements + kChunkElements - 1) / kChunkElements;
}

}  // namespace

Reduction::Part Reduction::part_of(PartIndex part) const {
    const std::uint64_t first = plan_.boundaries[part.value()];
    const std::uint64_t last = plan_.boundaries[part.value() + 1];
    return {first, last, chunk_count(last - first)};
}

Reduction::Reduction(wire::Plan plan, PeerIndex self, Contribution contribution)
    : plan_(std::move(plan)),
      self_(self),
      contribution_(std::move(contribution)),
      own_(part_of(PartIndex{self.value()})),
      average_(std::make_shared<FloatVector>(plan_.boundaries.back())),
      missing_elements_(plan_.boundaries.back()) {
    const Samples own_samples = plan_.members[self_.value()].samples;
    DEDLOC_CHECK(own_samples == contribution_.samples, "the plan counts what was joined with",
                 own_samples.value(), contribution_.samples.value());
    DEDLOC_CHECK(own_samples == Samples{0} || contribution_.sum->size() == missing_elements_,
                 "a contribution is as long as the vector", missing_elements_);
    for (std::uint32_t k = 0; k < plan_.members.size(); ++k) {
        has_average_.emplace_back(part_of(PartIndex{k}).chunks);
        if (plan_.members[k].samples == Samples{0}) continue;
        contributors_.push_back(PeerIndex{k});
        weights_.push_back(plan_.members[k].samples.value());
        slices_.emplace_back(own_.last - own_.first);
        has_chunk_.emplace_back(own_.chunks);
    }
    DEDLOC_CHECK(!contributors_.empty(), "a round has samples");
    waiting_.assign(own_.chunks, static_cast<std::uint32_t>(contributors_.size()));
}

PeerIndex Reduction::index_of(const PeerKey& peer) const {
    const auto it = std::find_if(plan_.members.begin(), plan_.members.end(),
                                 [&](const wire::PlanMember& m) { return m.peer == peer; });
    return PeerIndex{static_cast<std::uint32_t>(it - plan_.members.begin())};
}

std::vector<Outgoing> Reduction::start() {
    std::vector<Outgoing> out;
    if (contribution_.samples == Samples{0}) return out;
    const FloatVector& sum = *contribution_.sum;
    for (std::uint32_t k = 0; k < plan_.members.size(); ++k) {
        const Part part = part_of(PartIndex{k});
        for (std::uint64_t c = 0; c < part.chunks; ++c) {
            const std::uint64_t first = part.first + c * kChunkElements;
            const std::uint64_t count = std::min<std::uint64_t>(kChunkElements, part.last - first);
            const float* data = sum.data() + first;
            if (PeerIndex{k} == self_) {
                place_slice(self_, c, data, count);
                reduce_chunk(c, out);
                continue;
            }
            out.push_back({PeerIndex{k},
                           {.attempt = plan_.attempt,
                            .phase = wire::Phase::kScatter,
                            .part = PartIndex{k},
                            .offset = first,
                            .elements = FloatVector(data, data + count)}});
        }
    }
    return out;
}

std::uint64_t Reduction::chunk_index(const Part& part, const wire::Chunk& chunk) const {
    if (chunk.offset < part.first || chunk.offset >= part.last) return part.chunks;
    const std::uint64_t distance = chunk.offset - part.first;
    const std::uint64_t count = std::min<std::uint64_t>(kChunkElements, part.last - chunk.offset);
    if (distance % kChunkElements != 0 || chunk.elements.size() != count) return part.chunks;
    return distance / kChunkElements;
}

std::vector<Outgoing> Reduction::take(PeerIndex from, const wire::Chunk& chunk) {
    std::vector<Outgoing> out;
    const bool is_scatter = chunk.phase == wire::Phase::kScatter;
    const PartIndex expected{is_scatter ? self_.value() : from.value()};
    if (chunk.attempt != plan_.attempt || chunk.part != expected || from == self_) {
        ++ignored_chunks_;
        return out;
    }
    const Part part = part_of(chunk.part);
    const std::uint64_t index = chunk_index(part, chunk);
    if (index == part.chunks) {
        ++ignored_chunks_;
        return out;
    }
    if (is_scatter) {
        place_slice(from, index, chunk.elements.data(), chunk.elements.size());
        reduce_chunk(index, out);
    } else if (has_average_[from.value()][index]) {
        ++ignored_chunks_;
    } else {
        has_average_[from.value()][index] = true;
        std::copy(chunk.elements.begin(), chunk.elements.end(),
                  average_->begin() + static_cast<std::ptrdiff_t>(chunk.offset));
        missing_elements_ -= chunk.elements.size();
    }
    return out;
}

void Reduction::place_slice(PeerIndex from, std::uint64_t chunk, const float* first,
                            std::uint64_t count) {
    const auto it = std::find(contributors_.begin(), contributors_.end(), from);
    if (it == contributors_.end()) {
        ++ignored_chunks_;
        return;
    }
    const auto row = static_cast<std::size_t>(it - contributors_.begin());
    if (has_chunk_[row][chunk]) {
        ++ignored_chunks_;
        return;
    }
    has_chunk_[row][chunk] = true;
    --waiting_[chunk];
    std::copy_n(first, count,
                slices_[row].begin() + static_cast<std::ptrdiff_t>(chunk * kChunkElements));
}

void Reduction::reduce_chunk(std::uint64_t chunk, std::vector<Outgoing>& out) {
    if (waiting_[chunk] != 0 || has_average_[self_.value()][chunk]) return;
    const std::uint64_t begin = chunk * kChunkElements;
    const std::uint64_t count =
        std::min<std::uint64_t>(kChunkElements, own_.last - own_.first - begin);
    std::vector<std::span<const float>> parts;
    parts.reserve(slices_.size());
    for (const FloatVector& slice : slices_)
        parts.push_back(std::span{slice}.subspan(begin, count));
    const std::span<float> mean = std::span{*average_}.subspan(own_.first + begin, count);
    kernels::weighted_mean(parts, weights_, mean);
    has_average_[self_.value()][chunk] = true;
    missing_elements_ -= count;
    for (std::uint32_t k = 0; k < plan_.members.size(); ++k) {
        if (PeerIndex{k} == self_) continue;
        out.push_back({PeerIndex{k},
                       {.attempt = plan_.attempt,
                        .phase = wire::Phase::kGather,
                        .part = PartIndex{self_.value()},
                        .offset = own_.first + begin,
                        .elements = FloatVector(mean.begin(), mean.end())}});
    }
}

SharedFloats Reduction::average() const {
    DEDLOC_CHECK(is_complete(), "the average is whole", missing_elements_);
    return average_;
}

}  // namespace dedloc::round
