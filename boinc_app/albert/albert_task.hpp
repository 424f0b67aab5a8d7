// ALBERT as the task of a run: its samples are drawn from shards of text.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "boinc_app/albert/batch.hpp"
#include "boinc_app/training/task.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/formats/shard.hpp"

namespace dedloc::training::albert {

/// Draws micro-batches whose length is a multiple of 16, for a processor: libtorch keeps buffers
/// for every shape of a oneDNN product, up to 1,024 of them, which are hundreds of megabytes.
class PaddingSampler {
  public:
    /// The sampler must outlive it.
    explicit PaddingSampler(const Sampler& sampler) : sampler_(sampler) {}
    /// As Sampler says.
    MicroBatch draw(const Random& step, std::uint64_t first, std::uint64_t count,
                    std::span<const std::uint64_t> weights) const {
        constexpr std::size_t kGrain = 16;
        return sampler_.draw(step, first, static_cast<std::size_t>(count), weights, kGrain);
    }

  private:
    const Sampler& sampler_;
};

/// Masked-LM and sentence order on text.
class AlbertTask final : public Task {
  public:
    /// `run` must outlive it. Errors: InputError, as Sampler.
    AlbertTask(const formats::RunFile& run, std::vector<formats::Shard> shards);

    /// As Task says. Errors: InputError, as Albert.
    std::unique_ptr<Model> make_model(std::span<const float> parameters,
                                      const Computation& computation) const override;
    /// As Task says, by trial.hpp.
    ProcessorWay on_processor(const ProcessorOffer& offer, FusedLayers& layers) const override;

  private:
    const formats::RunFile& run_;
    const std::vector<formats::Shard> shards_;
    const Sampler sampler_;
    const PaddingSampler padding_sampler_{sampler_};
};

}  // namespace dedloc::training::albert
