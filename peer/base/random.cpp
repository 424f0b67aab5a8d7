// Philox4x32-10 as a counter mode: a block is a function of (seed as key, block number and stream
// as counter), and next() hands out its two 64-bit halves. split() derives seed and stream of the
// child from one more block under the inverted key, with the label in place of the block number.
// Every operation is integer or exact, so the numbers are the same on every machine. Do not change
// the order of words: runs, tests and initial parameters depend on it.
#include "peer/base/random.hpp"

#include <sodium.h>

#include "peer/base/check.hpp"

namespace dedloc {
namespace {

struct Product {
    std::uint32_t high, low;
};

Product multiply(std::uint32_t a, std::uint32_t b) {
    const std::uint64_t product = std::uint64_t{a} * b;
    return {static_cast<std::uint32_t>(product >> 32), static_cast<std::uint32_t>(product)};
}

std::array<std::uint32_t, 2> halves(std::uint64_t x) {
    return {static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(x >> 32)};
}

std::uint64_t joined(std::uint32_t low, std::uint32_t high) {
    return std::uint64_t{high} << 32 | low;
}

}  // namespace

std::uint64_t unpredictable_seed() {
    std::uint64_t seed = 0;
    randombytes_buf(&seed, sizeof seed);
    return seed;
}

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) {
    for (int round = 0; round < 10; ++round) {
        const Product a = multiply(0xD2511F53u, counter[0]);
        const Product b = multiply(0xCD9E8D57u, counter[2]);
        counter = {b.high ^ counter[1] ^ key[0], b.low, a.high ^ counter[3] ^ key[1], a.low};
        key[0] += 0x9E3779B9u;
        key[1] += 0xBB67AE85u;
    }
    return counter;
}

Random Random::split(std::uint64_t label) const {
    // The parent's own stream never contains this block, because its key is inverted.
    const auto name = halves(label);
    const auto from = halves(stream_);
    const auto block = philox4x32({name[0], name[1], from[0], from[1]}, halves(~seed_));
    return Random{joined(block[0], block[1]), joined(block[2], block[3])};
}

std::uint64_t Random::next() {
    if (left_ == 0) {
        const auto position = halves(block_++);
        const auto from = halves(stream_);
        const auto block = philox4x32({position[0], position[1], from[0], from[1]}, halves(seed_));
        ready_ = {joined(block[0], block[1]), joined(block[2], block[3])};
        left_ = 2;
    }
    return ready_[2 - left_--];
}

std::uint64_t Random::below(std::uint64_t bound) {
    DEDLOC_CHECK(bound >= 1, "the range is not empty");
    // Values below 2^64 mod bound would make small results more likely: they are drawn again.
    const std::uint64_t threshold = (0 - bound) % bound;
    for (;;) {
        const std::uint64_t x = next();
        if (x >= threshold) return x % bound;
    }
}

double Random::uniform() {
    return static_cast<double>(next() >> 11) * 0x1.0p-53;
}

double Random::near_normal() {
    double sum = 0;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum - 6.0;
}

}  // namespace dedloc
