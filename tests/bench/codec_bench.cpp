// Speed of the round's codecs on one thread: freezing a contribution, encoding it with a residual,
// booking its rounding error, averaging the pieces of eight contributors, decoding. Rates are in
// GB/s of fp32 elements, the best of several interleaved tries, beside a memcpy of the vector.
//
//     codec_bench [elements]
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/round/codec.hpp"

namespace {

using namespace dedloc;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kContributors = 8;
constexpr int kTries = 9;
/// Elements of a chunk in a round of a large vector.
constexpr std::size_t kChunk = 65'536;

/// One codec with everything that it needs.
struct Lane {
    Lane(Codec of, const SharedFloats& vector)
        : codec(of), sum(vector), feedback(of), average(vector->size()), decoded(vector->size()) {
        for (std::size_t k = 0; k < kContributors; ++k) pieces.push_back(chunks(freeze()));
        feedback.counted(freeze());  // so that there is a residual
    }
    round::Encoder freeze() const {
        return feedback.freeze(
            {.samples = Samples{8}, .loss_sum = 0, .is_finite = true, .sum = sum});
    }
    std::vector<wire::Elements> chunks(const round::Encoder& encoder) const {
        std::vector<wire::Elements> all;
        for (std::size_t first = 0; first < sum->size(); first += kChunk) {
            all.push_back(encoder.piece(first, std::min(kChunk, sum->size() - first)));
        }
        return all;
    }
    template <class Work>
    void for_each_chunk(const Work& work) {
        for (std::size_t c = 0; c < pieces.front().size(); ++c) {
            const std::size_t first = c * kChunk;
            work(c, first, std::min(kChunk, sum->size() - first));
        }
    }
    void average_all() {
        const std::vector<std::uint64_t> weights(kContributors, 8);
        for_each_chunk([&](std::size_t c, std::size_t first, std::size_t count) {
            std::vector<wire::Elements> slices;
            for (const auto& piece : pieces) slices.push_back(piece[c]);
            round::average_of(slices, weights, std::span{average}.subspan(first, count));
        });
    }
    void decode_all() {
        for_each_chunk([&](std::size_t c, std::size_t first, std::size_t count) {
            round::decode(pieces.front()[c], std::span{decoded}.subspan(first, count));
        });
    }

    const Codec codec;
    const SharedFloats sum;
    round::Feedback feedback;
    std::vector<std::vector<wire::Elements>> pieces;
    FloatVector average;
    FloatVector decoded;
};

constexpr std::array<const char*, 5> kSteps{"freeze", "encode", "feedback", "average of 8",
                                            "decode"};

void run(Lane& lane, std::size_t step) {
    switch (step) {
        case 0:
            (void)lane.freeze();
            break;
        case 1:
            (void)lane.chunks(lane.freeze());
            break;
        case 2: {
            lane.feedback.counted(lane.freeze());
            break;
        }
        case 3:
            lane.average_all();
            break;
        default:
            lane.decode_all();
    }
}

double seconds_of(const std::function<void()>& work) {
    const auto begin = Clock::now();
    work();
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

void measure(std::size_t elements) {
    auto vector = std::make_shared<FloatVector>(elements);
    Random random{1};
    for (float& x : *vector) x = static_cast<float>(random.uniform() - 0.5) * 1e-3F;
    std::vector<Lane> lanes;
    for (std::size_t c = 0; c < kCodecNames.size(); ++c) {
        lanes.emplace_back(static_cast<Codec>(c), vector);
    }
    constexpr double kNever = 1e9;
    std::vector<std::array<double, kSteps.size()>> best(lanes.size());
    for (auto& times : best) times.fill(kNever);
    double copied = kNever;
    FloatVector copy(elements);
    for (int attempt = 0; attempt < kTries; ++attempt) {
        copied = std::min(copied, seconds_of([&] {
                              std::memcpy(copy.data(), vector->data(), elements * sizeof(float));
                          }));
        for (std::size_t step = 0; step < kSteps.size(); ++step) {
            for (std::size_t c = 0; c < lanes.size(); ++c) {
                const double time = seconds_of([&] { run(lanes[c], step); });
                best[c][step] = std::min(best[c][step], time);
            }
        }
    }
    // Encoding and feedback include a freeze.
    for (auto& times : best) {
        times[1] -= times[0];
        times[2] -= times[0];
    }
    const double gigabytes = static_cast<double>(elements * sizeof(float)) / 1e9;
    std::printf("%zu elements, GB/s of fp32; memcpy %.1f\n%-13s", elements, gigabytes / copied, "");
    for (const char* name : kCodecNames) std::printf("%9s", name);
    for (std::size_t step = 0; step < kSteps.size(); ++step) {
        std::printf("\n%-13s", kSteps[step]);
        for (std::size_t c = 0; c < lanes.size(); ++c) {
            const bool is_free = lanes[c].codec == Codec::kFp32 && step < 3;
            if (is_free) std::printf("%9s", "-");
            if (!is_free) std::printf("%9.1f", gigabytes / best[c][step]);
        }
    }
    std::printf("\n");
}

}  // namespace

int main(int count, char** words) {
    std::size_t elements = 17'847'474;  // ALBERT-large
    if (count > 1) {
        const std::string text = words[1];
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), elements);
        if (error != std::errc{} || end != text.data() + text.size() || elements == 0) {
            std::fprintf(stderr, "codec_bench: '%s' is not a number of elements\n", words[1]);
            return 1;
        }
    }
    measure(elements);
    return 0;
}
