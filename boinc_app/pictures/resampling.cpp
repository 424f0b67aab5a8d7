// Both passes are one loop: a row of bytes is a weighted sum of rows of bytes, which vectorises
// because all elements of a row have the same weights. The pass over columns has such rows as they
// are. For the pass over rows, sixteen rows of the picture are transposed into a tile, in which the
// three channels of a pixel of all sixteen are one row of 48 bytes. The transposition back also
// separates the channels and flips the crop. Which pass comes first changes roundings: Pillow
// 13.0.0 begins with the columns where it loses more than twice as many rows as columns.
#include "boinc_app/pictures/resampling.hpp"

#include <algorithm>

#include "boinc_app/pictures/transposition.hpp"
#include "kernels/instruction_set.hpp"
#include "peer/base/check.hpp"

namespace dedloc::pictures {
namespace {

constexpr std::size_t kTileRows = kTransposed;
constexpr std::size_t kTilePixel = 3 * kTileRows;
constexpr std::size_t kLanes = 32;  // columns are padded to a multiple

/// Weighted sums of rows, kBlock elements at a time. Weights are positive and add up to about 2²².
template <std::size_t kBlock>
struct WeighRows {
    /// Row i of `out` is the sum of the rows of `rows` that `taps[i]` names.
    DEDLOC_LOOP void run(const std::uint8_t* rows, std::size_t row_bytes, const Taps* taps,
                         const std::int32_t* weights, std::size_t weight_stride, std::size_t count,
                         std::uint8_t* out, std::size_t out_bytes, std::size_t blocks) {
        for (std::size_t i = 0; i < count; ++i, weights += weight_stride, out += out_bytes) {
            for (std::size_t block = 0; block < blocks; ++block) {
                const std::uint8_t* row = rows + taps[i].first * row_bytes + block * kBlock;
                std::int32_t sums[kBlock];
                for (std::int32_t& sum : sums) sum = kWeightHalf;
                for (std::uint32_t tap = 0; tap < taps[i].count; ++tap, row += row_bytes) {
                    const std::int32_t weight = weights[tap];
                    DEDLOC_INDEPENDENT
                    for (std::size_t j = 0; j < kBlock; ++j) sums[j] += weight * row[j];
                }
                std::uint8_t* target = out + block * kBlock;
                DEDLOC_INDEPENDENT
                for (std::size_t j = 0; j < kBlock; ++j) target[j] = weighed_byte(sums[j]);
            }
        }
    }
};

std::size_t padded(std::size_t size) {
    return (size + kLanes - 1) / kLanes * kLanes;
}

template <class T>
void grow(std::vector<T>& values, std::size_t count) {
    if (values.size() < count) values.resize(count);
}

}  // namespace

/// Weights of pixels `first` to `first` + `count` of an axis of `length` pixels that is resized.
void Resampler::Axis::compute(std::uint32_t length, std::uint32_t resized, std::uint32_t first,
                              std::uint32_t count) {
    const TriangleFilter filter{length, resized};
    stride = filter.max_taps();
    grow(taps, count);
    grow(weights, count * stride);
    grow(exact, stride);
    begin = length;
    end = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        const double center = filter.center_of(first + i);
        const Taps used = filter.taps_of(center);
        double sum = 0;
        for (std::uint32_t tap = 0; tap < used.count; ++tap) {
            sum += exact[tap] = filter.weight_of(used.first + tap, center);
        }
        std::int32_t* rounded = weights.data() + i * stride;
        for (std::uint32_t tap = 0; tap < used.count; ++tap) {
            rounded[tap] = TriangleFilter::rounded(exact[tap], sum);
        }
        taps[i] = used;
        begin = std::min(begin, used.first);
        end = std::max(end, used.first + used.count);
    }
    for (std::uint32_t i = 0; i < count; ++i) taps[i].first -= begin;
}

/// Resizes the rows: `to` becomes [3, height, size] with rows of `row_bytes`.
void Resampler::resize_rows(const Rows& source, std::size_t size, bool is_flipped, std::uint8_t* to,
                            std::size_t row_bytes) {
    const std::size_t height = source.height;
    const std::size_t width = across_.end - across_.begin;
    grow(tile_, width * kTilePixel);
    grow(resized_tile_, size * kTilePixel);
    for (std::size_t done = 0; done < height; done += kTileRows) {
        // The last tile is moved up, so that all have sixteen rows if the picture has.
        const std::size_t rows = std::min(kTileRows, height);
        const std::size_t top = std::min(done, height - rows);
        transpose(source.first + top * source.row_bytes,
                  static_cast<std::ptrdiff_t>(source.row_bytes), tile_.data(), kTileRows, rows,
                  3 * width);
        kernels::run_for<WeighRows<kTilePixel>>(kernels::widest_instruction_set(), tile_.data(),
                                                kTilePixel, across_.taps.data(),
                                                across_.weights.data(), across_.stride, size,
                                                resized_tile_.data(), kTilePixel, std::size_t{1});
        const std::uint8_t* first = resized_tile_.data();
        auto stride = static_cast<std::ptrdiff_t>(kTilePixel);
        if (is_flipped) {
            first += (size - 1) * kTilePixel;
            stride = -stride;
        }
        for (std::size_t channel = 0; channel < 3; ++channel) {
            transpose(first + channel * kTileRows, stride,
                      to + (channel * height + top) * row_bytes,
                      static_cast<std::ptrdiff_t>(row_bytes), size, rows);
        }
    }
}

