// ALBERT as the task of a run: its samples are drawn from shards of text.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "boinc_app/albert/batch.hpp"
#include "boinc_app/training/task.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/formats/shard.hpp"

namespace dedloc::training::albert {

/// Masked-LM and sentence order on text.
class AlbertTask final : public Task {
  public:
    /// `run` must outlive it. Errors: InputError, as Sampler.
    AlbertTask(const formats::RunFile& run, std::vector<formats::Shard> shards);

    /// As Task says. Errors: InputError, as Albert.
    std::unique_ptr<Model> make_model(std::span<const float> parameters,
                                      const Computation& computation) const override;

  private:
    const formats::RunFile& run_;
    const std::vector<formats::Shard> shards_;
    const Sampler sampler_;
};

}  // namespace dedloc::training::albert
