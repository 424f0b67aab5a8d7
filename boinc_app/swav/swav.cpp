// Parameters are libtorch tensors that share the caller's vector. A pass is the trunk for each size
// of crops, the head for all of them, scores, assignments without a gradient, and one loss;
// autograd returns the gradients in tensors of their own, and add_gradient() adds them to the sum
// last, so an interrupted or failed pass leaves sum and queue untouched. The prototypes of a pass
// are a tensor of their own, the normalised ones: autograd stops there, and their gradient is added
// as that of the state's. From projections to the loss everything is fp32. fp16 scales the loss; if
// gradients overflow, the pass is repeated with a smaller scale.
#include "boinc_app/swav/swav.hpp"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/stack.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include "boinc_app/swav/assignments.hpp"
#include "boinc_app/swav/packed_crops.hpp"
#include "boinc_app/swav/resnet.hpp"
#include "boinc_app/training/task.hpp"
#include "boinc_app/training/torch_pass.hpp"
#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "peer/formats/swav_layout.hpp"

namespace dedloc::swav {
namespace {

using training::Autocast;
using training::Computation;
using training::InterruptionPoints;
using training::IsInterrupted;
using training::Precision;
using training::unless_interrupted;

/// Lengths are at least this, as in PyTorch's normalize().
constexpr double kMinLength = 1e-12;

/// Rows of unit length.
at::Tensor unit_rows(const at::Tensor& x) {
    return x / x.norm(2, {1}, true).clamp_min(kMinLength);
}

/// [values] as doubles or counts on the processor.
template <class T>
std::vector<T> values_of(const at::Tensor& vector, at::ScalarType type) {
    const at::Tensor values = vector.to(type).cpu().contiguous();
    const T* const first = values.const_data_ptr<T>();
    return {first, first + values.numel()};
}

/// What a pass has computed from its crops.
struct Outputs {
    at::Tensor projections;      // [crops · M, D], unit length, fp32
    at::Tensor prototypes;       // [K, D], unit length
    at::Tensor scores;           // [crops · M, K]
    at::Tensor log_predictions;  // [crops, M, K]
};

}  // namespace

struct Swav::Model {
    Model(const formats::SwavSpec& spec, const std::vector<formats::TensorSpec>& tensors,
          std::span<const float> values, const Computation& how)
        : task(spec),
          computation(how),
          device(training::device_of(how)),
          queue(spec),
          views(tensors, device) {
        if (!device.is_cpu()) {
            at::globalContext().lazyInitDevice(device.type());
            at::globalContext().setDeterministicCuDNN(true);
        }
        parameters = views.parameters(values);
        trunk.emplace(task.trunk, parameters);
        std::size_t at = trunk->tensor_count();
        const auto next = [&] { return parameters[at++]; };
        const auto pair = [&] {
            const at::Tensor weight = next();
            return Affine{weight, next()};
        };
        if (task.hidden > 0) {
            hidden = pair();
            hidden_norm = pair();
        }
        projection = pair();
        prototypes = next();
        DEDLOC_CHECK(at == parameters.size(), "every tensor of the layout must have a role", at);
    }

    /// A copy on the device, in the order of dimensions in which convolutions are fastest.
    at::Tensor pictures_of(std::span<const float> values, std::uint64_t count,
                           std::uint64_t size) const {
        DEDLOC_CHECK(count >= 1 && size >= 1, "a batch without pictures", count, size);
        DEDLOC_CHECK(values.size() == count * 3 * size * size, "wrong number of pixels",
                     values.size());
        const auto side = static_cast<std::int64_t>(size);
        const at::Tensor given =
            at::from_blob(const_cast<float*>(values.data()),
                          {static_cast<std::int64_t>(count), 3, side, side}, at::kFloat);
        return given.to(device).clone(at::MemoryFormat::ChannelsLast);
    }

    /// The crops of each size, on the device.
    std::vector<at::Tensor> crops_of(const CropBatch& batch) const {
        if (batch.packed != nullptr) return batch.packed->make(computation);
        DEDLOC_CHECK(batch.sizes.size() == task.crops.size(), "crops of another task",
                     batch.sizes.size());
        std::vector<at::Tensor> crops;
        for (std::size_t i = 0; i < task.crops.size(); ++i) {
            crops.push_back(pictures_of(batch.sizes[i], task.crops[i].count * batch.pictures,
                                        task.crops[i].size));
        }
        return crops;
    }

