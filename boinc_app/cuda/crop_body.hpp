// The kernel of crops. A block makes one crop after the other, each in ten phases:
//
//     0      weights of both axes
//     1      the first pass of resizing, into bytes between both
//     2      the second pass, and colours up to the contrast; sums of lumas for it
//     3      the contrast, the other colours, gray
//     4-9    boxes of the blur, three along rows and three along columns
//
// The last phase that changes a crop writes the normalised result. A thread has the same pixels in
// phases 2 and 3. Two buffers of a crop's bytes take turns; the bytes between both passes are in
// the second one.
#pragma once

#include "boinc_app/cuda/short_value.hpp"
#include "boinc_app/pictures/pixel_arithmetic.hpp"
#include "boinc_app/training/crop_kernel.hpp"
#include "kernels/cuda/body.hpp"

namespace dedloc::training {

/// fp32 stays as it is.
template <>
DEDLOC_HOST_DEVICE inline float rounded<float>(float x) {
    return x;
}

/// Offsets of a crop's buffers in the workspace of its block, in bytes.
struct CropPlaces {
    std::size_t down_taps = 0;       ///< Taps [size]; those along rows are at 0
    std::size_t across_weights = 0;  ///< int32 [size, across_taps]
    std::size_t down_weights = 0;    ///< int32 [size, down_taps]
    std::size_t first = 0;           ///< bytes [size, size, 3]
    std::size_t second = 0;          ///< the same, or what is between both passes
    std::size_t end = 0;             ///< one past the last byte, a multiple of 16
    bool has_columns_first = false;  ///< which pass comes first

    /// Those of a crop.
    DEDLOC_HOST_DEVICE explicit CropPlaces(const KernelCrop& crop) {
        const std::size_t size = crop.size;
        has_columns_first =
            pictures::columns_come_first(std::int64_t{crop.height} - std::int64_t{crop.size},
                                         std::int64_t{crop.width} - std::int64_t{crop.size});
        const std::size_t kept = has_columns_first ? crop.width : crop.height;
        down_taps = size * sizeof(pictures::Taps);
        across_weights = 2 * down_taps;
        down_weights = across_weights + size * crop.across_taps * sizeof(std::int32_t);
        first = down_weights + size * crop.down_taps * sizeof(std::int32_t);
        second = first + 3 * size * size;
        end = second + 3 * size * (kept > size ? kept : size);
        end = (end + 15) / 16 * 16;
    }
};

/// Crops in the number format T.
template <class T>
struct CropWork {
    static constexpr unsigned kBoxes = pictures::kBoxPasses;
    static constexpr unsigned kCropPhases = 4 + 2 * kBoxes;
    using Byte = std::uint8_t;
    using Taps = pictures::Taps;
    struct Shared {
        std::uint32_t lumas[kernels::cuda::kThreads];  ///< sums of the threads' pixels
    };
    using Local = kernels::cuda::Nothing;

    const KernelCrop* crops;  ///< [count]
    std::size_t count;        ///< at least 1
    std::size_t block_count;  ///< blocks that take them in turn, at most `count`
    const Byte* pixels;       ///< as in CropCall
    std::byte* workspace;     ///< [block_count, block_bytes]
    std::size_t block_bytes;  ///< those of the largest crop
    T* out;                   ///< as in CropCall
    float mean[3];            ///< one for each channel
    float deviation[3];       ///< likewise

    /// The functions of a body (kernels/cuda/body.hpp).
    DEDLOC_HOST_DEVICE std::size_t blocks() const { return block_count; }
    DEDLOC_HOST_DEVICE unsigned phases() const {
        return static_cast<unsigned>((count + block_count - 1) / block_count) * kCropPhases;
    }
    DEDLOC_HOST_DEVICE void begin(std::size_t block, unsigned thread, Shared& shared,
                                  Local& local) const {
        resume(0, block, thread, shared, local);
    }
    DEDLOC_HOST_DEVICE void resume(unsigned phase, std::size_t block, unsigned thread,
                                   Shared& shared, Local&) const {
        const std::size_t at = phase / kCropPhases * block_count + block;
        if (at >= count) return;
        const KernelCrop& crop = crops[at];
        const CropPlaces places{crop};
        Byte* const memory =
            static_cast<Byte*>(static_cast<void*>(workspace)) + block * block_bytes;
        switch (const unsigned step = phase % kCropPhases; step) {
            case 0:
                return weigh(crop, places, memory, thread);
            case 1:
                return places.has_columns_first ? first_down(crop, places, memory, thread)
                                                : first_across(crop, places, memory, thread);
            case 2:
                return finish_resizing(crop, places, memory, thread, shared);
            case 3:
                return finish_colours(crop, places, memory, thread, shared);
            default:
                if (crop.is_blurred != 0) blur(crop, places, memory, thread, step - 4);
        }
    }

