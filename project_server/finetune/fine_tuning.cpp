// The parameters of the model and of its head are one vector, which the network reads in place, so
// a step changes that vector and nothing else, and the best epoch is a copy of it. A step's rows
// are sorted by length before they are divided into micro-batches, so that few are padded; their
// gradients are sums over labels, and their sum is divided once.
#include "project_server/finetune/fine_tuning.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>

#include "peer/base/aligned_floats.hpp"
#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "peer/base/random.hpp"
#include "project_server/finetune/adam.hpp"

namespace dedloc::finetune {
namespace {

using training::albert::FineTuned;
using training::albert::Labelled;

constexpr double kHeadDeviation = 0.02;
constexpr double kMaxNorm = 1;

/// What a seed is divided into.
enum class Stream : std::uint64_t { kHead, kOrder, kDropout };

Random random_of(std::uint64_t seed, Stream stream) {
    return Random{seed}.split(static_cast<std::uint64_t>(stream));
}

std::uint64_t label_count(const std::vector<TokenRow>& rows) {
    std::uint64_t count = 0;
    for (const TokenRow& row : rows) count += row.labels.size();
    return count;
}

/// Numbers of rows that have a label, in pieces of at most `size`.
std::vector<std::vector<std::size_t>> pieces_of(const std::vector<TokenRow>& rows,
                                                std::vector<std::size_t> numbers,
                                                std::size_t size) {
    std::erase_if(numbers, [&](std::size_t number) { return rows[number].labels.empty(); });
    std::ranges::stable_sort(numbers, {},
                             [&](std::size_t number) { return rows[number].tokens.size(); });
    std::vector<std::vector<std::size_t>> pieces;
    for (std::size_t i = 0; i < numbers.size(); i += size) {
        const std::size_t count = std::min(size, numbers.size() - i);
        const auto first = numbers.begin() + static_cast<std::ptrdiff_t>(i);
        pieces.emplace_back(first, first + static_cast<std::ptrdiff_t>(count));
    }
    return pieces;
}

std::vector<std::size_t> all_numbers(std::size_t count) {
    std::vector<std::size_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), std::size_t{0});
    return numbers;
}

/// One training.
class Tuning {
  public:
    Tuning(const BaseModel& model, const TaskData& data, const Protocol& protocol,
           std::uint64_t seed, std::size_t micro_batch, const TuningCalls& calls)
        : run_(model.run),
          data_(data),
          protocol_(protocol),
          micro_batch_(micro_batch),
          calls_(calls),
          values_(FineTuned::element_count(model.run, data.labels.size())),
          network_(model.run, values_,
                   data.task == Task::kNames ? Labelled::kTokens : Labelled::kTexts,
                   data.labels.size()),
          optimizer_(values_.size()),
          gradient_(values_.size()),
          order_(random_of(seed, Stream::kOrder)),
          dropout_(random_of(seed, Stream::kDropout)) {
        std::ranges::copy(model.parameters, values_.begin());
        const std::size_t weights =
            data.labels.size() * static_cast<std::size_t>(formats::albert_of(run_).hidden);
        Random random = random_of(seed, Stream::kHead);
        for (std::size_t i = 0; i < weights; ++i) {
            values_[model.parameters.size() + i] =
                static_cast<float>(kHeadDeviation * random.near_normal());
        }
    }

    std::optional<TuningResult> train() {
        TuningResult result;
        result.valid_loss = std::numeric_limits<double>::infinity();
        AlignedFloats best;
        std::uint64_t without_gain = 0;
        for (std::uint64_t epoch = 1; epoch <= protocol_.epochs; ++epoch) {
            const auto loss = train_epoch(result);
            if (!loss) return std::nullopt;
            const auto valid = measure(data_.valid.rows);
            if (!valid) return std::nullopt;
            // EarlyStoppingCallback compares with the best so far before that is renewed.
            const bool is_gain = result.valid_loss - valid->loss > protocol_.threshold;
            const bool is_best = valid->loss < result.valid_loss;
            without_gain = is_gain ? 0 : without_gain + 1;
            result.epochs = epoch;
            if (is_best) {
                best = values_;
                result.best_epoch = epoch;
                result.valid_loss = valid->loss;
            }
            if (calls_.on_epoch) calls_.on_epoch({epoch, *loss, valid->loss, is_best});
            if (without_gain >= protocol_.patience) break;
        }
        if (best.empty()) {
            throw InputError(
                "the validation loss is not finite in any epoch: try a smaller learning rate");
        }
        std::ranges::copy(best, values_.begin());  // where the network reads
        const auto test = measure(data_.test.rows);
        if (!test) return std::nullopt;
        result.test = *test;
        return result;
    }

  private:
    double rate_now() const {
        const auto rows = static_cast<std::uint64_t>(data_.train.rows.size());
        const std::uint64_t steps =
            (rows + protocol_.batch - 1) / protocol_.batch * protocol_.epochs;
        return protocol_.learning_rate * static_cast<double>(steps - steps_) /
               static_cast<double>(steps);
    }

