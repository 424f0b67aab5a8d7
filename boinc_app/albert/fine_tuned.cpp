// The encoder is that of pre-training, on the same vector of parameters; the head's two tensors are
// views of what follows in that vector. Heads of pre-training take no part, so autograd returns no
// gradient for them.
#include "boinc_app/albert/fine_tuned.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/tanh.h>
#include <c10/core/GradMode.h>

#include <utility>

#include "boinc_app/albert/encoder.hpp"
#include "boinc_app/training/task.hpp"
#include "peer/base/check.hpp"
#include "peer/formats/albert_layout.hpp"

namespace dedloc::training::albert {

struct FineTuned::Model {
    Model(const formats::RunFile& run, std::span<const float> values, Labelled kind,
          std::size_t labels)
        : what(kind),
          encoder(run, values.first(values.size() - head_size(run, labels)), {}),
          all(encoder.parameters) {
        const auto width = static_cast<std::int64_t>(encoder.spec.hidden);
        const auto count = static_cast<std::int64_t>(labels);
        float* const first = const_cast<float*>(values.data()) + encoder.views.element_count();
        head.weight = at::from_blob(first, {count, width}, at::kFloat);
        head.bias = at::from_blob(first + count * width, {count}, at::kFloat);
        for (const at::Tensor& tensor : {head.weight, head.bias}) {
            tensor.set_requires_grad(true);
            all.push_back(tensor);
        }
    }

    /// Elements of the head.
    static std::size_t head_size(const formats::RunFile& run, std::size_t labels) {
        return labels * (static_cast<std::size_t>(formats::albert_of(run).hidden) + 1);
    }

    /// [places, labels]
    at::Tensor logits(const LabelledBatch& batch, const Pass& pass) const {
        at::Tensor x = encoder.encode(pass);
        if (what == Labelled::kTexts) x = at::tanh(linear(x.select(1, 0), encoder.pooler));
        x = Encoder::dropped_hidden(x, pass, encoder.classifier_dropout,
                                    Sites::classifier(encoder.spec.layers));
        const auto count = static_cast<std::int64_t>(batch.places.size());
        const at::Tensor places = input(batch.places, {count}, encoder.device);
        return linear(x.reshape({-1, x.size(-1)}).index_select(0, places), head);
    }

    /// The sum of cross entropies.
    at::Tensor loss(const at::Tensor& logits, const LabelledBatch& batch) const {
        const auto count = static_cast<std::int64_t>(batch.labels.size());
        const at::Tensor labels = input(batch.labels, {count, 1}, encoder.device);
        return -at::log_softmax(logits, -1, at::kFloat).gather(1, labels).sum();
    }

    /// The vector's parts that belong to the tensors of `all`.
    std::vector<at::Tensor> views(std::span<float> vector) const {
        const std::size_t count = encoder.views.element_count();
        auto tensors = encoder.views.of(vector.first(count));
        float* const first = vector.data() + count;
        tensors.push_back(at::from_blob(first, head.weight.sizes(), at::kFloat));
        tensors.push_back(
            at::from_blob(first + head.weight.numel(), head.bias.sizes(), at::kFloat));
        return tensors;
    }

    const Labelled what;
    const Encoder encoder;
    Pair head;
    std::vector<at::Tensor> all;  // the encoder's tensors and the head's
};

FineTuned::FineTuned(const formats::RunFile& run, std::span<const float> parameters, Labelled what,
                     std::size_t labels) {
    DEDLOC_CHECK(labels >= 1, "a head needs a label");
    refuse_other_tensors(run.tensors, formats::albert_tensors(formats::albert_of(run)));
    DEDLOC_CHECK(parameters.size() == element_count(run, labels), "wrong number of parameters",
                 parameters.size());
    model_ = std::make_unique<Model>(run, parameters, what, labels);
}

FineTuned::~FineTuned() = default;

std::size_t FineTuned::element_count(const formats::RunFile& run, std::size_t labels) {
    return static_cast<std::size_t>(formats::element_count(run)) + Model::head_size(run, labels);
}

std::optional<double> FineTuned::add_gradient(const LabelledBatch& batch, std::span<float> sum,
                                              const IsInterrupted& is_interrupted) {
    return unless_interrupted(is_interrupted, [&](const InterruptionPoints& points) {
        const at::Tensor loss =
            model_->loss(model_->logits(batch, {batch.inputs, points, true}), batch);
        const auto gradients =
            torch::autograd::grad({loss}, model_->all, {}, std::nullopt, false, true);
        const c10::NoGradGuard no_gradients;
        const auto views = model_->views(sum);
        for (std::size_t i = 0; i < views.size(); ++i) {
            if (gradients[i].defined()) views[i].add_(gradients[i]);
        }
        return loss.item<double>();
    });
}

std::optional<LabelPredictions> FineTuned::predict(const LabelledBatch& batch,
                                                   const IsInterrupted& is_interrupted) {
    const c10::NoGradGuard no_gradients;
    return unless_interrupted(is_interrupted, [&](const InterruptionPoints& points) {
        const at::Tensor logits = model_->logits(batch, {batch.inputs, points, false});
        const at::Tensor best = logits.argmax(-1).contiguous();
        const auto* const first = best.const_data_ptr<std::int64_t>();
        return LabelPredictions{.loss = model_->loss(logits, batch).item<double>(),
                                .labels = {first, first + best.numel()}};
    });
}

}  // namespace dedloc::training::albert
