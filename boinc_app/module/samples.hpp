// The samples of a module, drawn from shards by public seeds: windows of token ids from text,
// squares of pictures, or rows of tensors with fixed shapes. Every sample is drawn by itself from
// the generator step.split(index) of its number, so any machine can draw it again, in a micro-batch
// of any size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "boinc_app/training/computation.hpp"
#include "boinc_app/training/shard_masses.hpp"
#include "peer/base/aligned_floats.hpp"
#include "peer/base/random.hpp"
#include "peer/formats/picture_shard.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/formats/shard.hpp"
#include "peer/formats/tensor_shard.hpp"

namespace dedloc::training::module {

/// One tensor of a micro-batch, in row-major order.
struct InputTensor {
    formats::ElementType type = formats::ElementType::kFloat32;  ///< type of an element
    std::vector<std::uint64_t> shape;                            ///< samples first
    /// Elements in the machine's byte order, which is little-endian.
    std::vector<std::byte, AlignedAllocator<std::byte>> bytes{};
    bool operator==(const InputTensor&) const = default;
};

/// Draws micro-batches. Thread: any, one at a time.
class SampleSource {
  public:
    using Weights = std::span<const std::uint64_t>;
    virtual ~SampleSource() = default;
    /// The tensors of samples first … first + count − 1 of the step, in the order of forward's
    /// arguments. `weights`: as ShardMasses::draw. Nothing when `is_interrupted` returns true,
    /// which is called between samples that take long to draw. Requires count ≥ 1 (aborts).
    virtual std::optional<std::vector<InputTensor>> draw_unless(const IsInterrupted& is_interrupted,
                                                                const Random& step,
                                                                std::uint64_t first,
                                                                std::uint64_t count,
                                                                Weights weights = {}) const = 0;
    /// The same without interruption.
    std::vector<InputTensor> draw(const Random& step, std::uint64_t first, std::uint64_t count,
                                  Weights weights = {}) const {
        return draw_unless({}, step, first, count, weights).value();
    }
};

/// Windows of consecutive tokens of text: one tensor [M, length], int64. A window may reach across
/// sentences and documents. The probability of a window is proportional to its shard's weight.
class TextWindows final : public SampleSource {
  public:
    /// `sources`: the run's, or none. Errors: InputError: no shard has so many tokens.
    TextWindows(std::vector<formats::Shard> shards, std::uint64_t length,
                std::span<const formats::SourceSpec> sources = {});
    std::optional<std::vector<InputTensor>> draw_unless(const IsInterrupted& is_interrupted,
                                                        const Random& step, std::uint64_t first,
                                                        std::uint64_t count,
                                                        Weights weights = {}) const override;

  private:
    const std::vector<formats::Shard> shards_;
    const std::uint64_t length_;
    ShardMasses masses_;  ///< things are windows
};

/// Rows of the tensors of shards. The probability of one is proportional to its shard's weight.
class TensorRows final : public SampleSource {
  public:
    /// `sources`: the run's, or none. Errors: InputError: no shard, or shards with different
    /// tensors.
    explicit TensorRows(std::vector<formats::TensorShard> shards,
                        std::span<const formats::SourceSpec> sources = {});
    std::optional<std::vector<InputTensor>> draw_unless(const IsInterrupted& is_interrupted,
                                                        const Random& step, std::uint64_t first,
                                                        std::uint64_t count,
                                                        Weights weights = {}) const override;

    /// The tensors of a sample.
    const std::vector<formats::SampleTensor>& tensors() const { return shards_.front().specs; }

  private:
    const std::vector<formats::TensorShard> shards_;
    ShardMasses masses_;  ///< things are samples
};

/// The squares in the middle of pictures: one tensor [M, 3, side, side], uint8. The shorter side of
/// a picture is resized to `side` (pictures/crops.hpp). The probability of one is proportional to
/// its shard's weight. Memory: a picture and its buffers, as DecodeOptions bounds them.
class PictureSquares final : public SampleSource {
  public:
    /// `sources`: the run's, or none. Requires 1 ≤ side ≤ kMaxPictureSide (aborts).
    /// Errors: InputError without a picture.
    PictureSquares(std::vector<formats::PictureShard> shards, std::uint64_t side,
                   std::span<const formats::SourceSpec> sources = {});
    /// Errors: InputError: a picture that cannot be decoded.
    std::optional<std::vector<InputTensor>> draw_unless(const IsInterrupted& is_interrupted,
                                                        const Random& step, std::uint64_t first,
                                                        std::uint64_t count,
                                                        Weights weights = {}) const override;

  private:
    const std::vector<formats::PictureShard> shards_;
    const std::uint32_t side_;
    ShardMasses masses_;  ///< things are pictures
};

/// The shards of a run: of text, of pictures, or of tensors.
using SampleShards = std::variant<std::vector<formats::Shard>, std::vector<formats::PictureShard>,
                                  std::vector<formats::TensorShard>>;

/// The samples of a run that trains a module. Errors: as the constructors above; the shards'
/// tensors are not those that the run file says (InputError).
std::unique_ptr<const SampleSource> open_samples(const formats::RunFile& run, SampleShards shards);

}  // namespace dedloc::training::module