    std::optional<double> train_epoch(TuningResult& result) {
        auto numbers = all_numbers(data_.train.rows.size());
        for (std::size_t i = numbers.size(); i > 1; --i) {
            std::swap(numbers[i - 1], numbers[static_cast<std::size_t>(order_.below(i))]);
        }
        const auto batch = static_cast<std::size_t>(protocol_.batch);
        const std::size_t steps = (numbers.size() + batch - 1) / batch;
        double sum = 0;
        for (std::size_t i = 0; i < steps; ++i) {
            const auto first = numbers.begin() + static_cast<std::ptrdiff_t>(i * batch);
            const std::size_t count = std::min(batch, numbers.size() - i * batch);
            const auto loss = step({first, first + static_cast<std::ptrdiff_t>(count)});
            if (!loss) return std::nullopt;
            sum += *loss;
            if (calls_.on_step) calls_.on_step(i + 1, steps);
            if (steps_ == 1) result.first_loss = *loss / static_cast<double>(last_labels_);
        }
        return sum / static_cast<double>(label_count(data_.train.rows));
    }

    /// One update; returns the sum of losses.
    std::optional<double> step(const std::vector<std::size_t>& numbers) {
        std::ranges::fill(gradient_, 0.0f);
        double sum = 0;
        last_labels_ = 0;
        for (const auto& piece : pieces_of(data_.train.rows, numbers, micro_batch_)) {
            std::vector<std::uint64_t> keys(piece.size());
            std::ranges::generate(keys, [&] { return dropout_.next(); });
            const auto batch = make_batch(data_.train.rows, piece, data_.task, run_.special_tokens,
                                          std::move(keys));
            const auto loss = network_.add_gradient(batch, gradient_, calls_.is_interrupted);
            if (!loss) return std::nullopt;
            sum += *loss;
            last_labels_ += batch.labels.size();
        }
        if (last_labels_ > 0) {
            const auto share = static_cast<float>(1.0 / static_cast<double>(last_labels_));
            for (float& x : gradient_) x *= share;
            clip_norm(gradient_, kMaxNorm);
            optimizer_.step(values_, gradient_, rate_now(), protocol_.weight_decay);
        }
        ++steps_;
        return sum;
    }

    std::optional<Score> measure(const std::vector<TokenRow>& rows) {
        Score score;
        std::uint64_t right = 0;
        for (const auto& piece : pieces_of(rows, all_numbers(rows.size()), micro_batch_)) {
            const auto batch = make_batch(rows, piece, data_.task, run_.special_tokens);
            const auto found = network_.predict(batch, calls_.is_interrupted);
            if (!found) return std::nullopt;
            score.loss += found->loss;
            std::size_t at = 0;
            for (const std::size_t number : piece) {
                const auto& labels = rows[number].labels;
                const auto predicted = std::span{found->labels}.subspan(at, labels.size());
                for (std::size_t i = 0; i < labels.size(); ++i) {
                    right += predicted[i] == labels[i] ? 1 : 0;
                }
                if (data_.task == Task::kNames) add_spans(score.spans, labels, predicted);
                at += labels.size();
            }
        }
        const auto count = static_cast<double>(label_count(rows));
        score.loss /= count;
        score.accuracy = static_cast<double>(right) / count;
        return score;
    }

    void add_spans(SpanScore& spans, std::span<const std::uint16_t> labels,
                   std::span<const std::int64_t> predicted) const {
        std::vector<std::string_view> wanted, found;
        for (const std::uint16_t label : labels) wanted.emplace_back(data_.labels[label]);
        for (const std::int64_t label : predicted) {
            found.emplace_back(data_.labels[static_cast<std::size_t>(label)]);
        }
        spans.add(wanted, found);
    }

    const formats::RunFile& run_;
    const TaskData& data_;
    const Protocol& protocol_;
    const std::size_t micro_batch_;
    const TuningCalls& calls_;
    AlignedFloats values_;  // never moved: the network reads it
    FineTuned network_;
    AdamW optimizer_;
    std::vector<float> gradient_;
    Random order_;
    Random dropout_;
    std::uint64_t steps_ = 0;
    std::uint64_t last_labels_ = 0;
};

}  // namespace

std::optional<TuningResult> fine_tune(const BaseModel& model, const TaskData& data,
                                      const Protocol& protocol, std::uint64_t seed,
                                      std::size_t micro_batch, const TuningCalls& calls) {
    DEDLOC_CHECK(micro_batch >= 1, "a micro-batch has at least one row");
    DEDLOC_CHECK(model.parameters.size() == formats::element_count(model.run),
                 "wrong number of parameters", model.parameters.size());
    for (const auto* const part : {&data.train, &data.valid, &data.test}) {
        if (label_count(part->rows) == 0) {
            throw InputError("no word of the training, validation or test data has a token");
        }
    }
    return Tuning{model, data, protocol, seed, micro_batch, calls}.train();
}

}  // namespace dedloc::finetune
