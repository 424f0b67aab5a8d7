// On a GPU a thread of its own decodes the pictures of the micro-batch that probably comes next,
// the samples after the present ones, and packs them for the device, which makes the crops; without
// a kernel for that the thread makes them. If another micro-batch comes, all of it is dropped.
#include "boinc_app/swav/swav_task.hpp"

#include <ATen/Parallel.h>

#include <atomic>
#include <future>
#include <utility>
#include <variant>

#include "boinc_app/swav/packed_crops.hpp"
#include "peer/base/check.hpp"
#include "peer/formats/task.hpp"

namespace dedloc::swav {
namespace {

using training::IsInterrupted;
using training::SampleRange;

/// Decoded pictures of a micro-batch have at most as many bytes for each of them, or the processor
/// makes the crops. One of which crops of 224 pixels are made has 1 to 2 MB.
constexpr std::size_t kMaxPictureBytes = std::size_t{4} << 20;

/// Crops, or what the device makes them of.
using Prepared = std::variant<LoadedCrops, PackedCrops>;

/// Nothing when interrupted.
std::optional<Prepared> prepare(const CropLoader& loader, const SampleRange& samples,
                                const training::Computation& computation,
                                const IsInterrupted& is_interrupted) {
    if (computation.crops != nullptr) {
        const auto bytes = static_cast<std::size_t>(samples.count) * kMaxPictureBytes;
        const auto loaded = loader.load_pictures(samples, bytes, is_interrupted);
        if (!loaded) return std::nullopt;
        if (loaded->fits) return PackedCrops{loader.task(), *loaded, computation};
    }
    auto crops = loader.load(samples, is_interrupted);
    if (!crops) return std::nullopt;
    return std::move(*crops);
}

CropBatch batch_of(const Prepared& prepared, const SampleRange& samples) {
    if (const auto* const packed = std::get_if<PackedCrops>(&prepared)) {
        return packed->batch(samples.step);
    }
    return std::get<LoadedCrops>(prepared).batch(samples.count, samples.step);
}

/// Crops that are made ahead.
class CropsAhead {
  public:
    CropsAhead(const CropLoader& loader, const training::Computation& computation)
        : loader_(loader), computation_(computation), threads_(at::get_num_threads()) {}
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
            return prepare(loader_, samples, computation_, [this] { return stops_.load(); });
        });
    }
    /// The crops of these samples, if they were begun. Waits.
    std::optional<Prepared> take(const SampleRange& samples) {
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
    const training::Computation computation_;
    const int threads_;
    std::atomic<bool> stops_{false};
    SampleRange samples_{};
    std::future<std::optional<Prepared>> made_;
};

/// Makes the crops that it is asked for.
class CroppingModel final : public training::Model {
  public:
    CroppingModel(const formats::RunFile& run, const CropLoader& loader,
                  std::span<const float> parameters, const training::Computation& computation)
        : loader_(loader),
          computation_(computation),
          unit_(formats::samples_together(run)),
          model_(std::get<formats::SwavSpec>(run.model), run.tensors, parameters, computation) {
        if (computation.cuda) ahead_.emplace(loader, computation);
    }

    std::optional<double> add_gradient(const SampleRange& samples, std::span<float> sum,
                                       const IsInterrupted& is_interrupted) override {
        DEDLOC_CHECK(samples.count == unit_, "a micro-batch is one unit of pictures",
                     samples.count);
        std::optional<Prepared> crops = ahead_ ? ahead_->take(samples) : std::nullopt;
        if (!crops) crops = prepare(loader_, samples, computation_, is_interrupted);
        if (!crops) return std::nullopt;
        if (ahead_) {
            SampleRange next = samples;
            next.first += samples.count;
            ahead_->begin(next);
        }
        return model_.add_gradient(batch_of(*crops, samples), sum, is_interrupted);
    }

  private:
    const CropLoader& loader_;
    const training::Computation computation_;
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
