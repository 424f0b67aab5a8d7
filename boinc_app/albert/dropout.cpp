// Elements are drawn block by block; a range may begin and end within a block.
#include "boinc_app/albert/dropout.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "peer/base/check.hpp"
#include "peer/base/random.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc::training::albert {
namespace {

constexpr double kWords = 65'536;         // values of a 16-bit word
constexpr std::uint64_t kBlockWords = 8;  // 16-bit words of a block

}  // namespace

DropoutRate::DropoutRate(double probability)
    : threshold_(static_cast<std::uint32_t>(std::lround(probability * kWords))) {
    DEDLOC_CHECK(probability >= 0 && probability <= formats::kMaxDropout,
                 "a dropout rate is out of range", probability);
}

double DropoutRate::scale() const {
    return kWords / (kWords - threshold_);
}

void draw_kept(std::uint64_t key, std::uint32_t site, std::uint64_t first, DropoutRate rate,
               std::span<bool> kept) {
    const std::array<std::uint32_t, 2> halves{static_cast<std::uint32_t>(key),
                                              static_cast<std::uint32_t>(key >> 32)};
    const std::uint32_t threshold = rate.threshold();
    for (std::size_t at = 0; at < kept.size();) {
        const std::uint64_t element = first + at;
        const std::uint64_t block = element / kBlockWords;
        const auto words = philox4x32(
            {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), site, 0},
            halves);
        const std::size_t end = std::min<std::size_t>(
            kept.size(), at + static_cast<std::size_t>(kBlockWords - element % kBlockWords));
        for (std::uint64_t word = element % kBlockWords; at < end; ++at, ++word) {
            kept[at] = (words[word / 2] >> (16 * (word % 2)) & 0xffff) >= threshold;
        }
    }
}

}  // namespace dedloc::training::albert