void Resampler::run(const Picture& picture, const Resampling& resampling,
                    std::span<std::uint8_t> planes) {
    const Region& region = resampling.region;
    const Extent extent = region.extent;
    const std::size_t size = resampling.size;
    DEDLOC_CHECK(extent.width >= 1 && region.left < picture.width &&
                     extent.width <= picture.width - region.left,
                 "the region is within the picture", region.left, extent.width, picture.width);
    DEDLOC_CHECK(extent.height >= 1 && region.top < picture.height &&
                     extent.height <= picture.height - region.top,
                 "the region is within the picture", region.top, extent.height, picture.height);
    DEDLOC_CHECK(size >= 1 && std::uint64_t{resampling.left} + size <= resampling.resized.width &&
                     std::uint64_t{resampling.top} + size <= resampling.resized.height,
                 "the square is within the resized region", size, resampling.left, resampling.top);
    DEDLOC_CHECK(planes.size() >= 3 * size * size + kSlack, "planes have slack", planes.size());
    DEDLOC_CHECK(picture.rgb.size() == std::size_t{3} * picture.width * picture.height,
                 "a picture has three bytes for each pixel", picture.rgb.size());

    const Extent resized = resampling.resized;
    across_.compute(extent.width, resized.width, resampling.left, resampling.size);
    down_.compute(extent.height, resized.height, resampling.top, resampling.size);
    const std::size_t picture_row = std::size_t{3} * picture.width;
    const Rows rows{.first = picture.rgb.data() + (region.top + down_.begin) * picture_row +
                             std::size_t{3} * (region.left + across_.begin),
                    .row_bytes = picture_row,
                    .height = down_.end - down_.begin};
    const std::int64_t lost_rows = std::int64_t{extent.height} - resized.height;
    const std::int64_t lost_columns = std::int64_t{extent.width} - resized.width;
    if (columns_come_first(lost_rows, lost_columns)) {
        columns_first(rows, size, resampling.is_flipped, planes.data());
    } else {
        rows_first(rows, size, resampling.is_flipped, planes.data());
    }
}

void Resampler::rows_first(const Rows& rows, std::size_t size, bool is_flipped,
                           std::uint8_t* planes) {
    const std::size_t row_bytes = padded(size);
    grow(between_, 3 * rows.height * row_bytes);
    resize_rows(rows, size, is_flipped, between_.data(), row_bytes);
    for (std::size_t channel = 0; channel < 3; ++channel) {
        // The padding of a row is written where the next one begins, and then overwritten.
        kernels::run_for<WeighRows<kLanes>>(
            kernels::widest_instruction_set(), between_.data() + channel * rows.height * row_bytes,
            row_bytes, down_.taps.data(), down_.weights.data(), down_.stride, size,
            planes + channel * size * size, size, row_bytes / kLanes);
    }
}

void Resampler::columns_first(const Rows& rows, std::size_t size, bool is_flipped,
                              std::uint8_t* planes) {
    const std::size_t row_bytes = std::size_t{3} * (across_.end - across_.begin);
    grow(between_, size * row_bytes);
    // Rows of the picture have no padding, so bytes that fill no block are weighed one by one.
    const std::size_t blocks = row_bytes / kLanes;
    kernels::run_for<WeighRows<kLanes>>(kernels::widest_instruction_set(), rows.first,
                                        rows.row_bytes, down_.taps.data(), down_.weights.data(),
                                        down_.stride, size, between_.data(), row_bytes, blocks);
    const std::size_t rest = blocks * kLanes;
    kernels::run_for<WeighRows<1>>(kernels::widest_instruction_set(), rows.first + rest,
                                   rows.row_bytes, down_.taps.data(), down_.weights.data(),
                                   down_.stride, size, between_.data() + rest, row_bytes,
                                   row_bytes - rest);
    resize_rows({.first = between_.data(), .row_bytes = row_bytes, .height = size}, size,
                is_flipped, planes, size);
}

}  // namespace dedloc::pictures