    /// Projections [rows, D] of features, before their normalisation.
    at::Tensor project(const at::Tensor& features, BatchNorms& norms) const {
        if (task.hidden == 0) return at::linear(features, projection.weight, projection.bias);
        const at::Tensor wide =
            norms.apply(at::linear(features, hidden.weight, hidden.bias), hidden_norm).relu_();
        return at::linear(wide, projection.weight, projection.bias);
    }

    Outputs forward(const CropBatch& batch, const InterruptionPoints& points) const {
        DEDLOC_CHECK(batch.pictures >= 2, "a micro-batch has at least 2 pictures", batch.pictures);
        BatchNorms norms;
        Outputs out;
        {
            const Autocast autocast{device.type(), computation.precision};
            std::vector<at::Tensor> features;
            for (const at::Tensor& crops : crops_of(batch)) {
                features.push_back(trunk->features(crops, norms, points));
            }
            out.projections = points.add(project(at::cat(features), norms));
        }
        out.projections = unit_rows(out.projections.to(at::kFloat));
        out.prototypes = unit_rows(prototypes.detach());
        out.prototypes.set_requires_grad(c10::GradMode::is_enabled() && !is_frozen(batch));
        out.scores = at::linear(out.projections, out.prototypes);
        const at::Tensor logs = at::log_softmax(out.scores / task.temperature, 1);
        out.log_predictions =
            logs.view({-1, static_cast<std::int64_t>(batch.pictures), out.scores.size(1)});
        return out;
    }

    bool is_frozen(const CropBatch& batch) const { return batch.step < task.frozen_steps; }

    /// The assignments [assignment crops, M, K] of a pass.
    at::Tensor assign(const Outputs& out, std::int64_t pictures, bool uses_queue) const {
        const c10::NoGradGuard no_gradients;
        std::vector<at::Tensor> all;
        for (std::size_t crop = 0; crop < task.crops.front().count; ++crop) {
            const std::int64_t first = static_cast<std::int64_t>(crop) * pictures;
            at::Tensor scores = out.scores.detach().slice(0, first, first + pictures);
            if (uses_queue) {
                scores = at::cat({scores, at::linear(queue.rows(crop), out.prototypes.detach())});
            }
            all.push_back(sinkhorn(scores, task.epsilon, task.iterations).slice(0, 0, pictures));
        }
        return at::stack(all);
    }

    /// M times the mean loss: for each assignment crop, predictions of all crops but itself.
    static at::Tensor loss(const Outputs& out, const at::Tensor& assignments) {
        const std::int64_t assigned = assignments.size(0);
        const std::int64_t others = out.log_predictions.size(0) - 1;
        const at::Tensor with_itself =
            (out.log_predictions.sum(0) * assignments.sum(0)).sum(at::kDouble);
        const at::Tensor itself =
            (out.log_predictions.slice(0, 0, assigned) * assignments).sum(at::kDouble);
        return (itself - with_itself) / static_cast<double>(assigned * others);
    }

    /// Computes the gradients of a micro-batch, and returns M times its mean loss. Returns nothing
    /// if they must be computed again with the new loss scale.
    std::optional<double> compute(const CropBatch& batch, const InterruptionPoints& points,
                                  std::vector<at::Tensor>& gradients, at::Tensor& projections) {
        const Outputs out = forward(batch, points);
        const auto pictures = static_cast<std::int64_t>(batch.pictures);
        const at::Tensor sum = loss(out, assign(out, pictures, queue.is_used(batch.step)));
        projections = out.projections.detach();
        std::vector<at::Tensor> inputs(parameters.begin(), parameters.end() - 1);
        if (!is_frozen(batch)) inputs.push_back(out.prototypes);
        auto computed = training::gradients_of(sum, inputs, computation.precision, loss_scale);
        if (!computed) return std::nullopt;
        gradients = std::move(*computed);
        const auto loss_sum = sum.item<double>();
        // A GPU has only now computed what the passes have enqueued.
        if (!device.is_cpu()) points.check();
        return loss_sum;
    }