  private:
    static constexpr std::size_t kStep = kernels::cuda::kThreads;

    struct Pixel {
        Byte channels[3];
    };

    /// The taps and weights of one axis.
    struct Axis {
        const Taps* taps;
        const std::int32_t* weights;
        std::size_t stride;
    };
    DEDLOC_HOST_DEVICE static Taps* taps_at(Byte* memory, std::size_t place) {
        return static_cast<Taps*>(static_cast<void*>(memory + place));
    }
    DEDLOC_HOST_DEVICE static std::int32_t* weights_at(Byte* memory, std::size_t place) {
        return static_cast<std::int32_t*>(static_cast<void*>(memory + place));
    }
    DEDLOC_HOST_DEVICE static Axis across_of(const KernelCrop& crop, const CropPlaces& places,
                                             Byte* memory) {
        return {taps_at(memory, 0), weights_at(memory, places.across_weights), crop.across_taps};
    }
    DEDLOC_HOST_DEVICE static Axis down_of(const KernelCrop& crop, const CropPlaces& places,
                                           Byte* memory) {
        return {taps_at(memory, places.down_taps), weights_at(memory, places.down_weights),
                crop.down_taps};
    }

    DEDLOC_HOST_DEVICE static void weigh(const KernelCrop& crop, const CropPlaces& places,
                                         Byte* memory, unsigned thread) {
        for (std::size_t i = thread; i < 2 * std::size_t{crop.size}; i += kStep) {
            const bool is_across = i < crop.size;
            const auto pixel = static_cast<std::uint32_t>(is_across ? i : i - crop.size);
            const pictures::TriangleFilter filter{is_across ? crop.width : crop.height, crop.size};
            const double center = filter.center_of(pixel);
            const Taps taps = filter.taps_of(center);
            taps_at(memory, is_across ? 0 : places.down_taps)[pixel] = taps;
            double sum = 0;
            for (std::uint32_t tap = 0; tap < taps.count; ++tap) {
                sum += filter.weight_of(taps.first + tap, center);
            }
            std::int32_t* const weights =
                is_across ? weights_at(memory, places.across_weights) + pixel * crop.across_taps
                          : weights_at(memory, places.down_weights) + pixel * crop.down_taps;
            for (std::uint32_t tap = 0; tap < taps.count; ++tap) {
                weights[tap] = pictures::TriangleFilter::rounded(
                    filter.weight_of(taps.first + tap, center), sum);
            }
        }
    }

    /// The weighted mean of pixels `step` bytes from each other; those of the axis' pixel `at`.
    DEDLOC_HOST_DEVICE static Pixel weighed(const Axis& axis, std::size_t at, const Byte* from,
                                            std::size_t step) {
        const Taps taps = axis.taps[at];
        const std::int32_t* const weights = axis.weights + at * axis.stride;
        const Byte* pixel = from + taps.first * step;
        std::int32_t sums[3] = {pictures::kWeightHalf, pictures::kWeightHalf,
                                pictures::kWeightHalf};
        for (std::uint32_t tap = 0; tap < taps.count; ++tap, pixel += step) {
            const std::int32_t weight = weights[tap];
            for (unsigned c = 0; c < 3; ++c) sums[c] += weight * pixel[c];
        }
        Pixel result;
        for (unsigned c = 0; c < 3; ++c) result.channels[c] = pictures::weighed_byte(sums[c]);
        return result;
    }
    DEDLOC_HOST_DEVICE static void put(Byte* to, const Pixel& pixel) {
        for (unsigned c = 0; c < 3; ++c) to[c] = pixel.channels[c];
    }

