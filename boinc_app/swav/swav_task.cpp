// On a GPU a thread of its own makes the crops of the micro-batch that probably comes next, the
// samples after the present ones. If another one comes, what it has made is dropped.
#include "boinc_app/swav/swav_task.hpp"

#include <ATen/Parallel.h>

#include <atomic>
#include <future>
#include <utility>

#include "peer/base/check.hpp"
#include "peer/formats/task.hpp"

namespace dedloc::swav {
namespace {

using training::IsInterrupted;
using training::SampleRange;

/// Crops that are made ahead.
class CropsAhead {
  public:
    explicit CropsAhead(const CropLoader& loader)
        : loader_(loader), threads_(at::get_num_threads()) {}
    ~CropsAhead() { drop(); }
    CropsAhead(const CropsAhead&) = delete;
    CropsAhead& operator=(const CropsAhead&) = delete;

    /// Begins to make the crops of these samples.
    void begin(const SampleRange& samples) {
        drop();
        stops_ = false;
        samples_ = samples;
        made_ = std::async(std::launch::async, [this, samples] {
            at::set_num_threads(threads_);
            return loader_.load(samples, [this] { return stops_.load(); });
        });
    }
    /// The crops of these samples, if they were begun. Waits.
    std::optional<LoadedCrops> take(const SampleRange& samples) {
        if (!made_.valid()) return std::nullopt;
        if (!(samples_ == samples)) {
            drop();
            return std::nullopt;
        }
        return made_.get();
    }

  private:
    void drop() {
        stops_ = true;
        if (made_.valid()) made_.wait();
        made_ = {};
    }

    const CropLoader& loader_;
    const int threads_;
    std::atomic<bool> stops_{false};
    SampleRange samples_{};
    std::future<std::optional<LoadedCrops>> made_;
};

/// Makes the crops that it is asked for.
class CroppingModel final : public training::Model {
  public:
    CroppingModel(const formats::RunFile& run, const CropLoader& loader,
                  std::span<const float> parameters, const training::Computation& computation)
        : loader_(loader),
          unit_(formats::samples_together(run)),
          model_(std::get<formats::SwavSpec>(run.model), run.tensors, parameters, computation) {
        if (computation.cuda) ahead_.emplace(loader);
    }

    std::optional<double> add_gradient(const SampleRange& samples, std::span<float> sum,
                                       const IsInterrupted& is_interrupted) override {
        DEDLOC_CHECK(samples.count == unit_, "a micro-batch is one unit of pictures",
                     samples.count);
        std::optional<LoadedCrops> crops = ahead_ ? ahead_->take(samples) : std::nullopt;
        if (!crops) crops = loader_.load(samples, is_interrupted);
        if (!crops) return std::nullopt;
        if (ahead_) {
            SampleRange next = samples;
            next.first += samples.count;
            ahead_->begin(next);
        }
        return model_.add_gradient(crops->batch(samples.count, samples.step), sum, is_interrupted);
    }

  private:
    const CropLoader& loader_;
    const std::uint64_t unit_;
    Swav model_;
    std::optional<CropsAhead> ahead_;
};

}  // namespace

SwavTask::SwavTask(const formats::RunFile& run, std::vector<formats::PictureShard> shards)
    : run_(run), shards_(std::move(shards)), loader_(run, shards_) {}

std::unique_ptr<training::Model> SwavTask::make_model(
    std::span<const float> parameters, const training::Computation& computation) const {
    return std::make_unique<CroppingModel>(run_, loader_, parameters, computation);
}

}  // namespace dedloc::swav
