#include "boinc_app/albert/albert_task.hpp"

#include <utility>

#include "boinc_app/albert/albert.hpp"

namespace dedloc::training::albert {
namespace {

/// Draws the samples that it is asked for.
class DrawingModel final : public Model {
  public:
    DrawingModel(const formats::RunFile& run, const Sampler& sampler,
                 std::span<const float> parameters, const Computation& computation)
        : seed_(run.seed), sampler_(sampler), albert_(run, parameters, computation) {}

    std::optional<double> add_gradient(const SampleRange& samples, std::span<float> sum,
                                       const IsInterrupted& is_interrupted) override {
        const Random random = step_random(seed_, samples.peer, samples.step);
        const MicroBatch batch =
            sampler_.draw(random, samples.first, static_cast<std::size_t>(samples.count),
                          samples.source_weights());
        return albert_.add_gradient(batch, sum, is_interrupted);
    }

  private:
    const std::uint64_t seed_;
    const Sampler& sampler_;
    Albert albert_;
};

}  // namespace

AlbertTask::AlbertTask(const formats::RunFile& run, std::vector<formats::Shard> shards)
    : run_(run), shards_(std::move(shards)), sampler_(run, shards_) {}

std::unique_ptr<Model> AlbertTask::make_model(std::span<const float> parameters,
                                              const Computation& computation) const {
    return std::make_unique<DrawingModel>(run_, sampler_, parameters, computation);
}

}  // namespace dedloc::training::albert