    /// The region's first byte.
    DEDLOC_HOST_DEVICE const Byte* region_of(const KernelCrop& crop) const {
        return pixels + crop.picture + 3 * (std::size_t{crop.top} * crop.picture_width + crop.left);
    }

    /// Rows of the region, resized: [height, size, 3].
    DEDLOC_HOST_DEVICE void first_across(const KernelCrop& crop, const CropPlaces& places,
                                         Byte* memory, unsigned thread) const {
        const Axis axis = across_of(crop, places, memory);
        const std::size_t row = 3 * std::size_t{crop.picture_width};
        const std::size_t size = crop.size;
        for (std::size_t i = thread; i < crop.height * size; i += kStep) {
            put(memory + places.second + 3 * i,
                weighed(axis, i % size, region_of(crop) + i / size * row, 3));
        }
    }
    /// Columns of the region, resized: [size, width, 3].
    DEDLOC_HOST_DEVICE void first_down(const KernelCrop& crop, const CropPlaces& places,
                                       Byte* memory, unsigned thread) const {
        const Axis axis = down_of(crop, places, memory);
        const std::size_t row = 3 * std::size_t{crop.picture_width};
        const std::size_t width = crop.width;
        for (std::size_t i = thread; i < crop.size * width; i += kStep) {
            put(memory + places.second + 3 * i,
                weighed(axis, i / width, region_of(crop) + i % width * 3, row));
        }
    }

    /// A pixel of the resized region, flipped if the crop is.
    DEDLOC_HOST_DEVICE static Pixel resized(const KernelCrop& crop, const CropPlaces& places,
                                            Byte* memory, std::size_t y, std::size_t x) {
        const std::size_t size = crop.size;
        const std::size_t column = crop.is_flipped != 0 ? size - 1 - x : x;
        const Byte* const between = memory + places.second;
        if (places.has_columns_first) {
            return weighed(across_of(crop, places, memory), column, between + 3 * y * crop.width,
                           3);
        }
        return weighed(down_of(crop, places, memory), y, between + 3 * column, 3 * size);
    }

    /// The place of the contrast in the order of colours, or 4.
    DEDLOC_HOST_DEVICE static unsigned contrast_of(const KernelCrop& crop) {
        unsigned at = 0;
        while (at < 4 && crop.colours[at] != CropColour::kContrast) ++at;
        return at;
    }
    /// The operations from `from` to `to` on a pixel, of which none is the contrast.
    DEDLOC_HOST_DEVICE static void colour(const KernelCrop& crop, unsigned from, unsigned to,
                                          Pixel& pixel) {
        Byte(&c)[3] = pixel.channels;
        for (unsigned at = from; at < to; ++at) {
            switch (crop.colours[at]) {
                case CropColour::kBrightness:
                    for (Byte& value : c) value = pictures::blend(0, value, crop.factors[0]);
                    break;
                case CropColour::kSaturation: {
                    const int gray = pictures::luma(c[0], c[1], c[2]);
                    for (Byte& value : c) value = pictures::blend(gray, value, crop.factors[2]);
                    break;
                }
                case CropColour::kHue:
                    pictures::turn_hue(c[0], c[1], c[2], crop.hue_shift);
                    break;
                case CropColour::kNone:
                case CropColour::kContrast:
                    break;
            }
        }
    }

    DEDLOC_HOST_DEVICE static void finish_resizing(const KernelCrop& crop, const CropPlaces& places,
                                                   Byte* memory, unsigned thread, Shared& shared) {
        const std::size_t size = crop.size;
        const unsigned contrast = contrast_of(crop);
        std::uint32_t lumas = 0;  // sum over at most 4,096² ÷ 256 pixels
        for (std::size_t i = thread; i < size * size; i += kStep) {
            Pixel pixel = resized(crop, places, memory, i / size, i % size);
            colour(crop, 0, contrast, pixel);
            const Byte(&c)[3] = pixel.channels;
            lumas += static_cast<std::uint32_t>(pictures::luma(c[0], c[1], c[2]));
            put(memory + places.first + 3 * i, pixel);
        }
        shared.lumas[thread] = lumas;
    }

