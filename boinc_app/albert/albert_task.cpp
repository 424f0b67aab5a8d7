#include "boinc_app/albert/albert_task.hpp"

#include <utility>

#include "boinc_app/albert/albert.hpp"

namespace dedloc::training::albert {

AlbertTask::AlbertTask(const formats::RunFile& run, std::vector<formats::Shard> shards)
    : run_(run), shards_(std::move(shards)), sampler_(run, shards_) {}

std::unique_ptr<Model> AlbertTask::make_model(std::span<const float> parameters,
                                              const Computation& computation) const {
    return std::make_unique<DrawingModel<Sampler, Albert>>(
        run_.seed, sampler_, std::make_unique<Albert>(run_, parameters, computation));
}

}  // namespace dedloc::training::albert