    SwavFigures figures(const CropBatch& batch, const InterruptionPoints& points) const {
        const Outputs out = forward(batch, points);
        const at::Tensor q = assign(out, static_cast<std::int64_t>(batch.pictures), false);
        const at::Tensor rows = q.flatten(0, 1);
        const at::Tensor z = out.projections.to(at::kDouble);
        const at::Tensor p = out.log_predictions.exp();
        const std::int64_t prototype_count = out.scores.size(1);
        SwavFigures figures{
            .pictures = batch.pictures,
            .loss_sum = loss(out, q).item<double>(),
            .assigned = static_cast<std::uint64_t>(rows.size(0)),
            .assignments = values_of<double>(rows.to(at::kDouble).sum(0), at::kDouble),
            .hits = std::vector<std::uint64_t>(static_cast<std::size_t>(prototype_count)),
            .predicted = static_cast<std::uint64_t>(z.size(0)),
            .predictions = values_of<double>(p.to(at::kDouble).flatten(0, 1).sum(0), at::kDouble),
            .projections = values_of<double>(z.sum(0), at::kDouble),
            .squares = values_of<double>((z * z).sum(0), at::kDouble)};
        for (const std::int64_t best : values_of<std::int64_t>(rows.argmax(1), at::kLong)) {
            ++figures.hits[static_cast<std::size_t>(best)];
        }
        return figures;
    }

    const formats::SwavSpec task;
    const Computation computation;
    const at::Device device;
    training::LossScale loss_scale;
    ProjectionQueue queue;
    const training::TensorViews views;
    std::vector<at::Tensor> parameters;  // views of the caller's vector
    std::optional<ResNet> trunk;
    Affine hidden, hidden_norm, projection;
    at::Tensor prototypes;
};

Swav::Swav(const formats::SwavSpec& task, const std::vector<formats::TensorSpec>& tensors,
           std::span<const float> parameters, const Computation& computation) {
    if (const auto fault = formats::fault_of(task)) throw InputError{*fault};
    training::refuse_other_tensors(tensors, formats::swav_tensors(task));
    model_ = std::make_unique<Model>(task, tensors, parameters, computation);
}

Swav::~Swav() = default;

std::optional<double> Swav::add_gradient(const CropBatch& batch, std::span<float> sum,
                                         const IsInterrupted& is_interrupted) {
    return unless_interrupted(is_interrupted, [&](const InterruptionPoints& points) {
        std::vector<at::Tensor> gradients;
        at::Tensor projections;
        std::optional<double> loss;
        while (!(loss = model_->compute(batch, points, gradients, projections))) {
        }
        const c10::NoGradGuard no_gradients;
        std::vector<at::Tensor> sums = model_->views.of(sum);
        sums.resize(gradients.size());  // without frozen prototypes, which are the last
        at::_foreach_add_(sums, gradients);
        model_->queue.push(projections, static_cast<std::int64_t>(batch.pictures));
        return *loss;
    });
}

std::optional<SwavFigures> Swav::figures(const CropBatch& batch,
                                         const IsInterrupted& is_interrupted) {
    const c10::NoGradGuard no_gradients;
    return unless_interrupted(is_interrupted, [&](const InterruptionPoints& points) {
        return model_->figures(batch, points);
    });
}

std::optional<NormSums> Swav::norm_sums(const PictureBatch& batch,
                                        const IsInterrupted& is_interrupted) {
    const c10::NoGradGuard no_gradients;
    return unless_interrupted(is_interrupted, [&](const InterruptionPoints& points) {
        const Autocast autocast{model_->device.type(), model_->computation.precision};
        NormSums sums;
        BatchNorms norms{sums};
        const at::Tensor pictures = model_->pictures_of(batch.values, batch.pictures, batch.size);
        model_->project(model_->trunk->features(pictures, norms, points), norms);
        return sums;
    });
}

std::optional<FloatVector> Swav::features(const PictureBatch& batch,
                                          const std::vector<NormStatistics>& statistics,
                                          const IsInterrupted& is_interrupted) {
    const c10::NoGradGuard no_gradients;
    return unless_interrupted(is_interrupted, [&](const InterruptionPoints& points) {
        const Autocast autocast{model_->device.type(), model_->computation.precision};
        BatchNorms norms{statistics};
        const at::Tensor pictures = model_->pictures_of(batch.values, batch.pictures, batch.size);
        return values_of<float>(model_->trunk->features(pictures, norms, points), at::kFloat);
    });
}

float Swav::loss_scale() const {
    return model_->computation.precision == Precision::kFp16 ? model_->loss_scale.value() : 1.0f;
}

}  // namespace dedloc::swav
