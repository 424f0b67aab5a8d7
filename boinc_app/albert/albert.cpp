// A pass is encoder, two heads and their summed loss; autograd returns the gradients in tensors of
// their own, and add_gradient() adds them to the sum last, so an interrupted or failed pass leaves
// the sum untouched. fp16 scales the loss; if gradients overflow, the pass is repeated with a
// smaller scale.
#include "boinc_app/albert/albert.hpp"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/topk.h>
#include <c10/core/GradMode.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "boinc_app/albert/encoder.hpp"
#include "boinc_app/training/task.hpp"
#include "peer/base/check.hpp"
#include "peer/formats/albert_layout.hpp"

namespace dedloc::training::albert {
namespace {

/// What rows of logits, on any device, say about their labels.
class Predictions {
  public:
    /// Requires one row for each label; the labels must outlive it.
    Predictions(const at::Tensor& logits, const std::vector<std::int64_t>& labels)
        : labels_(labels) {
        const at::Tensor wanted = at::from_blob(const_cast<std::int64_t*>(labels.data()),
                                                {logits.size(0), 1}, at::dtype(at::kLong))
                                      .to(logits.device());
        const at::Tensor logs = at::log_softmax(logits.to(at::kFloat), -1);
        logs_ = logs.gather(1, wanted).cpu().contiguous();
        best_ = logits.argmax(-1).cpu().contiguous();
    }

    /// The cross entropy of a row, in nats.
    double loss(std::size_t row) const { return -double{logs_.const_data_ptr<float>()[row]}; }
    /// The label has the highest logit of its row.
    bool is_hit(std::size_t row) const {
        return best_.const_data_ptr<std::int64_t>()[row] == labels_[row];
    }

  private:
    const std::vector<std::int64_t>& labels_;
    at::Tensor logs_;
    at::Tensor best_;
};

}  // namespace

struct Albert::Model : Encoder {
    using Encoder::Encoder;

    /// Calls heads(x) with the last layer's output at the positions that the heads read: the masked
    /// tokens, then the first token of each row; [positions, hidden].
    ///
    /// On a processor in bf16 the heads are computed in fp32: their number of rows is another in
    /// each micro-batch, and for each libtorch would keep a copy of the short embeddings.
    template <class Heads>
    auto with_encoded(const Pass& pass, const Heads& heads) const {
        std::optional<Autocast> autocast{std::in_place, device.type(), computation.precision};
        std::vector<std::int64_t> positions = pass.batch.masked_at;
        for (std::size_t row = 0; row < pass.batch.samples; ++row) {
            positions.push_back(static_cast<std::int64_t>(row * pass.batch.length));
        }
        const auto count = static_cast<std::int64_t>(positions.size());
        // A copy: autograd keeps it longer than this function lives.
        const at::Tensor x = encode(pass, input(positions, {count}, at::kCPU).clone().to(device));
        if (device.is_cpu() && computation.precision == Precision::kBf16) autocast.reset();
        return heads(x);
    }

    /// [masked tokens, vocabulary]
    at::Tensor masked_token_logits(const at::Tensor& x, const MicroBatch& batch) const {
        const at::Tensor there = x.slice(0, 0, static_cast<std::int64_t>(batch.masked_at.size()));
        const at::Tensor y =
            layer_norm(activation(linear(there, prediction_dense)), prediction_norm);
        return at::linear(y, word_embeddings, prediction_bias);
    }

    /// Σ over samples of the mean loss of its masked tokens; the weights hold the 1 ÷ count.
    at::Tensor masked_token_loss(const at::Tensor& x, const MicroBatch& batch) const {
        const auto count = static_cast<std::int64_t>(batch.masked_at.size());
        const at::Tensor labels = input(batch.masked_tokens, {count, 1}, device);
        const at::Tensor weights = input(batch.masked_weights, {count, 1}, device);
        const at::Tensor logits = masked_token_logits(x, batch);
        return -(at::log_softmax(logits, -1, at::kFloat).gather(1, labels) * weights).sum();
    }

    /// [rows, 2]
    at::Tensor order_logits(const at::Tensor& x, const Pass& pass) const {
        const at::Tensor first = x.slice(0, static_cast<std::int64_t>(pass.batch.masked_at.size()));
        const at::Tensor pooled =
            dropped_hidden(at::tanh(linear(first, pooler)), pass, classifier_dropout,
                           Sites::classifier(spec.layers));
        return linear(pooled, order_classifier);
    }

    at::Tensor order_loss(const at::Tensor& x, const Pass& pass) const {
        const at::Tensor labels = input(pass.batch.is_swapped,
                                        {static_cast<std::int64_t>(pass.batch.samples), 1}, device);
        return -at::log_softmax(order_logits(x, pass), -1, at::kFloat).gather(1, labels).sum();
    }