    DEDLOC_HOST_DEVICE void finish_colours(const KernelCrop& crop, const CropPlaces& places,
                                           Byte* memory, unsigned thread,
                                           const Shared& shared) const {
        const std::size_t pixel_count = std::size_t{crop.size} * crop.size;
        const unsigned contrast = contrast_of(crop);
        std::uint64_t lumas = 0;
        for (const std::uint32_t sum : shared.lumas) lumas += sum;
        const int mean_luma = pictures::mean_luma(lumas, pixel_count);
        for (std::size_t i = thread; i < pixel_count; i += kStep) {
            Byte* const at = memory + places.first + 3 * i;
            Pixel pixel{{at[0], at[1], at[2]}};
            Byte(&c)[3] = pixel.channels;
            if (contrast < 4) {
                for (Byte& value : c) {
                    value = pictures::blend(mean_luma, value, crop.factors[1]);
                }
                colour(crop, contrast + 1, 4, pixel);
            }
            if (crop.is_gray != 0) {
                const auto gray = static_cast<Byte>(pictures::luma(c[0], c[1], c[2]));
                for (Byte& value : c) value = gray;
            }
            if (crop.is_blurred != 0) {
                put(at, pixel);
            } else {
                for (unsigned channel = 0; channel < 3; ++channel) {
                    write(crop, 3 * i + channel, channel, c[channel]);
                }
            }
        }
    }

    /// One box along rows or columns: from one buffer to the other, at last to the result.
    DEDLOC_HOST_DEVICE void blur(const KernelCrop& crop, const CropPlaces& places, Byte* memory,
                                 unsigned thread, unsigned pass) const {
        const std::size_t size = crop.size;
        const bool is_along_rows = pass < kBoxes;
        const bool is_last = pass + 1 == 2 * kBoxes;
        const Byte* const from = memory + (pass % 2 == 0 ? places.first : places.second);
        Byte* const to = memory + (pass % 2 == 0 ? places.second : places.first);
        for (std::size_t line = thread; line < 3 * size; line += kStep) {
            // Neighbouring threads have neighbouring bytes of a row, or rows.
            const std::size_t start = is_along_rows ? line / 3 * 3 * size + line % 3 : line;
            const std::size_t step = is_along_rows ? 3 : 3 * size;
            blur_line(crop, from + start, step, [&](std::size_t i, Byte value) {
                const std::size_t at = start + i * step;
                if (is_last) {
                    write(crop, at, static_cast<unsigned>(at % 3), value);
                } else {
                    to[at] = value;
                }
            });
        }
    }

    /// Moves a box along a line of bytes that are `step` from each other. Pixels beyond an end
    /// equal the one at the end.
    template <class Put>
    DEDLOC_HOST_DEVICE static void blur_line(const KernelCrop& crop, const Byte* line,
                                             std::size_t step, const Put& put_byte) {
        const std::size_t size = crop.size;
        const std::size_t last = size - 1;
        const std::size_t radius = crop.box_radius;
        const auto pixel = [&](std::size_t i) -> std::uint32_t { return line[i * step]; };
        const auto after = [&](std::size_t i) { return pixel(i < last ? i : last); };
        const auto before = [&](std::size_t i, std::size_t back) {
            return pixel(i < back ? 0 : i - back);
        };
        // The sum of the box around the pixel before the first one.
        const std::size_t inside = radius < size ? radius : size;
        std::uint32_t sum = static_cast<std::uint32_t>(radius + 1) * pixel(0) +
                            static_cast<std::uint32_t>(radius - inside) * pixel(last);
        for (std::size_t i = 0; i < inside; ++i) sum += pixel(i);
        for (std::size_t i = 0; i < size; ++i) {
            const std::uint32_t leaving = before(i, radius + 1);
            sum += after(i + radius) - leaving;
            put_byte(i, pictures::box_mean(sum, leaving + after(i + radius + 1), crop.box_inner,
                                           crop.box_outer));
        }
    }

    DEDLOC_HOST_DEVICE void write(const KernelCrop& crop, std::size_t at, unsigned channel,
                                  Byte value) const {
        out[crop.out + at] =
            rounded<T>(pictures::normalised(value, mean[channel], deviation[channel]));
    }
};

}  // namespace dedloc::training
