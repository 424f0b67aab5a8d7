#include "boinc_app/albert/albert_task.hpp"

#include <utility>

#include "boinc_app/albert/albert.hpp"
#include "boinc_app/albert/trial.hpp"

namespace dedloc::training::albert {

AlbertTask::AlbertTask(const formats::RunFile& run, std::vector<formats::Shard> shards)
    : run_(run), shards_(std::move(shards)), sampler_(run, shards_) {}

std::unique_ptr<Model> AlbertTask::make_model(std::span<const float> parameters,
                                              const Computation& computation) const {
    auto model = std::make_unique<Albert>(run_, parameters, computation);
    if (!computation.cuda) {
        return std::make_unique<DrawingModel<PaddingSampler, Albert>>(run_.seed, padding_sampler_,
                                                                      std::move(model));
    }
    return std::make_unique<DrawingModel<Sampler, Albert>>(run_.seed, sampler_, std::move(model));
}

ProcessorWay AlbertTask::on_processor(const ProcessorOffer& offer, FusedLayers& layers) const {
    return processor_way(run_, sampler_, offer, layers);
}

}  // namespace dedloc::training::albert
