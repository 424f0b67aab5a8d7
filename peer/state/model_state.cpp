// An update is the same bits on every machine: the norm, the clip factor and LAMB come from
// kernels/, which fix the order of every sum; learning rate and bias correction come from the
// coordinator as bits (UpdateScalars); all other constants are rounded to binary32 before use. Keep
// it that way: any libm call or reordered sum here makes peers' digests differ.
//
// The three vectors are one allocation, so bytes() needs no copy and a snapshot is one memcpy.
#include "peer/state/model_state.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "kernels/digest.hpp"
#include "kernels/global_norm.hpp"
#include "kernels/lamb.hpp"
#include "peer/base/check.hpp"
#include "peer/state/average_tree.hpp"

namespace dedloc::state {
namespace {

static_assert(std::endian::native == std::endian::little,
              "a state's bytes are little-endian floats; this machine would need to swap them");

double from_bits(std::uint32_t bits) {
    return double{std::bit_cast<float>(bits)};
}

kernels::SegmentTable table_of(const std::vector<TensorRange>& tensors) {
    std::vector<kernels::TensorPlace> places;
    for (const TensorRange& tensor : tensors) {
        places.push_back({.offset = tensor.offset, .count = tensor.count, .decays = tensor.decays});
    }
    return kernels::SegmentTable{places};
}

std::size_t checked_count(const std::vector<TensorRange>& tensors) {
    std::uint64_t end = 0;
    for (const TensorRange& tensor : tensors) {
        DEDLOC_CHECK(tensor.offset == end, "a model's tensors must follow each other without gaps",
                     tensor.offset, end);
        end += tensor.count;
    }
    DEDLOC_CHECK(end > 0, "a model needs at least one parameter");
    return static_cast<std::size_t>(end);
}

kernels::LambScalars lamb_arguments(const LambSettings& settings, const UpdateScalars& scalars) {
    return {
        .element = {.beta1 = static_cast<float>(settings.beta1),
                    .one_minus_beta1 = static_cast<float>(1 - settings.beta1),
                    .beta2 = static_cast<float>(settings.beta2),
                    .one_minus_beta2 = static_cast<float>(1 - settings.beta2),
                    .epsilon = static_cast<float>(settings.epsilon),
                    .weight_decay = static_cast<float>(settings.weight_decay)},
        .learning_rate = from_bits(scalars.learning_rate) * from_bits(scalars.bias_correction),
        .norm_limit = double{static_cast<float>(settings.norm_limit)},
    };
}

/// BLAKE2b-256 of the step (8 bytes, little-endian) and the tree's root.
Digest with_step(StepIndex step, const Digest& root) {
    ByteWriter writer;
    writer.write(step.value());
    writer.append(root.bytes);
    return blake2b(std::move(writer).finish());
}

}  // namespace

Digest state_digest(StepIndex step, std::span<const std::byte> bytes,
                    const kernels::Workers& workers) {
    return with_step(step, Digest{kernels::tree_digest(bytes, workers)});
}

Digest state_digest(StepIndex step, std::span<const Digest> leaves, std::uint64_t total_bytes) {
    return with_step(step, tree_root(leaves, total_bytes));
}

ModelState::ModelState(const std::vector<TensorRange>& tensors, const LambSettings& settings)
    : settings_(settings),
      count_(checked_count(tensors)),
      table_(table_of(tensors)),
      values_(3 * count_) {
    DEDLOC_CHECK(are_usable(settings), "the LAMB settings are invalid");
}

void ModelState::initialise(std::span<const float> parameters) {
    DEDLOC_CHECK(parameters.size() == count_, "the model has another number of parameters",
                 parameters.size(), count_);
    std::copy(parameters.begin(), parameters.end(), values_.begin());
    std::fill(values_.begin() + static_cast<std::ptrdiff_t>(count_), values_.end(), 0.0f);
    step_ = StepIndex{0};
}

UpdateReport ModelState::apply(std::span<const float> average, const UpdateScalars& scalars,
                               const kernels::Workers& workers) {
    DEDLOC_CHECK(average.size() == count_, "the average has another number of elements",
                 average.size(), count_);
    DEDLOC_CHECK(are_usable(scalars), "the update scalars are invalid");
    step_ = step_.next();
    UpdateReport report{.gradient_norm = kernels::global_norm(average, workers)};
    if (!std::isfinite(report.gradient_norm)) return report;
    report.was_applied = true;
    report.clip_factor =
        kernels::clip_factor(report.gradient_norm, static_cast<float>(settings_.clip_norm));
    kernels::LambScalars arguments = lamb_arguments(settings_, scalars);
    arguments.element.clip_factor = report.clip_factor;
    const std::span all{values_};
    kernels::lamb({.parameters = all.first(count_),
                   .first_moment = all.subspan(count_, count_),
                   .second_moment = all.subspan(2 * count_, count_),
                   .gradient = average},
                  table_, arguments, {}, workers);
    return report;
}

bool ModelState::restore(StepIndex step, std::span<const std::byte> bytes, const Digest& expected,
                         const kernels::Workers& workers) {
    if (bytes.size() != byte_count()) return false;
    if (state_digest(step, bytes, workers) != expected) return false;
    std::memcpy(values_.data(), bytes.data(), bytes.size());
    step_ = step;
    return true;
}

Digest ModelState::digest(const kernels::Workers& workers) const {
    return state_digest(step_, bytes(), workers);
}

std::vector<Digest> ModelState::leaf_digests(const kernels::Workers& workers) const {
    std::vector<Digest> leaves;
    for (const kernels::DigestBytes& leaf : kernels::leaf_digests(bytes(), workers)) {
        leaves.push_back(Digest{leaf});
    }
    return leaves;
}

}  // namespace dedloc::state
