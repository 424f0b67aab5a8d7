// SwAV as the task of a run: its samples are pictures drawn from shards.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "boinc_app/swav/crop_loader.hpp"
#include "boinc_app/training/task.hpp"
#include "peer/formats/picture_shard.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc::swav {

/// Crops of a picture that predict each other's assignments. A micro-batch is one unit of pictures.
/// With a queue, a gradient also depends on the micro-batches that this model has computed before.
class SwavTask final : public training::Task {
  public:
    /// `run` must outlive it. Errors: InputError, as CropLoader.
    SwavTask(const formats::RunFile& run, std::vector<formats::PictureShard> shards);

    /// As Task says. On a GPU the pictures of the next micro-batch are decoded while it computes,
    /// and the GPU makes their crops. Errors: InputError, as Swav.
    std::unique_ptr<training::Model> make_model(
        std::span<const float> parameters, const training::Computation& computation) const override;

  private:
    const formats::RunFile& run_;
    const std::vector<formats::PictureShard> shards_;
    const CropLoader loader_;
};

}  // namespace dedloc::swav
