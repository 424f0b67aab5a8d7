// A box blur along columns keeps one sum for each column and moves it down row by row, so the loop
// over a row vectorises. Along rows it does the same on the transposed plane. An extended box has a
// whole radius and, beyond it, one more pixel at each end of a smaller weight; both weights have 24
// bits.
#include "boinc_app/pictures/blur.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "boinc_app/pictures/transposition.hpp"
#include "kernels/instruction_set.hpp"
#include "peer/base/check.hpp"

namespace dedloc::pictures {
namespace {

struct BoxRow {
    /// Moves the sums down by one row and writes the means.
    DEDLOC_LOOP void run(std::uint32_t* sums, const std::uint8_t* leaving,
                         const std::uint8_t* entering, const std::uint8_t* above,
                         const std::uint8_t* below, std::uint8_t* out, std::size_t count,
                         std::uint32_t inner, std::uint32_t outer) {
        DEDLOC_INDEPENDENT
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint32_t sum = sums[i] + entering[i] - leaving[i];
            const auto ends = static_cast<std::uint32_t>(above[i] + below[i]);
            sums[i] = sum;
            out[i] = box_mean(sum, ends, inner, outer);
        }
    }
};

void blur_columns(const std::uint8_t* from, std::uint8_t* to, std::size_t size, const Box& box,
                  std::uint32_t* sums) {
    const std::size_t last = size - 1;
    // Row numbers are moved up by one radius and 1, so that none is negative.
    const std::size_t radius = box.radius;
    const std::size_t reach = radius + 1;
    const auto row = [&](std::size_t moved) {
        return from + (moved < reach ? 0 : std::min(moved - reach, last)) * size;
    };
    // Sums of the row above the first one: radius + 1 copies of the first row, then those below it.
    const std::size_t inside = std::min(radius, size);
    const auto first_copies = static_cast<std::uint32_t>(reach);
    const auto last_copies = static_cast<std::uint32_t>(radius - inside);
    for (std::size_t x = 0; x < size; ++x) {
        sums[x] = first_copies * from[x] + last_copies * from[last * size + x];
    }
    for (std::size_t y = 0; y < inside; ++y) {
        for (std::size_t x = 0; x < size; ++x) sums[x] += from[y * size + x];
    }
    for (std::size_t y = 0; y < size; ++y) {
        kernels::run_for<BoxRow>(kernels::widest_instruction_set(), sums, row(y),
                                 row(y + reach + radius), row(y), row(y + 2 * reach), to + y * size,
                                 size, box.inner, box.outer);
    }
}

}  // namespace

Box box_of(double radius) {
    DEDLOC_CHECK(radius >= 0 && radius <= 1e6, "the radius is not huge", radius);
    const auto deviation = static_cast<float>(radius);
    const float variance = deviation * deviation / kBoxPasses;
    const auto length = static_cast<float>(std::sqrt(12.0 * variance + 1.0));
    const auto whole = static_cast<float>(std::floor((length - 1.0) / 2.0));
    float rest = (2 * whole + 1) * (whole * (whole + 1) - 3 * variance);
    rest /= 6 * (variance - (whole + 1) * (whole + 1));
    const float reach = whole + rest;
    constexpr std::uint32_t kOne = 1u << 24;
    const auto inside = static_cast<std::uint32_t>(reach);
    const auto inner = static_cast<std::uint32_t>(static_cast<float>(kOne) / (reach * 2 + 1));
    return {.radius = inside, .inner = inner, .outer = (kOne - (2 * inside + 1) * inner) / 2};
}

void GaussianBlur::run(std::span<std::uint8_t> plane, std::size_t size, double radius) {
    DEDLOC_CHECK(size >= 1 && plane.size() == size * size, "a plane is a square", size,
                 plane.size());
    if (spare_.size() < size * size) spare_.resize(size * size);
    if (sums_.size() < size) sums_.resize(size);
    const auto stride = static_cast<std::ptrdiff_t>(size);
    const Box box = box_of(radius);
    for (int direction = 0; direction < 2; ++direction) {
        transpose(plane.data(), stride, spare_.data(), stride, size, size);
        static_assert(kBoxPasses % 2 == 1, "the last pass writes into the plane");
        std::uint8_t* from = spare_.data();
        std::uint8_t* to = plane.data();
        for (int pass = 0; pass < kBoxPasses; ++pass) {
            blur_columns(from, to, size, box, sums_.data());
            std::swap(from, to);
        }
    }
}

}  // namespace dedloc::pictures