    at::Tensor loss(const Pass& pass) const {
        return with_encoded(pass, [&](const at::Tensor& x) {
            return masked_token_loss(x, pass.batch) + order_loss(x, pass);
        });
    }

    std::vector<SampleFigures> figures(const Pass& pass) const {
        const MicroBatch& batch = pass.batch;
        const auto [tokens, orders] = with_encoded(pass, [&](const at::Tensor& x) {
            return std::pair{Predictions{masked_token_logits(x, batch), batch.masked_tokens},
                             Predictions{order_logits(x, pass), batch.is_swapped}};
        });
        std::vector<SampleFigures> figures(batch.samples);
        for (std::size_t i = 0; i < batch.masked_at.size(); ++i) {
            auto& sample = figures[static_cast<std::size_t>(batch.masked_at[i]) / batch.length];
            sample.masked_loss += static_cast<double>(batch.masked_weights[i]) * tokens.loss(i);
            sample.masked_hits += tokens.is_hit(i) ? 1 : 0;
            ++sample.masked;
        }
        for (std::size_t row = 0; row < batch.samples; ++row) {
            figures[row].order_loss = orders.loss(row);
            figures[row].is_order_hit = orders.is_hit(row);
        }
        return figures;
    }

    std::vector<std::vector<TokenGuess>> guesses(const Pass& pass, std::size_t count) const {
        const at::Tensor logits = with_encoded(
            pass, [&](const at::Tensor& x) { return masked_token_logits(x, pass.batch); });
        const auto [highest, ids] =
            at::topk(at::softmax(logits.to(at::kFloat), -1), static_cast<std::int64_t>(count), -1);
        const at::Tensor shares = highest.cpu().contiguous(), tokens = ids.cpu().contiguous();
        const auto* share = shares.const_data_ptr<float>();
        const auto* token = tokens.const_data_ptr<std::int64_t>();
        std::vector<std::vector<TokenGuess>> all(pass.batch.masked_at.size());
        for (auto& guesses : all) {
            for (std::size_t i = 0; i < count; ++i) guesses.push_back({*token++, *share++});
        }
        return all;
    }

    /// Computes the gradients of the samples of a pass, and returns the sum of their losses.
    /// Returns nothing if they must be computed again with the new loss scale.
    std::optional<double> compute(const Pass& pass, std::vector<at::Tensor>& gradients) {
        const at::Tensor sum = loss(pass);
        auto computed = gradients_of(sum, parameters, computation.precision, loss_scale);
        if (!computed) return std::nullopt;
        gradients = std::move(*computed);
        const auto loss_sum = sum.item<double>();
        // A GPU has only now computed what the passes have enqueued.
        if (!device.is_cpu()) pass.points.check();
        return loss_sum;
    }

    LossScale loss_scale;
};

Albert::Albert(const formats::RunFile& run, std::span<const float> parameters,
               const Computation& computation) {
    refuse_other_tensors(run.tensors, formats::albert_tensors(formats::albert_of(run)));
    model_ = std::make_unique<Model>(run, parameters, computation);
}

Albert::~Albert() = default;

std::optional<double> Albert::add_gradient(const MicroBatch& batch, std::span<float> sum,
                                           const IsInterrupted& is_interrupted) {
    return unless_interrupted(is_interrupted, [&](const InterruptionPoints& points) {
        std::vector<at::Tensor> gradients;
        std::optional<double> loss;
        while (!(loss = model_->compute({batch, points, true}, gradients))) {
        }
        const c10::NoGradGuard no_gradients;
        at::_foreach_add_(model_->views.of(sum), gradients);
        return *loss;
    });
}

double Albert::loss(const MicroBatch& batch) {
    const c10::NoGradGuard no_gradients;
    const IsInterrupted never;
    const InterruptionPoints points{never};
    return with_device_errors([&] { return model_->loss({batch, points, false}).item<double>(); });
}

float Albert::loss_scale() const {
    return model_->computation.precision == Precision::kFp16 ? model_->loss_scale.value() : 1.0f;
}

std::optional<std::vector<SampleFigures>> Albert::figures(const MicroBatch& batch,
                                                          const IsInterrupted& is_interrupted) {
    const c10::NoGradGuard no_gradients;
    return unless_interrupted(is_interrupted, [&](const InterruptionPoints& points) {
        return model_->figures({batch, points, false});
    });
}

std::optional<std::vector<std::vector<TokenGuess>>> Albert::guesses(
    const MicroBatch& batch, std::size_t count, const IsInterrupted& is_interrupted) {
    DEDLOC_CHECK(!batch.masked_at.empty(), "there must be a masked token");
    DEDLOC_CHECK(count >= 1 && count <= model_->spec.vocabulary, "so many tokens", count);
    const c10::NoGradGuard no_gradients;
    return unless_interrupted(is_interrupted, [&](const InterruptionPoints& points) {
        return model_->guesses({batch, points, false}, count);
    });
}

}  // namespace dedloc::training::albert
